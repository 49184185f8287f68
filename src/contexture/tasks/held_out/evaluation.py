"""BM25, every encoder and both together on the questions of held-out documents, and which of them to take."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.parquet as pq

from contexture.metrics.graded import METRICS, RECALL_AT, graded_metrics
from contexture.metrics.scores import to_records
from contexture.retrieval.fusion import EVEN, fuse
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.top import NOTHING, Rows
from contexture.tasks.base import Contestant, Each, Results, one_by_one, seeds_of
from contexture.tasks.held_out.config import BEFORE, HeldOutSettings
from contexture.tasks.held_out.evidence import KINDS, Evidence, Question
from contexture.tasks.held_out.spec import SPEC
from contexture.tasks.passage_ranking import BM25, COMPARED, by_vectors, by_words, intervals, with_interval
from contexture.tasks.retrieval.evaluation import FROZEN, HYBRID

NAME = "held_out"
#: So many are ranked for each question.
_DEPTH = max(RECALL_AT)
#: A user's own questions decide what to take where there are so many.
ENOUGH = 20


def evaluate_held_out(
    settings: HeldOutSettings,
    contestants: Sequence[Contestant],
    evidence: Evidence,
    place: Path,
    each: Each = one_by_one,
) -> Results:
    """Records of every search and kind of question; and facts: what is measured, intervals, and what to take.

    A search is BM25, an encoder, or both, their rankings fused with equal weights; its ranking of pages is that of
    each page's best passage. The data of the records are the kinds of questions. The table `questions` has nDCG@10 and
    recall of each question by each search, means over seeds.
    """
    asked = [question for kind in KINDS for question in _enough(evidence.questions, kind, settings.least)]
    facts: dict[str, Any] = {
        "documents": evidence.documents,
        "passages": evidence.passages,
        "held_out": evidence.held_out,
        "asked": {kind: sum(question.kind == kind for question in evidence.questions) for kind in KINDS},
        "least": settings.least,
        "enough": ENOUGH,
        "unknown": sorted(evidence.unknown),
    }
    if not asked:
        return Results(facts=facts)
    texts, depth = [question.text for question in asked], _needed(evidence, asked)
    candidates = ParquetRows(evidence.candidates)
    ranking = _Ranking(evidence, asked)
    words = ranking.allowed(by_words(candidates, texts, place, evidence.words, depth))
    given = [(one.encoders, evidence.candidates, texts, place, depth) for one in contestants]
    tables = [ranking.measured(words, BM25, seed) for seed in seeds_of(contestants)]
    for one, rows in zip(contestants, each(_vectors, given), strict=True):
        found = ranking.allowed(rows)
        tables.append(ranking.measured(found, one.variant, one.seed))
        both = fuse(found, words, EVEN, _DEPTH)[1]
        tables.append(ranking.measured(both, one.variant + HYBRID, one.seed))
    table = pd.concat(tables, ignore_index=True)
    records = [row for kind in KINDS for row in to_records(table[table["kind"] == kind], METRICS, NAME, kind)]
    told = {kind: intervals(rows) for kind, rows in table.groupby("kind", sort=False)}
    means = table.groupby(["variant", "kind", "query_id"], sort=False)[METRICS].mean().reset_index()
    variants = list(dict.fromkeys(one.variant for one in contestants))
    facts |= {"intervals": told, "advice": advice(means, variants), "learned": learned(means, variants)}
    return Results(records, facts, {"questions": means})


def _enough(questions: Iterable[Question], kind: str, least: int) -> list[Question]:
    """The questions of a kind; a user's own are measured however few they are."""
    found = [question for question in questions if question.kind == kind]
    return found if len(found) >= least or kind == "questions" else []


def _vectors(encoders: Sequence[str], candidates: Path, texts: list[str], place: Path, depth: int) -> Rows:
    return by_vectors(encoders, ParquetRows(candidates), texts, place, depth)


def _needed(evidence: Evidence, asked: Sequence[Question]) -> int:
    """Rows to find, so that `_DEPTH` are left of those that are candidates, and of pages, whose passages are many."""
    rests = sum(question.rest >= 0 for question in asked)
    return _DEPTH * (10 if any(question.by_document for question in asked) else 1) + rests + 1


class _Ranking:
    """Rows of candidates to metrics of questions."""

    def __init__(self, evidence: Evidence, asked: Sequence[Question]) -> None:
        self.asked, self.passages = asked, evidence.passages
        table = pq.read_table(evidence.candidates, columns=["id", "doc_id"])
        self.ids = table["id"].to_numpy(zero_copy_only=False)
        documents = table["doc_id"].to_numpy(zero_copy_only=False)
        self.documents = documents
        # Of every row the first of its page, which stands for the page.
        codes, _ = pd.factorize(documents)
        self.first = np.unique(codes, return_index=True)[1][codes]

    def allowed(self, found: Rows) -> Rows:
        """The first rows (Q, 100) that are candidates of each question; −1 where there are no more.

        Where pages are asked for, the first row of each page stands for it, in the place of its best passage.
        """
        kept = np.full((len(found), _DEPTH), NOTHING, np.int64)
        for place, (question, every) in enumerate(zip(self.asked, found, strict=True)):
            rows = self._candidates(question, every[every != NOTHING])
            best = pd.unique(self.first[rows]) if question.by_document else rows
            kept[place, : min(len(best), _DEPTH)] = best[:_DEPTH]
        return kept

    def _candidates(self, question: Question, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        there = ((rows < self.passages) & (rows != question.own)) | (rows == question.rest)
        if question.source:
            there &= self.documents[rows] != question.source
        return np.asarray(rows[there], np.int64)

    def measured(self, rows: Rows, variant: str, seed: int) -> pd.DataFrame:
        """A row a question."""
        ranked: list[list[str]] = []
        answers: list[dict[Hashable, float]] = []
        for question, found in zip(self.asked, rows, strict=True):
            names = self.documents if question.by_document else self.ids
            ranked.append(names[found[found != NOTHING]].tolist())
            answers.append(dict.fromkeys(question.answers, 1.0))
        found = graded_metrics(ranked, answers)
        kinds = [question.kind for question in self.asked]
        return found.assign(
            variant=variant, seed=seed, split="test", protocol=FROZEN, kind=kinds, query_id=range(len(kinds))
        )


def advice(means: pd.DataFrame, variants: Sequence[str]) -> dict[str, Any]:
    """Which search to take: the best on the user's questions, if they are enough, or on the mean of the other kinds.

    It is BM25 where what is better is not surely so (the 95% interval of the difference over questions holds 0).

    Returns:
        `take`, the search; `best`, that of the highest mean; `encoder`, of the variants the one that is best with or
        without BM25; `basis`, the kinds that were looked at; `means` by search; `gain`, the mean difference of `best`
        from BM25 and its interval; `learned`, by encoder, how far it is above itself before it learned.
    """
    own = means[means["kind"] == "questions"]
    decides = own if own["query_id"].nunique() >= ENOUGH else means[means["kind"] != "questions"]
    decides = decides if len(decides) else own
    every = decides.pivot_table(index=["kind", "query_id"], columns="variant", values=COMPARED)
    counts = every.groupby("kind").transform("size")
    weights = (len(every) / (counts * every.index.get_level_values("kind").nunique())).to_numpy()
    weighted = every.mul(weights, axis=0)  # whose mean is that of the kinds' means
    scores = weighted.mean()
    best = str(scores.idxmax())
    gain, low, high = with_interval(weighted[best] - weighted[BM25])
    found = {str(name): float(score) for name, score in scores.items()}
    return {
        "take": best if low > 0 else BM25,
        "best": best,
        "encoder": best_encoder(found, variants),
        "basis": sorted(decides["kind"].unique().tolist(), key=KINDS.index),
        "means": found,
        "gain": [gain, low, high],
        "learned": _learned(weighted, variants),
    }


def learned(means: pd.DataFrame, variants: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    """By kind of question and encoder, how far it is above itself before it learned: mean and 95% interval."""
    found = {}
    for kind, rows in means.groupby("kind", sort=False):
        found[str(kind)] = _learned(rows.pivot_table(index="query_id", columns="variant", values=COMPARED), variants)
    return found


def _learned(scores: pd.DataFrame, variants: Sequence[str]) -> dict[str, list[float]]:
    """`scores` has a row a question, a column a search."""
    return {name: with_interval(scores[name] - scores[name + BEFORE]) for name in variants if name + BEFORE in variants}


def best_encoder(means: Mapping[str, float], variants: Sequence[str]) -> str:
    """Of the variants the one that is best with or without BM25, by the means of all searches."""
    return max(variants, key=lambda name: max(means[name], means[name + HYBRID]))


def card_section(records: Sequence[Mapping[str, Any]], variant: str) -> str:
    """A section of a card: nDCG@10 of a variant, alone and with BM25, by kind of question; nothing without records."""
    searches = {BM25: "BM25", variant: "this encoder", variant + HYBRID: "both"}
    values = {
        (record["data"], record["variant"]): record["value"]
        for record in records
        if record["metric"] == COMPARED and record["variant"] in searches and record["seed"] == 0
    }
    if not values:
        return ""
    lines = ["", "## What it finds", ""]
    lines += ["nDCG@10, percent, in the whole text, of what documents give away that it did not learn from:", ""]
    lines += [f"| | {' | '.join(searches.values())} |", "|---|---|---|---|"]
    for kind in dict.fromkeys(data for data, _ in values):
        cells = [f"{100 * values[kind, name]:.1f}" if (kind, name) in values else "–" for name in searches]
        lines.append(f"| {SPEC.data.get(kind, kind)} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
