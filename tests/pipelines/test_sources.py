"""The node that finds and checks what a run reads."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from contexture.corpus.errors import SourceError
from contexture.corpus.sources.protocol import SourceFile
from contexture.demo.write import RETRIEVAL
from contexture.pipelines.sources.nodes import locate_sources, read_reqa, read_sentence_tasks
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.evaluation import SentenceTasks
from tests.tasks.sentences import senteval_files

DEMO = {"pages": 25, "seed": 1, "novels": 2}
WORDS: dict[str, Any] = {"vectors": None}
TASKS = {"input": "demo", "analogies": "demo"}


def locate(corpus: dict[str, Any], place: Path) -> list[SourceFile]:
    manifest, _ = locate_sources(corpus, {"input": "demo"}, {"input": "demo"}, TASKS, DEMO, place)
    return TypeAdapter(list[SourceFile]).validate_python(json.loads(json.dumps(manifest))["corpus"])


def test_the_demo_beside_text_of_ones_own(tmp_path: Path) -> None:
    book = tmp_path / "boats.txt"
    book.write_text("The boats lie in the harbour.")
    files = locate({"input": ["demo", {"path": str(book), "lang": "en"}]}, tmp_path / "demo")
    assert [(file.source, file.lang) for file in files] == [*[("books", "en")] * 3, ("mediawiki", "en")]
    assert [Path(file.path).parent == tmp_path / "demo/books" for file in files] == [False, True, True, False]
    assert files[3].site is not None
    assert files[3].site.namespaces["talk"] == 1
    assert locate({"input": "demo", "source": "books"}, tmp_path / "demo") == files[1:]


@pytest.mark.parametrize("asked", ["answers", "retrieval", "sentence_tasks", "analogies", None])
def test_the_demo_is_written_where_anything_asks_for_it(asked: str | None, tmp_path: Path) -> None:
    book = tmp_path / "boats.txt"
    book.write_text("The boats lie in the harbour.")
    given: list[dict[str, Any]] = [
        {"input": "demo" if name == asked else str(tmp_path / "none")}
        for name in ("answers", "retrieval", "sentence_tasks")
    ]
    answers, retrieval, tasks = given
    tasks |= {"analogies": "demo" if asked == "analogies" else None}
    manifest, _ = locate_sources({"input": str(book), "lang": "en"}, answers, retrieval, tasks, DEMO, tmp_path / "demo")
    assert [file["path"] for file in manifest["corpus"]] == [str(book)]
    assert (tmp_path / "demo").exists() == (asked is not None)


def test_sentence_tasks_of_the_demo(tmp_path: Path) -> None:
    sources, _ = locate_sources({"input": "demo"}, {"input": "demo"}, {"input": "demo"}, TASKS, DEMO, tmp_path)
    tasks = read_sentence_tasks(TASKS, WORDS, sources, tmp_path)
    assert tasks["name"] == "the made-up world"
    read = SentenceTasks.read(Path(tasks["folder"]), tasks["counts"])
    every: list[Any] = [*read.classification, *read.relatedness, *read.similarity]
    names = [task.name for task in every]
    assert set(tasks["rows"]) == set(names) == {"mr", "subj", "trec", "mrpc", "sick_e", "sick_r", "stsb", "sts14"}
    assert all(rows > 0 for rows in tasks["rows"].values())
    assert set(tasks["missing"]) == {"cr", "mpqa", "sst2", "sst5", "sts12", "sts13", "sts15", "sts16"}
    assert Path(tasks["analogies"]).is_file() and tasks["image_captions"] is None
    assert json.loads(json.dumps(tasks)) == tasks
    assert read_sentence_tasks(TASKS | {"analogies": None}, WORDS, sources, tmp_path)["analogies"] is None


def test_sentence_tasks_of_a_folder_are_counted_before_any_work(tmp_path: Path) -> None:
    folder = senteval_files.write(tmp_path / "senteval")
    given = {"input": str(folder), "analogies": None}
    with pytest.raises(ValueError, match=r"rt-polarity"):
        read_sentence_tasks(given, WORDS, {}, tmp_path)
    tasks = read_sentence_tasks(given | {"row_counts": "any"}, WORDS, {}, tmp_path)
    assert (tasks["name"], tasks["folder"], tasks["counts"]) == ("SentEval's tasks", str(folder), "any")
    assert tasks["rows"]["mr"] == 3
    assert tasks["dropped"]["cr"] == 2  # two empty lines
    (folder / "MR/rt-polarity.pos").unlink()
    tasks = read_sentence_tasks(given | {"row_counts": "any"}, WORDS, {}, tmp_path)
    assert "mr" not in tasks["rows"] and "rt-polarity.pos" in tasks["missing"]["mr"]
    with pytest.raises(ValueError, match=r"none: there is no such folder"):
        read_sentence_tasks(given | {"input": str(tmp_path / "none")}, WORDS, {}, tmp_path)


@pytest.mark.parametrize("key", ["analogies", "image_captions"])
def test_other_tasks_that_are_named_must_be_there(key: str, tmp_path: Path) -> None:
    given = {"input": str(senteval_files.write(tmp_path / "senteval")), "row_counts": "any", "analogies": None}
    with pytest.raises((BenchmarkMissing, OSError, ValueError), match="nowhere"):
        read_sentence_tasks(given | {key: str(tmp_path / "nowhere")}, WORDS, {}, tmp_path)


def test_a_fault_is_told_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"harbour: no such file or folder"):
        locate({"input": str(tmp_path / "harbour")}, tmp_path / "demo")


def test_questions_of_the_demo_of_a_file_and_of_a_folder(tmp_path: Path) -> None:
    sources, _ = locate_sources({"input": "demo"}, {"input": "demo"}, {"input": "demo"}, TASKS, DEMO, tmp_path)
    questions, candidates, report = read_reqa({"input": "demo"}, sources, tmp_path)
    assert report["name"] == "demo"
    assert report["counts"]["queries"] == len(questions) > 0
    for given in (str(tmp_path / RETRIEVAL), [str(tmp_path / RETRIEVAL)], str(tmp_path)):
        again, others, report = read_reqa({"input": given}, sources, Path("elsewhere"))
        assert report["name"] == "squad"
        assert again.equals(questions) and others.equals(candidates)


def test_missing_questions_are_named_and_leave_the_run_alone(tmp_path: Path) -> None:
    questions, candidates, report = read_reqa({"input": str(tmp_path / "none.json")}, {}, tmp_path)
    assert questions.empty and candidates.empty
    assert "none.json" in report["missing"]


def test_word_vectors_that_are_not_there_end_the_run_before_any_work(tmp_path: Path) -> None:
    given = {"input": str(senteval_files.write(tmp_path / "senteval")), "row_counts": "any", "analogies": None}
    with pytest.raises(FileNotFoundError, match=r"words\.vectors: .*glove\.txt is no file"):
        read_sentence_tasks(given, {"vectors": str(tmp_path / "glove.txt")}, {}, tmp_path)
