"""Pairs of a premise and a hypothesis with their relation, in the files of SNLI (JSON lines, without the parses).

Every premise tells what somebody thought of some things, and has three hypotheses, one of each label: that they are
thought of so, that they are not, and what is thought of other things. All things and either mood are as frequent with
each label, so that a hypothesis alone tells nothing.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from contexture.demo.fields import BRIGHT, GRIM, fields, frames, moods, named, passers_by, sentence, some
from contexture.demo.names import pick, shuffled, source

_FRAMES = "sentence_tasks.yml"
#: Premises of each part.
PREMISES = {"train": 400, "dev": 100, "test": 100}
LABELS = ("entailment", "contradiction", "neutral")


def inference_files(seed: int) -> Iterator[tuple[str, list[str]]]:
    """Name and lines of each file, a function of the seed."""
    for part in PREMISES:
        rows = inference_rows(seed, part)
        yield f"snli_1.0_{part}.jsonl", [json.dumps(row, ensure_ascii=False) for row in rows]


def inference_rows(seed: int, part: str) -> list[dict[str, Any]]:
    """The rows of a part, with the keys of SNLI."""
    rng = source(seed, "inference", part)
    return [row for number in range(PREMISES[part]) for row in _rows(f"{part}{number}", seed, rng)]


def _rows(caption: str, seed: int, rng: Random) -> Iterator[dict[str, Any]]:
    people = passers_by(seed, rng)
    thing, other = (pick(fields()[field], rng) for field in some(tuple(fields()), 2, rng))
    mood, contrary = shuffled((BRIGHT, GRIM), rng)
    word, *others = some(moods()[mood], 3, rng)
    premise = sentence(pick(frames(_FRAMES)["premise"], rng), people | named("ax", (thing, word)), rng)
    said = {
        "entailment": (thing, others[0]),
        "contradiction": (thing, pick(moods()[contrary], rng)),
        "neutral": (other, pick(moods()[pick((mood, contrary), rng)], rng)),
    }
    for label in shuffled(LABELS, rng):
        hypothesis = sentence(pick(frames(_FRAMES)["hypothesis"], rng), people | named("ay", said[label]), rng)
        yield {
            "annotator_labels": [label],
            "captionID": f"{caption}.jpg",
            "gold_label": label,
            "pairID": f"{caption}.jpg#{LABELS.index(label)}",
            "sentence1": premise,
            "sentence2": hypothesis,
        }
