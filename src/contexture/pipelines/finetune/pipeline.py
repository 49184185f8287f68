"""The stage `finetune`."""

from collections.abc import Mapping

from kedro.pipeline import Pipeline, node

from contexture.pipelines.finetune.nodes import finetune_all_seeds
from contexture.pipelines.named import fixed


def create_pipeline(system: str, variants: Mapping[str, str]) -> Pipeline:
    """Encoders and questions → answer-selection models; `variants` maps each to its pre-training run."""
    parameters = f"params:{system}"
    return Pipeline(
        [
            node(
                fixed(finetune_all_seeds, variant),
                ["encoded_answers@file", f"{run}-pretrained", parameters, f"{variant}-finetuned_place"],
                f"{variant}-finetuned",
                name=f"finetune_{variant}",
            )
            for variant, run in variants.items()
        ],
        namespace=system,
        parameters={parameters},
        tags="finetune",
    )
