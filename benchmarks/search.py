"""Speed of search among many passages: BM25 and vectors, compared with bm25s, pyserini and FAISS.

    python benchmarks/search.py [--passages 1000000] [--queries 500] [--dimension 256] [--k 100]
        [--searches bm25 bm25s flat faiss-flat ivf faiss-ivf] [--pyserini PEERS/bin/python] [--folder FOLDER]

Needs the extra `workbench`. Passages (139 words on average), queries (3 to 12 words) and vectors are made up, drawn
from a seed. Each search runs in a new process with one thread and answers the queries one by one; a tenth of them
warms up and is left out. The table has the minutes to build the index, queries per second, the 95th percentile of the
time of a query, and the largest memory, with pages of mapped files. The last column is the share of the k best
passages that are also those of the first search of the same kind.

bm25        `Bm25`: an index on disk
bm25s       `bm25s.tokenize` with English stop words and PyStemmer, and `BM25(method="lucene")` with the same k1 and b,
            as bm25s' documentation recommends; an index in memory
pyserini    with --pyserini, the Python of an environment with pyserini (tried: 1.6.0, Java 25): Lucene's BM25 in its
            `LuceneSearcher`, with the same k1 and b; an index on disk
flat        exact search as in `contexture search` (`search_numpy`), in vectors on disk
faiss-flat  FAISS's `IndexFlatIP`, in memory
ivf         inverted lists of `open_index`, on disk
faiss-ivf   FAISS's `IndexIVFFlat` with as many lists and probes, in memory

A million passages take about 6 GB of disk, and bm25s several GB of memory.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from programs import print_table, run_measured

VOCABULARY, PASSAGES_PER_BATCH, PASSAGES_PER_GROUP = 60_000, 16_384, 50
PASSAGES_FILE, QUERIES_FILE, QUERY_VECTORS_FILE, VECTORS_DIR = "passages.txt", "queries.txt", "queries.npy", "vectors"
#: Parameters of BM25.
K1, B = 1.2, 0.75
PYSERINI = "pyserini"
#: Share of the queries that warm up.
WARM_UP = 0.1

#: Query, a text or a vector (1, D) → rows of its best passages.
Search = Callable[[Any], np.ndarray[Any, Any]]


def write_data(folder: Path, passages: int, queries: int, dimension: int) -> None:
    """Write texts and vectors of passages and queries."""
    from made_up import Texts  # not in the environment of pyserini

    from contexture.retrieval.vectors import write_vectors

    texts = Texts(VOCABULARY)
    with (folder / PASSAGES_FILE).open("w", encoding="utf-8") as file:
        for start in range(0, passages, PASSAGES_PER_BATCH):
            file.writelines(f"{text}\n" for text in texts.passages(min(PASSAGES_PER_BATCH, passages - start)))
    words = texts.draw(texts.rng.integers(3, 13, queries))
    (folder / QUERIES_FILE).write_text("\n".join(words), encoding="utf-8")
    # Vectors of texts are in groups. An index of lists would be useless without them.
    centres = np.random.default_rng(0).normal(size=(passages // PASSAGES_PER_GROUP + 1, dimension))

    def draw(seed: int, count: int) -> np.ndarray[Any, Any]:
        rng = np.random.default_rng(seed)
        vectors = centres[rng.integers(len(centres), size=count)] + rng.normal(scale=0.7, size=(count, dimension))
        return vectors.astype(np.float32)

    write_vectors(
        folder / VECTORS_DIR, passages, dimension, lambda rows: draw(rows.start + 2, len(rows)), {"made": "up"}
    )
    np.save(folder / QUERY_VECTORS_FILE, draw(1, queries))


def read_passages(folder: Path) -> Iterator[str]:
    """Yield the texts of the passages."""
    with (folder / PASSAGES_FILE).open(encoding="utf-8") as file:
        yield from map(str.rstrip, file)


def open_bm25(folder: Path, k: int) -> Search:
    """Build our BM25 index."""
    from contexture.folders import work_folder
    from contexture.retrieval.bm25 import Bm25, write_bm25
    from contexture.retrieval.config import Bm25Config

    with work_folder(folder / "bm25") as work_dir:
        write_bm25(read_passages(folder), work_dir, Bm25Config(K1, B, language="en"))
    index = Bm25(folder / "bm25")
    return lambda query: index.search([query], k)[1][0]


def open_bm25s(folder: Path, k: int) -> Search:
    """Build an index of bm25s."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    tokens = bm25s.tokenize(list(read_passages(folder)), stopwords="en", stemmer=stemmer, show_progress=False)
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index(tokens, show_progress=False)

    def search(query: str) -> np.ndarray[Any, Any]:
        words = bm25s.tokenize([query], stopwords="en", stemmer=stemmer, show_progress=False)
        rows: np.ndarray[Any, Any] = index.retrieve(words, k=k, show_progress=False)[0][0]
        return rows

    return search


def open_pyserini(folder: Path, k: int) -> Search:
    """Build an index of Lucene; needs pyserini instead of contexture."""
    os.environ.setdefault("OPENAI_API_KEY", "unused")  # pyserini 1.6.0 fails without, when it is imported
    documents, index = folder / "documents", folder / "lucene"
    documents.mkdir()
    with (documents / "passages.jsonl").open("w", encoding="utf-8") as file:
        for row, text in enumerate(read_passages(folder)):
            file.write(json.dumps({"id": str(row), "contents": text}) + "\n")
    command = [sys.executable, "-m", "pyserini.index.lucene", "--collection", "JsonCollection", "--threads", "1"]
    command += ["--generator", "DefaultLuceneDocumentGenerator", "--input", str(documents), "--index", str(index)]
    subprocess.run(command, check=True, stdout=sys.stderr)
    from pyserini.search.lucene import LuceneSearcher

    searcher = LuceneSearcher(str(index))
    searcher.set_bm25(K1, B)

    def search(query: str) -> np.ndarray[Any, Any]:
        rows = [int(hit.docid) for hit in searcher.search(query, k)]
        return np.array(rows + [-1] * (k - len(rows)))

    return search


def open_flat(folder: Path, k: int) -> Search:
    """Open the vectors for exact search."""
    from contexture.retrieval.vectors import open_vectors, search_numpy

    vectors = open_vectors(folder / VECTORS_DIR, read_all=False)
    return lambda query: search_numpy(vectors, query, k)[1][0]


def open_ivf(folder: Path, k: int) -> Search:
    """Build our inverted lists."""
    from contexture.retrieval.config import IndexConfig
    from contexture.retrieval.search_index import open_index
    from contexture.retrieval.vectors import open_vectors

    index = open_index(open_vectors(folder / VECTORS_DIR, read_all=False), IndexConfig(kind="ivf"))
    return lambda query: index.search(query, k)[1][0]


def open_faiss_index(kind: str, folder: Path, k: int) -> Search:
    """Build an index of FAISS."""
    import faiss

    from contexture.retrieval.config import IndexConfig
    from contexture.retrieval.vectors import open_vectors

    stored = open_vectors(folder / VECTORS_DIR, read_all=False)
    vectors = stored.take(np.arange(len(stored)))
    index: Any = faiss.IndexFlatIP(stored.dimension)
    if kind == "ivf":
        # As in `open_index`.
        lists = max(1, min(int(4 * np.sqrt(len(vectors))), len(vectors) // 39))
        index = faiss.IndexIVFFlat(index, stored.dimension, lists, faiss.METRIC_INNER_PRODUCT)
        index.nprobe = IndexConfig().probes
        index.train(vectors)
    index.add(vectors)
    return lambda query: index.search(query, k)[1][0]


#: Search → whether it searches by vectors, and the function that builds its index.
SEARCHES: dict[str, tuple[bool, Callable[[Path, int], Search]]] = {
    "bm25": (False, open_bm25),
    "bm25s": (False, open_bm25s),
    PYSERINI: (False, open_pyserini),
    "flat": (True, open_flat),
    "faiss-flat": (True, lambda folder, k: open_faiss_index("flat", folder, k)),
    "ivf": (True, open_ivf),
    "faiss-ivf": (True, lambda folder, k: open_faiss_index("ivf", folder, k)),
}


def run_search(name: str, folder: Path, k: int) -> None:
    """Build an index and search in this process; write the rows and print the seconds as JSON."""
    by_vectors, open_search = SEARCHES[name]
    queries: Sequence[Any] = (folder / QUERIES_FILE).read_text(encoding="utf-8").split("\n")
    if by_vectors:
        queries = list(np.load(folder / QUERY_VECTORS_FILE)[:, None])
    start = time.perf_counter()
    search = open_search(folder, k)
    build, rows, seconds = time.perf_counter() - start, [], []
    for query in queries:
        start = time.perf_counter()
        rows.append(search(query))
        seconds.append(time.perf_counter() - start)
    np.save(folder / f"{name}.npy", np.array(rows))
    print(json.dumps({"build": build, "seconds": seconds[int(WARM_UP * len(seconds)) :]}))


def share_of_first(first: Path, other: Path) -> float:
    """Return the mean share of the first search's rows that another search has too."""
    pairs = zip(np.load(first), np.load(other), strict=True)
    return float(np.mean([np.isin(left[left >= 0], right).mean() for left, right in pairs if (left >= 0).any()]))


def describe_search(name: str, folder: Path, k: int, first: str, python: str) -> list[str]:
    """Run a search in a new process of `python`, and return its row of the table."""
    command = [python, __file__, "--folder", str(folder), "--k", str(k), "--run", name]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    output, memory = run_measured(command, environment=environment)
    results = json.loads(output.splitlines()[-1])
    seconds = np.array(results["seconds"])
    cells = [f"{results['build'] / 60:.1f}", f"{1 / seconds.mean():.1f}", f"{1000 * np.quantile(seconds, 0.95):.1f}"]
    share = share_of_first(folder / f"{first}.npy", folder / f"{name}.npy")
    return [name, *cells, f"{memory / 1e9:.2f}", f"{share:.3f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--k", type=int, default=100, help="passages per query (%(default)d)")
    searches = [name for name in SEARCHES if name != PYSERINI]
    parser.add_argument("--searches", nargs="+", choices=searches, default=searches)
    parser.add_argument("--pyserini", metavar="PYTHON", help="Python of an environment with pyserini, to compare with")
    parser.add_argument("--folder", type=Path, help="new folder for texts and indexes (default: a temporary one)")
    parser.add_argument("--run", choices=SEARCHES, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.run:
        run_search(args.run, args.folder, args.k)
        return
    with ExitStack() as stack:
        folder = args.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        write_data(folder, args.passages, args.queries, args.dimension)
        first: dict[bool, str] = {}
        names = [*args.searches, *([PYSERINI] if args.pyserini else [])]
        for name in names:
            first.setdefault(SEARCHES[name][0], name)
        rows = [
            describe_search(
                name, folder, args.k, first[SEARCHES[name][0]], args.pyserini if name == PYSERINI else sys.executable
            )
            for name in names
        ]
    heads = [f"{args.passages:,} passages", "build, minutes", "queries/s", "p95, ms", "memory, GB", "same results"]
    print_table(heads, rows)


if __name__ == "__main__":
    main()
