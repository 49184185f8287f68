"""Scores of single questions from the tables that tasks save."""

from pathlib import Path

import pandas as pd
import pytest

from contexture.metrics.ranking import question_metrics
from contexture.tasks.answer_selection.evaluation import COLUMNS
from contexture.tasks.question_scores import read_question_scores
from contexture.tasks.retrieval.evaluation import RANK_COLUMNS
from contexture.tasks.retrieval.ranks import recalls

RUN = {"variant": "ict", "seed": 0, "split": "test", "protocol": "frozen"}


def test_recall_follows_from_the_ranks_of_retrieval(tmp_path: Path) -> None:
    ranks = pd.DataFrame({"question_id": ["a", "b", "c", "d"], "rank": [1, 10, 11, 0], "sentence_rank": [1, 1, 1, 0]})
    ranks = ranks.assign(**RUN)[RANK_COLUMNS]
    ranks.to_parquet(tmp_path / "ranks.parquet")
    for metric in ("recall_at_1", "recall_at_10", "recall_at_100", "sentence_recall_at_1"):
        scores = read_question_scores(tmp_path, "squad", metric)
        assert scores is not None and scores["question"].tolist() == ["a", "b", "c", "d"]
        assert scores["value"].tolist() == recalls(ranks)[metric].tolist()
    assert read_question_scores(tmp_path, "squad", "map") is None


def test_each_set_of_answers_has_its_table(tmp_path: Path) -> None:
    rows = [("q1", "c1", 1, 0.5), ("q1", "c2", 0, 0.7), ("q2", "c3", 1, 0.1)]
    scores = pd.DataFrame(rows, columns=["question_id", "candidate_id", "label", "score"]).assign(**RUN)[COLUMNS]
    scores.to_parquet(tmp_path / "scores-wikiqa.parquet")
    question_metrics(scores).to_parquet(tmp_path / "questions-wikiqa.parquet")
    question_metrics(scores[:0].reset_index(drop=True)).to_parquet(tmp_path / "questions-asnq.parquet")
    measured = read_question_scores(tmp_path, "wikiqa", "map")
    assert measured is not None and measured["value"].tolist() == [0.5, 1.0]
    assert read_question_scores(tmp_path, "trecqa", "map") is None


@pytest.mark.parametrize(("data", "values"), [("squad", [1.0]), ("hotpotqa", [0.5])])
def test_a_table_of_several_sets_is_filtered(data: str, values: list[float], tmp_path: Path) -> None:
    table = pd.DataFrame({"data": ["squad", "hotpotqa"], "question_id": ["a", "b"], "recall_at_20": [1.0, 0.5]})
    table.assign(**RUN).to_parquet(tmp_path / "ranks.parquet")
    scores = read_question_scores(tmp_path, data, "recall_at_20")
    assert scores is not None and scores["value"].tolist() == values


def test_accuracy_follows_from_predicted_labels(tmp_path: Path) -> None:
    table = pd.DataFrame({"claim_id": [1, 2], "label": ["SUPPORTS", "REFUTES"], "given": ["SUPPORTS", "SUPPORTS"]})
    table.assign(**RUN).to_parquet(tmp_path / "judgements.parquet")
    scores = read_question_scores(tmp_path, "fever", "accuracy")
    assert scores is not None and scores["value"].tolist() == [1.0, 0.0]


def test_a_task_without_tables(tmp_path: Path) -> None:
    assert read_question_scores(tmp_path / "absent", "squad", "recall_at_1") is None


def test_a_table_without_runs_has_no_scores(tmp_path: Path) -> None:
    pd.DataFrame({"query_id": [0], "kind": ["links"], "ndcg_at_10": [0.5]}).to_parquet(tmp_path / "questions.parquet")
    assert read_question_scores(tmp_path, "links", "ndcg_at_10") is None
