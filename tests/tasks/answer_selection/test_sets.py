"""Every published form of a set, hand-written; what is kept, counted, checked and refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.tasks.answer_selection import sets
from contexture.tasks.answer_selection.files import Candidate, Question, read_questions
from contexture.tasks.answer_selection.sets import PUBLISHED, Published, Release, Size, find_parts, write_set
from contexture.tasks.missing import BenchmarkMissing

#: As jacana distributes TREC-QA: tokens, parts of speech, dependencies, heads, entities; the answer and its place.
PSEUDO_XML = """<root>
<QApairs id='32.1'>
<question>
Where\tdo\tgulls\tnest\t?
WRB\tVBP\tNNS\tNN\t.
VMOD\tROOT\tSUB\tVMOD\tP
2\t0\t2\t2\t2
-\t-\tANIMAL-B\t-\t-
</question>
<positive>
Gulls\tnest\ton\t<num>\tcliffs\t.
NNS\tVBP\tIN\tCD\tNNS\t.
SUB\tROOT\tVMOD\tNMOD\tPMOD\tP
2\t0\t2\t5\t3\t2
-\t-\t-\t-\t-\t-
cliffs\t
5\t
</positive>
<negative>
<num>\tgulls\t.
CD\tNNS\t.
</negative>
</QApairs>
<QApairs id="32.2">
<question>
Who\tfeeds\tthem\t?
WP\tVBZ\tPRP\t.
</question>
<negative>
Nobody\t.
NN\t.
</negative>
</QApairs>
</root>
"""
QUESTIONS = [
    Question("32.1", "Where do gulls nest ?", [Candidate("0", "Gulls nest on <num> cliffs .", 1),
                                               Candidate("1", "<num> gulls .", 0)]),
    Question("32.2", "Who feeds them ?", [Candidate("0", "Nobody .", 0)]),
]  # fmt: skip
JSON_LINES = [
    {"question": one.text, "candidates": [{"sentence": c.text, "label": c.label} for c in one.candidates]}
    for one in QUESTIONS
]
HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"
ASNQ = [
    ("where do gulls nest", "Gulls nest on cliffs .", 4),
    ("where do gulls nest", 'The "gull" .', 2),
    ("where do gulls nest", "Gulls .", 1),
    ("who feeds them", "Nobody .", 3),
]


def told(questions: list[Question]) -> list[tuple[str, list[tuple[str, int]]]]:
    """What is asked and said, without ids."""
    return [(one.text, [(c.text, c.label) for c in one.candidates]) for one in questions]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def asnq(rows: list[tuple[str, str, int]]) -> str:
    return "".join(f"{question}\t{sentence}\t{label}\n" for question, sentence, label in rows)


def write_tokens(folder: Path) -> Path:
    """As castorini's data has it, in lower case."""
    rows = [(one, candidate) for one in QUESTIONS for candidate in one.candidates]
    write(folder / "a.toks", "".join(f"{one.text.lower()}\n" for one, _ in rows))
    write(folder / "b.toks", "".join(f"{candidate.text.lower()}\n" for _, candidate in rows))
    write(folder / "sim.txt", "".join(f"{candidate.label}\n" for _, candidate in rows))
    write(folder / "id.txt", "".join(f"{one.id}\n" for one, _ in rows))
    return folder


@pytest.mark.parametrize("name", ["test.xml", "test.xml.gz"])
@pytest.mark.parametrize("rooted", [True, False])
def test_pseudo_xml_as_jacana_distributes_it(name: str, rooted: bool, tmp_path: Path) -> None:
    text = PSEUDO_XML if rooted else PSEUDO_XML.replace("<root>\n", "").replace("</root>\n", "\n")
    assert list(read_questions(write(tmp_path / name, text))) == QUESTIONS


def test_a_question_whose_id_comes_again_is_another(tmp_path: Path) -> None:
    again = PSEUDO_XML.replace('id="32.2"', "id='32.1'")
    found = list(read_questions(write(tmp_path / "test.xml", again)))
    assert [(one.id, one.renamed) for one in found] == [("32.1", False), ("32.1#2", True)]


def test_json_lines(tmp_path: Path) -> None:
    text = "".join(json.dumps(row) + "\n\n" for row in JSON_LINES)
    found = list(read_questions(write(tmp_path / "dev.jsonl", text)))
    assert told(found) == told(QUESTIONS) and [one.id for one in found] == ["1", "3"]


def test_the_table_that_is_made_of_json_lines(tmp_path: Path) -> None:
    """Its questions are numbered from 0, and so are the candidates of each; all documents have one title."""
    rows = [
        f"{q}\t{one.text}\tD{q}\tdoctitle\t{c}\t{candidate.text}\t{candidate.label}"
        for q, one in enumerate(QUESTIONS)
        for c, candidate in enumerate(one.candidates)
    ]
    found = list(read_questions(write(tmp_path / "dev.tsv", "\n".join([HEADER, *rows]))))
    assert told(found) == told(QUESTIONS) and [one.id for one in found] == ["0", "1"]


def test_a_folder_of_tokens(tmp_path: Path) -> None:
    found = list(read_questions(write_tokens(tmp_path / "raw-test")))
    assert told(found) == [(text.lower(), [(c.lower(), label) for c, label in rows]) for text, rows in told(QUESTIONS)]
    assert [one.id for one in found] == ["32.1", "32.2"]
    write(tmp_path / "raw-test/id.txt", "1\n" * 3)
    again = list(read_questions(tmp_path / "raw-test"))
    assert told(again) == told(found) and [(one.id, one.renamed) for one in again] == [("1", False), ("1#2", True)]


def test_asnq_has_four_labels_of_which_one_is_right(tmp_path: Path) -> None:
    found = list(read_questions(write(tmp_path / "train.tsv", asnq(ASNQ))))
    assert told(found) == [
        ("where do gulls nest", [("Gulls nest on cliffs .", 1), ('The "gull" .', 0), ("Gulls .", 0)]),
        ("who feeds them", [("Nobody .", 0)]),
    ]


def test_a_question_of_asnq_that_comes_again_is_the_same(tmp_path: Path) -> None:
    found = list(read_questions(write(tmp_path / "train.tsv", asnq([*ASNQ, *ASNQ[:1]]))))
    assert [one.id for one in found] == ["1", "2", "1"]
    assert [c.id for one in found for c in one.candidates if one.id == "1"] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.xml", PSEUDO_XML.replace("</positive>\n", ""), r"line 18: <negative> before </positive>"),
        (
            "a.xml",
            PSEUDO_XML.replace("</QApairs>\n", "", 1),
            r"line 23: <QApairs id=\"32\.2\"> begins before </QApairs>",
        ),
        ("a.xml", PSEUDO_XML.replace("<negative>", "<wrong>", 1), r"line 19: '<wrong>' where <QApairs id='…'>"),
        ("a.xml", PSEUDO_XML[: PSEUDO_XML.index("</negative>")], r"the file ends within <negative> of line 19"),
        (
            "a.xml",
            PSEUDO_XML[: PSEUDO_XML.index('<QApairs id="')].replace("</QApairs>\n", ""),
            r"within question 32\.1",
        ),
        (
            "a.xml",
            "<QApairs id='1'>\n<positive>\nA\n</positive>\n</QApairs>\n",
            r"line 2: question 1 has no text before",
        ),
        ("a.xml", "<positive>\nA\n</positive>\n", r"line 1: '<positive>' where"),
        ("a.jsonl", '{"question": "a"}\n', r"line 1: no JSON object .*KeyError: 'candidates'"),
        ("a.jsonl", '{"question": "a", "candidates": [{"sentence": "b", "label": 2}]}', r"line 1: .*label 2"),
        ("a.jsonl", '{"question": "half \\ud800", "candidates": []}', r"line 1: no JSON object .*UnicodeEncodeError"),
        ("a.jsonl", '{"question": 3, "candidates": []}', r"line 1: .*question is no text"),
        ("a.jsonl", '{"question": "a", "candidates": []}\n{"quest', r"line 2: no JSON object"),
        ("a.tsv", asnq(ASNQ) + "a\tb\t5\n", r"line 5: 'a\\tb\\t5' is not question, sentence and a label from 1 to 4"),
        ("a.tsv", asnq(ASNQ) + "a\tb\n", r"line 5: 'a\\tb' is not question, sentence"),
        ("a.tsv", "a\tb\t1.0\n", r"line 1: 'a\\tb\\t1.0' is not question, sentence and a label from 1 to 4"),
        ("a.tsv", "\na\tb\n", r"line 2: 'a\\tb' begins none of the forms: WikiQA's table with a header"),
        ("a.tsv", "\nQuestionID\n", r"line 2: no column Question, SentenceID"),
        (
            "a.tsv",
            f"{HEADER}\nQ1\twho\tD1\tt\tD1-0\ta\t1\nQ1\twhere\tD1\tt\tD1-1\tb\t0\n",
            r"question Q1 comes again, with another text or after others",
        ),
        ("a.tsv", "\n", r"is empty; fetch it again"),
    ],
)
def test_what_is_in_no_form_is_named_with_its_line(name: str, text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"{name}.*{said}"):
        list(read_questions(write(tmp_path / name, text)))


def test_a_folder_of_tokens_of_different_lengths_is_refused(tmp_path: Path) -> None:
    folder = write_tokens(tmp_path / "dev")
    (folder / "sim.txt").write_text("1\n0\n")
    with pytest.raises(ValueError, match=r"dev: sim\.txt ended before line 3"):
        list(read_questions(folder))
    (folder / "sim.txt").write_text("1\nx\n0\n")
    with pytest.raises(ValueError, match=r"sim\.txt, line 2: the label is 'x'"):
        list(read_questions(folder))
    (folder / "id.txt").unlink()
    with pytest.raises(ValueError, match=r"dev has no id\.txt; a folder of tokens has a\.toks"):
        list(read_questions(folder))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "train.xml.gz", PSEUDO_XML * 200)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"train\.xml\.gz is damaged"):
        list(read_questions(path))
    data = bytearray(gzip.compress(PSEUDO_XML.encode()))
    data[10] |= 0b111  # a kind of block that there is not
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"train\.xml\.gz is damaged"):
        list(read_questions(path))
    (tmp_path / "train.tsv").write_bytes(b"\xe9\tb\t1\n")
    with pytest.raises(ValueError, match=r"train\.tsv is damaged"):
        list(read_questions(tmp_path / "train.tsv"))


@pytest.mark.parametrize(
    ("there", "chosen"),
    [
        (
            ["train-less-than-40.manual-edit.xml", "train2393.cleanup.xml.gz", "dev-less-than-40.manual-edit.xml",
             "test-less-than-40.manual-edit.xml"],
            ["train2393.cleanup.xml.gz", "dev-less-than-40.manual-edit.xml", "test-less-than-40.manual-edit.xml"],
        ),
        (["TRAIN.xml", "TRAIN-ALL.xml", "DEV.xml", "TEST.xml"], ["TRAIN-ALL.xml", "DEV.xml", "TEST.xml"]),
        (
            ["train-all-filtered.jsonl.gz", "train-all.jsonl.gz", "train.jsonl", "dev-filtered.jsonl", "dev.jsonl",
             "test-filtered.jsonl", "test.jsonl"],
            ["train-all.jsonl.gz", "dev.jsonl", "test.jsonl"],
        ),
        (
            ["train-all.jsonl.gz", "dev-filtered.jsonl", "test-filtered.jsonl"],
            ["train-all.jsonl.gz", "dev-filtered.jsonl", "test-filtered.jsonl"],
        ),
        (
            ["train-all/a.toks", "train/a.toks", "raw-dev/a.toks", "raw-test/a.toks", "clean-test/a.toks"],
            ["train-all", "raw-dev", "raw-test"],
        ),
        (["WikiQA-train.tsv", "WikiQA-dev.tsv.gz", "WikiQA-test.tsv"],
         ["WikiQA-train.tsv", "WikiQA-dev.tsv.gz", "WikiQA-test.tsv"]),
    ],
)  # fmt: skip
def test_which_file_is_which_split(there: list[str], chosen: list[str], tmp_path: Path) -> None:
    for name in there:
        write(tmp_path / name, "")
    parts = find_parts("trecqa", tmp_path)
    assert {split: part.path.name for split, part in parts.items()} == dict(
        zip(("train", "dev", "test"), chosen, strict=True)
    )


def write_asnq(folder: Path, halves: bool = True) -> Path:
    """With the questions of dev.tsv dealt out by two lists."""
    more = [("when do they sleep", "At night .", 4), ("when do they sleep", "Never .", 3)]
    write(folder / "train.tsv", asnq(ASNQ))
    write(folder / "dev.tsv", asnq([*ASNQ, *more, ("nobody asks", "a", 4), ("nobody asks", "b", 1)]))
    if halves:
        write(folder / "unique.dev", "where do gulls nest\nwho feeds them\n")
        write(folder / "unique.test", "when do they sleep\n")
    return folder


def test_asnqs_development_questions_are_split_as_published(tmp_path: Path) -> None:
    counts = write_set("mine", write_asnq(tmp_path / "asnq"), tmp_path / "mine")
    asked = {split: set(pd.read_parquet(tmp_path / f"mine/{split}.parquet")["question"]) for split in ("dev", "test")}
    assert asked == {"dev": {"where do gulls nest"}, "test": {"when do they sleep"}}
    assert (counts["train_questions"], counts["train_candidates"]) == (2, 4)
    assert (counts["dev_questions"], counts["dev_questions_left_out"], counts["dev_without_right"]) == (1, 1, 1)
    assert counts["dev_in_train"] == 1 and "test_in_train" not in counts


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("asnq", r"ASNQ is not here: .*unique\.dev"),
        ("trecqa", "TREC-QA is not here"),
        ("mine", "mine is not here: .*test"),
    ],
)
def test_what_is_missing_is_named_with_what_to_get(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkMissing, match=said):
        find_parts(name, write_asnq(tmp_path / "there", halves=False))
    with pytest.raises(BenchmarkMissing, match="nowhere"):
        find_parts(name, tmp_path / "nowhere")


def test_a_question_in_parts_goes_on_where_it_stopped(tmp_path: Path) -> None:
    folder = write_asnq(tmp_path / "asnq")
    write(folder / "dev.tsv", asnq([ASNQ[1], ("when do they sleep", "At night .", 4), ("when do they sleep", "b", 1),
                                    ASNQ[0]]))  # fmt: skip
    counts = write_set("mine", folder, tmp_path / "mine")
    dev = pd.read_parquet(tmp_path / "mine/dev.parquet")
    assert dev["position"].tolist() == [0, 1] and dev["label"].tolist() == [0, 1]
    assert counts["dev_in_parts"] == 1


def test_duplicates_and_what_contradicts_itself_are_counted_and_kept(tmp_path: Path) -> None:
    candidates = [("a", 1), ("a", 1), ("b", 0), ("a", 0), ("", 0)]
    row = {"question": "q", "candidates": [{"sentence": text, "label": label} for text, label in candidates]}
    right = {"question": "r", "candidates": [{"sentence": "a", "label": 1}]}
    for split in ("train", "dev", "test"):
        write(tmp_path / f"own/{split}.jsonl", f"{json.dumps(row)}\n{json.dumps(right)}\n")
    counts = write_set("mine", tmp_path / "own", tmp_path / "mine")
    common = {"duplicates": 2, "contradictions": 1, "empty": 1, "all_right": 1}
    whole = {"train_questions": 2, "train_candidates": 6}
    assert counts == (
        whole
        | {f"{split}_{key}": count for split in ("train", "dev", "test") for key, count in common.items()}
        | {f"{split}_questions": 1 for split in ("dev", "test")}
        | {f"{split}_candidates": 5 for split in ("dev", "test")}
        | {f"{split}_{key}": 1 for split in ("dev", "test") for key in ("questions_left_out", "in_train")}
    )
    assert len(pd.read_parquet(tmp_path / "mine/test.parquet")) == 5
    write(tmp_path / "own/dev.jsonl", f"{json.dumps(right)}\n")
    with pytest.raises(ValueError, match=r"dev\.jsonl: none of its 1 dev questions can be used, for none has both"):
        write_set("mine", tmp_path / "own", tmp_path / "again")


@settings(deadline=None, max_examples=30)
@given(labels=st.lists(st.lists(st.booleans(), max_size=5), min_size=1, max_size=12), group=st.integers(1, 7))
def test_what_can_be_ranked_is_kept_and_train_as_it_is(
    labels: list[list[bool]], group: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """However many rows are written at a time."""
    labels = [[True, False], *labels]
    folder = tmp_path_factory.mktemp("set")
    rows = [{"question": f"q{i}", "candidates": [{"sentence": f"s{j}", "label": int(label)}
             for j, label in enumerate(row)]} for i, row in enumerate(labels)]  # fmt: skip
    for split in ("train", "dev", "test"):
        write(folder / f"own/{split}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sets, "ROW_GROUP", group)
        counts = write_set("mine", folder / "own", folder / "mine")
    for split in ("train", "dev", "test"):
        table = pq.read_table(folder / f"mine/{split}.parquet")
        kept = [(i, j, int(label)) for i, row in enumerate(labels) for j, label in enumerate(row)
                if split == "train" or len(set(row)) == 2]  # fmt: skip
        found = table.select(["question", "position", "label"]).to_pylist()
        assert [(int(r["question"][1:]), r["position"], r["label"]) for r in found] == kept
        assert counts[f"{split}_candidates"] == len(kept)


def test_a_set_that_is_called_like_a_published_one_must_be_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts are checked of what is read and of what can be ranked; sets of other names can have any."""
    folder = tmp_path / "own"
    for split in ("train", "dev", "test"):
        write(folder / f"{split}.xml", PSEUDO_XML)
    with pytest.raises(
        ValueError,
        match=r"train\.xml: 2 train questions, of which 2 with 3 candidates can be ranked; TREC-QA has 1,229 or 1,226, "
        r"of which 1,229 with 53,417 or 1,226 with 53,417\. .* another name than trecqa in answer_selection\.input",
    ):
        write_set("trecqa", folder, tmp_path / "1")
    write_set("mine", folder, tmp_path / "mine")
    small = {"train": Release((2,), (Size(2, 3),)), "dev": Release((2, 1), (Size(1, 2),))}
    monkeypatch.setitem(PUBLISHED, "trecqa", Published("TREC-QA", small | {"test": Release((2,), (Size(1, 2),))}, ""))
    write_set("trecqa", folder, tmp_path / "2")
    write(folder / "dev.xml", PSEUDO_XML.replace("32.1", "1") + PSEUDO_XML.replace("32.1", "2"))
    with pytest.raises(
        ValueError, match=r"dev\.xml: 4 dev questions, of which 2 with 4 candidates .* 2 or 1, of which"
    ):
        write_set("trecqa", folder, tmp_path / "3")


def test_real_wikiqa_is_what_was_published(shared_data: Path, tmp_path: Path) -> None:
    counts = write_set("wikiqa", shared_data / "answer_selection/wikiqa", tmp_path / "wikiqa")
    known: dict[str, Any] = {
        f"{split}_{key}": count
        for split, sizes in {"train": (2118, 20360), "dev": (122, 1126), "test": (237, 2341)}.items()
        for key, count in zip(("questions", "candidates"), sizes, strict=True)
    }
    assert known.items() <= counts.items()
    assert (counts["dev_questions_left_out"], counts["test_questions_left_out"]) == (174, 396)
