"""Languages of every sentence's nearest neighbours (CMLM, section 5.2), with and without PCR."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from contexture.retrieval.search_index import find_nearest
from contexture.retrieval.vectors import Array, normalize
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, list_seeds, make_record, measure_encoders
from contexture.tasks.corpus_languages import (
    PCR,
    PROTOCOLS,
    PcrTexts,
    read_pcr_texts,
    subtract_component,
)
from contexture.tasks.language_bias.config import LanguageBiasSettings
from contexture.tasks.sentences.vectors import VectorStore

NAME = "language_bias"
#: Neighbours per sentence whose languages are counted.
NUM_NEIGHBOURS = 10
#: Plotted sentences per language.
MAX_POINTS = 100

#: Language number of each vector (N,).
LanguageNumbers = NDArray[np.int64]


def evaluate_bias(
    settings: LanguageBiasSettings,
    encoders: Sequence[EvaluatedEncoder],
    files: Mapping[str, Path],
    paragraphs: Path,
    vectors_dir: Path,
    parallel_map: ParallelMap,
) -> Results:
    """Return the share of nearest neighbours in the sentence's language by set and encoder: per language, and mean.

    Details: `languages` of each set; `expected`, the share if neighbours do not depend on language. Of the first seed,
    by set, variant and protocol: `neighbours`, the share of each language (column) among the neighbours of each
    language (row); `points` of the variants to draw, with `x`, `y` and `lang` of sentences. `missing` names languages
    without corpus text; they are left out.
    """
    records: list[dict[str, Any]] = []
    details: dict[str, Any] = {"languages": {}, "expected": {}, "neighbours": {}, "points": {}, "missing": {}}
    first_seed = [encoder for encoder in encoders if encoder.seed == list_seeds(encoders)[0]]
    drawn = {encoder.models for encoder in first_seed if encoder.variant in settings.drawn}
    pcr = read_pcr_texts(settings.pcr_sentences, paragraphs) if files else PcrTexts()
    for name, file in files.items():
        table = pd.read_parquet(file)
        languages = pcr.languages(table["lang"])
        if without_text := sorted(set(table["lang"]) - set(languages)):
            reason = "the corpus has no text of them for PCR"
            details["missing"][f"language bias of {name} in {', '.join(without_text)}"] = reason
        if len(languages) < 2:
            continue
        sizes = table["lang"].value_counts()[languages]
        details["languages"][name] = languages
        details["expected"][name] = float(((sizes - 1) / (sizes.sum() - 1)).mean())
        measured = measure_encoders(
            measure_bias, encoders, parallel_map, name, file, languages, pcr, vectors_dir, drawn
        )
        for encoder in encoders:
            for protocol, result in measured[encoder.models].items():
                shares = np.diag(result["neighbours"]).tolist()
                values = {name: float(np.mean(shares))}
                values |= {f"{name}/{lang}": share for lang, share in zip(languages, shares, strict=True)}
                records += [
                    make_record(encoder.variant, encoder.seed, NAME, data, value, protocol, metric="own_language")
                    for data, value in values.items()
                ]
        for key, variants in (
            ("neighbours", {encoder.variant for encoder in first_seed}),
            ("points", settings.drawn),
        ):
            details[key][name] = {
                encoder.variant: {protocol: result[key] for protocol, result in measured[encoder.models].items()}
                for encoder in first_seed
                if encoder.variant in variants
            }
    return Results(records, details)


def measure_bias(
    encoders: Sequence[str],
    name: str,
    file: Path,
    languages: Sequence[str],
    pcr: PcrTexts,
    vectors_dir: Path,
    drawn: Collection[Sequence[str]],
) -> dict[str, dict[str, Any]]:
    """Return protocol → `neighbours`, the shares of `neighbour_shares`, and `points` if the encoders are in `drawn`."""
    table = pd.read_parquet(file)
    texts = {lang: table.loc[table["lang"] == lang, "text"].tolist() for lang in languages}
    lookup = VectorStore(vectors_dir)(encoders, sorted({text for of_lang in texts.values() for text in of_lang}), name)
    common = pcr.compute_components(encoders, texts, lookup, vectors_dir)
    results: dict[str, dict[str, Any]] = {}
    for protocol in PROTOCOLS:
        sides = [
            subtract_component(lookup, common[lang] if protocol == PCR else None)(texts[lang]) for lang in languages
        ]
        numbers = np.repeat(np.arange(len(sides)), [len(side) for side in sides])
        vectors = normalize(np.concatenate(sides))
        results[protocol] = {"neighbours": neighbour_shares(vectors, numbers, NUM_NEIGHBOURS).tolist()}
        if encoders in drawn:
            results[protocol]["points"] = project_with_tsne(vectors, numbers, [*languages], MAX_POINTS)
    return results


def neighbour_shares(vectors: Array, languages: LanguageNumbers, k: int) -> NDArray[np.float64]:
    """Return, by language (row), the share of each language (column) among its sentences' k nearest neighbours."""
    _, rows = find_nearest(vectors, vectors, min(k + 1, len(vectors)))
    # Exclude each sentence from its own neighbours, also if ties push it out of the results.
    is_itself = rows == np.arange(len(vectors))[:, None]
    is_itself[~is_itself.any(axis=1), -1] = True
    neighbours = languages[rows[~is_itself].reshape(len(vectors), -1)]
    count = languages.max() + 1
    counts = [np.bincount(neighbours[languages == lang].ravel(), minlength=count) for lang in range(count)]
    shares: NDArray[np.float64] = np.stack(counts) / np.sum(counts, axis=1, keepdims=True)
    return shares


def project_with_tsne(vectors: Array, numbers: LanguageNumbers, languages: Sequence[str], count: int) -> dict[str, Any]:
    """Return `x`, `y` and `lang` of the first `count` sentences of each language, by t-SNE with cosine distance."""
    from sklearn.manifold import TSNE

    rows = np.concatenate([np.flatnonzero(numbers == lang)[:count] for lang in range(len(languages))])
    perplexity = min(30.0, max(1.0, (len(rows) - 1) / 3))
    tsne = TSNE(metric="cosine", init="random", perplexity=perplexity, random_state=0)
    with threadpool_limits(1):  # with few points, threads on busy cores mostly wait for each other
        points = tsne.fit_transform(vectors[rows])
    x, y = points.astype(float).round(3).T.tolist()
    return {"x": x, "y": y, "lang": [languages[lang] for lang in numbers[rows]]}
