"""Fine-tuning of an encoder on questions with one right and many wrong candidates (Cross-Thought, section 3.3)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder, tokenize_texts
from contexture.encoders.cross import CrossLayers
from contexture.encoders.layout import select_rows
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.base_config import ObjectiveConfig
from contexture.seeding import mix
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.finetuned import Examples, Step
from contexture.tasks.finetuning import Finetuning, finetune, load_start_encoder
from contexture.tasks.ranking.config import RankingSettings
from contexture.tasks.ranking.data import Questions, Rows, check_trainable, read_split, read_texts, trainable_questions

#: Column of an empty slot.
EMPTY_SLOT = -1
MAX_DEV_QUESTIONS = 1000
#: Questions per pass.
QUESTIONS_AT_ONCE = 64


class AnswerRanking(Objective):
    """−log α[0][m] of the right candidate m (Cross-Thought, equation 10).

    Encoders without cross-sequence layers use −log softmax of inner products. Inputs: vectors of queries (Q, D) and
    documents (U, D), and `columns` (Q, C) of the batch: each question's documents, the right one first, −1 for an empty
    slot.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(ObjectiveConfig(), encoder)

    def forward(self, encoder: Encoder, states: dict[str, Tensor], batch: StreamBatch) -> Loss:
        """Return the mean loss of this device's questions, and the share whose most probable candidate is right."""
        logs = log_probabilities(encoder.cross, states["query"], states["document"], batch["columns"])
        best_wrong = logs[:, 1:].amax(dim=1)
        return Loss(-logs[:, 0].mean(), {"accuracy": (logs[:, 0] > best_wrong).float().mean()})


def log_probabilities(cross: CrossLayers | None, queries: Tensor, documents: Tensor, columns: Tensor) -> Tensor:
    """Return log-probabilities (Q, C) of each question's candidates; −∞ in empty slots.

    Args:
        cross: cross-sequence layers, whose mean attention is the probability; None: softmax of inner products.
        queries: (Q, D).
        documents: (U, D).
        columns: (Q, C) rows of the documents; −1 for an empty slot.
    """
    present = columns != EMPTY_SLOT
    candidates = documents[columns.clamp(min=0)]
    if cross is not None:
        return cross.log_attention(queries, candidates, present)
    scores = torch.einsum("qd,qcd->qc", queries.float(), candidates.float())
    return nn.functional.log_softmax(scores.masked_fill(~present, -torch.inf), dim=1)


def draw_training_rows(questions: Questions, number: int, negatives: int, rng: np.random.Generator) -> Rows:
    """Return the rows of a right candidate of a question, then of at most `negatives` wrong ones, drawn at random."""
    right = questions.right[number][questions.right[number] >= 0]
    wrong = questions.candidates[number]
    wrong = wrong[~np.isin(wrong, right)]
    chosen = rng.choice(wrong, min(negatives, len(wrong)), replace=False)
    return np.concatenate([rng.choice(right, 1), chosen])


def to_columns(candidates: list[Rows]) -> tuple[Rows, Rows]:
    """Return the distinct rows (U,) of all candidates, and the position of each candidate (Q, C) among them."""
    distinct, positions = np.unique(np.concatenate(candidates), return_inverse=True)
    sizes = np.array([len(rows) for rows in candidates])
    columns = np.full((len(candidates), sizes.max()), EMPTY_SLOT, np.int64)
    columns[np.arange(sizes.max()) < sizes[:, None]] = positions
    return distinct, columns


class RankingExamples(Examples):
    """Questions with wrong candidates drawn anew each epoch; each text is encoded once per batch."""

    noun = "questions"

    def __init__(self, questions: Questions, texts: Sequence[str], encoder: Encoder, settings: RankingSettings) -> None:
        self.chosen = trainable_questions(questions)
        self.questions, self.encoder, self.settings = questions, encoder, settings
        self.queries = tokenize_texts(questions.texts, encoder.vocabulary)
        used = np.unique(np.concatenate([*questions.candidates, *questions.right]))
        self.used = used[used >= 0]
        self.texts = tokenize_texts([texts[row] for row in self.used], encoder.vocabulary)

    def __len__(self) -> int:
        return len(self.chosen)

    def training_batch(self, step: Step) -> dict[str, Any]:
        """Return the batch of `AnswerRanking` for this device's questions, with newly drawn candidates."""
        numbers, settings = self.chosen[step.device_rows], self.settings
        candidates = [
            draw_training_rows(self.questions, n, settings.negatives, step.make_generator(n)) for n in numbers
        ]
        rows, columns = to_columns(candidates)
        texts = select_rows(self.texts, np.searchsorted(self.used, rows))
        return {
            "query": self.encoder.batch(select_rows(self.queries, numbers), "query", settings.tokens_at_once),
            "document": self.encoder.batch(texts, "document", settings.tokens_at_once),
            "columns": torch.from_numpy(columns),
        }


class RankingDevSet:
    """Dev questions with candidates that are drawn once."""

    def __init__(self, questions: Questions, texts: Sequence[str], negatives: int, seed: int) -> None:
        numbers = np.random.default_rng(seed).permutation(trainable_questions(questions))[:MAX_DEV_QUESTIONS]
        candidates = [
            draw_training_rows(questions, n, negatives, np.random.default_rng(mix(seed, 0, n))) for n in numbers
        ]
        rows, columns = to_columns(candidates)
        self.questions, self.texts = [questions.texts[number] for number in numbers], [texts[row] for row in rows]
        self.columns = torch.from_numpy(columns)

    @torch.inference_mode()
    def loss(self, encoder: Encoder) -> float:
        """Return the mean of −log p(right candidate | question) over the dev questions."""
        device = next(encoder.parameters()).device
        vectors = encoder.embed(self.questions, "query"), encoder.embed(self.texts, "document")
        queries, documents = (torch.from_numpy(array).to(device) for array in vectors)
        total = 0.0
        columns = self.columns.to(device)
        for start in range(0, len(queries), QUESTIONS_AT_ONCE):
            part = slice(start, start + QUESTIONS_AT_ONCE)
            total -= float(log_probabilities(encoder.cross, queries[part], documents, columns[part])[:, 0].sum())
        return total / len(queries)


def finetune_ranking(settings: RankingSettings, evaluated: EvaluatedEncoder, data: Path, folder: Path) -> float:
    """Fine-tune an encoder on the training questions of `data`; return the lowest loss on dev (see `finetune`).

    Raises ValueError for a set without training or dev questions.
    """
    check_trainable(data)
    texts, encoder = read_texts(data), load_start_encoder(evaluated)
    encoder.recompute = settings.recompute
    dev = RankingDevSet(read_split(data, "dev", "finetuned"), texts, settings.negatives, mix(evaluated.seed, 6))
    examples = RankingExamples(read_split(data, "train", "finetuned"), texts, encoder, settings)
    task = Finetuning.from_loss("ranking", encoder, AnswerRanking(encoder), examples, dev.loss)
    return finetune(task, settings, evaluated, folder)
