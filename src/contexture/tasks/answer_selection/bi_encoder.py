"""Rank candidates by their cosine with the question, and fine-tune encoders for this.

Question and candidates are read separately, by a frozen or a fine-tuned encoder, without a head.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from contexture.encoders.base import Encoder, TextEncoder
from contexture.encoders.config import ROLES
from contexture.encoders.files import save_encoder
from contexture.encoders.layout import Sentences
from contexture.metrics.ranking import mean_average_precision
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.base_config import ObjectiveConfig
from contexture.retrieval.vectors import normalize
from contexture.tasks.answer_selection.baselines import Scores
from contexture.tasks.answer_selection.data import AnswerRows, RowNumbers
from contexture.tasks.finetuned import Examples, Step
from contexture.tasks.finetuning import Finetuning

#: Divides the cosines, as in SimCSE (Gao et al., 2021).
TEMPERATURE = 0.05
#: Candidates of a question in an example: the right ones, and wrong ones that are drawn anew in each epoch.
MAX_CANDIDATES = 32
TOKENS_AT_ONCE = 16384
#: More candidates than any question has.
WHOLE_QUESTION = 2**31
#: Rows that are embedded at a time.
EMBEDDED_ROWS = 100_000


def score_by_cosine(model: TextEncoder, answers: pd.DataFrame) -> Scores:
    """Return the cosine of each row's question and candidate; 0 if either vector is 0."""
    blocks = [
        _score_block(model, answers[first : first + EMBEDDED_ROWS]) for first in range(0, len(answers), EMBEDDED_ROWS)
    ]
    return np.concatenate(blocks)


def _score_block(model: TextEncoder, answers: pd.DataFrame) -> Scores:
    """Return the cosine of each row's question and candidate; all texts are embedded in memory."""
    left, questions = pd.factorize(answers["question"])
    right, candidates = pd.factorize(answers["candidate"])
    queries, documents = (
        normalize(model.embed(list(questions), "query")),
        normalize(model.embed(list(candidates), "document")),
    )
    scores: Scores = np.einsum("nd,nd->n", queries[left], documents[right], dtype=np.float64)
    return scores


class CandidateRanking(Objective):
    """Softmax over the candidates of each question, by cosine.

    Reads vectors of questions (B, D) and candidates (N, D), and of the batch `candidates` (B, C), the rows of each
    question's candidates, −1 for an empty slot, and `right` (B, C). The loss of a question is the mean of −log p over
    its right candidates.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(ObjectiveConfig(), encoder)

    def forward(self, encoder: Encoder, states: dict[str, torch.Tensor], batch: StreamBatch) -> Loss:
        """Return the mean loss of this device's questions, and how often a right candidate ranks first."""
        queries, documents = (nn.functional.normalize(states[role].float(), dim=-1) for role in ROLES)
        rows, right = batch["candidates"], batch["right"]
        # Not a matrix product, which is rounded to 8 bits under autocast: with it, cosines near 1 become equal.
        cosines = (documents[rows.clamp(min=0)] * queries[:, None]).sum(dim=-1)
        scores = (cosines / TEMPERATURE).masked_fill(rows < 0, -torch.inf)
        log_chances = scores.log_softmax(dim=1).masked_fill(~right, 0)
        first = right.gather(1, scores.argmax(dim=1, keepdim=True)).float().mean()
        return Loss(-(log_chances.sum(dim=1) / right.sum(dim=1)).mean(), {"accuracy": first})


class QuestionCandidates(Examples):
    """Questions with their candidates; a training example is a question with a right and a wrong one.

    Texts without a token are left out.
    """

    noun = "questions with a right and a wrong candidate"

    def __init__(self, rows: AnswerRows, encoder: Encoder) -> None:
        """`rows`: each group has all candidates of a question."""
        self.rows, self.encoder = rows, encoder
        texts = np.diff(rows.ends) > 0
        self.usable = texts[rows.candidates] & texts[rows.questions]
        right, wrong = (
            np.logical_or.reduceat(self.usable & (rows.labels == label), rows.starts)
            if len(rows.starts)
            else np.empty(0, bool)
            for label in (1, 0)
        )
        self.groups = np.flatnonzero(right & wrong)

    def __len__(self) -> int:
        return len(self.groups)

    def training_batch(self, step: Step) -> dict[str, Any]:
        """Return this device's questions and their candidates, as a batch for `CandidateRanking`."""
        chosen = [self._draw(step, number) for number in step.device_rows]
        rows, sizes = np.concatenate(chosen), [len(of_question) for of_question in chosen]
        numbers, right = torch.arange(len(rows)), torch.from_numpy(self.rows.labels[rows] == 1)
        return {
            "query": self._encode_texts(self.rows.questions[[of_question[0] for of_question in chosen]], "query"),
            "document": self._encode_texts(self.rows.candidates[rows], "document"),
            "candidates": pad_sequence([*torch.split(numbers, sizes)], batch_first=True, padding_value=-1),
            "right": pad_sequence([*torch.split(right, sizes)], batch_first=True),
        }

    def _draw(self, step: Step, number: int) -> RowNumbers:
        """Return the rows of a question's candidates in this epoch: wrong ones, then right ones."""
        rows = self.rows.group(self.groups[number])
        rows = rows[self.usable[rows]]
        right, wrong = (rows[self.rows.labels[rows] == label] for label in (1, 0))
        generator = step.make_generator(number)
        right = generator.permutation(right)[: MAX_CANDIDATES - 1]
        return np.concatenate([generator.permutation(wrong)[: MAX_CANDIDATES - len(right)], right])

    def _encode_texts(self, numbers: RowNumbers, role: Any) -> Any:
        """Return the encoder's input for the texts with these numbers."""
        texts = [self.rows.text(number) for number in numbers]
        lengths = np.array([len(text) for text in texts], np.int64)[:, None]
        return self.encoder.batch(Sentences(np.concatenate(texts).astype(np.int64), lengths), role, TOKENS_AT_ONCE)


def make_bi_encoder_task(
    label: str, encoder: Encoder, train: Iterable[pd.DataFrame], dev: pd.DataFrame, folder: Path
) -> Finetuning:
    """Return what fine-tuning needs: the encoder with the best MAP on dev is saved, also if it is the initial one.

    The tables of `train`, and `dev`, have question_id, question, candidate and label. The new `folder` gets the token
    ids of train.
    """
    examples = QuestionCandidates(AnswerRows.on_disk(train, encoder, WHOLE_QUESTION, folder), encoder)
    questions, labels = dev["question_id"].factorize()[0], dev["label"].to_numpy()

    def measure_dev_map() -> float:
        """Return the encoder's mean average precision on dev."""
        return mean_average_precision(score_by_cosine(encoder, dev), labels, questions)

    head, save = CandidateRanking(encoder), partial(save_encoder, encoder)
    return Finetuning(label, encoder, head, examples, "map", measure_dev_map, save, from_start=True)
