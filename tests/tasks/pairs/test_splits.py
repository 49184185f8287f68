"""Splits of pairs into train, dev and test."""

from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from contexture.splits import group_rows
from contexture.tasks.pairs.files import read_set
from contexture.tasks.pairs.splits import sample_rows, split_set


def make_table(*parts: tuple[str, str, int]) -> pd.DataFrame:
    """Rows by part and genres; three successive ones share the first sentence and differ in label."""
    rows = [
        (part, genres, f"{part} {genres} {number // 3}", f"says {number}", ("yes", "no", "perhaps")[number % 3])
        for part, genres, count in parts
        for number in range(count)
    ]
    return pd.DataFrame(rows, columns=["part", "genres", "first", "second", "label"])


def count_parts(rows: pd.DataFrame) -> dict[str, int]:
    counts: dict[str, int] = rows.groupby("part").size().to_dict()
    return counts


PUBLISHED = make_table(("train", "", 30), ("dev", "", 9), ("test", "", 9))


def test_published_parts_are_kept() -> None:
    pairs = split_set("snli", PUBLISHED)
    assert_frame_equal(pairs.rows, PUBLISHED)
    assert pairs.note == "" and pairs.dropped == {"without_label": 0, "without_text": 0}


def test_hidden_labels_make_the_dev_part_the_test_part() -> None:
    """As for MNLI in the Cross-Thought paper, with 5% of the training part held out."""
    mnli = make_table(("train", "", 3000), ("dev", "matched", 30), ("dev", "mismatched", 30), ("test", "matched", 9))
    mnli.loc[mnli["part"] == "test", "label"] = ""
    pairs = split_set("mnli", mnli)
    assert "tested on the dev part" in pairs.note and pairs.dropped["without_label"] == 9
    test = pairs.rows[pairs.rows["part"] == "test"]
    keys = ["genres", "first", "second", "label"]
    assert test[keys].to_numpy().tolist() == mnli.loc[mnli["part"] == "dev", keys].to_numpy().tolist()
    counts = count_parts(pairs.rows)
    assert 100 < counts["dev"] < 200 and counts["dev"] + counts["train"] == 3000
    train, dev = (set(pairs.rows.loc[pairs.rows["part"] == part, "first"]) for part in ("train", "dev"))
    assert not train & dev


@pytest.mark.parametrize("parts", [["whole"], ["dev", "test"], ["train"]])
def test_a_set_without_parts_is_split_by_its_texts(parts: list[str]) -> None:
    rows = make_table(*((part, "", 3000 // len(parts)) for part in parts))
    pairs = split_set("snli", rows)
    assert "20% of all rows, by a hash of the texts, are tested" in pairs.note
    counts = count_parts(pairs.rows)
    assert 450 < counts["test"] < 750 and 60 < counts["dev"] < 180 and sum(counts.values()) == 3000
    sides = {part: set(pairs.rows.loc[pairs.rows["part"] == part, "first"]) for part in counts}
    assert not sides["train"] & sides["test"] and not sides["dev"] & (sides["train"] | sides["test"])
    # A function of the texts, whatever the order of the rows.
    shuffled = split_set("snli", rows.sample(frac=1, random_state=1)).rows
    keys = ["first", "second"]
    expected = pairs.rows.sort_values(keys, ignore_index=True)
    assert_frame_equal(shuffled.sort_values(keys, ignore_index=True), expected)


def test_pairs_with_the_same_first_sentence_and_reversed_pairs_stay_together() -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "a"), ("b", "d"), ("d", "e"), ("f", "f"), ("c", "g")]
    group_names = group_rows(pd.DataFrame(pairs, columns=["first", "second"]))
    assert group_names == ["a", "a", "a", "a", "d", "f", "c"]


def test_rows_without_label_or_text_are_dropped_and_counted() -> None:
    published = PUBLISHED.copy()
    published.loc[[0, 1], "label"] = ""
    published.loc[[1, 3], "second"] = ""
    pairs = split_set("snli", published)
    assert len(pairs.rows) == 45 and pairs.dropped == {"without_label": 2, "without_text": 1}


def test_sample_rows_depends_on_the_texts() -> None:
    rows = make_table(("train", "", 300))
    few, more = sample_rows(rows, 20), sample_rows(rows, 40)
    assert len(few) == 20 and set(few.index) < set(more.index) and few.index.is_monotonic_increasing
    again = sample_rows(rows.iloc[::-1], 20)
    assert set(again["second"]) == set(few["second"]) and few.index.tolist() != list(range(20))
    assert sample_rows(rows, None) is rows and sample_rows(rows, 300) is rows


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            PUBLISHED.assign(label=PUBLISHED["label"].mask(PUBLISHED["part"].eq("test"), "maybe")),
            r"snli: the test part has the labels \['maybe'\], the training part has",
        ),
        (PUBLISHED.assign(label="yes"), "all training pairs have the label 'yes'"),
        (PUBLISHED[:3], "snli: 3 labelled pairs leave none for"),
    ],
)
def test_errors_name_parts_that_do_not_fit(rows: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        split_set("snli", rows)


@pytest.mark.parametrize(
    ("folder", "parts", "labels"),
    [
        ("snli", {"dev": 9842, "test": 9824}, {"0": 6697, "1": 6454, "2": 6515}),
        ("quora", {"dev": 10000, "test": 10000}, {"0": 10000, "1": 10000}),
        ("scitail", {"dev": 1304, "test": 2126}, {"0": 1499, "1": 1931}),
    ],
)
def test_real_sets_have_the_published_rows(
    folder: str, parts: dict[str, int], labels: dict[str, int], shared_data: Path
) -> None:
    rows = read_set(folder, str(shared_data / "pairs" / folder))
    assert count_parts(rows) == parts and rows.groupby("label").size().to_dict() == labels
    pairs = split_set(folder, rows)
    assert pairs.note and sum(pairs.dropped.values()) == 0
    test = pairs.rows["part"].eq("test")
    assert 0.18 < test.mean() < 0.22
    assert not set(pairs.rows.loc[test, "first"]) & set(pairs.rows.loc[~test, "first"])
