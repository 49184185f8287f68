"""Every contestant on the test questions of every set: frozen, fine-tuned, and BM25 and chance beside them."""

import hashlib
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from contexture.encoders.base import Array, Encoder, TextEncoder
from contexture.encoders.models import load_models
from contexture.metrics.scores import RUN, to_records
from contexture.retrieval.bm25 import Bm25
from contexture.retrieval.vectors import Vectors, unit, write_vectors
from contexture.tasks.base import Contestant, Each, Results, one_by_one, seeds_of
from contexture.tasks.examples import to_read
from contexture.tasks.ranking.candidates import Rows
from contexture.tasks.ranking.confidence import describe_confidence, expect_by_chance
from contexture.tasks.ranking.config import Protocol, RankingSettings, Score
from contexture.tasks.ranking.data import PROTOCOLS, WORDS, Questions, read_pools, read_split, read_texts
from contexture.tasks.ranking.ranks import METRICS, Numbers, measures, right_ranks
from contexture.tasks.retrieval.reqa import stable_id

LOG = logging.getLogger(__name__)
NAME = "ranking"
FROZEN: Protocol = "frozen"
FINETUNED: Protocol = "finetuned"
#: What a score is called to readers.
SAID: dict[Score, str] = {"alpha": "attention", "cosine": "cosine", "dot": "inner product"}
#: The protocols that report one score of a frozen encoder each, whichever its default score is.
SCORE_PROTOCOLS: dict[Score, str] = {"alpha": "by_attention", "cosine": "by_cosine", "dot": "by_dot"}
#: The columns of the table of ranks.
COLUMNS = [*RUN, "data", "question_id", "rank", *METRICS]


@dataclass(frozen=True)
class RankedSet:
    """A set of questions as evaluation meets it."""

    name: str
    folder: Path
    #: Whether recall is the share of the right candidates that is found, or whether one is enough.
    all_needed: bool


@dataclass(frozen=True)
class Measured:
    """One model of a contestant on one set."""

    contestant: Contestant
    data: RankedSet
    #: Fine-tuned on this set.
    tuned: bool

    @property
    def encoders(self) -> tuple[str, ...]:
        """Folders or names."""
        if not self.tuned:
            return self.contestant.encoders
        assert self.contestant.finetuned is not None
        return (str(self.contestant.finetuned / self.data.name),)

    @property
    def protocol(self) -> Protocol:
        """As the records have it."""
        return FINETUNED if self.tuned else FROZEN

    @property
    def place(self) -> Path:
        """Where its vectors lie."""
        return Path(self.data.name, self.contestant.variant, self.protocol, f"seed-{self.contestant.seed}")


@dataclass(frozen=True)
class Scored:
    """The scores of a model for the candidates of each test question."""

    questions: Questions
    texts: list[str]
    scores: list[Numbers]
    score: Score
    #: Why another score was taken than the one that was asked for.
    fell_back: str


@dataclass(frozen=True)
class EmbeddedQuestions:
    """The test questions of a set and their candidates, embedded by one model."""

    model: TextEncoder
    questions: Questions
    texts: list[str]
    #: Rows of the texts that are candidates, ascending; `vectors` has their vectors in this order.
    rows: Rows
    vectors: Vectors
    queries: Array

    def score(self, scores: Collection[Score]) -> dict[Score, list[Numbers]]:
        """Return the scores of each question's candidates, by each kind of score."""
        keys = _keys(self.model, self.vectors) if "alpha" in scores else None
        compare = {score: scorer(self.model, score) for score in scores}
        results: dict[Score, list[Numbers]] = {score: [] for score in scores}
        for query, rows in zip(self.queries, self.questions.candidates, strict=True):
            positions = np.searchsorted(self.rows, rows)
            vectors = self.vectors.take(positions) if any(score != "alpha" for score in scores) else None
            for score in scores:
                candidates = vectors if keys is None or score != "alpha" else keys.take(positions)
                assert candidates is not None
                results[score].append(compare[score](query, candidates) if len(rows) else np.empty(0, np.float32))
        return results


@dataclass(frozen=True)
class Found:
    """What came of one model."""

    #: A row for each question and protocol: that of the model and, of a frozen encoder, `SCORE_PROTOCOLS`.
    table: pd.DataFrame
    score: Score
    #: Why another score was taken than the one that was asked for.
    fell_back: str
    example: dict[str, Any]


def evaluate_ranking(
    settings: RankingSettings,
    contestants: Sequence[Contestant],
    sets: Sequence[RankedSet],
    vectors: Path,
    each: Each = one_by_one,
) -> Results:
    """R@1, R@20 and MRR of all contestants, of BM25 and of chance, which have their seeds, on all sets.

    Frozen encoders are measured by their default score, the protocol `frozen`, and by each score that they can have
    (`SCORE_PROTOCOLS`).

    The facts `scores` (protocol → variant → what its vectors are compared by) and `notes` (where that is not what was
    asked for) say how candidates were scored; `examples` has some questions of each set to read, of the model with the
    best MRR among those fine-tuned, or among the frozen ones where there is none. `confidence` has intervals by set and
    protocol, see `describe_confidence`. The table `ranks` has each question's rank of its first right candidate and
    `METRICS`.
    """
    empty = [one for one in sets if not any(map(len, read_split(one.folder, "test").candidates))]
    notes = [f"{one.name}: nothing is measured, as no test question has candidates" for one in empty]
    sets = [one for one in sets if one not in empty]
    if not contestants or not sets:
        return Results(facts={"notes": notes})
    models = [one for data in sets for contestant in contestants for one in models_of(contestant, data, settings)]
    found: list[Found] = each(_measure, [(one, settings, vectors) for one in models])
    seeds = seeds_of(contestants)
    baselines = [
        table
        for data in sets
        for protocol in _baseline_protocols(data, models)
        for table in _baselines(data, seeds, protocol)
    ]
    tables = [*(one.table for one in found), *baselines]
    table = pd.concat(tables, ignore_index=True)[COLUMNS]
    records = [
        record for data in sets for record in to_records(table[table["data"] == data.name], METRICS, NAME, data.name)
    ]
    scores: dict[str, dict[str, str]] = {}
    for model, one in zip(models, found, strict=True):
        scores.setdefault(model.protocol, {})[model.contestant.variant] = SAID[one.score]
    notes += dict.fromkeys(one.fell_back for one in found if one.fell_back)
    for note in notes:
        LOG.warning("%s", note)
    facts = {
        "scores": scores,
        "notes": notes,
        "examples": [_best(data, models, found) for data in sets],
        "confidence": {data.name: _describe_confidence(data, table[table["data"] == data.name]) for data in sets},
    }
    return Results(records, facts, {"ranks": table})


def score_of(model: TextEncoder, variant: str, tuned: bool, settings: RankingSettings) -> tuple[Score, str]:
    """By what a model's vectors are compared, and why not by what was asked for, where it cannot be.

    A fine-tuned encoder's are compared as it was trained: by attention, or, without cross-sequence layers, by inner
    products.
    """
    crossing = isinstance(model, Encoder) and model.cross is not None
    if tuned:
        return ("alpha" if crossing else "dot"), ""
    asked = settings.scores.get(variant)
    if asked == "alpha" and not crossing:
        return "cosine", f"{variant} has no cross-sequence layers: its score is the cosine instead of attention"
    return asked or ("alpha" if crossing else "cosine"), ""


def list_scores(model: TextEncoder) -> list[Score]:
    """Return the scores that a model can have: attention only with cross-sequence layers."""
    crossing = isinstance(model, Encoder) and model.cross is not None
    return ["alpha", "cosine", "dot"] if crossing else ["cosine", "dot"]


def keys_of(model: TextEncoder) -> Callable[[Array], Array]:
    """A function: vectors of candidates (C, D) → what attention reads of them, (C, D); see `scorer`."""
    assert isinstance(model, Encoder) and model.cross is not None
    cross, device = model.cross, next(model.parameters()).device

    @torch.inference_mode()
    def keys(candidates: Array) -> Array:
        found: Array = cross.keys(torch.from_numpy(np.array(candidates)).to(device)).cpu().numpy()
        return found

    return keys


def scorer(model: TextEncoder, score: Score) -> Callable[[Array, Array], Numbers]:
    """A function: the vector of a question (D,) and those of its candidates (C, D) → scores (C,).

    Of attention it takes the candidates' keys in place of their vectors, and gives its logarithm, which tells apart
    what gets next to none.
    """
    if score == "alpha":
        assert isinstance(model, Encoder) and model.cross is not None
        cross, device = model.cross, next(model.parameters()).device

        @torch.inference_mode()
        def attention(query: Array, keys: Array) -> Numbers:
            given = (torch.from_numpy(np.array(one)).to(device) for one in (query[None], keys))
            found: Numbers = cross.log_weights(*given)[0].cpu().numpy()
            return found

        return attention
    length = unit if score == "cosine" else lambda vectors: vectors

    def products(query: Array, candidates: Array) -> Numbers:
        # Not by matrix multiplication: how that rounds depends on where a vector stands in the matrix.
        found: Numbers = np.einsum("nd,d->n", length(candidates), length(query[None])[0])
        return found

    return products


def models_of(contestant: Contestant, data: RankedSet, settings: RankingSettings) -> Iterator[Measured]:
    """A contestant as it is on a set: frozen, and fine-tuned on it where it was."""
    yield Measured(contestant, data, tuned=False)
    if contestant.finetuned is not None and data.name in settings.finetune:
        yield Measured(contestant, data, tuned=True)


def embed_questions(measured: Measured, vectors_dir: Path) -> EmbeddedQuestions:
    """Embed the test questions of a set; each candidate is embedded once, and its vector is kept in `vectors_dir`."""
    data = measured.data
    model = load_models(measured.encoders)
    questions, texts = read_split(data.folder, "test", measured.protocol), read_texts(data.folder)
    rows = np.unique(np.concatenate(questions.candidates))
    vectors = _vectors(model, [texts[row] for row in rows], vectors_dir / measured.place)
    return EmbeddedQuestions(model, questions, texts, rows, vectors, model.embed(questions.texts, "query"))


def score_candidates(measured: Measured, settings: RankingSettings, vectors_dir: Path) -> Scored:
    """Return the scores of one model on the test questions of one set; see `embed_questions`."""
    embedded = embed_questions(measured, vectors_dir)
    score, fell_back = score_of(embedded.model, measured.contestant.variant, measured.tuned, settings)
    return Scored(embedded.questions, embedded.texts, embedded.score([score])[score], score, fell_back)


def _measure(measured: Measured, settings: RankingSettings, vectors_dir: Path) -> Found:
    """Rank the candidates of one set by one model; by each score that a frozen encoder can have."""
    variant, data, embedded = measured.contestant.variant, measured.data, embed_questions(measured, vectors_dir)
    default, fell_back = score_of(embedded.model, variant, measured.tuned, settings)
    scores = embedded.score([default] if measured.tuned else list_scores(embedded.model))
    ranked = {score: _ranked(embedded.questions, values, data) for score, values in scores.items()}
    tables = [ranked[default].assign(protocol=measured.protocol)]
    if not measured.tuned:
        tables += [table.assign(protocol=SCORE_PROTOCOLS[score]) for score, table in ranked.items()]
    table = pd.concat(tables, ignore_index=True).assign(variant=variant, seed=measured.contestant.seed, split="test")
    example = _example(measured, embedded.questions, embedded.texts, scores[default], default)
    return Found(table, default, fell_back, example)


def _vectors(model: TextEncoder, texts: list[str], folder: Path) -> Vectors:
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    dimension = model.embed(texts[:1], "document").shape[1]
    folder.parent.mkdir(parents=True, exist_ok=True)
    identity = {"model": model.identity, "texts": digest}
    return write_vectors(
        folder, len(texts), dimension, lambda rows: model.embed(texts[rows.start : rows.stop], "document"), identity
    )


def _keys(model: TextEncoder, vectors: Vectors) -> Vectors:
    """Those of all candidates, kept beside their vectors: many questions have the same."""
    make, identity = keys_of(model), {"keys": True} | vectors.identity
    return write_vectors(
        vectors.folder.with_name(f"{vectors.folder.name}-keys"),
        len(vectors),
        vectors.dimension,
        lambda rows: make(vectors[rows.start : rows.stop]),
        identity,
    )


def _ranked(questions: Questions, scores: Sequence[Numbers], data: RankedSet) -> pd.DataFrame:
    """A row a question: the rank of its first right candidate, 0 where none is among its candidates, and `METRICS`."""
    rows = []
    for name, candidates, right, found in zip(
        questions.ids, questions.candidates, questions.right, scores, strict=True
    ):
        ranks = right_ranks(found, np.isin(candidates, right))
        first = int(ranks[0]) if len(ranks) else 0
        rows.append((name, first, *measures(ranks, len(right), data.all_needed)))
    return pd.DataFrame(rows, columns=["question_id", "rank", *METRICS]).assign(data=data.name)


def _baseline_protocols(data: RankedSet, models: Sequence[Measured]) -> list[Protocol]:
    """Return the protocols that baselines are measured under: one for each pool that some encoder ranks."""
    tuned = any(model.tuned for model in models if model.data == data)
    return [FROZEN, FINETUNED] if tuned and read_pools(data.folder) else [FROZEN]


def _baselines(data: RankedSet, seeds: Sequence[int], protocol: Protocol) -> Iterator[pd.DataFrame]:
    """Rank the candidates of a protocol by BM25 and at random."""
    questions = read_split(data.folder, "test", protocol)
    words = Bm25(data.folder / WORDS)
    pairs = zip(words.scores(questions.texts), questions.candidates, strict=True)
    by_words = _ranked(questions, [scores[rows] for scores, rows in pairs], data)
    for seed in seeds:
        named = zip(questions.ids, questions.candidates, strict=True)
        by_chance = _ranked(questions, [_random(name, rows, seed) for name, rows in named], data)
        for variant, table in (("bm25", by_words), ("random_order", by_chance)):
            yield table.assign(variant=variant, seed=seed, split="test", protocol=protocol)


def _random(name: str, rows: Rows, seed: int) -> Numbers:
    return np.random.default_rng(int(stable_id(f"{seed}/{name}"), 16)).random(len(rows))


def _example(
    measured: Measured, questions: Questions, texts: list[str], scores: Sequence[Numbers], score: Score
) -> dict[str, Any]:
    """Questions whose first candidate is right, and others: what came first, and a right one, with their scores."""
    asked = [number for number, found in enumerate(scores) if len(found)]
    first = [int(questions.candidates[number][np.argmax(scores[number])]) for number in asked]
    right = [row in questions.right[number] for number, row in zip(asked, first, strict=True)]

    def shown(number: int, row: int) -> str:
        at = np.flatnonzero(questions.candidates[number] == row)
        worth = [float(np.exp(one) if score == "alpha" else one) for one in scores[number][at]]
        told = f"{SAID[score]} {worth[0]:.3f}" if worth else "not among the candidates"
        return f"{texts[row] if row >= 0 else 'A text that is not there'} ({told})"

    def row(place: int) -> dict[str, str]:
        number = asked[place]
        gold = questions.right[number]
        among = gold[np.isin(gold, questions.candidates[number])]
        answer = first[place] if right[place] else int((among if len(among) else gold)[0])
        texts_shown = {"found": shown(number, first[place]), "right": shown(number, answer)}
        return {"question": questions.texts[number]} | texts_shown

    return to_read(measured.contestant.variant, measured.protocol, right, row)


def _describe_confidence(data: RankedSet, table: pd.DataFrame) -> dict[str, Any]:
    """Return the confidence intervals of one set; see `describe_confidence`."""
    chance = {
        protocol: expect_by_chance(read_split(data.folder, "test", protocol), data.all_needed) for protocol in PROTOCOLS
    }
    return describe_confidence(table, chance)


def _best(data: RankedSet, models: Sequence[Measured], found: Sequence[Found]) -> dict[str, Any]:
    """The questions to read of a set, of its best model."""
    of_set = [(model, one) for model, one in zip(models, found, strict=True) if model.data == data]
    return max(of_set, key=lambda pair: (pair[0].tuned, _mean_mrr(*pair)))[1].example


def _mean_mrr(model: Measured, found: Found) -> float:
    """Return the MRR under the protocol of the model."""
    return float(found.table.loc[found.table["protocol"] == model.protocol, "mrr"].mean())
