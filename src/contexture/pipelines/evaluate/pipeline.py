"""The stage `evaluate`."""

from collections.abc import Iterable

from kedro.pipeline import Pipeline, node

from contexture.pipelines.evaluate.nodes import log_metrics, measure, records, score_all_seeds
from contexture.pipelines.named import fixed

PAIRWISE = "pairwise"


def create_pipeline(system: str, variants: Iterable[str]) -> Pipeline:
    """Models and questions → scores → metrics; the joint models also order the pairwise model's top k anew."""
    parameters = f"params:{system}"
    variants = list(variants)
    scoring = [
        node(
            fixed(score_all_seeds, variant),
            ["encoded_answers@table", f"{variant}-finetuned", parameters]
            + ([] if variant == PAIRWISE else [f"{PAIRWISE}-scores"]),
            f"{variant}-scores",
            name=f"score_{variant}",
        )
        for variant in variants
    ]
    measuring = [
        node(measure, [f"{variant}-scores" for variant in variants], "question_metrics", name="measure"),
        node(fixed(records, system), "question_metrics", "metrics", name="average"),
        node(log_metrics, "metrics", None, name="log_metrics"),
    ]
    return Pipeline([*scoring, *measuring], namespace=system, parameters={parameters}, tags="evaluate")
