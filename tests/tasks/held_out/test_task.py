"""Held-out documents as a task, from the file of questions to the records."""

import json
from pathlib import Path

import pandas as pd
import pytest

from contexture.tasks.base import TASK_FILE, Contestant
from contexture.tasks.held_out.config import HeldOutConfig, HeldOutSettings
from contexture.tasks.held_out.questions import COLUMNS
from contexture.tasks.held_out.task import QUESTIONS, HeldOutTask
from tests.tasks.held_out.test_evaluation import new_encoder
from tests.tasks.held_out.toys import paragraphs, passages

TASK = HeldOutTask()
SETTINGS = HeldOutSettings(least=2)


def read(place: Path, source: str | None) -> Path:
    TASK.read(HeldOutConfig(source), place, place / "data")
    return place / "data"


def test_questions_are_read_once(tmp_path: Path) -> None:
    file = tmp_path / "own.tsv"
    file.write_text("who?\tlamp\nwho?\tferry\nwhere?\tquay\n")
    data = read(tmp_path, str(file))
    assert pd.read_parquet(data / QUESTIONS).to_numpy().tolist() == [
        ["who?", "lamp"],
        ["who?", "ferry"],
        ["where?", "quay"],
    ]
    report = json.loads((data / TASK_FILE).read_text())
    assert report == {"name": "own_text", "counts": {"questions": 2}, "missing": {}}
    file.write_text("who?\n")
    with pytest.raises(ValueError, match=r"own\.tsv, line 1"):
        read(tmp_path, str(file))
    assert len(pd.read_parquet(data / QUESTIONS)) == 3


def test_questions_in_ones_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "own.tsv").write_text("who?\tlamp\n")
    assert len(pd.read_parquet(read(tmp_path, "~/own.tsv") / QUESTIONS)) == 1


def test_without_questions_of_ones_own_there_are_those_of_the_documents(tmp_path: Path) -> None:
    data = read(tmp_path, None)
    assert list(pd.read_parquet(data / QUESTIONS).columns) == COLUMNS
    tables = {"passages": passages(tmp_path / "passages"), "paragraphs": paragraphs(tmp_path / "paragraphs")}
    who = [Contestant("one", 0, (new_encoder(tmp_path / "encoder"),))]
    found = TASK.evaluate(SETTINGS, who, data, tmp_path / "vectors", **tables)
    assert {record["data"] for record in found.records} == {"headings", "sentences"}
    again = TASK.evaluate(SETTINGS, who, data, tmp_path / "vectors", **tables)
    assert again.records == found.records and again.facts == found.facts
    with pytest.raises(ValueError, match="give the system a stream of pairs"):
        TASK.evaluate(SETTINGS, who, data, tmp_path / "vectors")


def test_questions_that_name_no_document_at_all_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.tsv"
    tables = {"passages": passages(tmp_path / "passages"), "paragraphs": paragraphs(tmp_path / "paragraphs")}
    file.write_text("who?\tlost\nwhere?\tgone\n")
    with pytest.raises(ValueError, match=r"^held_out\.input: the text has no document 'gone', 'lost'$"):
        TASK.evaluate(SETTINGS, [], read(tmp_path, str(file)), tmp_path / "vectors", **tables)
    file.write_text("who?\tlost\nwhere?\tQuay\n")
    who = [Contestant("one", 0, (new_encoder(tmp_path / "encoder"),))]
    found = TASK.evaluate(SETTINGS, who, read(tmp_path, str(file)), tmp_path / "vectors", **tables)
    assert found.facts["unknown"] == ["lost"] and found.facts["asked"]["questions"] == 1
