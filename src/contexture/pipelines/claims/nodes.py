"""Nodes of the stage `claims`."""

from datetime import datetime
from pathlib import Path
from typing import Any

from contexture.paths import METRICS_FILE
from contexture.pipelines.report.nodes import save_report
from contexture.systems.registry import SYSTEMS

#: Table of all decisions in MLflow.
RESULTS_FILE = "claims/results.json"


def write_report(report_dir: Path, **inputs: Any) -> tuple[Path, list[dict[str, Any]]]:
    """Decide the claims on all records of `data/08_reporting`; write their page and return it with the decisions.

    `inputs` are only waited for.
    """
    from contexture.reporting.claim_decisions import decide_claims
    from contexture.reporting.claim_tables import TITLE, claims_rows, render_claims
    from contexture.reporting.claims import read_all_claims
    from contexture.reporting.index import summarize
    from contexture.reporting.run_records import RunRecords

    reports_dir = report_dir.parent.parent
    runs = [RunRecords.read(reports_dir)] if any(reports_dir.glob(f"*/{METRICS_FILE}")) else []
    results = decide_claims(read_all_claims(tuple(SYSTEMS)), runs)
    report = render_claims(results)
    summary = summarize(TITLE, report.page, "all texts", f"{datetime.now():%Y-%m-%d %H:%M}", has_records=False)
    return save_report(report, summary, report_dir), claims_rows(results)


def log_results(results: list[dict[str, Any]]) -> None:
    """Log the decisions as a table to MLflow."""
    import mlflow
    import pandas as pd

    if mlflow.active_run() is not None:
        mlflow.log_table(pd.DataFrame(results), RESULTS_FILE)
