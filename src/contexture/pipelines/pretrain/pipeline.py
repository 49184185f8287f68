"""The stage `pretrain`."""

from kedro.pipeline import Pipeline, node

from contexture.config import ComputeConfig
from contexture.pipelines.named import fixed, name_group
from contexture.pipelines.pretrain.nodes import gather_encoders, pretrain_all
from contexture.systems.resolved import ResolvedSystem


def create_pipeline(system: ResolvedSystem, compute: ComputeConfig) -> Pipeline:
    """Return the stage `pretrain`: examples → an encoder for each run.

    If another system includes them, the folder of all encoders is a dataset, too, which Kedro-Viz draws.
    """
    vocabulary = system.config.vocabulary_dataset
    examples = {kind: system.examples_dataset(f"{kind}-folder") for kind in system.config.examples()}
    runs = list(system.run_datasets)
    passages = {}
    if system.config.runs_in_minutes:
        passages["passages"] = system.examples_dataset("passages-examples@files")
    inputs = {"vocabulary": vocabulary, "pretrained_dir": "params:pretrained_dir"} | passages
    inputs |= name_group("examples", examples)
    train = node(fixed(pretrain_all, system, compute), inputs, runs, name="pretrain")
    shared = {vocabulary, *([*examples.values(), *passages.values()] if system.is_ablation else ())}
    nodes = [train, *([node(gather_encoders, runs, "encoders", name="gather_encoders")] if system.is_included else [])]
    return Pipeline(nodes, namespace=system.name, inputs=shared, tags="pretrain")
