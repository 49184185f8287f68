"""Fine-tune an encoder on questions and their (sentence, passage) answers (two-tower paper, section 4.1)."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import nn

from contexture.encoders.base import Encoder, tokenize_texts
from contexture.encoders.layout import Ints, select_rows
from contexture.objectives.in_batch_negatives import InBatchNegatives
from contexture.objectives.settings import InBatchNegativesConfig
from contexture.seeding import mix
from contexture.streams.base import part_rows
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.finetuned import Examples, Step
from contexture.tasks.finetuning import Finetuning, finetune, load_start_encoder
from contexture.tasks.retrieval.config import RetrievalSettings
from contexture.tasks.retrieval.reqa import split_questions

#: Random candidates, besides the answers, against which dev questions are scored.
DEV_CANDIDATES = 1000


def candidate_texts(candidates: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the (sentence, passage) pairs of candidates."""
    return list(candidates[["sentence", "passage"]].itertuples(index=False, name=None))


class QuestionPairs(Examples):
    """Pairs of a question and a right answer.

    Negatives are the answers in the batch of all devices, except other right answers of the question and sentences of
    the same passage.
    """

    noun = "pairs of a question and its answer"

    def __init__(
        self, pairs: Ints, questions: pd.DataFrame, candidates: pd.DataFrame, encoder: Encoder, tokens_at_once: int
    ) -> None:
        """`pairs`: rows of questions and candidates, (N, 2)."""
        self.pairs, self.encoder, self.tokens_at_once = pairs, encoder, tokens_at_once
        self.right_pairs = pairs[:, 0] * len(candidates) + pairs[:, 1]
        self.passages = candidates["passage_id"].factorize()[0]
        self.questions = tokenize_texts(questions["question"].tolist(), encoder.vocabulary)
        self.candidates = tokenize_texts(candidate_texts(candidates), encoder.vocabulary)

    def __len__(self) -> int:
        return len(self.pairs)

    def training_batch(self, step: Step) -> dict[str, Any]:
        """Return this device's questions and answers of a step, as a batch for `InBatchNegatives`.

        Each device gets texts of all lengths.
        """
        question, candidate = self.pairs[step.rows].T
        lengths = self.candidates.lengths[candidate].sum(axis=1)
        parts = [part_rows(lengths, rank, step.ranks) for rank in range(step.ranks)]
        batch_candidates = candidate[np.concatenate(parts)]
        question, candidate = question[parts[step.rank]], candidate[parts[step.rank]]
        is_right = np.isin(question[:, None] * len(self.passages) + batch_candidates, self.right_pairs)
        same_passage = self.passages[candidate][:, None] == self.passages[batch_candidates]
        return {
            "query": self.encoder.batch(select_rows(self.questions, question), "query", self.tokens_at_once),
            "document": self.encoder.batch(select_rows(self.candidates, candidate), "document", self.tokens_at_once),
            "document_ids": torch.from_numpy(candidate),
            "no_negatives": torch.from_numpy(is_right | same_passage),
            "log_q": torch.zeros(len(candidate)),
        }


class DevQuestions:
    """Dev questions, and the candidates among which their answers are scored."""

    def __init__(self, pairs: Ints, questions: pd.DataFrame, candidates: pd.DataFrame, seed: int) -> None:
        """`pairs`: rows of questions and candidates, (N, 2)."""
        drawn = np.random.default_rng(seed).permutation(len(candidates))[:DEV_CANDIDATES]
        pool = np.unique(np.concatenate([pairs[:, 1], drawn]))
        rows, question = np.unique(pairs[:, 0], return_inverse=True)
        self.question, self.answer = torch.from_numpy(question), torch.from_numpy(np.searchsorted(pool, pairs[:, 1]))
        self.questions = questions["question"].iloc[rows].tolist()
        self.candidates = candidate_texts(candidates.iloc[pool])

    def loss(self, encoder: Encoder) -> float:
        """Return the dev loss of an encoder: the mean of −log p(answer | question) over the candidates."""
        queries, documents = encoder.embed(self.questions, "query"), encoder.embed(self.candidates, "document")
        scores = torch.from_numpy(queries @ documents.T)[self.question]
        return float(nn.functional.cross_entropy(scores, self.answer))


def finetune_retrieval(
    settings: RetrievalSettings,
    share: float,
    evaluated: EvaluatedEncoder,
    questions: pd.DataFrame,
    candidates: pd.DataFrame,
    folder: Path,
) -> float:
    """Fine-tune an encoder on `share` percent of the questions and return the lowest dev loss; see `finetune`.

    Raises ValueError if there are too few questions for the share.
    """
    seed, encoder = evaluated.seed, load_start_encoder(evaluated)
    encoder.recompute = settings.recompute
    splits = split_questions(questions["question_id"].tolist(), share / 100, seed).to_numpy()
    train, dev = (list_answer_pairs(questions, candidates, splits == split) for split in ("train", "dev"))
    if not len(train) or not len(dev):
        raise ValueError(f"{share:g}% of {len(questions)} questions is too few for train and dev: use a larger share")
    dev_questions = DevQuestions(dev, questions, candidates, mix(seed, 6))
    head = InBatchNegatives(InBatchNegativesConfig(), encoder)
    examples = QuestionPairs(train, questions, candidates, encoder, settings.tokens_at_once)
    task = Finetuning.from_loss("in_batch_negatives", encoder, head, examples, dev_questions.loss)
    return finetune(task, settings, evaluated, folder)


def list_answer_pairs(questions: pd.DataFrame, candidates: pd.DataFrame, is_chosen: npt.NDArray[np.bool_]) -> Ints:
    """Return the (question row, candidate row) pairs of all right answers of the chosen questions, (N, 2)."""
    rows = dict(zip(candidates["candidate_id"], range(len(candidates)), strict=True))
    pairs = [
        (question, rows[answer])
        for question in np.flatnonzero(is_chosen)
        for answer in questions["answers"].iloc[question]
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
