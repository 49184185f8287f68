"""The stage `report`."""

from collections.abc import Iterable

from kedro.pipeline import Pipeline, node

from contexture.pipelines.named import fixed
from contexture.pipelines.report.nodes import announce, write_report


def create_pipeline(system: str, runs: Iterable[str], variants: Iterable[str]) -> Pipeline:
    """Metrics, counts and curves → the report."""
    parameters = f"params:{system}"
    runs, variants = list(runs), list(variants)
    inputs = ["metrics", "sources", "corpus_report", "examples_report", parameters, "report_place"]
    inputs += [f"{run}-pretrained" for run in runs] + [f"{variant}-finetuned" for variant in variants]
    return Pipeline(
        [
            node(fixed(write_report, system, runs, variants), inputs, "report", name="report"),
            node(fixed(announce, system), "report", None, name="announce"),
        ],
        namespace=system,
        parameters={parameters},
        inputs={"sources", "corpus_report"},
        tags="report",
    )
