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

from contexture.folders import above
from contexture.paths import SEARCH_INDEX_DIR

if TYPE_CHECKING:
    from contexture.retrieval.passage_search import Hit


def add_arguments(search: argparse.ArgumentParser) -> None:
    """Add the options of `contexture search`."""
    search.set_defaults(work=main)
    questions = search.add_mutually_exclusive_group()
    questions.add_argument(
        "question", nargs="?", help="without one, questions are read from the standard input, one a line"
    )
    questions.add_argument("--interactive", action="store_true", help="ask for questions until the input ends (Ctrl-D)")
    search.add_argument(
        "--index",
        type=Path,
        help=f"folder of the index; without it {SEARCH_INDEX_DIR} of this folder or of one above it",
    )
    search.add_argument("-k", type=_positive, default=5, help="passages to print (%(default)s)")
    search.add_argument(
        "--by",
        choices=["vectors", "words", "both"],
        help="what finds: the encoder, BM25, or both (where there are both)",
    )
    search.add_argument(
        "--approximate", choices=["ivf", "hnsw"], help="search vectors roughly; the index is built at first use"
    )
    search.add_argument("--json", action="store_true", help="print a JSON object a question, on a line")


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main(args: argparse.Namespace) -> None:
    """Search for the questions and print the passages."""
    from contexture.retrieval.config import IndexConfig
    from contexture.retrieval.passage_search import PassageSearch

    is_piped = args.question is None and not args.interactive
    if is_piped and sys.stdin.isatty():
        raise ValueError("no question: give one, or lines on the standard input, or --interactive")
    if args.question is not None and not args.question.strip():
        raise ValueError("the question is empty")
    folder = above(args.index) if args.index else _find_index()
    search = PassageSearch(folder, IndexConfig(kind=args.approximate or "flat"), args.by)
    for question in _questions(args):
        hits = search(question, args.k)
        if args.json:
            line = {"question": question, "by": search.method, "hits": [asdict(hit) for hit in hits]}
            print(json.dumps(line, ensure_ascii=False), flush=True)
            continue
        if is_piped:
            print(f"\n{question}")
        lines = [_describe(rank, hit, search.method) for rank, hit in enumerate(hits, 1)]
        print("\n".join(lines) or "nothing found", flush=True)


def _find_index() -> Path:
    """The index of the project in this folder or one above it; ValueError if there is none."""
    index_dir = above(SEARCH_INDEX_DIR)
    if not index_dir.is_dir():
        raise ValueError(
            f"there is no {SEARCH_INDEX_DIR} in {Path.cwd()} or above: name a search index with --index FOLDER, or "
            "make one with kedro run --tags index"
        )
    return index_dir


def _questions(args: argparse.Namespace) -> Iterator[str]:
    """The question of the command line, or lines that are typed or piped, without empty ones."""
    if args.question is not None:
        yield args.question
        return
    for line in _typed() if args.interactive else sys.stdin:
        if line.strip():
            yield line.strip()


def _typed() -> Iterator[str]:
    with suppress(ImportError):  # Windows has none
        import readline  # noqa: F401 - lines can be edited, and called up again
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            yield input("? ")
    print()


def _describe(rank: int, hit: "Hit", by: str) -> str:
    """A hit and the beginning of its text."""
    score = f"vectors {hit.by_vectors or '–'}, words {hit.by_words or '–'}" if by == "both" else f"{hit.score:.3f}"
    text = textwrap.fill(textwrap.shorten(hit.text, 500), 100, initial_indent="   ", subsequent_indent="   ")
    return f"{rank}. {hit.title}  ({score}, {hit.passage_id})\n{text}"
