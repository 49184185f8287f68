"""Nodes of the stage `report`."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contexture.folders import work_folder
from contexture.imports import resolve
from contexture.pipelines.named import select_group
from contexture.pipelines.sources.nodes import get_text_name
from contexture.systems.resolved import ResolvedSystem

if TYPE_CHECKING:
    from contexture.reporting.index import Summary
    from contexture.reporting.records import Record
    from contexture.reporting.report import Report

#: Table of means over seeds in MLflow.
MEANS_FILE = "test_means.json"


def write_report(
    system: ResolvedSystem,
    workspace: str | None,
    sources: dict[str, Any],
    corpus_report: dict[str, Any],
    documents_dir: Path,
    models_dir: Path,
    report_dir: Path,
    ablation_dir: Path,
    **inputs: Any,
) -> tuple[Path, list[dict[str, Any]]]:
    """Write the page of a system; return its folder and the records with their costs.

    `inputs` are `results/<task>`, `data/<task>`, `counts/<kind of examples>` and `speed/embedding`, if it was measured;
    others are only waited for.
    """
    from contexture.pipelines.report.assemble import (
        collect_records,
        collect_report_context,
        count_epochs,
        count_tokens,
        read_histories,
    )
    from contexture.reporting.index import summarize
    from contexture.reporting.report import render_report

    text = get_text_name(sources)
    results, data, counts, speed = (select_group(inputs, group) for group in ("results", "data", "counts", "speed"))
    records = collect_records(system, text, models_dir, ablation_dir, results)
    epochs = count_epochs(system, records, count_tokens(documents_dir))
    context = collect_report_context(
        system, workspace, text, corpus_report, models_dir, speed.get("embedding", {}), epochs, results, data, counts
    )
    histories = read_histories(system.config, models_dir)
    report = render_report(records, histories, context, resolve(f"{system.page_module}:page"))
    summary = summarize(context.title, report.page, text, f"{datetime.now():%Y-%m-%d %H:%M}")
    return save_report(report, summary, report_dir), records


def save_report(report: "Report", summary: "Summary", report_dir: Path) -> Path:
    """Write the pages, pictures, and the summary for the index to `report_dir`."""
    from contexture.reporting.index import SUMMARY_FILE, summary_json

    with work_folder(report_dir) as work:
        (work / "report.md").write_text(report.markdown, encoding="utf-8")
        (work / "report.html").write_text(report.html, encoding="utf-8")
        (work / SUMMARY_FILE).write_text(summary_json(summary), encoding="utf-8")
        for file, picture in report.figures.items():
            (work / file).write_bytes(picture)
    return report_dir


def log_metrics(system: ResolvedSystem, metrics: "list[Record]") -> None:
    """Log a table of all test results to MLflow, and one score for each main variant.

    The score is that of the system's first use in the league, fine-tuned if possible.
    """
    import mlflow
    import pandas as pd

    from contexture.systems.league.scores import League

    if mlflow.active_run() is None or not metrics:
        return
    tested = pd.DataFrame(metrics).query("split == 'test'")
    means = tested.groupby(["task", "data", "protocol", "metric", "variant"])["value"].mean()
    mlflow.log_table(means.reset_index(), f"{system.name}/{MEANS_FILE}")
    league = League(metrics)
    if not league.columns:
        return
    first = league.columns[0]
    column = [column for column in league.columns if (column.use, column.data) == (first.use, first.data)][-1]
    scores = league.scores[column]
    variants = [name for name in system.main_variants if name in scores]
    keys = [f"{system.name}/{name.replace('=', '_')} {column.use.metric}" for name in variants]
    mlflow.log_metrics({key: scores[name].mean for key, name in zip(keys, variants, strict=True)})


def register(system: str, workspace: str | None, encoder: Path) -> None:
    """Register the encoder of the first seed in MLflow as model `<system>`, or `<system>-<workspace>`."""
    from contexture.encoders.saved import seed_dir
    from contexture.pipelines.tracking import register_encoder

    register_encoder(f"{system}-{workspace}" if workspace else system, seed_dir(encoder, 0))
