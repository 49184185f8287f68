"""The languages of every sentence's nearest neighbours (CMLM, section 5.2), with and without PCR."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from contexture.retrieval.search_index import find_nearest
from contexture.retrieval.vectors import Array, normalize
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, make_record, measure_encoders
from contexture.tasks.corpus_languages import PCR, PROTOCOLS, components, every_languages_sentences, known, without
from contexture.tasks.language_bias.config import LanguageBiasSettings
from contexture.tasks.sentences.vectors import VectorStore

NAME = "language_bias"
#: Neighbours whose languages are counted, of every sentence.
NEIGHBOURS = 10
#: Sentences of each language that are drawn.
POINTS = 100

#: (N,) numbers of the languages of N vectors.
Languages = NDArray[np.int64]


def evaluate_bias(
    settings: LanguageBiasSettings,
    encoders: Sequence[EvaluatedEncoder],
    files: Mapping[str, Path],
    paragraphs: Path,
    vectors_dir: Path,
    parallel_map: ParallelMap,
) -> Results:
    """Of each set and encoder, the share of neighbours in the sentence's own language: of each, and their mean.

    As facts, of the first seed: `languages` of each set; `expected`, the share if language plays no part;
    `neighbours`, by set, variant and protocol, of each language (row) the share of each (column); and `points`, of the
    variants that are drawn likewise, `x`, `y` and `lang` of sentences. Languages that the corpus has no text of are
    left out and named in `missing`.
    """
    records: list[dict[str, Any]] = []
    details: dict[str, Any] = {"languages": {}, "expected": {}, "neighbours": {}, "points": {}, "missing": {}}
    first_seed = [encoder for encoder in encoders if not encoder.seed]
    drawn = {encoder.models for encoder in first_seed if encoder.variant in settings.drawn}
    sentences = every_languages_sentences(paragraphs, settings.pcr_sentences) if files else {}
    for name, file in files.items():
        table = pd.read_parquet(file)
        languages = known(table["lang"], sentences)
        if without_text := sorted(set(table["lang"]) - set(languages)):
            reason = "the corpus has no text of them for PCR"
            details["missing"][f"language bias of {name} in {', '.join(without_text)}"] = reason
        if len(languages) < 2:
            continue
        sizes = table["lang"].value_counts()[[*languages]]
        details["languages"][name] = [*languages]
        details["expected"][name] = float(((sizes - 1) / (sizes.sum() - 1)).mean())
        measured = measure_encoders(
            measure, encoders, parallel_map, name, file, languages, sentences, vectors_dir, drawn
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
        for fact, variants in (
            ("neighbours", {encoder.variant for encoder in first_seed}),
            ("points", settings.drawn),
        ):
            details[fact][name] = {
                encoder.variant: {protocol: result[fact] for protocol, result in measured[encoder.models].items()}
                for encoder in first_seed
                if encoder.variant in variants
            }
    return Results(records, details)


def measure(
    encoders: Sequence[str],
    name: str,
    file: Path,
    languages: Mapping[str, str],
    sentences: Mapping[str, Sequence[str]],
    vectors_dir: Path,
    drawn: Collection[Sequence[str]],
) -> dict[str, dict[str, Any]]:
    """Protocol → `neighbours`, rows of shares, and, of encoders that are among `drawn`, `points`."""
    table = pd.read_parquet(file)
    texts = {lang: table.loc[table["lang"] == lang, "text"].tolist() for lang in languages}
    lookup = VectorStore(vectors_dir)(encoders, sorted({text for of_lang in texts.values() for text in of_lang}), name)
    common = components(encoders, languages, sentences, vectors_dir)
    results: dict[str, dict[str, Any]] = {}
    for protocol in PROTOCOLS:
        sides = [without(lookup, common[lang] if protocol == PCR else None)(texts[lang]) for lang in languages]
        numbers = np.repeat(np.arange(len(sides)), [len(side) for side in sides])
        vectors = normalize(np.concatenate(sides))
        results[protocol] = {"neighbours": neighbour_languages(vectors, numbers, NEIGHBOURS).tolist()}
        if encoders in drawn:
            results[protocol]["points"] = in_the_plane(vectors, numbers, [*languages], POINTS)
    return results


def neighbour_languages(vectors: Array, languages: Languages, k: int) -> NDArray[np.float64]:
    """Of each language (row) the shares of each (column) among the k nearest others of its sentences, by cosine."""
    _, rows = find_nearest(vectors, vectors, min(k + 1, len(vectors)))
    # A sentence is no neighbour of itself, wherever it stands among equals.
    is_itself = rows == np.arange(len(vectors))[:, None]
    is_itself[~is_itself.any(axis=1), -1] = True
    neighbours = languages[rows[~is_itself].reshape(len(vectors), -1)]
    count = languages.max() + 1
    counts = [np.bincount(neighbours[languages == lang].ravel(), minlength=count) for lang in range(count)]
    shares: NDArray[np.float64] = np.stack(counts) / np.sum(counts, axis=1, keepdims=True)
    return shares


def in_the_plane(vectors: Array, numbers: Languages, languages: Sequence[str], count: int) -> dict[str, Any]:
    """`x`, `y` and `lang` of the first `count` sentences of each language, by t-SNE of their cosines."""
    from sklearn.manifold import TSNE

    rows = np.concatenate([np.flatnonzero(numbers == lang)[:count] for lang in range(len(languages))])
    perplexity = min(30.0, max(1.0, (len(rows) - 1) / 3))
    tsne = TSNE(metric="cosine", init="random", perplexity=perplexity, random_state=0)
    with threadpool_limits(1):  # so few points are soon done; threads wait for one another where cores are busy
        points = tsne.fit_transform(vectors[rows])
    x, y = points.astype(float).round(3).T.tolist()
    return {"x": x, "y": y, "lang": [languages[lang] for lang in numbers[rows]]}
