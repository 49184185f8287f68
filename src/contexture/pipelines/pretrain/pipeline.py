"""The stage `pretrain`."""

from kedro.pipeline import Pipeline, node

from contexture.config import ComputeConfig
from contexture.pipelines.named import fixed
from contexture.pipelines.pretrain.nodes import gather, pretrain_all
from contexture.systems.config import SystemConfig


def create_pipeline(
    system: str, config: SystemConfig, compute: ComputeConfig, examples_of: str = "", visits: bool = False
) -> Pipeline:
    """Examples, those of another system where one is named, → one encoder for every run.

    All of them are one dataset besides where the system `visits` another: Kedro-Viz draws what goes from box to box.
    """
    vocabulary = config.vocabulary_dataset
    owner = f"{examples_of}." if examples_of else ""
    folders = [f"{owner}{kind}-folder" for kind in config.examples()]
    runs = [f"{run}-pretrained" for run in config.pretrain.runs]
    train = node(
        fixed(pretrain_all, system, config, compute),
        [vocabulary, "params:pretrained_place", *folders],
        runs,
        name="pretrain",
    )
    shared = {vocabulary, *(folders if examples_of else [])}
    nodes = [train, *([node(gather, runs, "encoders", name="gather_encoders")] if visits else [])]
    return Pipeline(nodes, namespace=system, inputs=shared, tags="pretrain")
