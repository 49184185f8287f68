"""BM25 compared with bm25s' own pipeline: effectiveness and speed.

    PYTHONPATH=src:. python benchmarks/bm25.py OUTPUT [--data ../shared/data] [--texts squad fever …] [--beir FOLDER …]

Texts are those of `real_texts.py` in BEIR's layout, and further folders in this layout. The peer is bm25s as its
documentation recommends it: `bm25s.tokenize` with English stop words and PyStemmer's English stemmer, and
`BM25(method="lucene")` with the same k1 and b. Whole documents are ranked, title and text. Both take turns; times are
medians of the rounds: processor seconds to split and index, and queries a second for the 100 best. Both build an
index in memory or, ours, on disk.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import bm25s
import numpy as np
import Stemmer
from benchmarks.real_texts import READERS, write_texts

from contexture.metrics.graded import METRICS, graded_metrics
from contexture.retrieval.bm25 import Bm25, write_bm25
from contexture.retrieval.config import Bm25Config
from contexture.tasks.beir.files import read_qrels, read_queries

K = 100
CONFIG = Bm25Config()

#: Texts and queries → rows (Q, K), and the seconds to index and to search.
Pipeline = Callable[[Sequence[str], Sequence[str]], tuple[np.ndarray, float, float]]


def run_contexture(texts: Sequence[str], queries: Sequence[str]) -> tuple[np.ndarray, float, float]:
    """Index to a folder and search."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        write_bm25(texts, Path(folder), CONFIG)
        indexed = time.process_time()
        rows = Bm25(Path(folder)).search(queries, K)[1]
        return rows, indexed - start, time.process_time() - indexed


def run_bm25s(texts: Sequence[str], queries: Sequence[str]) -> tuple[np.ndarray, float, float]:
    """Index in memory and search."""
    stemmer = Stemmer.Stemmer("english")
    start = time.process_time()
    tokens = bm25s.tokenize(list(texts), stopwords="en", stemmer=stemmer, show_progress=False)
    index = bm25s.BM25(k1=CONFIG.k1, b=CONFIG.b, method="lucene")
    index.index(tokens, show_progress=False)
    indexed = time.process_time()
    query_tokens = bm25s.tokenize(list(queries), stopwords="en", stemmer=stemmer, show_progress=False)
    rows = index.retrieve(query_tokens, k=min(K, len(texts)), show_progress=False)[0]
    return rows, indexed - start, time.process_time() - indexed


PIPELINES: dict[str, Pipeline] = {"Contexture": run_contexture, "bm25s": run_bm25s}


def compare(folder: Path, rounds: int) -> None:
    """Print a line for each pipeline."""
    with (folder / "corpus.jsonl").open(encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    texts = [f"{document.get('title', '')} {document['text']}" for document in documents]
    names = np.array([document["_id"] for document in documents])
    queries, qrels = read_queries(folder / "queries.jsonl"), read_qrels(folder / "qrels/test.tsv")
    answers = {query: scores for query, scores in qrels.items() if query in queries and max(scores.values()) > 0}
    query_texts = [queries[query] for query in answers]
    runs = {name: [] for name in PIPELINES}
    for _ in range(rounds):
        for name, pipeline in PIPELINES.items():
            runs[name].append(pipeline(texts, query_texts))
    for name, results in runs.items():
        ranked = [names[rows[rows >= 0]].tolist() for rows in results[0][0]]
        metrics = 100 * graded_metrics(ranked, list(answers.values()))[METRICS].mean()
        index, search = (statistics.median(result[part] for result in results) for part in (1, 2))
        print(
            f"| {folder.name} | {len(texts):,} | {len(answers):,} | {name} | "
            + " | ".join(f"{value:.1f}" for value in metrics)
            + f" | {index:.2f} | {len(answers) / search:,.0f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output_dir", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--texts", nargs="*", choices=READERS, default=list(READERS))
    parser.add_argument("--beir", nargs="*", type=Path, default=[], help="further folders")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    folders = [*write_texts(args.texts, args.data, args.output_dir), *args.beir]
    heads = ["text", "documents", "queries", "pipeline", *METRICS, "index, s", "queries a second"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for folder in folders:
        if (folder / "corpus.jsonl").exists():
            compare(folder, args.rounds)


if __name__ == "__main__":
    main()
