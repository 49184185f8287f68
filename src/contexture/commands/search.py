"""`contexture search`: print the best passages for a question."""

import argparse
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from contexture.commands.workspaces import list_indexes, list_workspaces
from contexture.encoders.lines import decode_lines
from contexture.folders import find_upwards
from contexture.messages import explain_unknown
from contexture.paths import WORKSPACE_PATTERN, DataLayout, data_dir
from contexture.retrieval.passages import check_text

if TYPE_CHECKING:
    from contexture.retrieval.passage_search import Hit, PassageSearch

#: Printed lines of a passage's text.
MAX_TEXT_LINES = 5


def add_arguments(search: argparse.ArgumentParser) -> None:
    """Add the options of `contexture search`."""
    search.set_defaults(work=main)
    questions = search.add_mutually_exclusive_group()
    questions.add_argument("question", nargs="?", help="default: read questions from standard input, one per line")
    questions.add_argument(
        "--interactive", action="store_true", help="prompt for questions until the input ends (Ctrl-D)"
    )
    search.add_argument("-k", type=_parse_positive, default=5, help="passages to print (%(default)s)")
    add_index_arguments(search)
    search.add_argument("--json", action="store_true", help="print one JSON object per question and line")


def add_index_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options that name an index and the way to search it."""
    index = command.add_mutually_exclusive_group()
    index.add_argument(
        "--name", help="name of the workspace that contexture adapt made (default: the index that was built last)"
    )
    index.add_argument("--index", type=Path, metavar="FOLDER", help="folder of the index")
    command.add_argument(
        "--by",
        choices=["vectors", "bm25", "hybrid"],
        help="rank by the encoder's vectors, by BM25, or by both fused (default: as the index recommends)",
    )
    command.add_argument(
        "--approximate", choices=["ivf", "hnsw"], help="approximate vector search; the index is built on first use"
    )


def open_search(args: argparse.Namespace) -> "PassageSearch":
    """Return the index of these options; raise ValueError if there is none or it is damaged."""
    from contexture.retrieval.config import IndexConfig
    from contexture.retrieval.passage_search import PassageSearch

    folder = find_upwards(args.index) if args.index else _find_index(args.name)
    return PassageSearch(folder, IndexConfig(kind=args.approximate or "flat"), args.by)


def _parse_positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main(args: argparse.Namespace) -> None:
    """Search for the questions and print the passages."""
    is_piped = args.question is None and not args.interactive
    if is_piped and sys.stdin.isatty():
        raise ValueError(
            'no question: contexture search "your question", contexture search --interactive, or '
            "contexture search < FILE with one question per line"
        )
    if args.question is not None:
        check_text(args.question, "the question")
    search = open_search(args)
    for question in _iterate_questions(args):
        hits = search(question, args.k)
        if args.json:
            line = {"question": question, "by": search.method, "hits": [asdict(hit) for hit in hits]}
            print(json.dumps(line, ensure_ascii=False), flush=True)
            continue
        if is_piped:
            print(f"\n{question}")
        lines = [_format_hit(rank, hit, search.method) for rank, hit in enumerate(hits, 1)]
        print("\n".join(lines) or "nothing found", flush=True)


def _find_index(name: str | None) -> Path:
    """Return the index of a workspace; without a name, that which was built last, and say which one if there are more.

    Raise ValueError if there is none.
    """
    if name is not None:
        return _find_workspace_index(name)
    indexes = list_indexes()
    if not indexes:
        raise ValueError(
            f"there is no search index below {data_dir()} in {Path.cwd()} or above: make one of your text with "
            "contexture adapt FOLDER, or of the demo with make demo, or name one with --index FOLDER"
        )
    latest = max(indexes, key=lambda workspace: indexes[workspace].stat().st_mtime)
    if len(indexes) > 1:
        label = f"the workspace {latest}" if latest else str(DataLayout().search_index_dir)
        print(f"searching {label}, which was built last of {len(indexes)}; --name chooses another", file=sys.stderr)
    return indexes[latest]


def _find_workspace_index(name: str) -> Path:
    """Return the index of a workspace; raise ValueError if there is none."""
    folder = find_upwards(data_dir(name))
    if not re.fullmatch(WORKSPACE_PATTERN, name) or not folder.is_dir():
        known = [workspace.name for workspace in list_workspaces()]
        raise ValueError(f"--name: {explain_unknown('workspace', [name], known)}")
    index_dir = DataLayout(folder).search_index_dir
    if not index_dir.is_dir():
        raise ValueError(f"--name {name}: its run was not finished: contexture adapt TEXT --name {name}")
    return index_dir


def _iterate_questions(args: argparse.Namespace) -> Iterator[str]:
    if args.question is not None:
        yield args.question
        return
    for line in _ask_questions() if args.interactive else decode_lines(sys.stdin.buffer, "standard input"):
        if line.strip():
            yield line.strip()


def _ask_questions() -> Iterator[str]:
    with suppress(ImportError):  # missing on Windows
        import readline  # noqa: F401 - enables line editing and history
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            yield input("? ")
    print()


def _format_hit(rank: int, hit: "Hit", by: str) -> str:
    score = f"vectors {hit.by_vectors or '–'}, BM25 {hit.by_bm25 or '–'}" if by == "hybrid" else f"{hit.score:.3f}"
    # Words that are longer than a line, such as Chinese sentences, are broken.
    text = " ".join(hit.text.split())
    text = textwrap.fill(text, 100, initial_indent="   ", subsequent_indent="   ", max_lines=MAX_TEXT_LINES)
    return f"{rank}. {hit.title}  ({score}, {hit.passage_id})\n{text}"
