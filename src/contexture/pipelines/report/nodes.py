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
    from contexture.pipelines.tracking.metrics import Headline
    from contexture.reporting.index import Summary
    from contexture.reporting.records import Record
    from contexture.reporting.report import Report

#: Table of means over seeds in MLflow.
MEANS_FILE = "mean_scores.json"


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
        count_tokens,
        read_histories,
    )
    from contexture.reporting.index import summarize
    from contexture.reporting.provenance import hash_corpus
    from contexture.reporting.report import render_report

    text = get_text_name(sources)
    results, data, counts, speed = (select_group(inputs, group) for group in ("results", "data", "counts", "speed"))
    records = collect_records(
        system, text, hash_corpus(sources), count_tokens(documents_dir), models_dir, ablation_dir, results
    )
    context = collect_report_context(
        system, workspace, text, corpus_report, models_dir, speed.get("embedding", {}), results, data, counts
    )
    histories = read_histories(system, models_dir)
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


def log_metrics(system: ResolvedSystem, metrics: "list[Record]") -> "Headline":
    """Log the scores of a system to MLflow, if a run is active, and return those of its main metric.

    Each training gets those of its encoder, the whole run one of each main variant and a table of all final scores.
    """
    import mlflow
    import pandas as pd

    from contexture.pipelines.tracking.metrics import log_trainings, measure_headline, name_metric
    from contexture.reporting.records import select_final

    headline = measure_headline(system.name, metrics)
    run = mlflow.active_run()
    if run is None or not metrics:
        return headline
    groups = pd.DataFrame(select_final(metrics)).groupby(["task", "data", "protocol", "metric", "variant"])
    mlflow.log_table(groups["value"].mean().reset_index(), f"{system.name}/{MEANS_FILE}")
    main = [variant for variant in system.main_variants if variant in headline.means]
    mlflow.log_metrics({name_metric(headline.name, variant): headline.means[variant] for variant in main})
    log_trainings(mlflow.MlflowClient(), run.info.experiment_id, system, metrics)
    return headline


def register(
    system: ResolvedSystem, workspace: str | None, headline: "Headline", metrics: "list[Record]", **inputs: Path
) -> None:
    """Register the best encoder of the first seed in MLflow as model `<system>`, or `<system>-<workspace>`.

    `inputs` are `encoders/<run>`; if there are several, that with the best score is registered. It is an artifact of
    the child run of its training, or of the whole run if it was trained without MLflow. Does nothing without an active
    run. `metrics` are the system's records.
    """
    import mlflow

    from contexture.encoders.saved import seed_dir
    from contexture.pipelines.report.assemble import get_short_title
    from contexture.pipelines.tracking.metrics import TrainingKey, find_trainings, score_runs, select_best_run
    from contexture.pipelines.tracking.models import EncoderVersion, register_encoder

    active = mlflow.active_run()
    if active is None:
        return
    encoders = select_group(inputs, "encoders")
    scores = score_runs(system.config, headline)
    run = select_best_run(system, scores) if len(encoders) > 1 else next(iter(encoders))
    seed = system.config.first_seed
    version = EncoderVersion(
        folder=seed_dir(encoders[run], seed),
        description=f"Encoder of the system {system.name}: {get_short_title(system)}",
        tags={
            "system": system.name,
            "run": run,
            "seed": str(seed),
            "training_text": next((record["training_text"] for record in metrics if "training_text" in record), ""),
        },
        score=(headline.name, scores[run]) if run in scores else None,
    )
    trainings = find_trainings(mlflow.MlflowClient(), active.info.experiment_id, system.name)
    run_id = trainings.get(TrainingKey("pretrain", run, str(seed)), active.info.run_id)
    register_encoder(f"{system.name}-{workspace}" if workspace else system.name, version, run_id)
