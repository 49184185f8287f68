"""Evaluate BM25, encoders and both fused on questions from held-out documents, and recommend a search."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from contexture.metrics.graded import METRICS, graded_metrics
from contexture.metrics.measures import RECALL_DEPTHS
from contexture.metrics.scores import to_records
from contexture.retrieval.top import NO_ROW, Rows
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.held_out.config import UNTRAINED_SUFFIX
from contexture.tasks.held_out.evidence import KINDS, HeldOutEvidence, HeldOutQuestion
from contexture.tasks.passage_ranking import (
    BM25,
    COMPARED_METRIC,
    FROZEN,
    HYBRID,
    mean_with_interval,
    measure_intervals,
    rank_all,
)

NAME = "held_out"
#: Number of rows that are ranked for each question.
_RANK_DEPTH = max(RECALL_DEPTHS)
#: Minimal questions of a kind for its evaluation, and of the user for a recommendation by them alone.
MIN_QUESTIONS, MIN_USER_QUESTIONS = 10, 20


def evaluate_held_out(
    encoders: Sequence[EvaluatedEncoder],
    evidence: HeldOutEvidence,
    vectors_dir: Path,
    parallel_map: ParallelMap = serial_map,
) -> Results:
    """Measure each search on each kind of question; details have counts, intervals and the recommended search.

    A search is BM25, an encoder, or both fused with equal weights. It ranks pages by their best passage. The data of
    the records are the kinds of questions. The table `questions` has nDCG@10 and recall of each question and search,
    averaged over seeds.
    """
    questions = [question for kind in KINDS for question in _select_kind(evidence.questions, kind)]
    details: dict[str, Any] = {
        "documents": evidence.documents,
        "passages": evidence.passages,
        "held_out": evidence.held_out,
        "asked": {kind: sum(question.kind == kind for question in evidence.questions) for kind in KINDS},
        "least": MIN_QUESTIONS,
        "enough": MIN_USER_QUESTIONS,
        "unknown": sorted(evidence.unknown),
    }
    if not questions:
        return Results(details=details)
    ranking = _RankingMetrics(evidence, questions)
    variants = list(dict.fromkeys(encoder.variant for encoder in encoders))
    rankings = rank_all(
        encoders,
        parallel_map,
        evidence.candidates,
        [question.text for question in questions],
        vectors_dir,
        evidence.bm25_config,
        (ranking.depth, _RANK_DEPTH),
        ranking.select,
        variants,
    )
    tables = [ranking.metrics(rows, variant, seed) for (variant, seed), rows in rankings.items()]
    table = pd.concat(tables, ignore_index=True)
    records = [row for kind in KINDS for row in to_records(table[table["kind"] == kind], METRICS, NAME, kind)]
    by_kind = {kind: measure_intervals(rows) for kind, rows in table.groupby("kind", sort=False)}
    means = table.groupby(["variant", "kind", "query_id"], sort=False)[METRICS].mean().reset_index()
    details |= {
        "intervals": by_kind,
        "advice": recommend_search(means, variants),
        "learned": training_gains(means, variants),
    }
    return Results(records, details, {"questions": means})


def _select_kind(questions: Iterable[HeldOutQuestion], kind: str) -> list[HeldOutQuestion]:
    """Return the questions of a kind, or none if there are too few; the user's are always enough."""
    of_kind = [question for question in questions if question.kind == kind]
    return of_kind if len(of_kind) >= MIN_QUESTIONS or kind == "questions" else []


class _RankingMetrics:
    """Turns ranked rows of candidates into metrics of questions."""

    def __init__(self, evidence: HeldOutEvidence, questions: Sequence[HeldOutQuestion]) -> None:
        self.questions, self.passages = questions, evidence.passages
        table = pq.read_table(evidence.candidates, columns=["id", "doc_id"])
        self.ids, self.documents = (table[name].to_numpy(zero_copy_only=False) for name in ("id", "doc_id"))
        # First row of the page of each row, which represents the page.
        codes, _ = pd.factorize(self.documents)
        self.first = np.unique(codes, return_index=True)[1][codes]

    @property
    def depth(self) -> int:
        """Number of rows to search, so that `_RANK_DEPTH` candidates or pages remain."""
        num_rests = sum(question.rest_row >= 0 for question in self.questions)
        return _RANK_DEPTH * (10 if any(question.by_document for question in self.questions) else 1) + num_rests + 1

    def select(self, rows: Rows) -> Rows:
        """Return the first rows (Q, 100) that are candidates of each question, padded with −1.

        If documents answer a question, each document has the rank of its best passage and the row of its first.
        """
        selected = np.full((len(rows), _RANK_DEPTH), NO_ROW, np.int64)
        for number, question in enumerate(self.questions):
            ranked = rows[number][rows[number] != NO_ROW]
            is_passage = (ranked < self.passages) & (ranked != question.passage_row)
            is_candidate = is_passage | (ranked == question.rest_row)
            if question.source:
                is_candidate &= self.documents[ranked] != question.source
            best = ranked[is_candidate]
            if question.by_document:
                best = pd.unique(self.first[best])
            selected[number, : min(len(best), _RANK_DEPTH)] = best[:_RANK_DEPTH]
        return selected

    def metrics(self, rows: Rows, variant: str, seed: int) -> pd.DataFrame:
        """Return a table with one row per question."""
        ranked: list[list[str]] = []
        answers: list[dict[Hashable, float]] = []
        for question, selected in zip(self.questions, rows, strict=True):
            names = self.documents if question.by_document else self.ids
            ranked.append(names[selected[selected != NO_ROW]].tolist())
            answers.append(dict.fromkeys(question.answers, 1.0))
        kinds = [question.kind for question in self.questions]
        return graded_metrics(ranked, answers).assign(
            variant=variant, seed=seed, split="test", protocol=FROZEN, kind=kinds, query_id=range(len(kinds))
        )


def recommend_search(means: pd.DataFrame, variants: Sequence[str]) -> dict[str, Any]:
    """Recommend the best search on the user's questions, if they are enough, or on the mean of the other kinds.

    BM25 is recommended if the 95% interval of the best search's gain over BM25 contains 0.

    Returns `take`, the recommended search; `best`, that of the highest mean; `encoder`, see `select_encoder`; `basis`,
    the kinds of questions that count; `means` by search; `gain` of `best` over BM25 with its interval;
    `training_gains`, the gain of each encoder over itself untrained.
    """
    is_users = means["kind"] == "questions"
    user_means, generated = means[is_users], means[~is_users]
    basis = user_means if user_means["query_id"].nunique() >= MIN_USER_QUESTIONS or generated.empty else generated
    values = basis.pivot_table(index=["kind", "query_id"], columns="variant", values=COMPARED_METRIC)
    counts = values.groupby("kind").transform("size")
    weights = (len(values) / (counts * values.index.get_level_values("kind").nunique())).to_numpy()
    weighted = values.mul(weights, axis=0)  # so that each kind has the same weight in the mean
    scores = {str(name): float(score) for name, score in weighted.mean().items()}
    best = max(scores, key=lambda name: scores[name])
    gain = mean_with_interval(weighted[best] - weighted[BM25])
    return {
        "take": best if gain[1] > 0 else BM25,
        "best": best,
        "encoder": select_encoder(scores, variants),
        "basis": sorted(basis["kind"].unique().tolist(), key=KINDS.index),
        "means": scores,
        "gain": gain,
        "learned": _training_gains(weighted, variants),
    }


def training_gains(means: pd.DataFrame, variants: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    """Return each encoder's gain over itself untrained, by kind of question and encoder: mean and 95% interval."""
    return {
        str(kind): _training_gains(
            rows.pivot_table(index="query_id", columns="variant", values=COMPARED_METRIC), variants
        )
        for kind, rows in means.groupby("kind", sort=False)
    }


def _training_gains(scores: pd.DataFrame, variants: Sequence[str]) -> dict[str, list[float]]:
    """Return gains by encoder; `scores` has one row per question, one column per search."""
    return {
        name: mean_with_interval(scores[name] - scores[name + UNTRAINED_SUFFIX])
        for name in variants
        if name + UNTRAINED_SUFFIX in variants
    }


def select_encoder(means: Mapping[str, float], variants: Sequence[str]) -> str:
    """Return the variant with the best mean, alone or fused with BM25."""
    return max(variants, key=lambda name: max(means[name], means[name + HYBRID]))
