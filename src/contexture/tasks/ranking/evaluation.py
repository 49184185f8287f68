"""Every variant on the test questions of every set: frozen, fine-tuned, and BM25 and chance as baselines."""

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from contexture.encoders.base import Array, Encoder, TextEncoder
from contexture.encoders.cross import CrossLayers
from contexture.encoders.models import load_models
from contexture.metrics.scores import RUN, to_records
from contexture.retrieval.bm25 import Bm25
from contexture.retrieval.vectors import Vectors, normalize, write_vectors
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, list_seeds, serial_map
from contexture.tasks.examples import to_read
from contexture.tasks.ranking.config import Protocol, RankingSettings, Score
from contexture.tasks.ranking.data import PROTOCOLS, WORDS, Questions, read_pools, read_split, read_texts
from contexture.tasks.ranking.ranks import (
    BM25,
    METRICS,
    Numbers,
    describe_confidence,
    expect_by_chance,
    measures,
    right_ranks,
)
from contexture.tasks.retrieval.reqa import stable_id

LOG = logging.getLogger(__name__)
NAME = "ranking"
FROZEN: Protocol = "frozen"
FINETUNED: Protocol = "finetuned"
#: The names of scores in reports.
SCORE_NAMES: dict[Score, str] = {"alpha": "attention", "cosine": "cosine", "dot": "inner product"}
#: The protocols that report one score of a frozen encoder each, whichever its default score is.
SCORE_PROTOCOLS: dict[Score, str] = {"alpha": "by_attention", "cosine": "by_cosine", "dot": "by_dot"}
#: The columns of the table of ranks.
COLUMNS = [*RUN, "data", "question_id", "rank", *METRICS]


@dataclass(frozen=True)
class RankedSet:
    """A set of questions."""

    name: str
    folder: Path
    #: Whether recall is the share of the right candidates that is found, or whether one is enough.
    all_needed: bool


@dataclass(frozen=True)
class SetModel:
    """One model of a variant on one set."""

    evaluated: EvaluatedEncoder
    data: RankedSet
    #: Whether it was fine-tuned on this set.
    tuned: bool

    @property
    def encoders(self) -> tuple[str, ...]:
        """Folders or names."""
        if not self.tuned:
            return self.evaluated.models
        assert self.evaluated.finetuned is not None
        return (str(self.evaluated.finetuned / self.data.name),)

    @property
    def protocol(self) -> Protocol:
        """The protocol of its records."""
        return FINETUNED if self.tuned else FROZEN


@dataclass(frozen=True)
class Scored:
    """The scores of a model for the candidates of each test question."""

    questions: Questions
    texts: list[str]
    #: The scores of each question's candidates, by kind of score.
    scores: dict[Score, list[Numbers]]
    default: Score
    #: Why the default is not the score that the settings name.
    fell_back: str


@dataclass(frozen=True)
class SetResults:
    """The results of one model on one set."""

    model: SetModel
    #: A row for each question and protocol: that of the model and, of a frozen encoder, `SCORE_PROTOCOLS`.
    table: pd.DataFrame
    score: Score
    fell_back: str
    example: dict[str, Any]


def evaluate_ranking(
    settings: RankingSettings,
    encoders: Sequence[EvaluatedEncoder],
    sets: Sequence[RankedSet],
    vectors: Path,
    parallel_map: ParallelMap = serial_map,
) -> Results:
    """R@1, R@20 and MRR of all variants, and of BM25 and chance for each of their seeds, on all sets.

    Frozen encoders are measured by their default score, the protocol `frozen`, and by each score that they can have
    (`SCORE_PROTOCOLS`).

    Returns:
        Facts: `scores`, protocol → variant → name of the score; `notes`, where that is not the score of the settings;
        `examples`, some questions of each set, of the model with the best MRR among those fine-tuned, or among the
        frozen ones if there is none; `confidence`, by set, see `describe_confidence`. The table `ranks` has each
        question's rank of its first right candidate and `METRICS`.
    """
    empty = [data for data in sets if not any(map(len, read_split(data.folder, "test").candidates))]
    notes = [f"{data.name}: nothing is measured, as no test question has candidates" for data in empty]
    sets = [data for data in sets if data not in empty]
    if not encoders or not sets:
        return Results(details={"notes": notes})
    models = [model for data in sets for encoder in encoders for model in models_of(encoder, data, settings)]
    results: list[SetResults] = parallel_map(_measure, [(model, settings, vectors) for model in models])
    baselines = [
        table
        for data in sets
        for protocol in _baseline_protocols(data, models)
        for table in _baselines(data, list_seeds(encoders), protocol)
    ]
    ranks = pd.concat([*(result.table for result in results), *baselines], ignore_index=True)[COLUMNS]
    tables = {data.name: ranks[ranks["data"] == data.name] for data in sets}
    scores: dict[str, dict[str, str]] = {}
    for result in results:
        scores.setdefault(result.model.protocol, {})[result.model.evaluated.variant] = SCORE_NAMES[result.score]
    notes += dict.fromkeys(result.fell_back for result in results if result.fell_back)
    for note in notes:
        LOG.warning("%s", note)
    details = {
        "scores": scores,
        "notes": notes,
        "examples": [_best([result for result in results if result.model.data == data]).example for data in sets],
        "confidence": {data.name: _confidence(data, tables[data.name]) for data in sets},
    }
    records = [record for name, table in tables.items() for record in to_records(table, METRICS, NAME, name)]
    return Results(records, details, {"ranks": ranks})


def models_of(encoder: EvaluatedEncoder, data: RankedSet, settings: RankingSettings) -> Iterator[SetModel]:
    """Yield the frozen model of a variant on a set, and the fine-tuned one if there is one."""
    yield SetModel(encoder, data, tuned=False)
    if encoder.finetuned is not None and data.name in settings.finetune:
        yield SetModel(encoder, data, tuned=True)


def score_of(model: TextEncoder, variant: str, tuned: bool, settings: RankingSettings) -> tuple[Score, str]:
    """Return the score of a model, and why it is not the one that the settings name.

    A fine-tuned encoder is compared as it was trained: by attention, or, without cross-sequence layers, by inner
    products.
    """
    crossing = _cross(model) is not None
    if tuned:
        return ("alpha" if crossing else "dot"), ""
    score = settings.scores.get(variant)
    if score == "alpha" and not crossing:
        return "cosine", f"{variant} has no cross-sequence layers: its score is the cosine instead of attention"
    return score or ("alpha" if crossing else "cosine"), ""


def keys_of(model: TextEncoder) -> Callable[[Array], Array]:
    """A function: vectors of candidates (C, D) → what attention reads of them, (C, D); see `scorer`."""
    cross = _cross(model)
    assert cross is not None
    return partial(_run, cross, cross.keys)


def scorer(model: TextEncoder, score: Score) -> Callable[[Array, Array], Numbers]:
    """A function: the vector of a question (D,) and those of its candidates (C, D) → scores (C,).

    Attention takes the candidates' keys in place of their vectors, and gives its logarithm, as tiny weights differ.
    """
    if score == "alpha":
        cross = _cross(model)
        assert cross is not None
        return lambda query, keys: _run(cross, cross.log_weights, query[None], keys)[0]
    scale = normalize if score == "cosine" else lambda vectors: vectors
    # Not by matrix multiplication: how that rounds depends on the position of a vector in the matrix.
    return lambda query, candidates: np.einsum("nd,d->n", scale(candidates), scale(query[None])[0])


def _cross(model: TextEncoder) -> CrossLayers | None:
    return model.cross if isinstance(model, Encoder) else None


@torch.inference_mode()
def _run(cross: CrossLayers, function: Callable[..., Tensor], *arrays: Array) -> Array:
    device = next(cross.parameters()).device
    result: Array = function(*(torch.from_numpy(np.array(array)).to(device) for array in arrays)).cpu().numpy()
    return result


def score_candidates(
    measured: SetModel, settings: RankingSettings, vectors_dir: Path, all_scores: bool = False
) -> Scored:
    """Score the candidates of the test questions of a set; `vectors_dir` keeps their vectors.

    `all_scores`: by each score that the model can have; otherwise by its default alone.
    """
    encoder, data, model = measured.evaluated, measured.data, load_models(measured.encoders)
    questions, texts = read_split(data.folder, "test", measured.protocol), read_texts(data.folder)
    rows = np.unique(np.concatenate(questions.candidates))
    folder = vectors_dir / data.name / encoder.variant / measured.protocol / f"seed-{encoder.seed}"
    vectors = _vectors(model, [texts[row] for row in rows], folder)
    queries = model.embed(questions.texts, "query")
    default, fell_back = score_of(model, encoder.variant, measured.tuned, settings)
    kinds: list[Score] = [default]
    if all_scores:
        kinds = ["cosine", "dot"] if _cross(model) is None else ["alpha", "cosine", "dot"]
    scores: dict[Score, list[Numbers]] = {}
    for kind in kinds:
        compare, stored = scorer(model, kind), _keys(model, vectors) if kind == "alpha" else vectors
        scores[kind] = [
            compare(query, stored.take(np.searchsorted(rows, candidates))) if len(candidates) else np.empty(0)
            for query, candidates in zip(queries, questions.candidates, strict=True)
        ]
    return Scored(questions, texts, scores, default, fell_back)


def _vectors(model: TextEncoder, texts: list[str], folder: Path) -> Vectors:
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    dimension = model.embed(texts[:1], "document").shape[1]
    folder.parent.mkdir(parents=True, exist_ok=True)
    identity = {"model": model.identity, "texts": digest}
    return write_vectors(
        folder, len(texts), dimension, lambda rows: model.embed(texts[rows.start : rows.stop], "document"), identity
    )


def _keys(model: TextEncoder, vectors: Vectors) -> Vectors:
    """The keys of all candidates in a folder next to their vectors, as many questions have the same candidates."""
    make, folder = keys_of(model), vectors.folder.with_name(f"{vectors.folder.name}-keys")
    identity = {"keys": True} | vectors.identity
    return write_vectors(
        folder, len(vectors), vectors.dimension, lambda rows: make(vectors[rows.start : rows.stop]), identity
    )


def _measure(model: SetModel, settings: RankingSettings, vectors_dir: Path) -> SetResults:
    """Rank the candidates of one set by one model; by each score that a frozen encoder can have."""
    scored = score_candidates(model, settings, vectors_dir, all_scores=not model.tuned)
    ranked = {score: _ranked(scored.questions, values, model.data) for score, values in scored.scores.items()}
    tables = [ranked[scored.default].assign(protocol=model.protocol)]
    if not model.tuned:
        tables += [table.assign(protocol=SCORE_PROTOCOLS[score]) for score, table in ranked.items()]
    table = pd.concat(tables, ignore_index=True)
    table = table.assign(variant=model.evaluated.variant, seed=model.evaluated.seed, split="test")
    return SetResults(model, table, scored.default, scored.fell_back, _example(model, scored))


def _ranked(questions: Questions, scores: Sequence[Numbers], data: RankedSet) -> pd.DataFrame:
    """A row a question: the rank of its first right candidate, 0 where none is among its candidates, and `METRICS`."""
    rows = []
    for name, candidates, right, values in zip(
        questions.ids, questions.candidates, questions.right, scores, strict=True
    ):
        ranks = right_ranks(values, np.isin(candidates, right))
        first = int(ranks[0]) if len(ranks) else 0
        rows.append((name, first, *measures(ranks, len(right), data.all_needed)))
    return pd.DataFrame(rows, columns=["question_id", "rank", *METRICS]).assign(data=data.name)


def _baseline_protocols(data: RankedSet, models: Sequence[SetModel]) -> list[Protocol]:
    """The protocols that baselines are measured under: one for each pool that some encoder ranks."""
    tuned = any(model.tuned for model in models if model.data == data)
    return [FROZEN, FINETUNED] if tuned and read_pools(data.folder) else [FROZEN]


def _baselines(data: RankedSet, seeds: Sequence[int], protocol: Protocol) -> Iterator[pd.DataFrame]:
    """Rank the candidates of a protocol by BM25 and at random."""
    questions = read_split(data.folder, "test", protocol)
    pairs = zip(Bm25(data.folder / WORDS).score_texts(questions.texts), questions.candidates, strict=True)
    by_words = _ranked(questions, [scores[rows] for scores, rows in pairs], data)
    for seed in seeds:
        generators = [np.random.default_rng(int(stable_id(f"{seed}/{name}"), 16)) for name in questions.ids]
        drawn = [rng.random(len(rows)) for rng, rows in zip(generators, questions.candidates, strict=True)]
        for variant, table in ((BM25, by_words), ("random_order", _ranked(questions, drawn, data))):
            yield table.assign(variant=variant, seed=seed, split="test", protocol=protocol)


def _example(model: SetModel, scored: Scored) -> dict[str, Any]:
    """Questions whose first candidate is right, and others: the first candidate, and a right one, with their scores."""
    questions, scores = scored.questions, scored.scores[scored.default]
    numbers = [number for number, values in enumerate(scores) if len(values)]
    first = [int(questions.candidates[number][np.argmax(scores[number])]) for number in numbers]
    right = [row in questions.right[number] for number, row in zip(numbers, first, strict=True)]

    def describe(number: int, row: int) -> str:
        text = scored.texts[row] if row >= 0 else "A text that is not there"
        values = scores[number][questions.candidates[number] == row]
        if not len(values):
            return f"{text} (not among the candidates)"
        score = float(np.exp(values[0]) if scored.default == "alpha" else values[0])
        return f"{text} ({SCORE_NAMES[scored.default]} {score:.3f})"

    def row(position: int) -> dict[str, str]:
        number = numbers[position]
        gold = questions.right[number]
        among = gold[np.isin(gold, questions.candidates[number])]
        answer = first[position] if right[position] else int((among if len(among) else gold)[0])
        texts = {"found": describe(number, first[position]), "right": describe(number, answer)}
        return {"question": questions.texts[number]} | texts

    return to_read(model.evaluated.variant, model.protocol, right, row)


def _best(results: Sequence[SetResults]) -> SetResults:
    """The results of the best model on a set by the MRR under its protocol; fine-tuned ones come first."""

    def mean_mrr(result: SetResults) -> float:
        return float(result.table.loc[result.table["protocol"] == result.model.protocol, "mrr"].mean())

    return max(results, key=lambda result: (result.model.tuned, mean_mrr(result)))


def _confidence(data: RankedSet, table: pd.DataFrame) -> dict[str, Any]:
    chance = {
        protocol: expect_by_chance(read_split(data.folder, "test", protocol), data.all_needed) for protocol in PROTOCOLS
    }
    return describe_confidence(table, chance)
