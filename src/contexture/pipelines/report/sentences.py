"""The report of encoders of sentences."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contexture.config import QuickThoughtsParameters
from contexture.encoders.config import SentenceEncoderConfig
from contexture.pipelines.contiguous.nodes import parameters_of
from contexture.pipelines.report.nodes import histories, save_report
from contexture.reporting.report import ReportContext, SentenceFacts, render_report
from contexture.training.curves import read_curves
from contexture.training.snapshots import totals_of

NOTE = (
    "Ours: encoders of the sizes above, trained on the text above and then frozen. The paper's have vectors of 2,400 "
    "to 4,800 numbers and read 45 million sentences of 7,000 novels. Unless the configuration says the same, the "
    "numbers are not comparable; what can be compared is the order of the rows."
)


def write_sentence_report(
    name: str,
    runs: Sequence[str],
    results: dict[str, Any],
    searched: dict[str, Any],
    captions: list[dict[str, Any]],
    over_time: list[dict[str, Any]],
    tasks: dict[str, Any],
    examples: dict[str, int],
    sources: dict[str, Any],
    corpus_report: dict[str, Any],
    system: dict[str, Any],
    place: Path,
    *models: Path,
) -> tuple[Path, list[dict[str, Any]]]:
    """Tables with the published numbers beside ours, neighbours, curves and counts; and all records."""
    config, folders = parameters_of(system), dict(zip(runs, models, strict=True))
    records = [*results["records"], *searched["records"], *captions]
    context = ReportContext(
        system=name,
        title="Quick-Thoughts",
        note=NOTE,
        run=what_was_run(config, tasks, sources),
        counts={
            "Corpus": corpus_report,
            "Sentences": examples,
            "Rows of the tasks": tasks["rows"],
            "Lines without a sentence or a score": tasks["dropped"],
            "Sentences of the tasks without a known word": results["zero_vectors"],
        },
        files={
            f"data/08_reporting/{name}/metrics.json": "every number of this page",
            f"data/07_model_output/{name}/vectors": "vectors of the tasks' sentences",
            f"data/06_models/{name}/pretrained": "encoders, their snapshots and curves",
        },
        sentences=SentenceFacts(
            neighbours=searched["neighbours"],
            chosen=results["chosen"],
            quality_over_time=over_time,
            missing=tasks["missing"],
            speed={run: found for run, one in folders.items() if (found := speed_of(one / "seed-0", run, config))},
        ),
    )
    curves = histories("pretrain", folders, config.seeds)
    return save_report(render_report(records, curves, context), place), records


def speed_of(folder: Path, run: str, config: QuickThoughtsParameters) -> dict[str, float]:
    """How fast a run was, whole; nothing for one without training."""
    trained = totals_of(folder)
    if not trained["seconds"]:
        return {}
    sentences = config.pretrain.runs[run].steps * config.batch_size(run)
    words = read_curves(folder).get("train/tokens_per_second")  # not there in a run shorter than log_every
    return {
        "sentences_per_second": sentences / trained["seconds"],
        "words_per_second": float("nan") if words is None else float(words.median()),
        "seconds": trained["seconds"],
        "parameters": trained["parameters"],
    }


def kind_of(encoder: SentenceEncoderConfig) -> str:
    """What kind of encoder this is, for the reader of a report."""
    if encoder.kind == "gru":
        return f"{'bi-' if encoder.bidirectional else ''}GRU over {encoder.words} words"
    if encoder.kind == "transformer":
        return f"Transformer, {encoder.encoder.layers} layers × {encoder.encoder.hidden_size}"
    return "bag of words"


def what_was_run(config: QuickThoughtsParameters, tasks: dict[str, Any], sources: dict[str, Any]) -> dict[str, str]:
    """The lines at the head of the report."""
    encoders = [f"{name}: {kind_of(one)}, {one.embedding_size}" for name, one in config.encoders.items()]
    steps = [
        f"{run} {recipe.steps:,} of {config.batch_size(run):,} sentences"
        for run, recipe in config.pretrain.runs.items()
        if recipe.steps
    ]
    names = [Path(file["path"]).name for file in sources["corpus"]]
    return {
        "Text": ", ".join(names if len(names) < 5 else [*names[:3], f"… ({len(names)} files)"]),
        "Encoders, f and g each": "; ".join(encoders),
        "Pre-training": f"steps: {', '.join(steps)}",
        "Evaluation": f"{tasks['name']}, protocol {config.evaluation.protocol}",
        "Seeds": ", ".join(map(str, range(config.seeds))),
    }
