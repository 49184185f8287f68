"""The command `contexture`."""

import argparse
import json
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

DEFAULT_INDEX = Path("data/06_models/two_tower/search")


def main(arguments: list[str] | None = None) -> None:
    """The passages that answer a question (`search`), or the published tasks on a model of sentences (`evaluate`)."""
    parser = argparse.ArgumentParser(prog="contexture", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_search(commands.add_parser("search", help="print the best passages for a question"))
    _add_evaluate(commands.add_parser("evaluate", help="print SentEval and STS figures of any model of sentences"))
    given = parser.parse_args(arguments)
    if given.command == "search" and given.k < 1:
        parser.error("-k must be at least 1")
    work: Callable[[argparse.Namespace], None] = given.work
    try:
        work(given)
    except ModuleNotFoundError as error:
        sys.exit(f"contexture {given.command}: {error}; install the extra: pip install 'contexture[workbench]'")
    except (OSError, ValueError) as error:
        sys.exit(f"contexture {given.command}: {error}")


def _add_search(search: argparse.ArgumentParser) -> None:
    search.set_defaults(work=_search)
    search.add_argument("question")
    search.add_argument("--index", type=Path, default=DEFAULT_INDEX, help="folder of the index (%(default)s)")
    search.add_argument("-k", type=int, default=5, help="passages to print (%(default)s)")
    search.add_argument(
        "--approximate", choices=["ivf", "hnsw"], help="search roughly; the index is built at first use"
    )


def _search(given: argparse.Namespace) -> None:
    from contexture.metrics.search_index import IndexConfig
    from contexture.tasks.retrieval.passage_search import PassageSearch

    hits = PassageSearch(given.index, IndexConfig(kind=given.approximate or "flat"))(given.question, given.k)
    for place, hit in enumerate(hits, start=1):
        text = textwrap.fill(textwrap.shorten(hit.text, 500), 100, initial_indent="   ", subsequent_indent="   ")
        print(f"{place}. {hit.title}  ({hit.score:.3f}, {hit.passage_id})\n{text}")


def _add_evaluate(evaluate: argparse.ArgumentParser) -> None:
    evaluate.set_defaults(work=_evaluate)
    evaluate.add_argument(
        "model",
        help="a folder with encoders of this project or word vectors, or a sentence-transformers model by name or "
        "folder; several joined by + are combined",
    )
    evaluate.add_argument("--tasks", type=Path, required=True, help="folder that SentEval calls data/downstream")
    evaluate.add_argument(
        "--protocol", choices=["senteval", "skip_thoughts"], default="senteval", help="of the probes (%(default)s)"
    )
    evaluate.add_argument(
        "--counts",
        choices=["published", "any"],
        default="published",
        help="any: files may have other numbers of rows than the published ones",
    )
    evaluate.add_argument("--only", nargs="+", metavar="TASK", help="these tasks, as mr sts14, not all that are there")
    evaluate.add_argument("--vectors", type=Path, help="folder to keep the vectors in: a second run embeds nothing")
    evaluate.add_argument("--output", type=Path, help="write the figures to this JSON file, too")


def _evaluate(given: argparse.Namespace) -> None:
    from contexture.encoders.models import load_model
    from contexture.tasks.sentences.evaluation import NAMES, SentenceTasks, evaluate_sentences
    from contexture.tasks.sentences.probe_protocols import PROTOCOLS
    from contexture.tasks.sentences.text_tables import evaluation_text
    from contexture.tasks.sentences.vectors import embed_sentences

    if given.output is not None and not given.output.absolute().parent.is_dir():
        raise ValueError(f"{given.output}: there is no such folder to write to")
    tasks = SentenceTasks.read(given.tasks, given.counts, given.only or NAMES)
    sentences = tasks.sentences()
    model = load_model(given.model)
    with tempfile.TemporaryDirectory() as temporary:
        vectors = embed_sentences(model, sentences, given.vectors or Path(temporary) / "vectors")
        evaluation = evaluate_sentences(vectors, tasks, PROTOCOLS[given.protocol])
        zeros = vectors.zeros()
    summary = {"model": model.name, "dimension": model.dimension, "sentences": len(sentences), "zero_vectors": zeros}
    print(
        f"{model.name}: {model.dimension} dimensions, {len(sentences):,} sentences, {zeros:,} of them without a vector"
    )
    print(f"\n{evaluation_text(evaluation)}", end="")
    if tasks.missing:
        print("\nNot there")
        print("\n".join(f"{name}  {reason}" for name, reason in tasks.missing.items()))
    if given.output is not None:
        summary |= {"identity": model.identity, "protocol": evaluation.protocol, "missing": tasks.missing}
        found = {**summary, "chosen": evaluation.chosen(), "rows": evaluation.rows()}
        given.output.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
