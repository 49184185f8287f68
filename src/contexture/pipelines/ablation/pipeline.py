"""The ablation of Table 5, from a list of rows."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.ablation.nodes import ablate
from contexture.pipelines.named import fixed


def create_pipeline(system: str) -> Pipeline:
    """What the system's own pipeline left → a model for every row of `ablation.rows` → records for its report."""
    parameters = f"params:{system}"
    return Pipeline(
        [
            node(
                fixed(ablate, system),
                [
                    "pairs@files",
                    "tokenizer",
                    "encoded_questions@file",
                    "encoded_candidates@file",
                    "reqa_report",
                    parameters,
                    "ablation_place",
                ],
                "ablation_metrics",
                name="ablate",
            )
        ],
        namespace=system,
        parameters={parameters},
        inputs={"tokenizer", "reqa_report"},
        tags="ablation",
    )
