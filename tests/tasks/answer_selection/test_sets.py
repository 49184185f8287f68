"""Sets of questions: files of splits, counts, and published counts."""

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.tasks.answer_selection import sets
from contexture.tasks.answer_selection.sets import (
    PUBLISHED,
    PublishedSet,
    SplitCounts,
    SplitSize,
    find_split_files,
    write_set,
)
from contexture.tasks.missing import BenchmarkMissing
from tests.tasks.answer_selection.test_files import ASNQ, PSEUDO_XML, asnq, write

SPLITS = ("train", "dev", "test")


@pytest.mark.parametrize(
    ("names", "chosen"),
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
def test_files_of_splits(names: list[str], chosen: list[str], tmp_path: Path) -> None:
    for name in names:
        write(tmp_path / name, "")
    parts = find_split_files("trecqa", tmp_path)
    assert {split: part.path.name for split, part in parts.items()} == dict(zip(SPLITS, chosen, strict=True))


def write_asnq(folder: Path, halves: bool = True) -> Path:
    """Write ASNQ; two lists split the questions of dev.tsv."""
    more = [("when do they sleep", "At night .", 4), ("when do they sleep", "Never .", 3)]
    write(folder / "train.tsv", asnq(ASNQ))
    write(folder / "dev.tsv", asnq([*ASNQ, *more, ("nobody asks", "a", 4), ("nobody asks", "b", 1)]))
    if halves:
        write(folder / "unique.dev", "where do gulls nest\nwho feeds them\n")
        write(folder / "unique.test", "when do they sleep\n")
    return folder


def test_asnq_dev_is_split_into_dev_and_test(tmp_path: Path) -> None:
    counts = write_set("mine", write_asnq(tmp_path / "asnq"), tmp_path / "mine")
    questions = {
        split: set(pd.read_parquet(tmp_path / f"mine/{split}.parquet")["question"]) for split in ("dev", "test")
    }
    assert questions == {"dev": {"where do gulls nest"}, "test": {"when do they sleep"}}
    assert (counts["train_questions"], counts["train_candidates"]) == (2, 4)
    assert (counts["dev_questions"], counts["dev_questions_left_out"], counts["dev_without_right"]) == (1, 1, 1)
    assert counts["dev_in_train"] == 1 and "test_in_train" not in counts


@pytest.mark.parametrize(
    ("name", "message"),
    [("asnq", r"ASNQ is not here: .*unique\.dev"), ("trecqa", "TREC-QA is not"), ("mine", "mine is not here: .*test")],
)
def test_missing_files_raise_with_remedy(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkMissing, match=message):
        find_split_files(name, write_asnq(tmp_path / "names", halves=False))
    with pytest.raises(BenchmarkMissing, match="nowhere"):
        find_split_files(name, tmp_path / "nowhere")


def test_candidates_of_questions_in_parts_are_numbered_on(tmp_path: Path) -> None:
    folder = write_asnq(tmp_path / "asnq")
    write(folder / "dev.tsv", asnq([ASNQ[1], ("when do they sleep", "At night .", 4), ("when do they sleep", "b", 1),
                                    ASNQ[0]]))  # fmt: skip
    counts = write_set("mine", folder, tmp_path / "mine")
    dev = pd.read_parquet(tmp_path / "mine/dev.parquet")
    assert dev["position"].tolist() == [0, 1] and dev["label"].tolist() == [0, 1]
    assert counts["dev_in_parts"] == 1


def test_duplicates_and_contradictions_are_counted(tmp_path: Path) -> None:
    candidates = [("a", 1), ("a", 1), ("b", 0), ("a", 0), ("", 0)]
    row = {"question": "q", "candidates": [{"sentence": text, "label": label} for text, label in candidates]}
    right = {"question": "r", "candidates": [{"sentence": "a", "label": 1}]}
    for split in SPLITS:
        write(tmp_path / f"own/{split}.jsonl", f"{json.dumps(row)}\n{json.dumps(right)}\n")
    counts = write_set("mine", tmp_path / "own", tmp_path / "mine")
    common = {"duplicates": 2, "contradictions": 1, "empty": 1, "all_right": 1}
    whole = {"train_questions": 2, "train_candidates": 6}
    assert counts == (
        whole
        | {f"{split}_{key}": count for split in SPLITS for key, count in common.items()}
        | {f"{split}_questions": 1 for split in ("dev", "test")}
        | {f"{split}_candidates": 5 for split in ("dev", "test")}
        | {f"{split}_{key}": 1 for split in ("dev", "test") for key in ("questions_left_out", "in_train")}
    )
    assert len(pd.read_parquet(tmp_path / "mine/test.parquet")) == 5
    write(tmp_path / "own/dev.jsonl", f"{json.dumps(right)}\n")
    with pytest.raises(ValueError, match=r"dev\.jsonl: none of 1 dev questions can be used: none has a right"):
        write_set("mine", tmp_path / "own", tmp_path / "again")


@settings(deadline=None, max_examples=30)
@given(labels=st.lists(st.lists(st.booleans(), max_size=5), min_size=1, max_size=12), group=st.integers(1, 7))
def test_rankable_questions_and_all_of_train_are_kept(
    labels: list[list[bool]], group: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    labels = [[True, False], *labels]
    folder = tmp_path_factory.mktemp("set")
    rows = [{"question": f"q{i}", "candidates": [{"sentence": f"s{j}", "label": int(label)}
             for j, label in enumerate(row)]} for i, row in enumerate(labels)]  # fmt: skip
    for split in SPLITS:
        write(folder / f"own/{split}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sets, "ROW_GROUP_SIZE", group)
        counts = write_set("mine", folder / "own", folder / "mine")
    for split in SPLITS:
        table = pq.read_table(folder / f"mine/{split}.parquet")
        kept = [(i, j, int(label)) for i, row in enumerate(labels) for j, label in enumerate(row)
                if split == "train" or len(set(row)) == 2]  # fmt: skip
        rows = table.select(["question", "position", "label"]).to_pylist()
        assert [(int(r["question"][1:]), r["position"], r["label"]) for r in rows] == kept
        assert counts[f"{split}_candidates"] == len(kept)


def test_published_set_names_require_published_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both counts of the file and of rankable questions are checked; other names may have any counts."""
    folder = tmp_path / "own"
    for split in SPLITS:
        write(folder / f"{split}.xml", PSEUDO_XML)
    with pytest.raises(
        ValueError,
        match=r"train\.xml: 2 train questions, of which 2 with 3 candidates can be ranked; TREC-QA has 1,229 or 1,226, "
        r"of which 1,229 with 53,417 or 1,226 with 53,417\. .* rename trecqa in answer_selection\.input",
    ):
        write_set("trecqa", folder, tmp_path / "1")
    write_set("mine", folder, tmp_path / "mine")
    small = {"train": SplitCounts((2,), (SplitSize(2, 3),)), "dev": SplitCounts((2, 1), (SplitSize(1, 2),))}
    monkeypatch.setitem(
        PUBLISHED, "trecqa", PublishedSet("TREC-QA", small | {"test": SplitCounts((2,), (SplitSize(1, 2),))}, "")
    )
    write_set("trecqa", folder, tmp_path / "2")
    write(folder / "dev.xml", PSEUDO_XML.replace("32.1", "1") + PSEUDO_XML.replace("32.1", "2"))
    with pytest.raises(
        ValueError, match=r"dev\.xml: 4 dev questions, of which 2 with 4 candidates .* 2 or 1, of which"
    ):
        write_set("trecqa", folder, tmp_path / "3")
