"""The command `contexture`."""

import argparse
import sys
import textwrap
from pathlib import Path

DEFAULT_INDEX = Path("data/06_models/two_tower/search")


def main(arguments: list[str] | None = None) -> None:
    """`contexture search "question"`: the passages of the corpus that answer it best."""
    parser = argparse.ArgumentParser(prog="contexture", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    search = commands.add_parser("search", help="print the best passages for a question")
    search.add_argument("question")
    search.add_argument("--index", type=Path, default=DEFAULT_INDEX, help="folder of the index (%(default)s)")
    search.add_argument("-k", type=int, default=5, help="passages to print (%(default)s)")
    search.add_argument(
        "--approximate", choices=["ivf", "hnsw"], help="search roughly; the index is built at first use"
    )
    given = parser.parse_args(arguments)
    if given.k < 1:
        parser.error("-k must be at least 1")
    try:
        from contexture.evaluation.passage_search import PassageSearch
        from contexture.evaluation.search_index import IndexConfig
    except ModuleNotFoundError as error:
        sys.exit(f"contexture search: {error}; install the extra: pip install 'contexture[workbench]'")
    try:
        hits = PassageSearch(given.index, IndexConfig(kind=given.approximate or "flat"))(given.question, given.k)
    except (OSError, ValueError) as error:
        sys.exit(f"contexture search: {error}")
    for place, hit in enumerate(hits, start=1):
        text = textwrap.fill(textwrap.shorten(hit.text, 500), 100, initial_indent="   ", subsequent_indent="   ")
        print(f"{place}. {hit.title}  ({hit.score:.3f}, {hit.passage_id})\n{text}")


if __name__ == "__main__":
    main()
