"""The weight with which rankings are fused is chosen on dev questions."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from contexture.retrieval.fusion import EQUAL_WEIGHT
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.retrieval import evaluation
from contexture.tasks.retrieval.evaluation import RetrievalModel, _choose_weight
from contexture.tasks.retrieval.reqa import split_questions


class Answers:
    """A pool in which row 0 answers each question, and the identity as a model of questions."""

    depth = 20

    def embed_queries(self, texts: list[str]) -> list[str]:
        return texts

    def rank_answers(self, questions: pd.DataFrame, rows: np.ndarray) -> pd.DataFrame:
        ranks = np.where((rows == 0).any(axis=1), (rows == 0).argmax(axis=1) + 1, 0)
        return pd.DataFrame({"question_id": questions["question_id"], "rank": ranks, "sentence_rank": ranks})


@pytest.mark.parametrize(("share", "weight"), [(50, 0.4), (2, EQUAL_WEIGHT), (None, EQUAL_WEIGHT)])
def test_the_weight_of_a_fusion_is_chosen_on_dev_questions(
    share: float | None, weight: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BM25 finds the answers of dev questions, with rank 8, the encoder those of the others.

    With more than 0.4, too many rows of the encoder precede an answer. A share of 2% has too few dev questions.
    """
    splits = split_questions([f"q{number}" for number in range(600)], 0.5, 3).sort_values(ascending=False)
    names, is_dev = splits.index.tolist(), splits.to_numpy() == "dev"  # dev questions come last
    questions = pd.DataFrame({"question_id": names, "question": names})
    assert is_dev.sum() == 30
    hits, misses = [*range(1, 8), 0, *range(8, 20)], [*range(101, 121)]
    by_words = np.where(is_dev[:, None], hits, misses)
    by_vectors = dict(zip(names, np.where(is_dev[:, None], misses, hits), strict=True))
    monkeypatch.setattr(evaluation, "search_exact", lambda _, texts, __: (0, np.array([by_vectors[t] for t in texts])))
    model, both = RetrievalModel(EvaluatedEncoder("a", 3, ("x",)), ("x",), share), Answers()
    arguments: Any = (model, questions, both, both, None, by_words)
    assert _choose_weight(*arguments) == weight
