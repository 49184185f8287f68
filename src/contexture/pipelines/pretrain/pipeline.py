"""The stage `pretrain`."""

from collections.abc import Iterable

from kedro.pipeline import Pipeline, node

from contexture.pipelines.named import fixed
from contexture.pipelines.pretrain.nodes import pretrain_all_seeds


def create_pipeline(system: str, runs: Iterable[str]) -> Pipeline:
    """Examples → one encoder for every run."""
    parameters = f"params:{system}"
    return Pipeline(
        [
            node(
                fixed(pretrain_all_seeds, run),
                ["examples@files", "tokenizer", parameters, f"{run}-pretrained_place"],
                f"{run}-pretrained",
                name=f"pretrain_{run}",
            )
            for run in runs
        ],
        namespace=system,
        parameters={parameters},
        inputs={"tokenizer"},
        tags="pretrain",
    )
