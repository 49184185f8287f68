"""Fine-tune a pre-trained encoder on answer selection."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from pydantic import TypeAdapter
from safetensors.torch import load_file
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.files import load_encoder
from contexture.encoders.layout import Batch
from contexture.metrics.ranking import mean_average_precision
from contexture.tasks.answer_selection.config import AnswerSelectionSettings
from contexture.tasks.answer_selection.data import IGNORED, AnswerInputs, Rows
from contexture.tasks.answer_selection.head import AnswerSelection, AnswerSettings
from contexture.tasks.answer_selection.model import AnswerModel, make_room
from contexture.tasks.answer_selection.scoring import consecutive_groups, score
from contexture.tasks.base import Contestant
from contexture.training.finetune import finetune
from contexture.training.pretrain import OBJECTIVE_WEIGHTS
from contexture.training.ranks import own_rank
from contexture.training.seeding import mix

LOG = logging.getLogger(__name__)


class AnswerBatches:
    """Batches of training groups, shuffled anew for every epoch and dealt out to the devices."""

    def __init__(
        self, inputs: AnswerInputs, groups: list[Rows], batch_size: int, seed: int, rank: int = 0, ranks: int = 1
    ) -> None:
        self.inputs, self.groups, self.batch_size, self.seed = inputs, groups, batch_size, seed
        self.rank, self.ranks = rank, ranks
        self.per_epoch = -(-len(groups) // batch_size)

    def batch(self, step: int) -> Batch:
        """This device's part of the batch of an optimizer step, from 0.

        The last batch of an epoch may be too short for all: who gets nothing reads a group whose labels do not count.
        """
        epoch, part = divmod(step, self.per_epoch)
        order = np.random.default_rng(mix(self.seed, epoch)).permutation(len(self.groups))
        chosen = order[part * self.batch_size : (part + 1) * self.batch_size]
        mine = chosen[self.rank :: self.ranks]
        batch = self.inputs.batch([self.groups[i] for i in (mine if len(mine) else chosen[:1])])
        return batch if len(mine) else batch | {"labels": torch.full_like(batch["labels"], IGNORED)}

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        """States (B, T, H)."""
        return encoder.states(dict(batch))


def finetune_answers(
    settings: AnswerSelectionSettings, contestant: Contestant, answers: pd.DataFrame, folder: Path
) -> float:
    """Fine-tune a contestant's encoder with its head and write the model of the best epoch to `folder`.

    The head starts from the pre-training head of the same kind, where the encoder was trained with one (the paper uses
    "the same prediction heads exploited in pre-training"). Such a model ranks answers before it has seen any, so that
    it is one of those that are chosen from; what a new head makes of them is chance. Deterministic in settings,
    contestant and answers.

    Returns:
        Its MAP on the development set.

    Raises:
        ValueError: there is not one encoder with states of tokens, no head, no layout, or no question to train or to
            develop on.
    """
    if len(contestant.encoders) != 1:
        raise ValueError(f"{contestant.variant}: several encoders side by side are not fine-tuned")
    if settings.layout is None:
        raise ValueError("answer selection is fine-tuned on a joint input: set answer_selection.layout")
    seed, pretrained = contestant.seed, Path(contestant.encoders[0])
    torch.manual_seed(mix(seed, 3))
    encoder = load_encoder(pretrained, head=False)
    # An unknown head is refused here.
    chosen = TypeAdapter(AnswerSettings).validate_python(
        {"head": contestant.head, "head_style": settings.head_style, "layout": settings.layout}
    )
    layout = chosen.layout
    make_room(encoder, layout.width, 2 if chosen.head == "ie_1" else layout.candidates + 1)
    model = AnswerModel(encoder, chosen)
    carried_on = start_head(model.task, pretrained)

    train, dev = (_split(answers, name) for name in ("train", "dev"))
    inputs, dev_inputs = (AnswerInputs(part, chosen.head, encoder, chosen.layout) for part in (train, dev))
    groups = consecutive_groups(train, inputs.group_size)
    dev_groups = consecutive_groups(dev, inputs.group_size)
    questions = dev["question_id"].factorize()[0]
    batches = AnswerBatches(inputs, groups, settings.batch_size, mix(seed, 4), own_rank(), settings.devices)

    def dev_map() -> float:
        scores = score(encoder, model.task, dev_inputs, dev_groups)
        return mean_average_precision(scores, dev_inputs.labels, questions)

    best = finetune(
        encoder,
        model.task,
        batches,
        steps=batches.per_epoch * settings.epochs,
        evaluate_every=batches.per_epoch,
        patience=settings.patience,
        measure=dev_map,
        better="higher",
        metric="dev/map",
        from_start=carried_on,
        optimizer=settings.optimizer,
        precision=settings.precision,
        folder=folder,
        seed=mix(seed, 5),
        label="answer_selection",
        devices=settings.devices,
    )
    if own_rank() == 0:
        LOG.info("%s, seed %d: MAP on dev %.4f after %d steps", contestant.variant, seed, best.value, best.step)
        model.save(folder)
    return best.value


def start_head(task: AnswerSelection, pretrained: Path) -> bool:
    """Copy a pre-training head of the same kind into `task`, where there is one; say whether there was.

    The shapes tell `ie_k` from `ae_k`; a pairwise head judges another state than either.
    """
    file = pretrained / OBJECTIVE_WEIGHTS
    if task.head.kind == "ie_1" or not file.exists():
        return False
    weights = load_file(file)
    own = task.state_dict()
    heads = {name.removesuffix(f".{key}") for name in weights for key in own if name.endswith(f".{key}")}
    for objective in sorted(heads):
        found = {key: weights.get(f"{objective}.{key}") for key in own}
        if all(weight is not None and weight.shape == own[key].shape for key, weight in found.items()):
            task.load_state_dict(found)
            return True
    if heads:
        LOG.warning("%s: its head is of another kind than this one, which starts anew", pretrained)
    return False


def _split(answers: pd.DataFrame, split: str) -> pd.DataFrame:
    found = answers[answers["split"] == split].reset_index(drop=True)
    if found.empty:
        raise ValueError(f"answer selection: no rows of split {split!r}, only {sorted(answers['split'].unique())}")
    return found
