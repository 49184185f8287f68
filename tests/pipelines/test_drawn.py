"""What Kedro-Viz draws of the pipelines: the text as one box, and each system."""

from collections.abc import Collection
from typing import Any

import pytest
from kedro.config import OmegaConfigLoader
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from contexture.pipeline_registry import register_pipelines
from contexture.settings import CONFIG_LOADER_ARGS, RUN_PARAMETERS
from tests.pipelines.conftest import PROJECT

FOLDERS = {
    "01_raw", "02_intermediate", "03_primary", "04_feature", "05_model_input", "06_models", "07_model_output",
    "08_reporting",
}  # fmt: skip


@pytest.fixture(scope="module")
def loader() -> OmegaConfigLoader:
    """That of conf/base."""
    arguments: dict[str, Any] = CONFIG_LOADER_ARGS
    return OmegaConfigLoader(str(PROJECT / "conf"), env="base", **arguments)


@pytest.fixture(scope="module")
def pipelines(loader: OmegaConfigLoader) -> dict[str, Pipeline]:
    """All that there are."""
    RUN_PARAMETERS.check(loader)
    return register_pipelines()


def drawn(datasets: Collection[str]) -> set[str]:
    """Parameters are drawn when they are asked for."""
    return {name for name in datasets if not name.startswith("params:")}


def boxes(pipeline: Pipeline) -> list[tuple[set[str], set[str]]]:
    """Inputs and outputs of nodes and, in their places, of systems."""
    found = [(drawn(node.inputs), drawn(node.outputs)) for node in pipeline.nodes if not node.namespace]
    for system in {node.namespace for node in pipeline.nodes if node.namespace}:
        inside = pipeline.only_nodes_with_namespaces([system])
        used = (pipeline - inside).inputs() & inside.all_outputs()
        found.append((drawn(inside.inputs()), drawn(inside.outputs() | used)))
    return found


def test_every_dataset_has_a_layer_and_layers_go_one_way(
    loader: OmegaConfigLoader, pipelines: dict[str, Pipeline]
) -> None:
    """Kedro-Viz draws no layers at all where they go in a circle."""
    catalog = DataCatalog.from_config(loader["catalog"])

    def layer(name: str) -> str:
        found: str = catalog[name].metadata["kedro-viz"]["layer"]
        return found

    for pipeline in pipelines.values():
        assert {layer(name) for name in drawn(pipeline.datasets())} <= FOLDERS
        for node in pipeline.nodes:
            assert max(map(layer, drawn(node.inputs)), default="") <= min(map(layer, node.outputs), default="9")
        for inputs, outputs in boxes(pipeline):
            assert max(map(layer, inputs), default="") <= min(map(layer, outputs), default="9")


def test_nothing_is_drawn_that_no_node_makes(pipelines: dict[str, Pipeline]) -> None:
    for name, pipeline in pipelines.items():
        if not name.endswith("_ablation"):  # stands on what the system left
            assert not drawn(pipeline.inputs())
    for name in ("__default__", "tour"):  # more cannot be read without zooming in
        systems = boxes(pipelines[name])
        shown = {dataset.split("@")[0] for box in systems for part in box for dataset in part}
        assert len(systems) <= 7 and len(shown) <= 37
