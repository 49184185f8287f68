"""The pairs of premise and hypothesis: format, balance, and what tells their relation."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from contexture.demo.fields import fields, moods
from contexture.demo.inference import LABELS, inference_files

from .words import tells_labels, words

MOOD = {word: name for name, group in moods().items() for word in group}
THINGS = {word for group in fields().values() for word in group}


@pytest.fixture(scope="module")
def rows() -> dict[str, list[dict[str, Any]]]:
    found = {name.removeprefix("snli_1.0_").removesuffix(".jsonl"): lines for name, lines in inference_files(0)}
    return {part: [json.loads(line) for line in lines] for part, lines in found.items()}


def test_the_files_are_those_of_snli(rows: dict[str, list[dict[str, Any]]], small_world: Path) -> None:
    assert {part: len(found) for part, found in rows.items()} == {"train": 1200, "dev": 300, "test": 300}
    for name, lines in inference_files(0):
        assert (small_world / "pairs" / name).read_bytes() == "".join(f"{line}\n" for line in lines).encode()
    keys = {"annotator_labels", "captionID", "gold_label", "pairID", "sentence1", "sentence2"}
    for found in rows.values():
        assert all(row.keys() == keys and row["annotator_labels"] == [row["gold_label"]] for row in found)
        assert len({row["pairID"] for row in found}) == len(found)


def test_one_seed_the_same_and_another_seed_others() -> None:
    assert dict(inference_files(0)) == dict(inference_files(0))
    one, other = dict(inference_files(0)), dict(inference_files(1))
    assert all(not set(one[name]) & set(other[name]) for name in one)


def test_every_premise_has_a_hypothesis_of_each_label(rows: dict[str, list[dict[str, Any]]]) -> None:
    for found in rows.values():
        for start in range(0, len(found), 3):
            three = found[start : start + 3]
            assert {row["gold_label"] for row in three} == set(LABELS)
            assert len({row["sentence1"] for row in three}) == 1


def test_the_label_follows_from_things_and_moods(rows: dict[str, list[dict[str, Any]]]) -> None:
    """The same things in the same mood, in the other one, or other things; no adjective is repeated."""
    kinds = Counter[tuple[str, bool]]()
    for row in rows["train"]:
        one, two = (words(row[key]) for key in ("sentence1", "sentence2"))
        same_things = {w for w in one if w in THINGS} == {w for w in two if w in THINGS}
        (first,), (second,) = ([w for w in text if w in MOOD] for text in (one, two))
        same_mood = MOOD[first] == MOOD[second]
        assert first != second or row["gold_label"] == "neutral"
        assert same_things == (row["gold_label"] != "neutral")
        assert row["gold_label"] == "neutral" or same_mood == (row["gold_label"] == "entailment")
        kinds[row["gold_label"], same_mood] += 1
    assert min(kinds["neutral", mood] for mood in (True, False)) > 150


def test_no_sentence_alone_tells_the_label_and_words_in_common_not_all(rows: dict[str, list[dict[str, Any]]]) -> None:
    train, test = rows["train"], rows["test"]
    for key in ("sentence1", "sentence2"):
        texts = ([row[key] for row in part] for part in (train, test))
        assert tells_labels(*texts, _labels(train), _labels(test)) < 0.42
    model = LogisticRegression().fit(_overlap(train), _labels(train))
    assert 0.5 < model.score(_overlap(test), _labels(test)) < 0.75


def _labels(rows: list[dict[str, Any]]) -> list[str]:
    return [row["gold_label"] for row in rows]


def _overlap(rows: list[dict[str, Any]]) -> Any:
    shared = [len(set(words(row["sentence1"])) & set(words(row["sentence2"]))) for row in rows]
    return np.array(shared)[:, None]
