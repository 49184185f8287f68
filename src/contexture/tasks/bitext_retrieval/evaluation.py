"""How often the nearest sentence of the other language is the translation, both ways."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pandas as pd

from contexture.tasks.base import Contestant, Each, Results, one_by_one
from contexture.tasks.sentences.vectors import Array, VectorStore

NAME = "bitext_retrieval"
#: The languages of CMLM's Table 5, those of XTREME, as Tatoeba's files are called.
PAPERS = frozenset((
    "afr", "ara", "bul", "ben", "deu", "ell", "spa", "est", "eus", "pes", "fin", "fra", "heb", "hin", "hun",
    "ind", "ita", "jpn", "jav", "kat", "kaz", "kor", "mal", "mar", "nld", "por", "rus", "swh", "tam", "tel",
    "tha", "tgl", "tur", "urd", "vie", "cmn"
))  # fmt: skip


def evaluate_bitext(
    contestants: Sequence[Contestant], files: dict[str, Path], place: Path, each: Each = one_by_one
) -> Results:
    """The accuracy of all contestants on every set (its table, as `files.read_set` has it), frozen.

    `data` is `<set>/<language asked in>-<language searched>`; `<set>/36-eng` and `<set>/eng-36` are the means over the
    paper's languages, where all are there. Vectors are kept in `place`.
    """
    records: list[dict[str, Any]] = []
    encoders = list(dict.fromkeys(one.encoders for one in contestants))
    for name, file in files.items():
        found = dict(zip(encoders, each(measure, [(names, name, file, place) for names in encoders]), strict=True))
        records += [
            {
                "variant": one.variant,
                "seed": one.seed,
                "task": NAME,
                "data": f"{name}/{direction}",
                "protocol": "frozen",
                "split": "test",
                "metric": "accuracy",
                "value": value,
            }
            for one in contestants
            for direction, value in found[one.encoders].items()
        ]
    return Results(records)


def measure(encoders: Sequence[str], name: str, file: Path, place: Path) -> dict[str, float]:
    """Direction → accuracy, of a set whose sentences are each embedded once."""
    rows = pd.read_parquet(file)
    lookup = VectorStore(place)(encoders, sorted({*rows["source"], *rows["target"]}), name)
    found: dict[str, float] = {}
    for (one, other), pairs in rows.groupby(["source_lang", "target_lang"]):
        sides = pairs["source"].tolist(), pairs["target"].tolist()
        found[f"{one}-{other}"] = accuracy(lookup, *sides)
        found[f"{other}-{one}"] = accuracy(lookup, *sides[::-1])
    if {f"{lang}-eng" for lang in PAPERS} <= set(found):
        found["36-eng"] = float(np.mean([found[f"{lang}-eng"] for lang in sorted(PAPERS)]))
        found["eng-36"] = float(np.mean([found[f"eng-{lang}"] for lang in sorted(PAPERS)]))
    return found


def accuracy(lookup: Any, asked: Sequence[str], right: Sequence[str]) -> float:
    """The share of sentences whose translation has the largest cosine of all different sentences of the other side.

    A translation that another sentence equals in cosine, as where a model knows no word of either, is not found.
    """
    candidates = list(dict.fromkeys(right))
    place = {text: number for number, text in enumerate(candidates)}
    scores, rows = nearest(lookup(candidates), lookup(asked), min(2, len(candidates)))
    own = np.array([place[text] for text in right])
    alone = scores[:, 0] > scores[:, 1] if scores.shape[1] > 1 else np.ones(len(asked), bool)
    return float(np.mean((rows[:, 0] == own) & alone))


def nearest(candidates: Array, asked: Array, k: int) -> tuple[Array, Any]:
    """Cosines (Q, k) with the k nearest of the candidates (N, D), and their rows; exact."""
    candidates, asked = (np.ascontiguousarray(vectors, np.float32).copy() for vectors in (candidates, asked))
    for vectors in (candidates, asked):
        faiss.normalize_L2(vectors)
    index = faiss.IndexFlatIP(candidates.shape[1])
    index.add(candidates)
    scores, rows = index.search(asked, k)
    return scores, rows
