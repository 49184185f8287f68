"""How often the nearest sentence of the other language is the translation, both ways."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contexture.retrieval.search_index import nearest
from contexture.tasks.base import Contestant, Each, Results, make_record, measure_encoders
from contexture.tasks.bitext_retrieval.files import PAPERS
from contexture.tasks.corpus_languages import FROZEN, PCR, components, known, without
from contexture.tasks.sentences.vectors import Array, Lookup, VectorStore

NAME = "bitext_retrieval"


def evaluate_bitext(
    contestants: Sequence[Contestant],
    files: dict[str, Path],
    place: Path,
    each: Each,
    sentences: Mapping[str, Sequence[str]],
) -> Results:
    """The accuracy of all contestants on every set (its table, as `files.read_set` has it), frozen.

    `data` is `<set>/<language asked in>-<language searched>`; `<set>/36-eng` and `<set>/eng-36` are the means over the
    paper's languages, where all are there. Vectors are kept in `place`. PCR is measured beside, fitted on `sentences`
    of each language of the corpus, if there are some; languages that it has no text of are named in the fact
    `without_text`.
    """
    records: list[dict[str, Any]] = []
    for name, file in files.items():
        found = measure_encoders(measure, contestants, each, name, file, place, sentences)
        records += [
            make_record(one.variant, one.seed, NAME, f"{name}/{direction}", value, protocol)
            for one in contestants
            for protocol, accuracies in found[one.encoders].items()
            for direction, value in accuracies.items()
        ]
    missing = {}
    for name, file in files.items() if sentences else ():
        rows = pd.read_parquet(file, columns=["source_lang", "target_lang"])
        every = {*rows["source_lang"], *rows["target_lang"]}
        missing[name] = sorted(every - set(known(every, sentences)))
    return Results(records, {"without_text": missing})


def measure(
    encoders: Sequence[str], name: str, file: Path, place: Path, sentences: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """Protocol → direction → accuracy, of a set whose sentences are each embedded once.

    `sentences` are those of each language of the corpus by which PCR is fitted; none: it is not measured.
    """
    rows = pd.read_parquet(file)
    lookup = VectorStore(place)(encoders, sorted({*rows["source"], *rows["target"]}), name)
    found = {FROZEN: _both_ways(rows, lookup, {})}
    if sentences:
        there = known({*rows["source_lang"], *rows["target_lang"]}, sentences)
        common = components(encoders, there, sentences, place)
        with_text = rows[rows["source_lang"].isin(common) & rows["target_lang"].isin(common)]
        found[PCR] = _both_ways(with_text, lookup, common)
    return found


def _both_ways(rows: pd.DataFrame, lookup: Lookup, common: Mapping[str, Array]) -> dict[str, float]:
    """Direction → accuracy, vectors of a language less what they have in `common`."""
    found: dict[str, float] = {}
    for (one, other), pairs in rows.groupby(["source_lang", "target_lang"]):
        source, target = (without(lookup, common.get(str(lang))) for lang in (one, other))
        sides = (source, pairs["source"].tolist()), (target, pairs["target"].tolist())
        found[f"{one}-{other}"] = accuracy(*sides)
        found[f"{other}-{one}"] = accuracy(*sides[::-1])
    if {f"{lang}-eng" for lang in PAPERS} <= set(found):
        found["36-eng"] = float(np.mean([found[f"{lang}-eng"] for lang in PAPERS]))
        found["eng-36"] = float(np.mean([found[f"eng-{lang}"] for lang in PAPERS]))
    return found


def accuracy(asked: tuple[Lookup, Sequence[str]], right: tuple[Lookup, Sequence[str]]) -> float:
    """The share of sentences whose translation has the largest cosine of all different sentences of the other side.

    Of both sides there are the sentences, and what gives their vectors.

    A translation that another sentence equals in cosine, as where a model knows no word of either, is not found.
    """
    (ask, questions), (answer, translations) = asked, right
    candidates = list(dict.fromkeys(translations))
    place = {text: number for number, text in enumerate(candidates)}
    scores, rows = nearest(answer(candidates), ask(questions), min(2, len(candidates)))
    own = np.array([place[text] for text in translations])
    alone = scores[:, 0] > scores[:, 1] if scores.shape[1] > 1 else np.ones(len(questions), bool)
    return float(np.mean((rows[:, 0] == own) & alone))
