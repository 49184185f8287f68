"""A corpus without the documents that an evaluation asks about."""

import logging
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from contexture.pipelines.corpus.nodes import read_evaluation
from contexture.tasks.answer_selection.config import AnswersConfig
from contexture.tasks.answer_selection.task import AnswerSelectionTask
from tests.pipelines.conftest import SMALLEST, read, run


def runs_of_words(text: str) -> set[tuple[str, ...]]:
    """All runs of 13 words."""
    words = re.findall(r"\w+", text.lower())
    return set(zip(*(words[first:] for first in range(13)), strict=False))


@pytest.mark.slow
def test_pages_of_dev_and_test_questions_are_kept_out(spark: SparkSession, make_project: Callable[[], Path]) -> None:
    """The stage alone reads the task that it is told of."""
    folder = make_project()
    given = SMALLEST | {"cleaning": {"evaluation": ["answer_selection"]}}
    run(folder, given, pipeline_names=["corpus"], to_nodes=["text.report_corpus"])
    place = folder / "data/03_primary/tasks/answer_selection/demo"
    held_out = pd.concat([pd.read_parquet(place / f"{split}.parquet") for split in ("dev", "test")])
    asked, texts = set(held_out["title"]), set[tuple[str, ...]]().union(*map(runs_of_words, held_out["candidate"]))
    found = pd.read_parquet(folder / "data/02_intermediate/paragraphs")
    kept = pd.read_parquet(folder / "data/03_primary/paragraphs")
    alike = {row.title for row in found.itertuples() if texts & runs_of_words(row.text)}
    kept_out = asked | alike
    assert asked and not kept_out & set(kept["title"])
    counts = read(folder, "08_reporting/corpus/counts.json")
    dropped = found[found["title"].isin(kept_out)]
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
    AnswerSelectionTask().prepare_data(
        AnswersConfig(input={"wikiqa": str(tmp_path / "nowhere")}), tmp_path, tmp_path / "task"
    )
    with caplog.at_level(logging.WARNING, "contexture"):
        evaluation, missing = read_evaluation(["answer_selection"], [tmp_path / "task"])
    assert evaluation is None and "nowhere" in missing["answer_selection"]
    assert "no document could be kept out of the corpus for answer_selection: WikiQA is not here" in caplog.text
    assert read_evaluation([], []) == (None, {})
