"""The stage `report`."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kedro.pipeline import Pipeline, node

from contexture.pipelines.evaluate.nodes import log_metrics
from contexture.pipelines.named import fixed
from contexture.pipelines.report.nodes import announce, write_report
from contexture.pipelines.report.retrieval import write_retrieval_report
from contexture.pipelines.report.sentences import write_sentence_report


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


def create_retrieval_pipeline(system: str, runs: Sequence[str]) -> Pipeline:
    """Records, counts and curves of two towers → the report."""
    parameters = f"params:{system}"
    inputs = ["reqa_metrics", "open_domain_metrics", "index_report", "bm25_speed", "pairs_report"]
    inputs += ["sources", "reqa_report", "corpus_report", parameters, "ablation_records_place", "report_place"]
    inputs += [f"{run}-pretrained" for run in runs] + [f"{run}-finetuned" for run in runs]
    return _records_and_report(
        system, fixed(write_retrieval_report, system, runs), inputs, {"sources", "corpus_report", "reqa_report"}
    )


def create_sentence_pipeline(system: str, runs: Sequence[str]) -> Pipeline:
    """Records, counts and curves of encoders of sentences → the report."""
    parameters = f"params:{system}"
    inputs = ["sentence_results", "search_results", "caption_results", "quality_over_time", "sentence_tasks"]
    inputs += ["examples_report", "sources", "corpus_report", parameters, "report_place"]
    inputs += [f"{run}-pretrained" for run in runs]
    return _records_and_report(
        system, fixed(write_sentence_report, system, runs), inputs, {"sources", "corpus_report", "sentence_tasks"}
    )


def _records_and_report(system: str, write: Callable[..., Any], inputs: list[str], shared: set[str]) -> Pipeline:
    """`write` makes the report and the records; `shared` are the inputs that are not the system's own."""
    return Pipeline(
        [
            node(write, inputs, ["report", "metrics"], name="report"),
            node(log_metrics, "metrics", None, name="log_metrics"),
            node(fixed(announce, system), "report", None, name="announce"),
        ],
        namespace=system,
        parameters={f"params:{system}"},
        inputs=shared,
        tags="report",
    )
