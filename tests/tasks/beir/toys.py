"""Toy sets in BEIR's layout."""

import gzip
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.tasks.retrieval.toys import WORDS

HEADER = "query-id\tcorpus-id\tscore"


def write_beir_set(
    folder: Path,
    documents: Sequence[Mapping[str, object]],
    queries: Sequence[Mapping[str, object]],
    qrels: Sequence[tuple[str, str, float]],
    split: str = "test",
) -> Path:
    """Write a set in BEIR's layout."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus", documents), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    lines = [HEADER, *(f"{query}\t{document}\t{score}" for query, document, score in qrels)]
    (folder / f"qrels/{split}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def write_small_set(folder: Path) -> Path:
    """Write three documents and two queries with one relevant document each."""
    documents = [{"_id": "a", "title": "Kana", "text": "kana kave"}, {"_id": "b", "text": "lona"}]
    documents.append({"_id": "c", "title": None, "text": ""})
    queries = [{"_id": "1", "text": "kave"}, {"_id": "2", "text": "lona"}]
    return write_beir_set(folder, documents, queries, [("1", "a", 1), ("2", "b", 1)])


def write_drawn_set(folder: Path) -> Path:
    """Write 60 documents of six words, and 30 queries with three words of a document (grade 2; similar ones: grade 1).

    Query 0 has the id of its document.
    """
    draw = random.Random(5)
    texts = [draw.sample(WORDS, 6) for _ in range(60)]
    documents: list[dict[str, object]] = [
        {"_id": f"d{number}", "title": words[0], "text": " ".join(words[1:])} for number, words in enumerate(texts)
    ]
    queries, qrels = [], []
    for number in range(30):
        name = "d0" if number == 0 else f"q{number}"
        words = draw.sample(texts[number], 3)
        queries.append({"_id": name, "text": " ".join(words)})
        similar = [row for row in range(60) if row != number and len({*words} & {*texts[row]}) > 1]
        qrels += [(name, f"d{number}", 2.0), *((name, f"d{row}", 1.0) for row in similar[:2])]
        qrels.append((name, "d59", 0.0))
    return write_beir_set(folder, documents, queries, qrels)


def compress_files(folder: Path) -> Path:
    """Compress the files of a set."""
    for file in [*folder.glob("*.jsonl"), *folder.glob("qrels/*.tsv")]:
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    return folder
