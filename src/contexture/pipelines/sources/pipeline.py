"""The stage `sources`."""

from collections.abc import Collection

from kedro.pipeline import Pipeline, node

from contexture.config import Parameters
from contexture.demo.config import DEMO
from contexture.pipelines.named import fixed
from contexture.pipelines.sources.nodes import input_paths, locate_sources, make_demo_world


def create_pipeline(parameters: Parameters) -> Pipeline:
    """Return the stage `sources`: made-up world or files of the user → their manifest."""
    world, demo_dir = create_world_pipeline(parameters, input_paths(parameters.corpus))
    locate = fixed(locate_sources, parameters.corpus, parameters.demo)
    return world + Pipeline([node(locate, demo_dir, "sources", name="locate_sources", tags="sources")])


def create_world_pipeline(parameters: Parameters, inputs: Collection[object]) -> tuple[Pipeline, str]:
    """Return a pipeline that writes the made-up world if it is an input, and the dataset of its folder."""
    if DEMO not in inputs:
        return Pipeline([]), "params:demo_dir"
    make, tags = fixed(make_demo_world, parameters.demo), ["sources", "tasks"]
    return Pipeline([node(make, "params:demo_dir", "demo_world", name="make_demo_world", tags=tags)]), "demo_world"
