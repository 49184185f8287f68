"""Questions and candidates in every format."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import TypeAdapter

from contexture.demo import DemoConfig, write_demo_world
from contexture.tasks.ranking.config import RankingConfig
from contexture.tasks.ranking.data import candidate_documents, read_split, read_texts
from contexture.tasks.ranking.files import NO_TEXT, has_answer
from contexture.tasks.ranking.task import AnswerRankingTask
from tests.tasks.ranking import toys

HOTPOT = {
    "_id": "h1", "question": "Who came first?", "answer": "Ann", "type": "comparison", "level": "hard",
    "supporting_facts": [["Ann", 0], ["Bob", 0], ["Ann", 1]],
    "context": [["Cy", ["Cy is."]], ["Ann", ["Ann was born", " in 1900."]], ["Bob", ["Bob was born in 1901."]]],
}  # fmt: skip


def read_texts_of_split(folder: Path, split: Any) -> list[tuple[str, list[str], list[str]]]:
    """Return question, candidates and right candidates as texts."""
    texts, questions = read_texts(folder), read_split(folder, split)
    return [
        (question, [texts[row] for row in candidates], [texts[row] if row != NO_TEXT else "absent" for row in right])
        for question, candidates, right in zip(questions.texts, questions.candidates, questions.right, strict=True)
    ]


def read_test_file(folder: Path, kind: str, rows: list[Any], **options: Any) -> dict[str, Any]:
    """Read a set `s` with test questions in one JSON file; return the report."""
    (folder / "dev.json").write_text(json.dumps(rows), encoding="utf-8")
    source = {"format": kind, "files": {"test": str(folder / "dev.json")}} | options
    return toys.read(folder / "read", {"s": source})


@pytest.mark.parametrize("published", [True, False])
def test_quasar_t(published: bool, tmp_path: Path) -> None:
    """In the published folders or in one folder; gzipped or not."""
    source = tmp_path / "quasar-t"
    questions, contexts = (source / "questions", source / "contexts/short") if published else (source, source)
    sentences = ["A plain jane .", "Emma , by Jane Austen ."]
    for split in ("train", "dev", "test"):
        toys.lines(
            questions / f"{split}_questions.json",
            {"uid": f"{split}1", "question": "Who wrote Emma ?", "answer": "jane austen", "tags": []},
            {"uid": f"{split}2", "question": "Which one ?", "answer": "none"},
        )
        toys.lines(
            contexts / f"{split}_contexts.json",
            {"uid": f"{split}2", "contexts": [[0.9, "Emma by Jane Austen"]]},
            {"uid": f"{split}1", "contexts": [[0.7, sentences[0]], [0.6, sentences[1]], [0.5, sentences[0]]]},
        )
    file = contexts / "test_contexts.json"
    (contexts / "test_contexts.json.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    report = toys.read(tmp_path / "read", {"q": {"format": "quasar_t", "files": str(source)}})
    expected = [("Who wrote Emma ?", sentences, sentences[1:])]
    assert [read_texts_of_split(tmp_path / "read/q", split) for split in ("train", "dev", "test")] == [expected] * 3
    assert report["counts"]["q"]["test questions"] == 1
    assert report["counts"]["q"]["test questions without a right candidate, left out"] == 1
    assert report["all_needed"] == {"q": False}


def test_has_answer() -> None:
    assert has_answer("It was (New-York)!", "new york")
    assert (
        not has_answer("a new old york", "new york")
        and not has_answer("Newyorkers", "new")
        and not has_answer("?", "!")
    )


@pytest.mark.parametrize("columns", [True, False])
def test_hotpotqa(columns: bool, tmp_path: Path) -> None:
    """Two gold paragraphs; a third, which is not a candidate, is missed. In both layouts."""
    rows: list[dict[str, Any]] = [HOTPOT, HOTPOT | {"_id": "h2", "supporting_facts": [["Dee", 0], ["Bob", 0]]}]
    if columns:
        names = {"supporting_facts": ("title", "sent_id"), "context": ("title", "sentences")}
        rows = [
            row
            | {key: dict(zip(two, map(list, zip(*row[key], strict=True)), strict=True)) for key, two in names.items()}
            for row in rows
        ]
    report = read_test_file(tmp_path, "hotpotqa", rows)
    candidates = ["Cy is.", "Ann was born in 1900.", "Bob was born in 1901."]
    assert read_texts_of_split(tmp_path / "read/s", "test") == [
        ("Who came first?", candidates, candidates[1:]),
        ("Who came first?", candidates, ["absent", candidates[2]]),
    ]
    assert report["all_needed"] == {"s": True} and report["counts"]["s"]["texts"] == 3
    assert report["counts"]["s"]["right candidates of test questions that are not among theirs"] == 1
    titled = zip(("Cy", "Ann", "Bob"), candidates, strict=True)
    assert candidate_documents(tmp_path / "read/s").to_numpy().tolist() == list(map(list, titled))


def test_two_gold_paragraphs_of_one_text_are_one(tmp_path: Path) -> None:
    """Each right paragraph without a text is missed."""
    alike = [["Ann", ["One text."]], ["Bob", ["One text."]], ["Cy", ["Another."]]]
    details = [[name, 0] for name in ("Ann", "Bob", "Dee", "Eve")]
    read_test_file(tmp_path, "hotpotqa", [HOTPOT | {"context": alike, "supporting_facts": details}])
    (right,) = read_split(tmp_path / "read/s", "test").right
    assert right.tolist() == [0, -1, -1]


def test_wikiqa_without_a_right_sentence_is_counted_and_left_out(tmp_path: Path) -> None:
    folder = toys.wikiqa(
        tmp_path / "wikiqa", train=[("q", "an ash", 1), ("q", "an elm", 0)], dev=[("d", "an ash", 1)],
        test=[("t", "an ash", 0), ("t", "an oak", 1), ("u", "an oak", 0), ("u", "an elm", 0)],
    )  # fmt: skip
    report = toys.read(tmp_path / "read", {"w": {"format": "wikiqa", "files": str(folder)}})
    assert read_texts_of_split(tmp_path / "read/w", "test") == [("t", ["an ash", "an oak"], ["an oak"])]
    assert read_texts_of_split(tmp_path / "read/w", "train") == [("q", ["an ash", "an elm"], ["an ash"])]
    assert report["counts"]["w"]["test questions without a right candidate, left out"] == 1
    assert report["counts"]["w"]["texts"] == 3 and report["notes"] == []


def test_bm25_selects_squad_paragraphs(tmp_path: Path) -> None:
    rows = [
        {"context": "Oaks grow slowly.", "question": "What do oaks do?", "answer": "grow"},
        {"context": "Oaks and elms are trees; oaks live long.", "question": "What are oaks?", "answer": "trees"},
        {"context": "Elms are trees.", "question": "What are oaks?", "answer": "lost"},
        {"context": "Rivers run.", "question": "Zzz?", "answer": "run"},
    ]
    report = read_test_file(tmp_path, "squad", rows)
    first, second, third, fourth = (row["context"] for row in rows)
    assert read_texts_of_split(tmp_path / "read/s", "test") == [
        ("What do oaks do?", [second, first], [first]),
        ("What are oaks?", [second, first], [second, third]),  # answered or not
        ("Zzz?", [], [fourth]),
    ]
    assert report["counts"]["s"]["right candidates of test questions that are not among theirs"] == 2
    assert report["notes"] == ["s: the candidates of a question are the first 1,000 of all texts that BM25 finds"]
    read_test_file(tmp_path, "squad", rows, pool=1)
    assert [len(candidates) for _, candidates, _ in read_texts_of_split(tmp_path / "read/s", "test")] == [1, 1, 0]


def test_questions_of_one_file_are_split_by_their_ids(tmp_path: Path) -> None:
    file = toys.squad(tmp_path / "all.json", 400)
    report = toys.read(tmp_path / "read", {"a": {"format": "squad", "files": str(file)}})
    counts = report["counts"]["a"]
    sizes = [counts[f"{split} questions"] for split in ("train", "dev", "test")]
    assert sum(sizes) == 400 and 300 < sizes[0] < 340 and min(sizes) > 25
    assert report["notes"][0] == "a: questions are split by a hash of their ids: 80 % train, 10 % dev, 10 % test"
    fewer = tmp_path / "fewer.json"
    fewer.write_text(json.dumps(json.loads(file.read_text())[:200]), encoding="utf-8")
    toys.read(tmp_path / "again", {"a": {"format": "squad", "files": str(fewer)}})
    whole, part = (pd.read_parquet(tmp_path / name / "a/questions.parquet") for name in ("read", "again"))
    both = part.merge(whole, on="question_id")
    assert len(both) == 200 and (both["split_x"] == both["split_y"]).all()


def test_dev_questions_are_taken_from_train(tmp_path: Path) -> None:
    files = {split: str(toys.squad(tmp_path / f"{split}.json", 200)) for split in ("train", "test")}
    report = toys.read(tmp_path / "read", {"a": {"format": "squad", "files": files}})
    counts = report["counts"]["a"]
    assert counts["test questions"] == 200 and 0 < counts["dev questions"] < 25
    assert counts["train questions"] == 200 - counts["dev questions"]
    assert "5 % of the training questions" in report["notes"][0]


def test_the_demo_set_is_read(tmp_path: Path) -> None:
    write_demo_world(DemoConfig(pages=25, novels=1), tmp_path / "demo")
    AnswerRankingTask().prepare_data(RankingConfig(), tmp_path / "demo", tmp_path / "read")
    report = json.loads((tmp_path / "read/task.json").read_text())
    assert report["name"] == "demo" and report["missing"] == {}
    assert report["counts"]["demo"]["train questions"] > 5 * report["counts"]["demo"]["test questions"] > 0
    documents = AnswerRankingTask().load_documents(tmp_path / "read")
    assert documents is not None and set(documents) == {"title", "text"} and documents["title"].ne("").all()


def test_missing_sets_do_not_stop_the_others(tmp_path: Path) -> None:
    sets = {
        "gone": {"format": "quasar_t", "files": str(tmp_path / "none")},
        "here": {"format": "squad", "files": str(toys.squad(tmp_path / "all.json"))},
    }
    report = toys.read(tmp_path / "read", sets)
    assert set(report["counts"]) == {"here"} and "Download Quasar-T" in report["missing"]["gone"]
    assert not (tmp_path / "read/gone").exists()
    nothing = toys.read(tmp_path / "nothing", {"gone": sets["gone"]})
    assert nothing["counts"] == {} and AnswerRankingTask().load_documents(tmp_path / "nothing") is None


QUESTION = {"uid": "1", "question": "q", "answer": "a"}


@pytest.mark.parametrize(
    ("questions", "contexts", "message"),
    [
        ([{"uid": "1"}], [], r"train_questions\.json, line 1: no text under the key 'question'; a line of questions"),
        ([QUESTION], [{"uid": "1"}], r"train_contexts\.json, line 1: no list under the key 'contexts'"),
        ([QUESTION], [{"uid": "2", "contexts": []}], r"train_contexts\.json, line 1: no question has the uid '2'"),
        ([QUESTION], [{"uid": "1", "contexts": []}] * 2, r"train_contexts\.json, line 2: no question .* or two lines"),
        ([QUESTION], [{"uid": "1", "contexts": [["a", 1]]}], r"line 1: .* is no \[score, text\]"),
    ],
)
def test_errors_name_damaged_lines_of_quasar_t(
    questions: list[Any], contexts: list[Any], message: str, tmp_path: Path
) -> None:
    toys.lines(tmp_path / "train_questions.json", *questions)
    toys.lines(tmp_path / "train_contexts.json", *contexts)
    with pytest.raises(ValueError, match=message):
        toys.read(tmp_path / "read", {"q": {"format": "quasar_t", "files": str(tmp_path)}})
    assert not (tmp_path / "read").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", r"dev\.json: no list; a file must be"),
        ('[\n{"question"', r"dev\.json, line 2, column 12: broken JSON"),
        ('[{"context": []}]', r"dev\.json, \[0\]: no text under the key 'question'"),
        (json.dumps([HOTPOT | {"context": "text"}]), r"\[0\]: no list of pairs under the key 'context'"),
        (json.dumps([HOTPOT | {"context": [["A", "text"]]}]), r"\[0\]\.context: the paragraph 'A' is no list of"),
        (json.dumps([HOTPOT | {"supporting_facts": {"title": ["A"], "sent_id": []}}]), r"no list of pairs under"),
        (json.dumps([HOTPOT, HOTPOT]), r"question h1 occurs twice"),
        ("[]", "dev.*BM25: there are no candidates"),
    ],
)
def test_errors_name_damaged_files_of_hotpotqa(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/dev.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        toys.read(tmp_path / "read", {"h": {"format": "hotpotqa", "files": str(tmp_path / "dev")}})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"format": "wikiqa", "files": {"test": "a"}}, "for wikiqa, name the folder with the files of all splits"),
        ({"format": "squad", "files": {}}, "files: name at least one"),
        ({"format": "squad", "files": "a", "pool": 0}, "greater than 0"),
        ({"format": "trec", "files": "a"}, "quasar_t"),
    ],
)
def test_errors_name_impossible_sets(source: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TypeAdapter(RankingConfig).validate_python({"input": {"mine": source}})
    with pytest.raises(ValueError, match="pattern"):
        TypeAdapter(RankingConfig).validate_python({"input": {"../mine": {"format": "squad", "files": "a"}}})


#: File, then numbers of questions with and without a right candidate, and of texts.
REAL = {
    "hotpotqa": ("question_answering/hotpotqa_slice/hotpot_dev_distractor_v1.json", 100, 0, 990),
    "wikiqa": ("answer_selection/wikiqa", 1242, 1805, 26_196),
    "squad": ("question_answering/squad_v1.1_dev/dev-v1.1.reconstructed.json", 10539, 0, 2067),
}


@pytest.mark.parametrize("kind", ["hotpotqa", "wikiqa", pytest.param("squad", marks=pytest.mark.slow)])
def test_real_files(kind: str, shared_data: Path, tmp_path: Path) -> None:
    path, answered, unanswered, texts = REAL[kind]
    report = toys.read(tmp_path / "read", {"real": {"format": kind, "files": str(shared_data / path)}})
    counts = report["counts"]["real"]
    splits = ("train", "dev", "test")
    assert sum(counts[f"{split} questions"] for split in splits) == answered
    left_out = "questions without a right candidate, left out"
    assert sum(counts.get(f"{split} {left_out}", 0) for split in splits) == unanswered
    assert counts["texts"] == texts
