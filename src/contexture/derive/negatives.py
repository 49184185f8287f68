"""Mine hard negatives of pairs by BM25 and by an encoder (positive-aware, as in NV-Retriever: Moreira et al., 2024)."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pandas.util import hash_array
from tokenizers import Tokenizer

from contexture.derive.config import NegativesConfig
from contexture.derive.passages import (
    TEXT_COLUMNS,
    cut_passage,
    decode_documents,
    decode_texts,
    take_passages,
    write_passages,
)
from contexture.encoders.config import Lengths
from contexture.progress import progress
from contexture.retrieval.bm25 import Bm25
from contexture.retrieval.candidates import Retriever, build_bm25
from contexture.retrieval.config import Bm25Config
from contexture.retrieval.parquet_rows import ROWS_PER_GROUP, ParquetRows
from contexture.retrieval.search_index import search_exact
from contexture.retrieval.top import NO_ROW, Rows, Scores
from contexture.retrieval.vectors import Array, Vectors, inner_products
from contexture.streams.pairs.batches import open_tasks

Hashes = NDArray[np.uint64]
#: Pairs that are searched together.
PAIRS_PER_BATCH = 1024


def sample_pairs(
    folder: Path, tasks: Sequence[str], mixture: Literal["uniform", "pooled"], pairs: int, seed: int
) -> dict[str, pa.Table]:
    """Return task → up to `pairs` pairs of all tasks together, in the proportions of the mixture.

    Tasks without pairs are left out; EmptyExamplesError if there is none.
    """
    rows = open_tasks([folder / task for task in tasks], seed)
    weights = {task: stream.rows if mixture == "pooled" else 1 for task, stream in rows.items()}
    counts = {task: max(1, pairs * weight // sum(weights.values())) for task, weight in weights.items()}
    return {task: stream.take(0, min(counts[task], stream.rows)) for task, stream in rows.items()}


class NegativeMiner:
    """Finds passages that are similar to the query of a pair, but less than its document."""

    def __init__(
        self,
        passages: Path,
        retriever: Retriever,
        tokenizer: Tokenizer,
        config: NegativesConfig,
        work_dir: Path,
        held_out_share: float = 0.0,
    ) -> None:
        """Index the passages in `work_dir`; vectors of an interrupted run are reused. See also `write_passages`."""
        self.config, self.retriever, self.tokenizer = config, retriever, tokenizer
        self.passages = write_passages(passages, work_dir / "passages.parquet", held_out_share)
        self.vectors: Vectors = retriever.embed_candidates(self.passages, work_dir / "vectors")
        texts = (f"{title} {text}" for title, text in self.passages.tuples(TEXT_COLUMNS[1:]))
        self.bm25: Bm25 = build_bm25(texts, work_dir / "bm25", Bm25Config())
        batches = self.passages.batches(["doc_id"])
        #: Hash of the document of each passage (N,).
        self.documents = np.concatenate([hash_ids(batch["doc_id"].to_pylist()) for batch in batches])

    def mine(self, pairs: pa.Table) -> Rows:
        """Return rows of passages (pairs, count); −1 for a pair with fewer negatives."""
        sources = hash_ids([passage.rpartition("#")[0] for passage in pairs["document"].to_pylist()])
        excluded = self._find_linked_documents(sources)
        mined = []
        bar = progress(len(pairs), "hard negatives", "pair")
        for start in range(0, len(pairs), PAIRS_PER_BATCH):
            batch = pairs.slice(start, PAIRS_PER_BATCH)
            numbers = sources[start : start + len(batch)].tolist()
            mined.append(self._mine_batch(batch, [excluded[number] for number in numbers]))
            bar.update(len(batch))
        bar.close()
        return np.concatenate(mined)

    def _mine_batch(self, pairs: pa.Table, excluded: list[set[int]]) -> Rows:
        queries = decode_texts(self.tokenizer, pairs["query"])
        documents = decode_documents(self.tokenizer, pairs["title"], pairs["passage"])
        query_vectors, document_vectors = (
            self.retriever.embed_queries(queries),
            self.retriever.embed_documents(documents),
        )
        _, by_words = self.bm25.search(queries, self.config.depth)
        _, by_vectors = search_exact(self.vectors, query_vectors, self.config.depth)
        rows = interleave(by_words, by_vectors)
        scores = inner_products(self.vectors, query_vectors, rows)
        limits = score_limits(query_vectors, document_vectors, self.config.max_score_share)
        return select_negatives(rows, scores, limits, self.documents, excluded, self.config.count)

    def _find_linked_documents(self, sources: Hashes) -> dict[int, set[int]]:
        """Return for each of the `sources` itself, and the documents that it links to or that link to it."""
        linked = {source: {source} for source in sources.tolist()}
        start = 0
        for batch in self.passages.batches(["links"]):
            links = batch["links"]
            targets = hash_ids(links.flatten().to_pylist())
            counts = np.diff(links.offsets.to_numpy())
            documents = np.repeat(self.documents[start : start + len(batch)], counts)
            for first, second in ((documents, targets), (targets, documents)):
                known = np.isin(first, sources)
                for source, other in zip(first[known].tolist(), second[known].tolist(), strict=True):
                    linked[source].add(other)
            start += len(batch)
        return linked


def hash_ids(ids: list[str]) -> Hashes:
    """Return a hash for each id."""
    hashes: Hashes = hash_array(np.array(ids, dtype=object))
    return hashes


def interleave(first: Rows, second: Rows) -> Rows:
    """Return the rows of two rankings (Q, k) alternately, (Q, k1 + k2); a repeated row is −1."""
    width = max(first.shape[1], second.shape[1])
    padded = [np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=NO_ROW) for rows in (first, second)]
    rows = np.stack(padded, axis=2).reshape(len(first), 2 * width)
    for line in rows:
        seen = np.unique(line, return_index=True)[1]
        line[np.setdiff1d(np.arange(len(line)), seen)] = NO_ROW
    return rows


def score_limits(queries: Array, documents: Array, max_share: float) -> Scores:
    """Return the largest score (Q,) of a negative: this share of the document's score, if that is positive."""
    scores = np.einsum("qd,qd->q", queries, documents)
    limits: Scores = (scores - (1 - max_share) * np.abs(scores)).astype(np.float32)
    return limits


def select_negatives(
    rows: Rows,
    scores: Scores,
    limits: Scores,
    documents: Hashes,
    excluded: list[set[int]],
    count: int,
) -> Rows:
    """Return the first `count` candidates (Q, count) up to the limit that are not of excluded documents.

    `documents` are hashes of the passages' documents. A query with fewer such candidates has −1.
    """
    negatives = np.full((len(rows), count), NO_ROW, np.int64)
    for number, candidates in enumerate(rows):
        allowed = candidates[(candidates != NO_ROW) & (scores[number] <= limits[number])]
        known = zip(allowed.tolist(), documents[allowed].tolist(), strict=True)
        selected = [row for row, document in known if document not in excluded[number]][:count]
        if len(selected) == count:
            negatives[number] = selected
    return negatives


def add_negatives(pairs: pa.Table, negatives: Rows, passages: ParquetRows, lengths: Lengths) -> pa.Table:
    """Return the pairs that have all negatives, with the columns of the stream `hard_pairs` (`margins` are empty).

    Texts are cut as those of pairs. A pair whose document has no title has negatives without titles.
    """
    kept = np.flatnonzero((negatives != NO_ROW).all(axis=1))
    pairs, negatives = pairs.take(pa.array(kept)), negatives[kept]
    unique, positions = np.unique(negatives, return_inverse=True)
    texts = take_passages(passages, unique, ["title_tokens", "tokens", "passage_id"]).to_pylist()
    titles, tokens, ids = [], [], []
    for line, title in zip(list(positions.reshape(negatives.shape)), pairs["title"].to_pylist(), strict=True):
        selected = [texts[position] for position in line]
        titles.append([passage["title_tokens"] if title else [] for passage in selected])
        cut = zip(selected, titles[-1], strict=True)
        tokens.append([cut_passage(passage["tokens"], title_tokens, lengths) for passage, title_tokens in cut])
        ids.append([passage["passage_id"] for passage in selected])
    documents = pairs["document"].to_pylist()
    frequency = Counter(documents)
    token_lists = pa.list_(pa.list_(pa.int32()))
    columns = {
        "document_pairs": pa.array([frequency[document] for document in documents], pa.int64()),
        "negative_titles": pa.array(titles, token_lists),
        "negative_passages": pa.array(tokens, token_lists),
        "negative_documents": pa.array(ids, pa.list_(pa.string())),
        "margins": pa.array([[] for _ in ids], pa.list_(pa.float32())),
    }
    pairs = pairs.drop_columns(["document_pairs"])
    for name, column in columns.items():
        pairs = pairs.append_column(name, column)
    return pairs


def write_pairs(pairs: pa.Table, folder: Path) -> None:
    """Write a table of examples to a new folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pairs, folder / "part-00000.parquet", row_group_size=ROWS_PER_GROUP)
