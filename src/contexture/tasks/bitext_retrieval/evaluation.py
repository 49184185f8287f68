"""Accuracy of bitext retrieval in both directions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contexture.retrieval.search_index import find_nearest
from contexture.retrieval.top import ROUNDING_ERROR
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, Row, measure_rows
from contexture.tasks.bitext_retrieval.files import PAPER_LANGUAGES
from contexture.tasks.corpus_languages import FROZEN, PCR, PcrTexts, subtract_component
from contexture.tasks.sentences.vectors import Array, Lookup, VectorStore

NAME = "bitext_retrieval"
#: Mean over the paper's languages → its directions.
AVERAGES = {
    "36-eng": [f"{lang}-eng" for lang in PAPER_LANGUAGES],
    "eng-36": [f"eng-{lang}" for lang in PAPER_LANGUAGES],
}


def evaluate_bitext(
    encoders: Sequence[EvaluatedEncoder],
    files: dict[str, Path],
    vectors_dir: Path,
    parallel_map: ParallelMap,
    pcr: PcrTexts | None,
) -> Results:
    """Return the accuracy of all encoders in retrieving translations on every set.

    `files` has the table of each set, see `files.read_set`. `data` of a record is `<set>/<query language>-<searched
    language>`. `<set>/36-eng` and `<set>/eng-36` are means over the languages of the paper, if the set has all of them.
    PCR is fitted on the sentences of `pcr`, and not measured without them. The detail `missing` names languages without
    corpus text.
    """
    records: list[dict[str, Any]] = []
    missing = {}
    for name, file in files.items():
        records += measure_rows(measure_retrieval, encoders, parallel_map, name, file, vectors_dir, pcr)
        if pcr is not None:
            rows = pd.read_parquet(file, columns=["source_lang", "target_lang"])
            languages = {*rows["source_lang"], *rows["target_lang"]}
            if without_text := sorted(languages - set(pcr.languages(languages))):
                missing[f"PCR on {name} in {', '.join(without_text)}"] = "the corpus has no text of them to fit it on"
    return Results(records, {"missing": missing})


def measure_retrieval(
    encoders: Sequence[str], name: str, file: Path, vectors_dir: Path, pcr: PcrTexts | None
) -> list[Row]:
    """Return the accuracy of encoders in retrieving the translations of a set, by protocol and direction."""
    rows = pd.read_parquet(file)
    lookup = VectorStore(vectors_dir)(encoders, sorted({*rows["source"], *rows["target"]}), name)
    accuracies = {FROZEN: _measure_both_directions(rows, lookup, {})}
    if pcr is not None:
        common = pcr.compute_components(encoders, _texts_by_language(rows), lookup, vectors_dir)
        with_text = rows[rows["source_lang"].isin(common) & rows["target_lang"].isin(common)]
        accuracies[PCR] = _measure_both_directions(with_text, lookup, common)
    examples = _count_pairs(rows)
    return [
        Row(
            task=NAME,
            data=f"{name}/{direction}",
            protocol=protocol,
            split="test",
            metric="accuracy",
            value=value,
            examples=examples[direction],
        )
        for protocol, by_direction in accuracies.items()
        for direction, value in by_direction.items()
    ]


def _count_pairs(rows: pd.DataFrame) -> dict[str, int]:
    """Return direction → number of pairs, and those of `AVERAGES`."""
    counts: dict[str, int] = {}
    for (source, target), pairs in rows.groupby(["source_lang", "target_lang"]):
        counts |= {f"{source}-{target}": len(pairs), f"{target}-{source}": len(pairs)}
    return counts | {
        name: sum(counts.get(direction, 0) for direction in directions) for name, directions in AVERAGES.items()
    }


def _texts_by_language(rows: pd.DataFrame) -> dict[str, list[str]]:
    """Return language → its distinct sentences on either side, sorted."""
    sides = [rows[[f"{side}_lang", side]].set_axis(["lang", "text"], axis=1) for side in ("source", "target")]
    return {str(lang): sorted(set(texts)) for lang, texts in pd.concat(sides).groupby("lang")["text"]}


def _measure_both_directions(rows: pd.DataFrame, lookup: Lookup, common: Mapping[str, Array]) -> dict[str, float]:
    """Return direction → accuracy, with the components `common` removed from the vectors of their languages."""
    accuracies: dict[str, float] = {}
    for languages, pairs in rows.groupby(["source_lang", "target_lang"]):
        source_lang, target_lang = map(str, languages)
        source = subtract_component(lookup, common.get(source_lang)), pairs["source"].tolist()
        target = subtract_component(lookup, common.get(target_lang)), pairs["target"].tolist()
        accuracies[f"{source_lang}-{target_lang}"] = translation_accuracy(source, target)
        accuracies[f"{target_lang}-{source_lang}"] = translation_accuracy(target, source)
    for name, directions in AVERAGES.items():
        if accuracies.keys() >= {*directions}:
            accuracies[name] = float(np.mean([accuracies[direction] for direction in directions]))
    return accuracies


def translation_accuracy(source: tuple[Lookup, Sequence[str]], target: tuple[Lookup, Sequence[str]]) -> float:
    """Return the share of sentences whose translation is nearest by cosine among the distinct target sentences.

    Each side is a `Lookup` of vectors and its sentences. Ties count as wrong, so that a model of zero vectors scores 0.
    """
    (source_vectors, sentences), (target_vectors, translations) = source, target
    candidates = list(dict.fromkeys(translations))
    row_of = {text: row for row, text in enumerate(candidates)}
    scores, rows = find_nearest(target_vectors(candidates), source_vectors(sentences), min(2, len(candidates)))
    is_translation = rows[:, 0] == np.array([row_of[text] for text in translations])
    is_alone = scores[:, 0] > scores[:, 1] + ROUNDING_ERROR if scores.shape[1] > 1 else np.ones(len(sentences), bool)
    return float(np.mean(is_translation & is_alone))
