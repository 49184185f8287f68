"""Ranks of frozen and fine-tuned encoders, BM25 and random order on the test questions of every set."""

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
from contexture.metrics.scores import RUN_COLUMNS, to_records
from contexture.retrieval.bm25 import Bm25
from contexture.retrieval.vectors import Vectors, normalize, write_vectors
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, list_seeds, serial_map
from contexture.tasks.examples import select_examples
from contexture.tasks.ranking.config import Protocol, RankingSettings, Score
from contexture.tasks.ranking.data import BM25_DIR, PROTOCOLS, Questions, read_pools, read_split, read_texts
from contexture.tasks.ranking.ranks import (
    BM25,
    METRICS,
    Numbers,
    chance_metrics,
    describe_confidence,
    question_metrics,
    right_ranks,
)
from contexture.tasks.retrieval.reqa import stable_id

LOG = logging.getLogger(__name__)
NAME = "ranking"
FROZEN: Protocol = "frozen"
FINETUNED: Protocol = "finetuned"
#: The names of scores in reports.
SCORE_NAMES: dict[Score, str] = {"alpha": "attention", "cosine": "cosine", "dot": "inner product"}
#: Protocols that report one score of a frozen encoder each.
SCORE_PROTOCOLS: dict[Score, str] = {"alpha": "by_attention", "cosine": "by_cosine", "dot": "by_dot"}
#: The columns of the table of ranks.
COLUMNS = [*RUN_COLUMNS, "data", "question_id", "rank", *METRICS]


@dataclass(frozen=True)
class PreparedSet:
    """A set of questions in a folder of `write_set`."""

    name: str
    folder: Path
    #: Whether recall counts the share of right candidates; otherwise one is enough.
    all_needed: bool


@dataclass(frozen=True)
class SetModel:
    """A model of a variant on one set."""

    evaluated: EvaluatedEncoder
    data: PreparedSet
    #: Whether it was fine-tuned on this set.
    tuned: bool

    @property
    def encoders(self) -> tuple[str, ...]:
        """Folders or names of the encoders whose vectors are concatenated."""
        if not self.tuned:
            return self.evaluated.models
        assert self.evaluated.finetuned_dir is not None
        return (str(self.evaluated.finetuned_dir / self.data.name),)

    @property
    def protocol(self) -> Protocol:
        """Protocol of the model's records: frozen or finetuned."""
        return FINETUNED if self.tuned else FROZEN


@dataclass(frozen=True)
class ScoredCandidates:
    """Scores of a model for the candidates of each test question."""

    questions: Questions
    texts: list[str]
    #: The scores of each question's candidates, by kind of score.
    scores: dict[Score, list[Numbers]]
    default: Score
    #: Why the default differs from the settings.
    fallback_note: str


@dataclass(frozen=True)
class SetResults:
    """Results of one model on one set."""

    model: SetModel
    #: One row per question and protocol: the model's and, for frozen encoders, `SCORE_PROTOCOLS`.
    table: pd.DataFrame
    score: Score
    fallback_note: str
    example: dict[str, Any]


def evaluate_ranking(
    settings: RankingSettings,
    encoders: Sequence[EvaluatedEncoder],
    sets: Sequence[PreparedSet],
    vectors_dir: Path,
    parallel_map: ParallelMap = serial_map,
) -> Results:
    """Return R@1, R@20 and MRR of all variants, BM25 and random order on all sets.

    Frozen encoders are measured by their default score (protocol `frozen`) and by each available score
    (`SCORE_PROTOCOLS`).

    Returns:
        Details: `scores`, protocol → variant → name of the score; `notes`, on scores that differ from the settings;
        `examples` of each set, from the model with the best MRR, preferably fine-tuned; `confidence` by set, see
        `describe_confidence`. The table `ranks` has the rank of each question's first right candidate and `METRICS`.
    """
    empty = [data for data in sets if not any(map(len, read_split(data.folder, "test").candidates))]
    notes = [f"{data.name}: nothing is measured: no test question has candidates" for data in empty]
    sets = [data for data in sets if data not in empty]
    if not encoders or not sets:
        return Results(details={"notes": notes})
    models = [model for data in sets for encoder in encoders for model in list_models(encoder, data, settings)]
    results: list[SetResults] = parallel_map(_measure_model, [(model, settings, vectors_dir) for model in models])
    baselines = [
        table
        for data in sets
        for protocol in _baseline_protocols(data, models)
        for table in _rank_baselines(data, list_seeds(encoders), protocol)
    ]
    ranks = pd.concat([*(result.table for result in results), *baselines], ignore_index=True)[COLUMNS]
    tables = {data.name: ranks[ranks["data"] == data.name] for data in sets}
    scores: dict[str, dict[str, str]] = {}
    for result in results:
        scores.setdefault(result.model.protocol, {})[result.model.evaluated.variant] = SCORE_NAMES[result.score]
    notes += dict.fromkeys(result.fallback_note for result in results if result.fallback_note)
    for note in notes:
        LOG.warning("%s", note)
    details = {
        "scores": scores,
        "notes": notes,
        "examples": [
            _select_best([result for result in results if result.model.data == data]).example for data in sets
        ],
        "confidence": {data.name: _measure_confidence(data, tables[data.name]) for data in sets},
    }
    records = [record for name, table in tables.items() for record in to_records(table, METRICS, NAME, name)]
    return Results(records, details, {"ranks": ranks})


def list_models(encoder: EvaluatedEncoder, data: PreparedSet, settings: RankingSettings) -> Iterator[SetModel]:
    """Yield the models of a variant to measure on a set: frozen and, if it exists, fine-tuned."""
    yield SetModel(encoder, data, tuned=False)
    if encoder.finetuned_dir is not None and data.name in settings.finetune:
        yield SetModel(encoder, data, tuned=True)


def choose_score(model: TextEncoder, variant: str, tuned: bool, settings: RankingSettings) -> tuple[Score, str]:
    """Return by which score a model ranks candidates, and a note if this differs from the settings ("" if it does not).

    Fine-tuned encoders are scored as they were trained: by attention, or by inner products without cross-sequence
    layers.
    """
    has_cross_layers = _get_cross_layers(model) is not None
    if tuned:
        return ("alpha" if has_cross_layers else "dot"), ""
    score = settings.scores.get(variant)
    if score == "alpha" and not has_cross_layers:
        return "cosine", f"{variant} has no cross-sequence layers: its score is the cosine instead of attention"
    return score or ("alpha" if has_cross_layers else "cosine"), ""


def make_key_function(model: TextEncoder) -> Callable[[Array], Array]:
    """Return a function from candidate vectors (C, D) to the attention keys (C, D); see `make_score_function`."""
    cross = _get_cross_layers(model)
    assert cross is not None
    return partial(_run_on_device, cross, cross.keys)


def make_score_function(model: TextEncoder, score: Score) -> Callable[[Array, Array], Numbers]:
    """Return a function from the vectors of a question (D,) and of its candidates (C, D) to scores (C,).

    For attention, it takes the candidates' keys instead of their vectors and returns log-weights, because weights can
    be tiny.
    """
    if score == "alpha":
        cross = _get_cross_layers(model)
        assert cross is not None
        return lambda query, keys: _run_on_device(cross, cross.log_weights, query[None], keys)[0]
    scale = normalize if score == "cosine" else lambda vectors: vectors
    # The rounding of matrix multiplication would depend on a vector's position in the matrix.
    return lambda query, candidates: np.einsum("nd,d->n", scale(candidates), scale(query[None])[0])


def _get_cross_layers(model: TextEncoder) -> CrossLayers | None:
    """Return the cross-sequence layers of a model; None if it has none."""
    return model.cross if isinstance(model, Encoder) else None


@torch.inference_mode()
def _run_on_device(cross: CrossLayers, function: Callable[..., Tensor], *arrays: Array) -> Array:
    """Return `function` of the arrays, computed by PyTorch on the device of `cross`."""
    device = next(cross.parameters()).device
    result: Array = function(*(torch.from_numpy(np.array(array)).to(device) for array in arrays)).cpu().numpy()
    return result


def score_candidates(
    measured: SetModel, settings: RankingSettings, vectors_dir: Path, all_scores: bool = False
) -> ScoredCandidates:
    """Return a model's scores of the candidates of a set's test questions; vectors are cached in `vectors_dir`.

    `all_scores`: by each available score instead of only the default.
    """
    encoder, data, model = measured.evaluated, measured.data, load_models(measured.encoders)
    questions, texts = read_split(data.folder, "test", measured.protocol), read_texts(data.folder)
    rows = np.unique(np.concatenate(questions.candidates))
    folder = vectors_dir / data.name / encoder.variant / measured.protocol / f"seed-{encoder.seed}"
    vectors = _embed_texts(model, [texts[row] for row in rows], folder)
    queries = model.embed(questions.texts, "query")
    default, fallback_note = choose_score(model, encoder.variant, measured.tuned, settings)
    kinds: list[Score] = [default]
    if all_scores:
        kinds = ["cosine", "dot"] if _get_cross_layers(model) is None else ["alpha", "cosine", "dot"]
    scores: dict[Score, list[Numbers]] = {}
    for kind in kinds:
        compare, stored = make_score_function(model, kind), _write_keys(model, vectors) if kind == "alpha" else vectors
        scores[kind] = [
            compare(query, stored.take(np.searchsorted(rows, candidates))) if len(candidates) else np.empty(0)
            for query, candidates in zip(queries, questions.candidates, strict=True)
        ]
    return ScoredCandidates(questions, texts, scores, default, fallback_note)


def _embed_texts(model: TextEncoder, texts: list[str], folder: Path) -> Vectors:
    """Return the document vectors of texts, cached in `folder`."""
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    dimension = model.embed(texts[:1], "document").shape[1]
    folder.parent.mkdir(parents=True, exist_ok=True)
    identity = {"model": model.identity, "texts": digest}
    return write_vectors(
        folder, len(texts), dimension, lambda rows: model.embed(texts[rows.start : rows.stop], "document"), identity
    )


def _write_keys(model: TextEncoder, vectors: Vectors) -> Vectors:
    """Return the attention keys of all candidates' vectors, cached in a folder next to them."""
    make, folder = make_key_function(model), vectors.folder.with_name(f"{vectors.folder.name}-keys")
    identity = {"keys": True} | vectors.identity
    return write_vectors(
        folder, len(vectors), vectors.dimension, lambda rows: make(vectors[rows.start : rows.stop]), identity
    )


def _measure_model(model: SetModel, settings: RankingSettings, vectors_dir: Path) -> SetResults:
    """Return the ranks and metrics of a set's test questions by a model; of frozen encoders also by each score."""
    scored = score_candidates(model, settings, vectors_dir, all_scores=not model.tuned)
    ranked = {score: _rank_questions(scored.questions, values, model.data) for score, values in scored.scores.items()}
    tables = [ranked[scored.default].assign(protocol=model.protocol)]
    if not model.tuned:
        tables += [table.assign(protocol=SCORE_PROTOCOLS[score]) for score, table in ranked.items()]
    table = pd.concat(tables, ignore_index=True)
    table = table.assign(variant=model.evaluated.variant, seed=model.evaluated.seed, split="test")
    return SetResults(model, table, scored.default, scored.fallback_note, _describe_examples(model, scored))


def _rank_questions(questions: Questions, scores: Sequence[Numbers], data: PreparedSet) -> pd.DataFrame:
    """Return, for each question, the rank of its first right candidate (0: it has none) and `METRICS`."""
    rows = []
    for name, candidates, right, values in zip(
        questions.ids, questions.candidates, questions.right, scores, strict=True
    ):
        ranks = right_ranks(values, np.isin(candidates, right))
        first = int(ranks[0]) if len(ranks) else 0
        rows.append((name, first, *question_metrics(ranks, len(right), data.all_needed)))
    return pd.DataFrame(rows, columns=["question_id", "rank", *METRICS]).assign(data=data.name)


def _baseline_protocols(data: PreparedSet, models: Sequence[SetModel]) -> list[Protocol]:
    """Return the protocols for which baselines are measured: one for each pool that a model ranks."""
    tuned = any(model.tuned for model in models if model.data == data)
    return [FROZEN, FINETUNED] if tuned and read_pools(data.folder) else [FROZEN]


def _rank_baselines(data: PreparedSet, seeds: Sequence[int], protocol: Protocol) -> Iterator[pd.DataFrame]:
    """Yield the tables of `_rank_questions` by BM25 and in random order, for each seed."""
    questions = read_split(data.folder, "test", protocol)
    pairs = zip(Bm25(data.folder / BM25_DIR).score_texts(questions.texts), questions.candidates, strict=True)
    by_bm25 = _rank_questions(questions, [scores[rows] for scores, rows in pairs], data)
    for seed in seeds:
        generators = [np.random.default_rng(int(stable_id(f"{seed}/{name}"), 16)) for name in questions.ids]
        random_scores = [rng.random(len(rows)) for rng, rows in zip(generators, questions.candidates, strict=True)]
        for variant, table in ((BM25, by_bm25), ("random_order", _rank_questions(questions, random_scores, data))):
            yield table.assign(variant=variant, seed=seed, split="test", protocol=protocol)


def _describe_examples(model: SetModel, scored: ScoredCandidates) -> dict[str, Any]:
    """Return example questions, answered and missed, with the first candidate, a right one, and their scores."""
    questions, scores = scored.questions, scored.scores[scored.default]
    numbers = [number for number, values in enumerate(scores) if len(values)]
    first = [int(questions.candidates[number][np.argmax(scores[number])]) for number in numbers]
    right = [row in questions.right[number] for number, row in zip(numbers, first, strict=True)]

    def describe_candidate(number: int, row: int) -> str:
        """Return a candidate's text and its score for a question."""
        text = scored.texts[row] if row >= 0 else "(missing text)"
        values = scores[number][questions.candidates[number] == row]
        if not len(values):
            return f"{text} (not among the candidates)"
        score = float(np.exp(values[0]) if scored.default == "alpha" else values[0])
        return f"{text} ({SCORE_NAMES[scored.default]} {score:.3f})"

    def describe_example(position: int) -> dict[str, str]:
        """Return a question with its first candidate and a right one."""
        number = numbers[position]
        gold = questions.right[number]
        among = gold[np.isin(gold, questions.candidates[number])]
        answer = first[position] if right[position] else int((among if len(among) else gold)[0])
        texts = {
            "predicted": describe_candidate(number, first[position]),
            "right": describe_candidate(number, answer),
        }
        return {"question": questions.texts[number]} | texts

    return select_examples(model.evaluated.variant, model.protocol, right, describe_example)


def _select_best(results: Sequence[SetResults]) -> SetResults:
    """Return the results with the best MRR; any fine-tuned model is preferred to frozen ones."""

    def mean_mrr(result: SetResults) -> float:
        """Return the mean MRR of a model over the questions, by its default score."""
        return float(result.table.loc[result.table["protocol"] == result.model.protocol, "mrr"].mean())

    return max(results, key=lambda result: (result.model.tuned, mean_mrr(result)))


def _measure_confidence(data: PreparedSet, table: pd.DataFrame) -> dict[str, Any]:
    """Return `describe_confidence` of a set's table of ranks: intervals of metrics, and differences to baselines."""
    chance = {
        protocol: chance_metrics(read_split(data.folder, "test", protocol), data.all_needed) for protocol in PROTOCOLS
    }
    return describe_confidence(table, chance)
