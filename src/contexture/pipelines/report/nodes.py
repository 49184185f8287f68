"""Nodes of the stage `report`."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contexture.folders import work_folder
from contexture.imports import resolve
from contexture.paths import encoder_dir
from contexture.pipelines.named import select_group
from contexture.pipelines.sources.nodes import name_of_text
from contexture.systems.resolved import ResolvedSystem

if TYPE_CHECKING:
    from contexture.reporting.index import Summary
    from contexture.reporting.records import Record
    from contexture.reporting.report import Report

#: MLflow's table of the means over seeds.
MEANS = "test_means.json"


def write_report(
    system: ResolvedSystem,
    sources: dict[str, Any],
    corpus_report: dict[str, Any],
    models_dir: Path,
    report_dir: Path,
    ablation_dir: Path,
    speed: dict[str, float],
    **inputs: Any,
) -> tuple[Path, list[dict[str, Any]]]:
    """The system's page, and its records with what was spent on each.

    `inputs` are `results/<task>`, `data/<task>`, `counts/<kind of examples>`, and encoders, to wait for them.
    """
    from contexture.pipelines.report.assemble import collect_context, collect_records, histories
    from contexture.reporting.index import summarize
    from contexture.reporting.report import render_report

    text = name_of_text(sources)
    results, data, counts = (select_group(inputs, group) for group in ("results", "data", "counts"))
    records = collect_records(system, text, models_dir, ablation_dir, results)
    context = collect_context(system, text, corpus_report, models_dir, speed, results, data, counts)
    curves = histories(system.config, models_dir)
    report = render_report(records, curves, context, resolve(f"{system.page_module}:page"))
    summary = summarize(context.title, report.page, text, f"{datetime.now():%Y-%m-%d %H:%M}")
    return save_report(report, summary, report_dir), records


def no_speed() -> dict[str, float]:
    """Where the speed of embedding was not measured."""
    return {}


def save_report(report: "Report", summary: "Summary", place: Path) -> Path:
    """Write the pages, the pictures that they show, and what the index says of them."""
    from contexture.reporting.index import SUMMARY_FILE, summary_json

    with work_folder(place) as work:
        (work / "report.md").write_text(report.markdown, encoding="utf-8")
        (work / "report.html").write_text(report.html, encoding="utf-8")
        (work / SUMMARY_FILE).write_text(summary_json(summary), encoding="utf-8")
        for file, picture in report.figures.items():
            (work / file).write_bytes(picture)
    return place


def log_metrics(system: ResolvedSystem, metrics: "list[Record]") -> None:
    """Send to the MLflow run what the main variants reached, as the page shows it, and a table of all that was tested.

    That is one number a variant: of the first use that the system is measured for, fine-tuned where it was.
    """
    import mlflow
    import pandas as pd

    from contexture.systems.league.scores import League

    if mlflow.active_run() is None or not metrics:
        return
    tested = pd.DataFrame(metrics).query("split == 'test'")
    means = tested.groupby(["task", "data", "protocol", "metric", "variant"])["value"].mean()
    mlflow.log_table(means.reset_index(), f"{system.name}/{MEANS}")
    league = League(metrics)
    if not league.columns:
        return
    first = league.columns[0]
    column = [one for one in league.columns if (one.use, one.data) == (first.use, first.data)][-1]
    scores = league.scores[column]
    named = {
        name: f"{system.name}/{name.replace('=', '_')} {column.use.metric}"
        for name in system.main_variants
        if name in scores
    }
    mlflow.log_metrics({key: scores[name].mean for name, key in named.items()})


def register(system: str, pretrained: Path) -> None:
    """Keep a system's encoder, of the first seed, in MLflow."""
    from contexture.pipelines.tracking import register_encoder

    register_encoder(system, encoder_dir(pretrained.parent, pretrained.name, 0))


def register_adopted(system: str, adopted: Path) -> None:
    """Keep the encoder that was adopted in MLflow."""
    from contexture.pipelines.tracking import register_encoder

    register_encoder(system, adopted)
