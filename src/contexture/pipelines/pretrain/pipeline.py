"""The stage `pretrain`."""

from collections.abc import Mapping

from kedro.pipeline import Pipeline, node

from contexture.pipelines.named import fixed
from contexture.pipelines.pretrain.nodes import pretrain_all_seeds


def create_pipeline(
    system: str, runs: Mapping[str, str | None], examples: str = "examples@files", tokenizer: str = "tokenizer"
) -> Pipeline:
    """Examples → one encoder for every run; `runs` maps each to the run that it continues."""
    parameters = f"params:{system}"
    return Pipeline(
        [
            node(
                fixed(pretrain_all_seeds, system, run),
                [examples, tokenizer, parameters, f"{run}-pretrained_place"]
                + ([f"{start}-pretrained"] if start else []),
                f"{run}-pretrained",
                name=f"pretrain_{run}",
            )
            for run, start in runs.items()
        ],
        namespace=system,
        parameters={parameters},
        inputs={tokenizer},
        tags="pretrain",
    )
