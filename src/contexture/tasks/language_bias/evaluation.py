"""The languages of every sentence's nearest neighbours (CMLM, section 5.2), before and after PCR."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from contexture.retrieval.search_index import nearest
from contexture.retrieval.vectors import Array, unit
from contexture.tasks.base import Contestant, Each, Results, make_record, measure_encoders
from contexture.tasks.corpus_languages import PCR, PROTOCOLS, components, every_languages_sentences, known, without
from contexture.tasks.language_bias.config import LanguageBiasSettings
from contexture.tasks.sentences.vectors import VectorStore

NAME = "language_bias"


def evaluate_bias(
    settings: LanguageBiasSettings,
    contestants: Sequence[Contestant],
    files: Mapping[str, Path],
    paragraphs: Path,
    place: Path,
    each: Each,
) -> Results:
    """Of each set and contestant, the share of neighbours in the sentence's own language: of each, and their mean.

    As facts, of the first seed: `languages` of each set; `expected`, the share where language plays no part;
    `neighbours`, by set, variant and protocol, of each language (row) the share of each (column); and `points`, of the
    variants that are drawn likewise, `x`, `y` and `lang` of some sentences. Languages that the corpus has no text of
    are left out and named in `without_text`.
    """
    records: list[dict[str, Any]] = []
    facts: dict[str, Any] = {"languages": {}, "expected": {}, "neighbours": {}, "points": {}, "without_text": {}}
    drawn = {one.encoders for one in contestants if one.variant in settings.drawn and not one.seed}
    sentences = every_languages_sentences(paragraphs, settings.pcr_sentences) if files else {}
    for name, file in files.items():
        every = pd.read_parquet(file)
        there = known(every["lang"], sentences)
        facts["without_text"][name] = sorted(set(every["lang"]) - set(there))
        if len(there) < 2:
            continue
        sizes = every["lang"].value_counts()[[*there]]
        facts["languages"][name] = [*there]
        facts["expected"][name] = float(((sizes - 1) / (sizes.sum() - 1)).mean())
        found = measure_encoders(measure, contestants, each, name, file, there, settings, sentences, place, drawn)
        facts["neighbours"][name], facts["points"][name] = {}, {}
        for one in contestants:
            measured = found[one.encoders]
            for protocol, of in measured.items():
                shares = np.diag(of["neighbours"]).tolist()
                records += _records(one, name, protocol, dict(zip(there, shares, strict=True)))
            if one.seed:
                continue
            for fact in ("neighbours", *(["points"] if one.variant in settings.drawn else [])):
                facts[fact][name][one.variant] = {protocol: of[fact] for protocol, of in measured.items()}
    return Results(records, facts)


def measure(
    encoders: Sequence[str],
    name: str,
    file: Path,
    languages: Mapping[str, str],
    settings: LanguageBiasSettings,
    sentences: Mapping[str, Sequence[str]],
    place: Path,
    drawn: Collection[Sequence[str]],
) -> dict[str, dict[str, Any]]:
    """Protocol → `neighbours`, rows of shares, and, of encoders that are among `drawn`, `points`."""
    every = pd.read_parquet(file)
    texts = {lang: every.loc[every["lang"] == lang, "text"].tolist() for lang in languages}
    lookup = VectorStore(place)(encoders, sorted({text for some in texts.values() for text in some}), name)
    common = components(encoders, languages, sentences, place)
    found = {}
    for protocol in PROTOCOLS:
        sides = [without(lookup, common[lang] if protocol == PCR else None)(texts[lang]) for lang in languages]
        numbers = np.repeat(np.arange(len(sides)), [len(side) for side in sides])
        vectors = unit(np.concatenate(sides))
        found[protocol] = {"neighbours": neighbour_languages(vectors, numbers, settings.neighbours).tolist()}
        if encoders in drawn:
            found[protocol]["points"] = in_the_plane(vectors, numbers, [*languages], settings.points)
    return found


def neighbour_languages(vectors: Array, languages: np.ndarray, k: int) -> np.ndarray:
    """Of each language (row) the shares of each (column) among the k nearest others of its sentences, by cosine.

    `languages` (N,) are the numbers of the languages of the vectors (N, D).
    """
    _, rows = nearest(vectors, vectors, min(k + 1, len(vectors)))
    # A sentence is no neighbour of itself, wherever it stands among equals.
    own = rows == np.arange(len(vectors))[:, None]
    own[~own.any(axis=1), -1] = True
    others = languages[rows[~own].reshape(len(vectors), -1)]
    count = languages.max() + 1
    counts = np.stack([np.bincount(others[languages == one].ravel(), minlength=count) for one in range(count)])
    shares: np.ndarray = counts / counts.sum(axis=1, keepdims=True)
    return shares


def in_the_plane(vectors: Array, numbers: np.ndarray, languages: Sequence[str], count: int) -> dict[str, Any]:
    """`x`, `y` and `lang` of the first sentences of each language, by t-SNE of their cosines."""
    from sklearn.manifold import TSNE

    rows = np.concatenate([np.flatnonzero(numbers == one)[:count] for one in range(len(languages))])
    perplexity = min(30.0, max(1.0, (len(rows) - 1) / 3))
    tsne = TSNE(metric="cosine", init="random", perplexity=perplexity, random_state=0)
    with threadpool_limits(1):  # so few points are soon done; threads wait for one another where cores are busy
        found = tsne.fit_transform(vectors[rows])
    x, y = found.astype(float).round(3).T.tolist()
    return {"x": x, "y": y, "lang": [languages[one] for one in numbers[rows]]}


def _records(one: Contestant, name: str, protocol: str, shares: Mapping[str, float]) -> list[dict[str, Any]]:
    placed = {name: float(np.mean([*shares.values()]))} | {f"{name}/{lang}": share for lang, share in shares.items()}
    return [
        make_record(one.variant, one.seed, NAME, data, value, protocol, metric="own_language")
        for data, value in placed.items()
    ]
