"""A corpus without the documents of an evaluation."""

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


def word_runs(text: str) -> set[tuple[str, ...]]:
    """Return all runs of 13 words."""
    words = re.findall(r"\w+", text.lower())
    return set(zip(*(words[first:] for first in range(13)), strict=False))


@pytest.mark.slow
def test_pages_of_dev_and_test_questions_are_kept_out(spark: SparkSession, make_project: Callable[[], Path]) -> None:
    folder = make_project()
    params = SMALLEST | {"cleaning": {"evaluation": ["answer_selection"]}}
    run(folder, params, pipeline_names=["corpus"], to_nodes=["text.report_corpus"])
    task_dir = folder / "data/03_primary/tasks/answer_selection/demo"
    held_out = pd.concat([pd.read_parquet(task_dir / f"{split}.parquet") for split in ("dev", "test")])
    titles, texts = set(held_out["title"]), set[tuple[str, ...]]().union(*map(word_runs, held_out["candidate"]))
    paragraphs = pd.read_parquet(folder / "data/02_intermediate/paragraphs")
    kept = pd.read_parquet(folder / "data/03_primary/paragraphs")
    alike = {row.title for row in paragraphs.itertuples() if texts & word_runs(row.text)}
    kept_out = titles | alike
    assert titles and not kept_out & set(kept["title"])
    counts = read(folder, "08_reporting/corpus/counts.json")
    dropped = paragraphs[paragraphs["title"].isin(kept_out)]
    assert counts["evaluation"] == {
        "tasks": "answer_selection",
        "documents": dropped["doc_id"].nunique(),
        "paragraphs": len(dropped),
        "missing": {},
    }
    assert counts["paragraphs_dropped"]["evaluation_document"] == len(dropped)
    card = (folder / "data/08_reporting/corpus/card.html").read_text(encoding="utf-8")
    assert "evaluation: documents" in card and "Dropped: evaluation document" in card


def test_missing_files_are_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    AnswerSelectionTask().prepare_data(
        AnswersConfig(input={"wikiqa": str(tmp_path / "nowhere")}), tmp_path, tmp_path / "task"
    )
    with caplog.at_level(logging.WARNING, "contexture"):
        evaluation, missing = read_evaluation(["answer_selection"], [tmp_path / "task"])
    assert evaluation is None and "nowhere" in missing["answer_selection"]
    assert "no document could be kept out of the corpus for answer_selection: WikiQA is not here" in caplog.text
    assert read_evaluation([], []) == (None, {})
