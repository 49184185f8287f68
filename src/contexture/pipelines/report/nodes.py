"""Nodes of the stage `report`."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contexture.config import MsppParameters
from contexture.folders import work_folder
from contexture.pipelines.examples.nodes import parameters_of
from contexture.reporting.curves import History
from contexture.reporting.report import Report, ReportContext, render_report
from contexture.training.curves import read_curves

NOTE = (
    "Ours: encoders of the sizes above, trained on the text above. The paper continues RoBERTa-base (12 layers × 768, "
    "pre-trained on 160 GB of text) for 100,000 steps of 4,096 examples and fine-tunes on the real WikiQA. Unless "
    "the configuration says the same, the numbers are not comparable; what can be compared is the order of the rows."
)

#: Lines of the first table, the paper's own rows left out, that the end of a run shows.
SHOWN = 20


def histories(stage: str, folders: dict[str, Path], seeds: int) -> list[History]:
    """The curves of every run of a stage and every seed that has some."""
    found = []
    for name, folder in folders.items():
        for seed in range(seeds):
            log = read_curves(folder / f"seed-{seed}")
            if not log.empty:
                found.append(History(stage, name, seed, log))
    return found


def write_report(
    name: str,
    runs: Sequence[str],
    variants: Sequence[str],
    metrics: list[dict[str, Any]],
    sources: dict[str, Any],
    corpus_report: dict[str, Any],
    examples_report: dict[str, int],
    system: dict[str, Any],
    place: Path,
    *folders: Path,
) -> Path:
    """Tables with the published numbers beside ours, curves and counts; `folders` are those of runs and variants."""
    config = parameters_of(system)
    pretrained = dict(zip(runs, folders[: len(runs)], strict=True))
    finetuned = dict(zip(variants, folders[len(runs) :], strict=True))
    curves = histories("pretrain", pretrained, config.seeds) + histories("finetune", finetuned, config.seeds)
    context = ReportContext(
        system=name,
        title="MSPP joint transformers: answer sentence selection",
        note=NOTE + (f" {sources['answers']['missing']}" if "missing" in sources["answers"] else ""),
        run=what_was_run(config, sources),
        counts={"Corpus": corpus_report, "Examples": examples_report},
        files={
            f"data/08_reporting/{name}/metrics.json": "every number of this page",
            f"data/07_model_output/{name}": "scores and metrics of every question",
            f"data/06_models/{name}": "encoders and fine-tuned models, with their curves",
        },
    )
    return save_report(render_report(metrics, curves, context), place)


def save_report(report: Report, place: Path) -> Path:
    """Write the pages and the pictures that they show."""
    with work_folder(place) as work:
        (work / "report.md").write_text(report.markdown, encoding="utf-8")
        (work / "report.html").write_text(report.html, encoding="utf-8")
        for file, picture in report.figures.items():
            (work / file).write_bytes(picture)
    return place


def what_was_run(config: MsppParameters, sources: dict[str, Any]) -> dict[str, str]:
    """The lines at the head of the report."""
    encoder = config.encoder
    sizes = f"{encoder.layers} layers × {encoder.hidden_size}, {encoder.heads} heads, from scratch"
    steps = ", ".join(f"{run} {recipe.steps:,}" for run, recipe in config.pretrain.runs.items())
    return {
        "Text": ", ".join(Path(file["path"]).name for file in sources["corpus"]),
        "Encoder": encoder.init_from or sizes,
        "Pre-training": f"steps: {steps}; {config.pretrain.batch_size} examples each",
        "Fine-tuning": f"up to {config.finetune.epochs} epochs, batch {config.finetune.batch_size}",
        "Seeds": ", ".join(map(str, range(config.seeds))),
    }


def announce(name: str, report: Path) -> None:
    """The last lines of a run: the first table, and where to look."""
    lines = (report / "report.md").read_text(encoding="utf-8").splitlines()
    below_heading = itertools.dropwhile(lambda line: not line.startswith("## "), lines)
    from_table = itertools.dropwhile(lambda line: not line.startswith("|"), below_heading)
    table = itertools.takewhile(lambda line: line.startswith("|"), from_table)
    ours = (row for row in table if "| paper |" not in row)
    print("\n".join(["", f"== {name} ==", *itertools.islice(ours, SHOWN), ""]))
    print(f"tables and numbers: {report}/report.md, {report.parent}/metrics.json")
    print(f"report:             {report}/report.html")
    print("all runs:           make ui")
