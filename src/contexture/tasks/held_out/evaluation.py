"""Evaluate BM25, encoders and both fused on questions from held-out documents, and recommend a search."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from contexture.encoders.config import TransformerConfig
from contexture.encoders.saved import is_encoder, read_settings
from contexture.metrics.graded import METRICS, graded_metrics
from contexture.metrics.measures import RECALL_DEPTHS
from contexture.metrics.scores import to_records
from contexture.retrieval.candidates import build_bm25
from contexture.retrieval.config import Bm25Config
from contexture.retrieval.fusion import EQUAL_WEIGHT, fuse_scores
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.top import NO_ROW, Ranking, Rows
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, list_seeds, serial_map
from contexture.tasks.held_out.config import MIN_USER_QUESTIONS, UNTRAINED_SUFFIX
from contexture.tasks.held_out.evidence import KINDS, MIN_QUESTIONS, HeldOutEvidence, HeldOutQuestion
from contexture.tasks.held_out.recommendation import (
    fuse_encoders,
    recommend_search,
    training_gains,
)
from contexture.tasks.passage_ranking import (
    BM25,
    COMPARED_METRIC,
    FROZEN,
    drop_row,
    measure_intervals,
    rank_all,
)
from contexture.training.pretrain import read_summary

NAME = "held_out"
#: Number of rows that are ranked for each question.
_RANK_DEPTH = max(RECALL_DEPTHS)


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
    questions = select_questions(evidence.questions)
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
    encoders = drop_untrained(encoders)
    ranking = RankingMetrics(evidence, questions)
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
    published = {encoder.variant for encoder in encoders if has_published_weights(encoder)}
    fused, weights = fuse_encoders(rankings, words, ranking.kinds, published, ranking.ndcg)
    tables = [ranking.metrics(rows, variant, seed) for (variant, seed), (_, rows) in (rankings | fused).items()]
    table = pd.concat(tables, ignore_index=True)
    records = [row for kind in KINDS for row in to_records(table[table["kind"] == kind], METRICS, NAME, kind)]
    by_kind = {kind: measure_intervals(rows) for kind, rows in table.groupby("kind", sort=False)}
    means = table.groupby(["variant", "kind", "query_id"], sort=False)[METRICS].mean().reset_index()
    details |= {
        "intervals": by_kind,
        "weights": weights,
        "advice": recommend_search(means, variants, published),
        "learned": training_gains(means, variants),
    }
    first_seed = list_seeds(encoders)[0]
    details["ranks"] = ranking.list_ranks(
        {name: rows for (name, seed), (_, rows) in (rankings | fused).items() if seed == first_seed}
    )
    return Results(records, details, {"questions": means})


def drop_untrained(encoders: Sequence[EvaluatedEncoder]) -> list[EvaluatedEncoder]:
    """Return the encoders without those that training left as they were, if their untrained start is evaluated, too.

    Trainings without examples leave encoders as they were.
    """
    starts = {(encoder.variant, encoder.seed) for encoder in encoders}
    return [
        encoder
        for encoder in encoders
        if (encoder.variant + UNTRAINED_SUFFIX, encoder.seed) not in starts
        or any(read_summary(Path(model))["steps"] for model in encoder.models)
    ]


def has_published_weights(encoder: EvaluatedEncoder) -> bool:
    """Return whether an encoder is, or was trained from, a published model."""
    folders = [Path(model) for model in encoder.models]
    return any(not is_encoder(folder) or _is_continued(folder) for folder in folders)


def _is_continued(folder: Path) -> bool:
    config = read_settings(folder).config
    return isinstance(config, TransformerConfig) and config.init_from is not None


def select_questions(questions: Sequence[HeldOutQuestion]) -> list[HeldOutQuestion]:
    """Return the questions of all kinds that have enough, in the order of `KINDS`; the user's are always enough."""
    by_kind = {kind: [question for question in questions if question.kind == kind] for kind in KINDS}
    kept = (group for kind, group in by_kind.items() if len(group) >= MIN_QUESTIONS or kind == "questions")
    return [question for group in kept for question in group]


class RankingMetrics:
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

    def list_ranks(self, rows_by_search: Mapping[str, Rows]) -> list[dict[str, Any]]:
        """Return each question of the user with its answers and, by search, the rank of the first of them or None."""
        return [
            {
                "question": question.text,
                "answers": sorted(question.answers),
                "ranks": {name: self._first_rank(question, rows[number]) for name, rows in rows_by_search.items()},
            }
            for number, question in enumerate(self.questions)
            if question.kind == "questions"
        ]

    def _first_rank(self, question: HeldOutQuestion, rows: Rows) -> int | None:
        """Return the rank, from 1, of the first answer in the ranked rows (K,) of a question."""
        names = (self.documents if question.by_document else self.ids)[rows[rows != NO_ROW]]
        ranks = np.flatnonzero(np.isin(names, list(question.answers)))
        return int(ranks[0]) + 1 if len(ranks) else None

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
