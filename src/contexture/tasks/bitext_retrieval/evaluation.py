"""How often the nearest sentence of the other language is the translation, both ways."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contexture.retrieval.search_index import find_nearest
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, Row, measure_rows
from contexture.tasks.bitext_retrieval.files import PAPERS
from contexture.tasks.corpus_languages import FROZEN, PCR, components, known, without
from contexture.tasks.sentences.vectors import Array, Lookup, VectorStore

NAME = "bitext_retrieval"


def evaluate_bitext(
    encoders: Sequence[EvaluatedEncoder],
    files: dict[str, Path],
    vectors_dir: Path,
    parallel_map: ParallelMap,
    sentences: Mapping[str, Sequence[str]],
) -> Results:
    """The accuracy of all encoders on every set (its table, as `files.read_set` has it), frozen.

    `data` is `<set>/<language asked in>-<language searched>`; `<set>/36-eng` and `<set>/eng-36` are the means over the
    paper's languages, if all are there. PCR is fitted on `sentences` of each language of the
    corpus; without sentences it is not measured. The fact `missing` names languages without text.
    """
    records: list[dict[str, Any]] = []
    missing = {}
    for name, file in files.items():
        records += measure_rows(measure, encoders, parallel_map, name, file, vectors_dir, sentences)
        if sentences:
            rows = pd.read_parquet(file, columns=["source_lang", "target_lang"])
            languages = {*rows["source_lang"], *rows["target_lang"]}
            if without_text := sorted(languages - set(known(languages, sentences))):
                missing[f"PCR on {name} in {', '.join(without_text)}"] = "the corpus has no text of them to fit it on"
    return Results(records, {"missing": missing})


def measure(
    encoders: Sequence[str], name: str, file: Path, vectors_dir: Path, sentences: Mapping[str, Sequence[str]]
) -> list[Row]:
    """The accuracy of each protocol and direction on a set, whose sentences are each embedded once."""
    rows = pd.read_parquet(file)
    lookup = VectorStore(vectors_dir)(encoders, sorted({*rows["source"], *rows["target"]}), name)
    accuracies = {FROZEN: _both_ways(rows, lookup, {})}
    if sentences:
        languages = known({*rows["source_lang"], *rows["target_lang"]}, sentences)
        common = components(encoders, languages, sentences, vectors_dir)
        with_text = rows[rows["source_lang"].isin(common) & rows["target_lang"].isin(common)]
        accuracies[PCR] = _both_ways(with_text, lookup, common)
    return [
        Row(task=NAME, data=f"{name}/{direction}", protocol=protocol, split="test", metric="accuracy", value=value)
        for protocol, by_direction in accuracies.items()
        for direction, value in by_direction.items()
    ]


def _both_ways(rows: pd.DataFrame, lookup: Lookup, common: Mapping[str, Array]) -> dict[str, float]:
    """Direction → accuracy, vectors of a language less its component in `common`."""
    accuracies: dict[str, float] = {}
    for languages, pairs in rows.groupby(["source_lang", "target_lang"]):
        source_lang, target_lang = map(str, languages)
        source = without(lookup, common.get(source_lang)), pairs["source"].tolist()
        target = without(lookup, common.get(target_lang)), pairs["target"].tolist()
        accuracies[f"{source_lang}-{target_lang}"] = accuracy(source, target)
        accuracies[f"{target_lang}-{source_lang}"] = accuracy(target, source)
    for name, directions in {
        "36-eng": [f"{lang}-eng" for lang in PAPERS],
        "eng-36": [f"eng-{lang}" for lang in PAPERS],
    }.items():
        if accuracies.keys() >= {*directions}:
            accuracies[name] = float(np.mean([accuracies[direction] for direction in directions]))
    return accuracies


def accuracy(asked: tuple[Lookup, Sequence[str]], right: tuple[Lookup, Sequence[str]]) -> float:
    """The share of sentences whose translation has the largest cosine of all different sentences of the other side.

    Each side is a `Lookup` of its vectors and its sentences. A translation that another sentence equals in cosine, as
    if a model knows no word of either, does not count.
    """
    (query_vectors, queries), (answer_vectors, translations) = asked, right
    candidates = list(dict.fromkeys(translations))
    row_of = {text: row for row, text in enumerate(candidates)}
    scores, rows = find_nearest(answer_vectors(candidates), query_vectors(queries), min(2, len(candidates)))
    is_translation = rows[:, 0] == np.array([row_of[text] for text in translations])
    is_alone = scores[:, 0] > scores[:, 1] if scores.shape[1] > 1 else np.ones(len(queries), bool)
    return float(np.mean(is_translation & is_alone))
