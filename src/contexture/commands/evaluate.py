"""`contexture evaluate`: print SentEval and STS figures of any model of sentences."""

import argparse
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from contexture.commands.options import MODEL_HELP, check_output
from contexture.folders import find_upwards, whole_file

if TYPE_CHECKING:
    from contexture.tasks.sentences.downstream import SentenceTasks


def add_arguments(evaluate: argparse.ArgumentParser) -> None:
    """Add the options of `contexture evaluate`."""
    evaluate.set_defaults(work=main)
    evaluate.add_argument("model", help=MODEL_HELP)
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


def main(given: argparse.Namespace) -> None:
    """Measure the model on the tasks and print the figures."""
    from contexture.encoders.named import model_places
    from contexture.tasks.sentences.downstream import NAMES, SentenceTasks

    check_output(given.output)
    folder = find_upwards(given.tasks)
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder; name the one that SentEval calls data/downstream")
    models = model_places(given.model)
    tasks = SentenceTasks.read(folder, given.counts, given.only or NAMES)
    if not tasks:
        raise ValueError(f"{folder} holds none of the tasks: {' '.join(tasks.missing.values())}")
    _measure(given, models, tasks)


def _measure(given: argparse.Namespace, models: list[str], tasks: "SentenceTasks") -> None:
    from contexture.encoders.models import load_models  # brings torch: seconds, which a mistake need not take
    from contexture.tasks.sentences.evaluation import evaluate_sentences
    from contexture.tasks.sentences.probe_protocols import PROTOCOLS
    from contexture.tasks.sentences.text_tables import evaluation_text
    from contexture.tasks.sentences.vectors import embed_sentences

    sentences = tasks.sentences()
    model = load_models(models)
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
        rows = [{"model": model.name, **row} for row in evaluation.rows("senteval")]
        found = {**summary, "chosen": evaluation.chosen(), "rows": rows}
        with whole_file(given.output) as file:
            file.write(json.dumps(found, indent=1, ensure_ascii=False).encode())
