"""Evaluate BM25, encoders and both fused on questions from held-out documents, and recommend a search."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from contexture.metrics.graded import METRICS, graded_metrics
from contexture.metrics.measures import RECALL_DEPTHS
from contexture.metrics.scores import to_records
from contexture.retrieval.candidates import build_bm25
from contexture.retrieval.config import Bm25Config, SearchDefaults, SearchMethod
from contexture.retrieval.fusion import EQUAL_WEIGHT, fuse_scores
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.top import NO_ROW, Ranking, Rows
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.held_out.config import UNTRAINED_SUFFIX
from contexture.tasks.held_out.evidence import KINDS, HeldOutEvidence, HeldOutQuestion
from contexture.tasks.passage_ranking import (
    BM25,
    COMPARED_METRIC,
    FROZEN,
    HYBRID,
    drop_row,
    mean_with_interval,
    measure_intervals,
    rank_all,
)

NAME = "held_out"
#: Number of rows that are ranked for each question.
_RANK_DEPTH = max(RECALL_DEPTHS)
#: Minimal questions of a kind for its evaluation, and of the user for a recommendation by them alone.
MIN_QUESTIONS, MIN_USER_QUESTIONS = 10, 20
#: Weights of an encoder's scores in a fused search.
WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def evaluate_held_out(
    encoders: Sequence[EvaluatedEncoder],
    evidence: HeldOutEvidence,
    vectors_dir: Path,
    parallel_map: ParallelMap = serial_map,
) -> Results:
    """Measure each search on each kind of question; details have counts, intervals and the recommended search.

    A search is BM25, an encoder, or both fused by their scores; `details["weights"]` has the encoders' weights in
    that (see `fuse_encoders`). A page is ranked by its best passage, and by BM25 also as a whole, with equal weights.
    The data of the records are the kinds of questions. The table `questions` has nDCG@10 and recall of each question
    and search, averaged over seeds.
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
        Bm25Config(),
        ranking.depth,
        ranking.select,
    )
    words = ranking.add_whole_pages(rankings[BM25, encoders[0].seed], vectors_dir / "pages")
    rankings |= {(BM25, seed): words for variant, seed in rankings if variant == BM25}
    fused, weights = fuse_encoders(rankings, words, ranking.kinds, ranking.ndcg)
    tables = [ranking.metrics(rows, variant, seed) for (variant, seed), (_, rows) in (rankings | fused).items()]
    table = pd.concat(tables, ignore_index=True)
    records = [row for kind in KINDS for row in to_records(table[table["kind"] == kind], METRICS, NAME, kind)]
    by_kind = {kind: measure_intervals(rows) for kind, rows in table.groupby("kind", sort=False)}
    means = table.groupby(["variant", "kind", "query_id"], sort=False)[METRICS].mean().reset_index()
    details |= {
        "intervals": by_kind,
        "weights": weights,
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
        self.candidates = evidence.candidates
        self.kinds = np.array([question.kind for question in questions])
        table = pq.read_table(evidence.candidates, columns=["id", "doc_id"])
        self.ids, self.documents = (table[name].to_numpy(zero_copy_only=False) for name in ("id", "doc_id"))
        # First row of the page of each row, which represents the page.
        codes, _ = pd.factorize(self.documents)
        self.first = np.unique(codes, return_index=True)[1][codes]

    @property
    def depth(self) -> int:
        """Number of rows to search, so that `_RANK_DEPTH` candidates or pages remain."""
        num_rests = sum(len(question.rest_rows) for question in self.questions)
        num_hidden = max(len(question.hidden_rows) for question in self.questions)
        factor = 10 if any(question.by_document for question in self.questions) else 1
        return _RANK_DEPTH * factor + num_rests + num_hidden

    def select(self, ranking: Ranking) -> Ranking:
        """Return the first 100 results that are candidates of each question.

        If documents answer a question, each document has the score of its best passage and the row of its first.
        """
        selected_scores = np.full((len(self.questions), _RANK_DEPTH), -np.inf, np.float32)
        selected_rows = np.full((len(self.questions), _RANK_DEPTH), NO_ROW, np.int64)
        for number, question in enumerate(self.questions):
            scores, ranked = ((part[number][ranking[1][number] != NO_ROW]) for part in ranking)
            is_candidate = (ranked < self.passages) & ~np.isin(ranked, list(question.hidden_rows))
            is_candidate |= np.isin(ranked, list(question.rest_rows))
            if question.source:
                is_candidate &= self.documents[ranked] != question.source
            scores, best = scores[is_candidate], ranked[is_candidate]
            if question.by_document:
                best = self.first[best]
                is_best = ~pd.Index(best).duplicated()
                scores, best = scores[is_best], best[is_best]
            selected_scores[number, : len(best)] = scores[:_RANK_DEPTH]
            selected_rows[number, : len(best)] = best[:_RANK_DEPTH]
        return selected_scores, selected_rows

    def add_whole_pages(self, words: Ranking, folder: Path) -> Ranking:
        """Fuse BM25's ranking of pages by their best passages with that of whole pages, where pages answer."""
        questions = [question for question in self.questions if question.by_document]
        if not questions:
            return words
        bm25 = build_bm25(self._page_texts(), folder, Bm25Config())
        first_rows = np.unique(self.first[: self.passages])
        assert len(bm25) == len(first_rows)  # the passages of a page follow one another
        scores, pages = bm25.search([question.text for question in questions], _RANK_DEPTH + 1)
        rows = np.where(pages == NO_ROW, NO_ROW, first_rows[pages])
        row_by_page = dict(zip(self.documents, self.first, strict=True))
        sources = np.array([row_by_page.get(question.source, NO_ROW) for question in questions])
        by_page = drop_row((scores, rows), sources, _RANK_DEPTH)
        is_page = np.array([question.by_document for question in self.questions])
        all_scores, all_rows = words[0].copy(), words[1].copy()
        by_passage = all_scores[is_page], all_rows[is_page]
        all_scores[is_page], all_rows[is_page] = fuse_scores(by_passage, by_page, EQUAL_WEIGHT, _RANK_DEPTH)
        return all_scores, all_rows

    def _page_texts(self) -> Iterator[str]:
        """Yield title and text of each page; one page is in memory."""
        passages = islice(ParquetRows(self.candidates).tuples(["doc_id", "title", "text"]), self.passages)
        for _, rows in groupby(passages, key=itemgetter(0)):
            page = list(rows)
            yield " ".join([page[0][1], *(text for _, _, text in page)])

    def ndcg(self, rows: Rows) -> NDArray[np.float64]:
        """Return nDCG@10 of each question."""
        return self.metrics(rows, "", 0)[COMPARED_METRIC].to_numpy()

    def metrics(self, rows: Rows, variant: str, seed: int) -> pd.DataFrame:
        """Return a table with one row per question."""
        ranked: list[list[str]] = []
        answers: list[dict[Hashable, float]] = []
        for question, selected in zip(self.questions, rows, strict=True):
            names = self.documents if question.by_document else self.ids
            ranked.append(names[selected[selected != NO_ROW]].tolist())
            answers.append(dict.fromkeys(question.answers, 1.0))
        return graded_metrics(ranked, answers).assign(
            variant=variant, seed=seed, split="test", protocol=FROZEN, kind=self.kinds, query_id=range(len(self.kinds))
        )


def fuse_encoders(
    rankings: Mapping[tuple[str, int], Ranking],
    words: Ranking,
    kinds: NDArray[Any],
    measure: Callable[[Rows], NDArray[np.float64]],
) -> tuple[dict[tuple[str, int], Ranking], dict[str, float]]:
    """Return the rankings of encoders fused with that of BM25, and each encoder's weight (see `fuse_scores`).

    The weight is that with the highest nDCG@10 on the generated questions, averaged over their kinds and over seeds.
    Half of them are fused with the weight that is best for the other half, so that no question is evaluated with a
    weight that it has chosen. Without generated questions, the weight is 0.5.

    Args:
        rankings: (variant, seed) → ranking; BM25 is left out.
        words: The ranking of BM25.
        kinds: Kinds (Q,) of the questions.
        measure: Returns nDCG@10 (Q,) of ranked rows.
    """
    fused: dict[tuple[str, int], Ranking] = {}
    weights: dict[str, float] = {}
    numbers, is_generated = np.arange(len(kinds)), kinds != "questions"
    for variant in dict.fromkeys(variant for variant, _ in rankings if variant != BM25):
        by_weight = {
            seed: [fuse_scores(ranking, words, weight, _RANK_DEPTH) for weight in WEIGHTS]
            for (name, seed), ranking in rankings.items()
            if name == variant
        }
        ndcg = np.mean([[measure(rows) for _, rows in results] for results in by_weight.values()], axis=0)
        choices = np.full(len(numbers), _choose_weight(ndcg, kinds, is_generated))
        weights[variant] = WEIGHTS[choices[0]]
        for half in (0, 1):
            choice = _choose_weight(ndcg, kinds, is_generated & (numbers % 2 != half))
            choices[is_generated & (numbers % 2 == half)] = choice
        for seed, results in by_weight.items():
            scores, rows = (np.stack(part)[choices, numbers] for part in zip(*results, strict=True))
            fused[variant + HYBRID, seed] = scores, rows
    return fused, weights


def _choose_weight(ndcg: NDArray[np.float64], kinds: NDArray[Any], is_chosen: NDArray[np.bool_]) -> int:
    """Return the number of the weight with the best mean over kinds; `ndcg` (weights, questions)."""
    means = [ndcg[:, is_chosen & (kinds == kind)].mean(axis=1) for kind in np.unique(kinds[is_chosen])]
    return int(np.mean(means, axis=0).argmax()) if means else WEIGHTS.index(EQUAL_WEIGHT)


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


def choose_search(details: Mapping[str, Any], variant: str) -> SearchDefaults:
    """Return BM25 if it is recommended, otherwise the better of the encoder alone and fused; fused without results."""
    if "advice" not in details:
        return SearchDefaults()
    means = details["advice"]["means"]
    is_fused = means[variant + HYBRID] >= means[variant]
    method: SearchMethod = "words" if details["advice"]["take"] == BM25 else "both" if is_fused else "vectors"
    return SearchDefaults(method, details["weights"][variant])
