"""Fine-tune a pre-trained encoder on answer selection."""

import logging
import shutil
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from safetensors.torch import load_file

from contexture.encoders.config import BI_ENCODER
from contexture.metrics.ranking import mean_average_precision
from contexture.tasks.answer_selection.bi_encoder import make_bi_encoder_task
from contexture.tasks.answer_selection.config import AnswerModelSettings
from contexture.tasks.answer_selection.data import AnswerInputs, AnswerRows, get_group_size
from contexture.tasks.answer_selection.head import AnswerSelection
from contexture.tasks.answer_selection.model import AnswerModel
from contexture.tasks.answer_selection.scoring import make_inputs, score_groups
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.finetuned import HEAD_FILE
from contexture.tasks.finetuning import Finetuning, finetune, load_joint_encoder, load_start_encoder
from contexture.training.pretrain import OBJECTIVES_FILE
from contexture.training.ranks import get_rank

LOG = logging.getLogger(__name__)
NAME = "answer_selection"


def finetune_answers(
    settings: AnswerModelSettings,
    evaluated: EvaluatedEncoder,
    train: Iterable[pd.DataFrame],
    dev: pd.DataFrame,
    folder: Path,
) -> float:
    """Fine-tune an encoder with its head, or by cosine, and return the best MAP on dev; see `finetune`.

    The head starts from the encoder's pre-training head of the same kind, or from the head of the answer-selection
    model to which the encoder belongs (TANDA). Only such a head, and the cosine, is measured before training.
    `dev` and the tables of `train` have question_id, question, candidate and label, with consecutive rows per question;
    token ids of train are written to temporary files in `folder`.

    Raise ValueError for no head, no training or dev question, or, with a head that reads texts together, for no layout
    or an encoder without token states.
    """
    if dev.empty:
        raise ValueError("answer selection: dev has no questions")
    tokens = folder / f"tokens-{get_rank()}"
    shutil.rmtree(tokens, ignore_errors=True)  # left by a killed run
    if evaluated.head == BI_ENCODER:
        task = make_bi_encoder_task(NAME, load_start_encoder(evaluated), train, dev, tokens)
    else:
        task = _make_joint_task(settings, evaluated, train, dev, tokens)
    best = finetune(task, settings, evaluated, folder)
    shutil.rmtree(tokens)
    return best


def _make_joint_task(
    settings: AnswerModelSettings,
    evaluated: EvaluatedEncoder,
    train: Iterable[pd.DataFrame],
    dev: pd.DataFrame,
    tokens: Path,
) -> Finetuning:
    """Return what fine-tuning an encoder with a head needs, with token ids of train in the new folder `tokens`."""
    encoder, layout = load_joint_encoder(NAME, settings, evaluated, pairwise=evaluated.head == "ie_1")
    model = AnswerModel.create(encoder, head=evaluated.head, head_style=settings.head_style, layout=layout)
    has_trained_head = copy_head(model.task, Path(evaluated.models[0]))
    held_out, groups = make_inputs(model, dev)
    questions = dev["question_id"].factorize()[0]
    rows = AnswerRows.on_disk(train, encoder, get_group_size(model.settings.head, layout), tokens)
    examples = AnswerInputs(rows, model.settings.head, encoder, layout)

    def measure_dev_map() -> float:
        """Return the model's mean average precision on dev."""
        return mean_average_precision(score_groups(model, held_out, groups), held_out.rows.labels, questions)

    return Finetuning.from_model(model, NAME, examples, "map", measure_dev_map, from_start=has_trained_head)


def copy_head(task: AnswerSelection, start: Path) -> bool:
    """Copy the head of the encoder folder `start` into `task` if it is of the same kind; return whether it is.

    Shapes distinguish `ie_k` from `ae_k`. A pairwise head is only copied from a pairwise model.
    """
    target = task.state_dict()
    if (start / AnswerModel.settings_file).exists():
        same = AnswerModel.load_settings(start).head == task.head.kind
        heads = [load_file(start / HEAD_FILE)] if same else []
    elif task.head.kind == "ie_1" or not (start / OBJECTIVES_FILE).exists():
        return False
    else:
        weights = load_file(start / OBJECTIVES_FILE)
        names = sorted({name.removesuffix(f".{key}") for name in weights for key in target if name.endswith(f".{key}")})
        if not names:
            return False
        heads = [{key: weights[f"{name}.{key}"] for key in target if f"{name}.{key}" in weights} for name in names]
    for head in heads:
        if head.keys() == target.keys() and all(head[key].shape == weight.shape for key, weight in target.items()):
            task.load_state_dict(head)
            return True
    LOG.warning("%s: the head is of another kind; fine-tuning starts with a new head", start)
    return False
