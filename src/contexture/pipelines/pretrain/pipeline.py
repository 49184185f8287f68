"""The stage `pretrain`."""

from kedro.pipeline import Pipeline, node

from contexture.config import ComputeConfig
from contexture.pipelines.named import fixed
from contexture.pipelines.pretrain.nodes import pretrain_all
from contexture.systems.config import SystemConfig


def create_pipeline(system: str, config: SystemConfig, compute: ComputeConfig, examples_of: str = "") -> Pipeline:
    """Examples, those of another system where one is named, → one encoder for every run."""
    vocabulary = config.vocabulary_dataset
    owner = f"{examples_of}." if examples_of else ""
    folders = [f"{owner}{kind}-folder" for kind in config.examples()]
    train = node(
        fixed(pretrain_all, system, config, compute),
        [vocabulary, "params:pretrained_place", *folders],
        [f"{run}-pretrained" for run in config.pretrain.runs],
        name="pretrain",
    )
    shared = {vocabulary, *(folders if examples_of else [])}
    return Pipeline([train], namespace=system, inputs=shared, tags="pretrain")
