"""`contexture search`: print the best passages for a question."""

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from contexture.folders import find_upwards
from contexture.paths import SEARCH_INDEX_DIR

if TYPE_CHECKING:
    from contexture.retrieval.passage_search import Hit


def add_arguments(search: argparse.ArgumentParser) -> None:
    """Add the options of `contexture search`."""
    search.set_defaults(work=main)
    asked = search.add_mutually_exclusive_group()
    asked.add_argument(
        "question", nargs="?", help="without one, questions are read from the standard input, one a line"
    )
    asked.add_argument("--interactive", action="store_true", help="ask for questions until the input ends (Ctrl-D)")
    search.add_argument(
        "--index",
        type=Path,
        help=f"folder of the index; without it {SEARCH_INDEX_DIR} of this folder or of one above it",
    )
    search.add_argument("-k", type=int, default=5, help="passages to print (%(default)s)")
    search.add_argument(
        "--by",
        choices=["vectors", "words", "both"],
        help="what finds: the encoder, BM25, or both (where there are both)",
    )
    search.add_argument(
        "--approximate", choices=["ivf", "hnsw"], help="search vectors roughly; the index is built at first use"
    )
    search.add_argument("--json", action="store_true", help="print a JSON object a question, on a line")


def main(given: argparse.Namespace) -> None:
    """Search for the questions and print what is found."""
    from contexture.retrieval.config import IndexConfig
    from contexture.retrieval.passage_search import PassageSearch

    if given.question is None and not given.interactive and sys.stdin.isatty():
        raise ValueError("no question: give one, or lines on the standard input, or --interactive")
    if given.question is not None and not given.question.strip():
        raise ValueError("the question is empty")
    folder = find_upwards(given.index) if given.index else _own_index()
    search = PassageSearch(folder, IndexConfig(kind=given.approximate or "flat"), given.by)
    for question in _questions(given):
        hits = search(question, given.k)
        if given.json:
            line = {"question": question, "by": search.by, "hits": [asdict(hit) for hit in hits]}
            print(json.dumps(line, ensure_ascii=False), flush=True)
            continue
        if given.question is None and not given.interactive:
            print(f"\n{question}")
        print(
            "\n".join(_shown(place, hit, search.by) for place, hit in enumerate(hits, 1)) or "nothing found", flush=True
        )


def _own_index() -> Path:
    """The index of the project whose folder, or a folder in which, this is; ValueError where there is none."""
    found = find_upwards(SEARCH_INDEX_DIR)
    if not found.is_dir():
        raise ValueError(
            f"there is no {SEARCH_INDEX_DIR} in {Path.cwd()} or above: name a search index with --index FOLDER, or "
            "make one with kedro run --tags index"
        )
    return found


def _questions(given: argparse.Namespace) -> Iterator[str]:
    """The question that was given, or lines that are typed or piped; those without a word are passed over."""
    if given.question is not None:
        yield given.question
        return
    for line in _typed() if given.interactive else sys.stdin:
        if line.strip():
            yield line.strip()


def _typed() -> Iterator[str]:
    with suppress(ImportError):  # there is none on Windows
        import readline  # noqa: F401 - lines can be edited, and called up again
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            yield input("? ")
    print()


def _shown(place: int, hit: "Hit", by: str) -> str:
    """A hit and the beginning of its text."""
    found = f"vectors {hit.by_vectors or '–'}, words {hit.by_words or '–'}" if by == "both" else f"{hit.score:.3f}"
    text = textwrap.fill(textwrap.shorten(hit.text, 500), 100, initial_indent="   ", subsequent_indent="   ")
    return f"{place}. {hit.title}  ({found}, {hit.passage_id})\n{text}"
