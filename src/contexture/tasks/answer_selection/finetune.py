"""Fine-tune a pre-trained encoder on answer selection."""

import logging
import shutil
from collections.abc import Iterable, Mapping, Sequence
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
from contexture.seeding import mix
from contexture.tasks.answer_selection.config import AnswerModelSettings
from contexture.tasks.answer_selection.data import IGNORED, AnswerInputs, AnswerRows, Rows, group_size
from contexture.tasks.answer_selection.head import AnswerSelection, AnswerSettings
from contexture.tasks.answer_selection.model import SETTINGS, AnswerModel, make_room
from contexture.tasks.answer_selection.scoring import consecutive_groups, score
from contexture.tasks.base import Contestant
from contexture.tasks.finetuned import HEAD
from contexture.training.finetune import finetune
from contexture.training.pretrain import OBJECTIVE_WEIGHTS
from contexture.training.ranks import own_rank

LOG = logging.getLogger(__name__)
NOTHING = "answer selection: there is no question of split {!r}"


class AnswerBatches:
    """Batches of training groups, shuffled anew for every epoch and dealt out to the devices."""

    def __init__(
        self, inputs: AnswerInputs, groups: Sequence[Rows], batch_size: int, seed: int, rank: int = 0, ranks: int = 1
    ) -> None:
        self.inputs, self.groups, self.batch_size, self.seed = inputs, groups, batch_size, seed
        self.rank, self.ranks = rank, ranks
        self.per_epoch = -(-len(groups) // batch_size)
        self._order: tuple[int, Rows] | None = None  # of the last epoch that was asked for: ASNQ has millions of groups

    def batch(self, step: int) -> Batch:
        """This device's part of the batch of an optimizer step, from 0.

        The last batch of an epoch may be too short for all: who gets nothing reads a group whose labels do not count.
        """
        epoch, part = divmod(step, self.per_epoch)
        if self._order is None or self._order[0] != epoch:
            self._order = epoch, np.random.default_rng(mix(self.seed, epoch)).permutation(len(self.groups))
        chosen = self._order[1][part * self.batch_size : (part + 1) * self.batch_size]
        mine = chosen[self.rank :: self.ranks]
        batch = self.inputs.batch([self.groups[i] for i in (mine if len(mine) else chosen[:1])])
        return batch if len(mine) else batch | {"labels": torch.full_like(batch["labels"], IGNORED)}

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        """States (B, T, H)."""
        return encoder.states(dict(batch))


def finetune_answers(
    settings: AnswerModelSettings,
    contestant: Contestant,
    train: Iterable[pd.DataFrame],
    dev: pd.DataFrame,
    folder: Path,
) -> float:
    """Fine-tune a contestant's encoder with its head and write the model of the best epoch to `folder`.

    The head starts from the pre-training head of the same kind, where the encoder was trained with one (the paper uses
    "the same prediction heads exploited in pre-training"), or from that of the model of answer selection whose encoder
    it is (TANDA: first one set, then another). Such a model ranks answers before it has seen any, so that it is one of
    those that are chosen from; what a new head makes of them is chance. Deterministic in settings, contestant and
    answers.

    Args:
        settings: how.
        contestant: whose encoder and head.
        train: tables one after the other, in each the rows of a question together, with question_id, question,
            candidate and label. Their token ids are written to files in `folder` once, and read from there.
        dev: such a table.
        folder: of the model.

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
    if dev.empty:
        raise ValueError(NOTHING.format("dev"))
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

    size = group_size(chosen.head, layout)
    dev_inputs = AnswerInputs(AnswerRows.in_memory(dev, encoder, size), chosen.head, encoder, layout)
    dev_groups = consecutive_groups(dev, size)
    questions = dev["question_id"].factorize()[0]
    tokens = folder / f"tokens-{own_rank()}"
    shutil.rmtree(tokens, ignore_errors=True)  # of a run that was killed
    rows = AnswerRows.on_disk(train, encoder, size, tokens)
    if not len(rows):
        raise ValueError(NOTHING.format("train"))
    inputs = AnswerInputs(rows, chosen.head, encoder, layout)
    batches = AnswerBatches(inputs, rows.groups, settings.batch_size, mix(seed, 4), own_rank(), settings.devices)

    def dev_map() -> float:
        scores = score(encoder, model.task, dev_inputs, dev_groups)
        return mean_average_precision(scores, dev_inputs.rows.labels, questions)

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
    shutil.rmtree(tokens)
    if own_rank() == 0:
        LOG.info("%s, seed %d: MAP on dev %.4f after %d steps", contestant.variant, seed, best.value, best.step)
        model.save(folder)
    return best.value


def start_head(task: AnswerSelection, start: Path) -> bool:
    """Copy the head that an encoder was trained with into `task`, where it is of the same kind; say whether it was.

    The shapes tell `ie_k` from `ae_k`; a pairwise head judges another state than either: only that of a pairwise model
    is carried on.
    """
    own = task.state_dict()
    if (start / SETTINGS).exists():
        told = TypeAdapter(AnswerSettings).validate_json((start / SETTINGS).read_bytes())
        heads = [load_file(start / HEAD)] if told.head == task.head.kind else []
        there = True
    elif task.head.kind == "ie_1" or not (start / OBJECTIVE_WEIGHTS).exists():
        return False
    else:
        weights = load_file(start / OBJECTIVE_WEIGHTS)
        names = {name.removesuffix(f".{key}") for name in weights for key in own if name.endswith(f".{key}")}
        heads = [{key: weights[f"{name}.{key}"] for key in own if f"{name}.{key}" in weights} for name in sorted(names)]
        there = bool(names)
    for head in heads:
        if head.keys() == own.keys() and all(head[key].shape == weight.shape for key, weight in own.items()):
            task.load_state_dict(head)
            return True
    if there:
        LOG.warning("%s: its head is of another kind than this one, which starts anew", start)
    return False
