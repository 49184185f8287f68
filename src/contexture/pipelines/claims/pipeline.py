"""The stage `claims`."""

from collections.abc import Iterable

from kedro.pipeline import Pipeline, node

from contexture.pipelines.claims import CLAIMS
from contexture.pipelines.claims.nodes import log_results, write_report
from contexture.pipelines.named import name_group


def create_pipeline(systems: Iterable[str] = ()) -> Pipeline:
    """Return the stage `claims`: all records in `data/08_reporting` → the page of claims, and a table in MLflow.

    It waits for the records of `systems`, which run in the same pipeline.
    """
    records = {system: f"{system}.metrics" for system in systems}
    inputs = {"report_dir": "params:report_dir", **name_group("metrics", records)}
    nodes = [
        node(write_report, inputs, ["report", "results"], name="write_report"),
        node(log_results, "results", None, name="log_results"),
    ]
    return Pipeline(nodes, namespace=CLAIMS, inputs=set(records.values()), tags="report")
