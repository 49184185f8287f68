"""The task of held-out documents, from the file of questions to records."""

import json
from pathlib import Path

import pandas as pd
import pytest

from contexture.tasks.base import TASK_FILE, EvaluatedEncoder, Results
from contexture.tasks.held_out.config import HeldOutConfig, HeldOutSettings
from contexture.tasks.held_out.questions import QUESTION_COLUMNS
from contexture.tasks.held_out.task import QUESTIONS_FILE, HeldOutTask
from tests.tasks.held_out.toys import write_paragraphs, write_passages
from tests.tasks.retrieval.toys import new_bag

TASK = HeldOutTask()


def read(folder: Path, source: str | None) -> Path:
    TASK.prepare_data(HeldOutConfig(source), folder, folder / "data")
    return folder / "data"


def evaluate(folder: Path, data: Path) -> Results:
    tables = {"passages": folder / "passages", "paragraphs": folder / "paragraphs"}
    if not tables["passages"].exists():
        write_passages(tables["passages"])
        write_paragraphs(tables["paragraphs"])
    encoders = [EvaluatedEncoder("one", 0, (new_bag(folder / "encoder"),))]
    return TASK.evaluate(HeldOutSettings(), encoders, data, folder / "vectors", **tables)


def test_questions_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "own.tsv"
    file.write_text("who?\tlamp\nwho?\tferry\nwhere?\tquay\n")
    data = read(tmp_path, "~/own.tsv")
    rows = [["who?", "lamp"], ["who?", "ferry"], ["where?", "quay"]]
    assert pd.read_parquet(data / QUESTIONS_FILE).to_numpy().tolist() == rows
    report = json.loads((data / TASK_FILE).read_text())
    assert report == {"name": "own_text", "counts": {"questions": 2}, "missing": {}}
    file.write_text("who?\n")
    with pytest.raises(ValueError, match=r"own\.tsv, line 1"):
        read(tmp_path, str(file))
    assert len(pd.read_parquet(data / QUESTIONS_FILE)) == 3


def test_without_user_questions_those_of_the_documents_are_used(tmp_path: Path) -> None:
    data = read(tmp_path, None)
    assert list(pd.read_parquet(data / QUESTIONS_FILE).columns) == QUESTION_COLUMNS
    results = evaluate(tmp_path, data)
    assert {record["data"] for record in results.records} == {"headings", "sentences"}
    again = evaluate(tmp_path, data)
    assert again.records == results.records and again.details == results.details
    with pytest.raises(ValueError, match="add a stream of pairs"):
        TASK.evaluate(HeldOutSettings(), [], data, tmp_path / "vectors")


def test_questions_with_only_unknown_answers_raise(tmp_path: Path) -> None:
    file = tmp_path / "own.tsv"
    file.write_text("who?\tlost\nwhere?\tgone\n")
    with pytest.raises(ValueError, match=r"^the questions \(held_out\.input, .*\): unknown document 'gone', 'lost'$"):
        evaluate(tmp_path, read(tmp_path, str(file)))
    file.write_text("who?\tlost\nwhere?\tQuay\n")
    results = evaluate(tmp_path, read(tmp_path, str(file)))
    assert results.details["unknown"] == ["lost"] and results.details["asked"]["questions"] == 1
