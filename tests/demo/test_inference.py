"""Pairs of premise and hypothesis: format, balance, labels."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contexture.demo.fields import fields, moods
from contexture.demo.sentence_tasks import LABELS, inference_files

from .words import predict_labels, split_words, word_overlap

MOOD = {word: name for name, group in moods().items() for word in group}
THINGS = {word for group in fields().values() for word in group}
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def rows() -> Rows:
    files = {name.removeprefix("snli_1.0_").removesuffix(".jsonl"): lines for name, lines in inference_files(0)}
    return {part: [json.loads(line) for line in lines] for part, lines in files.items()}


def test_files_have_the_format_of_snli(rows: Rows, small_world: Path) -> None:
    assert {part: len(pairs) for part, pairs in rows.items()} == {"train": 1200, "dev": 300, "test": 300}
    for name, lines in inference_files(0):
        assert (small_world / "pairs" / name).read_bytes() == "".join(f"{line}\n" for line in lines).encode()
    keys = {"annotator_labels", "captionID", "gold_label", "pairID", "sentence1", "sentence2"}
    for pairs in rows.values():
        assert all(row.keys() == keys and row["annotator_labels"] == [row["gold_label"]] for row in pairs)
        assert len({row["pairID"] for row in pairs}) == len(pairs)


def test_output_depends_on_the_seed() -> None:
    assert dict(inference_files(0)) == dict(inference_files(0))
    files, other = dict(inference_files(0)), dict(inference_files(1))
    assert all(not set(files[name]) & set(other[name]) for name in files)


def test_every_premise_has_a_hypothesis_of_each_label(rows: Rows) -> None:
    for pairs in rows.values():
        for three in (pairs[start : start + 3] for start in range(0, len(pairs), 3)):
            assert {row["gold_label"] for row in three} == set(LABELS)
            assert len({row["sentence1"] for row in three}) == 1


def test_the_label_follows_from_things_and_moods(rows: Rows) -> None:
    kinds = Counter[tuple[str, bool]]()
    for row in rows["train"]:
        premise, hypothesis = (split_words(row[key]) for key in ("sentence1", "sentence2"))
        same_things = THINGS.intersection(premise) == THINGS.intersection(hypothesis)
        (first,), (second,) = ([word for word in text if word in MOOD] for text in (premise, hypothesis))
        same_mood, label = MOOD[first] == MOOD[second], row["gold_label"]
        assert same_things == (label != "neutral")
        assert label == "neutral" or (first != second and same_mood == (label == "entailment"))
        kinds[label, same_mood] += 1
    assert min(kinds["neutral", mood] for mood in (True, False)) > 150


def test_sentences_alone_do_not_predict_labels_and_word_overlap_only_partly(rows: Rows) -> None:
    parts = rows["train"], rows["test"]
    labels = [[row["gold_label"] for row in part] for part in parts]
    for key in ("sentence1", "sentence2"):
        assert predict_labels(*([row[key] for row in part] for part in parts), *labels) < 0.42
    overlaps = ([word_overlap(row["sentence1"], row["sentence2"]) for row in part] for part in parts)
    assert 0.5 < predict_labels(*(np.array(values)[:, None] for values in overlaps), *labels) < 0.75
