"""A corpus without the documents that an evaluation asks about."""

import logging
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from contexture.pipelines.corpus.nodes import read_evaluation
from contexture.tasks.answer_selection.config import AnswersConfig
from contexture.tasks.answer_selection.task import AnswerSelectionTask
from tests.pipelines.conftest import SMALLEST, read, run


def test_pages_of_dev_and_test_questions_are_kept_out(spark: SparkSession, make_project: Callable[[], Path]) -> None:
    """The stage alone reads the task that it is told of."""
    folder = make_project()
    given = SMALLEST | {"cleaning": {"evaluation": ["answer_selection"]}}
    run(folder, given, pipeline_names=["corpus"], to_nodes=["report_corpus"])
    answers = pd.read_parquet(folder / "data/03_primary/tasks/answer_selection/answers.parquet")
    asked = set(answers.loc[answers["split"].isin(["dev", "test"]), "title"])
    found = pd.read_parquet(folder / "data/02_intermediate/paragraphs")
    kept = pd.read_parquet(folder / "data/03_primary/paragraphs")
    assert asked and set(found["title"]) - set(kept["title"]) == asked
    assert set(answers.loc[answers["split"].eq("train"), "title"]) <= set(kept["title"])
    counts = read(folder, "08_reporting/corpus/counts.json")
    dropped = found[found["title"].isin(asked)]
    assert counts["evaluation"] == {
        "tasks": "answer_selection",
        "documents": dropped["doc_id"].nunique(),
        "paragraphs": len(dropped),
        "missing": {},
    }
    assert counts["paragraphs_dropped"]["evaluation_document"] == len(dropped)
    card = (folder / "data/08_reporting/corpus/card.html").read_text(encoding="utf-8")
    assert "evaluation: documents" in card and "Dropped: evaluation document" in card


def test_missing_files_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    AnswerSelectionTask().read(AnswersConfig(input=str(tmp_path / "nowhere")), tmp_path, tmp_path / "task")
    with caplog.at_level(logging.WARNING, "contexture"):
        evaluation, missing = read_evaluation(["answer_selection"], [tmp_path / "task"])
    assert evaluation is None and "nowhere" in missing["answer_selection"]
    assert "no document could be kept out of the corpus for answer_selection: WikiQA is not here" in caplog.text
    assert read_evaluation([], []) == (None, {})
