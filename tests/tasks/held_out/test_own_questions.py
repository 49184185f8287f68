"""Checks of a user's questions before a run."""

import json
import time
from pathlib import Path

import pytest

from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import find_sources
from contexture.corpus.sources.protocol import SourceFile
from contexture.tasks.held_out.own_questions import check_questions, find_nearest

TEXT = "The boats lie in the harbour, and the gulls wait."


def write_corpus(folder: Path, count: int) -> list[SourceFile]:
    """Write documents in BEIR's layout."""
    folder.mkdir()
    with (folder / "corpus.jsonl").open("w") as file:
        for number in range(count):
            file.write(json.dumps({"_id": f"doc-{number}", "title": f"Page {number}", "text": TEXT}) + "\n")
    return find_sources(CorpusConfig(input=str(folder), lang="en"))


def write_questions(folder: Path, answers: list[str]) -> Path:
    file = folder / "questions.tsv"
    file.write_text("".join(f"question {number}?\t{answer}\n" for number, answer in enumerate(answers)))
    return file


def test_ids_titles_and_passages_are_known(tmp_path: Path) -> None:
    files = write_corpus(tmp_path / "text", 30)
    answers = ["doc-1", "en:doc-2", "Page 3", "doc-4#0", *(f"doc-{number}" for number in range(5, 21))]
    assert check_questions(write_questions(tmp_path, answers), files) == (20, [])


def test_ids_have_the_language_of_their_line(tmp_path: Path) -> None:
    """Stated, or detected in a file of several languages."""
    german = "Die Boote liegen im Hafen, und die Möwen warten auf den Abend, der nicht mehr fern ist."
    english = "The boats lie in the harbour, and the gulls wait for the evening, which is not far away."
    lines = [{"id": 1, "text": TEXT, "lang": "sv"}, {"id": 2, "text": german}, {"id": 3, "text": english}]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    files = find_sources(CorpusConfig(input=str(tmp_path / "a.jsonl")))
    questions = write_questions(tmp_path, ["sv:1#0", "de:2", "en:3#1"] * 7)
    assert check_questions(questions, files) == (21, [])


def test_few_questions_and_unknown_answers_are_notes(tmp_path: Path) -> None:
    files = write_corpus(tmp_path / "text", 30)
    path = write_questions(tmp_path, ["doc-1", "dok-17", "Page 3"])
    count, (few, unknown) = check_questions(path, files)
    assert (count, few) == (3, "3 questions: too few to decide (20), reported only")
    assert unknown == f"{path}: unknown document 'dok-17'; the closest match is 'doc-17'"
    with pytest.raises(ValueError, match=r"unknown document 'x'; the closest match is"):
        check_questions(write_questions(tmp_path, ["x"]), files)


def test_a_hundred_thousand_documents_are_checked_within_seconds(tmp_path: Path) -> None:
    files = write_corpus(tmp_path / "text", 100_000)
    start = time.process_time()
    _, notes = check_questions(write_questions(tmp_path, ["doc-99999", "dox-77777"]), files)
    print(f"{time.process_time() - start:.1f} processor seconds")
    assert notes[1].endswith("the closest match is 'doc-77777'")


def test_the_nearest_name() -> None:
    assert find_nearest("readme", ["guide/read.md", "README.md", "other.md"]) == "README.md"
    assert find_nearest("x", ["a"]) == "a"
