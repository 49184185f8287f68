"""Minutes and memory of retrieval among many passages, in the open domain of the two-tower paper.

    python benchmarks/open_domain.py FOLDER [--passages 1000000] [--parts passages pairs embedding exact ivf bm25]

Needs the extra `workbench`, and about 8 GB of disk for a million passages. FOLDER keeps what the parts made, each of
which needs those before it. The texts are made up, drawn from a seed: passages of three to seven sentences, 95 words on
average, with words as rare as in any language.

passages   make them, as the examples stage writes them (not measured)
pairs      draw as many (sentence, passage) pairs as there are passages, and add them to 10,000 candidates
embedding  their vectors of 256 numbers, by a static encoder
exact      the 100 best for 1,000 queries, exactly
ivf        an index of lists over the vectors, written some lists at a time, and the same search in it
bm25       an index over the words, and the same search in it

Each part runs in a new process. `memory` is its highest private memory; `with files` also counts pages of
mapped files, which the system takes back when it needs the room. `minutes`
leave the search out, `CPU minutes` have it.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

KNOWN, QUERIES, BEST, DIMENSION, VOCABULARY = 10_000, 1000, 100, 256, 60_000
_PASSAGES_A_FILE = 16_384


def passages(folder: Path, count: int) -> None:
    """The corpus, the candidates that are known already, the queries and the encoder."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    import torch
    from made_up import Texts

    from contexture.encoders.base import build_encoder
    from contexture.encoders.config import Lengths, StaticConfig
    from contexture.encoders.files import save_encoder
    from contexture.vocabulary.vocabulary import Vocabulary

    def written(number: int, rows: int, name: str) -> pa.Table:
        texts = Texts(VOCABULARY, seed=number)
        lengths = texts.rng.integers(3, 8, rows)
        said = [f"{text.capitalize()}." for text in texts.draw(texts.rng.integers(8, 31, lengths.sum()))]
        sentences = [part.tolist() for part in np.split(np.array(said, object), np.cumsum(lengths)[:-1])]
        columns = {
            "passage_id": [f"{name}{number}-{row}#0" for row in range(rows)],
            "title": texts.titles(rows),
            "text": [" ".join(part) for part in sentences],
            "sentence_lengths": [[text.count(" ") + 1 for text in part] for part in sentences],
        }
        first = [part[0] for part in sentences]
        return pa.table(
            columns | {"sentence": first, "passage": columns["text"], "candidate_id": columns["passage_id"]}
        )

    (folder / "passages").mkdir(parents=True)
    for number, start in enumerate(range(0, count, _PASSAGES_A_FILE)):
        table = written(number, min(_PASSAGES_A_FILE, count - start), "d")
        kept = table.select(["passage_id", "title", "text", "sentence_lengths"])
        pq.write_table(kept, folder / "passages" / f"part-{number:05d}.parquet")
    known = written(10**6, KNOWN, "known")
    pq.write_table(known.select(["candidate_id", "sentence", "passage"]), folder / "known.parquet")
    queries = written(10**6 + 1, QUERIES, "asked")["sentence"].to_pylist()
    (folder / "queries.json").write_text(json.dumps(queries), encoding="utf-8")
    Texts(VOCABULARY).tokenizer(folder / "tokenizer")
    torch.manual_seed(0)
    config = StaticConfig("static", embedding_size=DIMENSION, pooling="mean")
    vocabulary = Vocabulary.load(folder / "tokenizer")
    save_encoder(build_encoder(config, Lengths(query=64, document=288), vocabulary), folder / "encoder")


def pairs(folder: Path, count: int) -> None:
    from contexture.tasks.retrieval.open_domain import add_corpus_pairs

    add_corpus_pairs(folder / "known.parquet", folder / "passages", count, 0, "en", folder / "open_domain")


def embedding(folder: Path, _: int) -> None:
    from contexture.retrieval.candidates import Retriever
    from contexture.retrieval.parquet_rows import ParquetRows

    retriever = Retriever([str(folder / "encoder")])
    retriever.embed_candidates(ParquetRows(folder / "open_domain" / "candidates.parquet"), folder / "vectors")


def exact(folder: Path, _: int) -> None:
    _search(folder, "flat")


def ivf(folder: Path, _: int) -> None:
    _search(folder, "ivf")


def _search(folder: Path, kind: str) -> None:
    from contexture.encoders.saved import read_settings
    from contexture.encoders.static_queries import StaticQueryEncoder
    from contexture.retrieval.config import IndexConfig
    from contexture.retrieval.search_index import open_index
    from contexture.retrieval.vectors import open_vectors

    embed = StaticQueryEncoder(folder / "encoder", read_settings(folder / "encoder")).embed
    vectors = open_vectors(folder / "vectors", read_all=False)
    index = open_index(vectors, IndexConfig(kind=kind))  # type: ignore[arg-type]
    _timed(lambda: index.search(embed(_queries(folder)), BEST))


def bm25(folder: Path, _: int) -> None:
    from contexture.folders import work_folder
    from contexture.retrieval.bm25 import Bm25, write_bm25
    from contexture.retrieval.candidates import TEXT_COLUMNS
    from contexture.retrieval.parquet_rows import ParquetRows

    candidates = ParquetRows(folder / "open_domain" / "candidates.parquet")
    with work_folder(folder / "bm25") as work:
        write_bm25(map(" ".join, candidates.tuples(TEXT_COLUMNS)), work)
    index = Bm25(folder / "bm25")
    _timed(lambda: index.search(_queries(folder), BEST))


def _queries(folder: Path) -> list[str]:
    results: list[str] = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    return results


def _timed(search: object) -> None:
    began = time.perf_counter()
    search()  # type: ignore[operator]
    print(json.dumps({"search": time.perf_counter() - began}))


#: The parts, and what they leave on disk.
PARTS = {
    "passages": (passages, "passages"),
    "pairs": (pairs, "open_domain"),
    "embedding": (embedding, "vectors"),
    "exact": (exact, None),
    "ivf": (ivf, "vectors.ivf"),
    "bm25": (bm25, "bm25"),
}


def run_part(name: str, folder: Path, count: int) -> None:
    """One part in this process; prints what it held, in bytes, and its seconds; before that those of its search."""
    held, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            held[0] = max(held[0], _status("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    try:
        PARTS[name][0](folder, count)
    finally:
        ended.set()
        watcher.join()
    took = {"seconds": time.perf_counter() - began, "cpu": time.process_time()}
    print(json.dumps(took | {"held": held[0], "with_files": _status("VmHWM")}))


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:"))


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _cells(measurements: dict[str, float], disk: int) -> Iterator[str]:
    yield f"{(measurements['seconds'] - measurements.get('search', 0)) / 60:.1f}"
    yield f"{measurements['cpu'] / 60:.1f}"
    yield f"{QUERIES / measurements['search']:.0f}" if "search" in measurements else ""
    yield f"{measurements['held'] / 1e9:.2f}"
    yield f"{measurements['with_files'] / 1e9:.2f}"
    yield f"{disk / 1e9:.2f}" if disk else ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        run_part(args.alone, args.folder, args.passages)
        return
    head = ["minutes", "CPU minutes", "queries/s", "memory, GB", "with files, GB", "disk, GB"]
    print(f"| {args.passages:,} passages | {' | '.join(head)} |")
    print(f"| --- {'| ---: ' * len(head)}|", flush=True)
    for part in args.parts:
        command = [sys.executable, __file__, str(args.folder), "--passages", str(args.passages), "--alone", part]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        results: dict[str, float] = {}
        for line in out.splitlines():
            results |= json.loads(line)
        left = PARTS[part][1]
        print(f"| {part} | {' | '.join(_cells(results, _size(args.folder / left) if left else 0))} |", flush=True)


if __name__ == "__main__":
    main()
