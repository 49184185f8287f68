"""Kedro-Viz draws the pipelines: the text as one box, and each system."""

from collections.abc import Collection

from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from tests.environments import config_loader

FOLDERS = {
    "01_raw", "02_intermediate", "03_primary", "04_feature", "05_model_input", "06_models", "07_model_output",
    "08_reporting",
}  # fmt: skip


def without_parameters(datasets: Collection[str]) -> set[str]:
    """Kedro-Viz hides parameters by default."""
    return {name for name in datasets if not name.startswith("params:")}


def boxes(pipeline: Pipeline) -> list[tuple[set[str], set[str]]]:
    """Return inputs and outputs of nodes without a namespace, and of each system."""
    boxes = [
        (without_parameters(node.inputs), without_parameters(node.outputs))
        for node in pipeline.nodes
        if not node.namespace
    ]
    for system in {node.namespace for node in pipeline.nodes if node.namespace}:
        inside = pipeline.only_nodes_with_namespaces([system])
        used = (pipeline - inside).inputs() & inside.all_outputs()
        boxes.append((without_parameters(inside.inputs()), without_parameters(inside.outputs() | used)))
    return boxes


def test_every_dataset_has_a_layer_and_layers_go_one_way(pipelines: dict[str, Pipeline]) -> None:
    """Kedro-Viz draws no layers if they form a circle."""
    catalog = DataCatalog.from_config(config_loader()["catalog"])

    def layer(name: str) -> str:
        return str(catalog[name].metadata["kedro-viz"]["layer"])

    for pipeline in pipelines.values():
        assert {layer(name) for name in without_parameters(pipeline.datasets())} <= FOLDERS
        for node in pipeline.nodes:
            assert max(map(layer, without_parameters(node.inputs)), default="") <= min(
                map(layer, node.outputs), default="9"
            )
        for inputs, outputs in boxes(pipeline):
            assert max(map(layer, inputs), default="") <= min(map(layer, outputs), default="9")


def test_nothing_is_drawn_that_no_node_makes(pipelines: dict[str, Pipeline]) -> None:
    for name, pipeline in pipelines.items():
        if not name.endswith("_ablation"):  # reads results of the system
            assert not without_parameters(pipeline.inputs())
    for name in ("__default__", "demo"):  # more are too small to read
        systems = boxes(pipelines[name])
        datasets = {dataset.split("@")[0] for box in systems for part in box for dataset in part}
        assert len(systems) <= 8 and len(datasets) <= 41
