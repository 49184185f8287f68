"""The stage `sources`."""

from collections.abc import Collection

from kedro.pipeline import Pipeline, node

from contexture.config import Parameters
from contexture.demo.config import DEMO
from contexture.pipelines.named import fixed
from contexture.pipelines.sources.nodes import locate_sources, make_demo_world


def create_pipeline(parameters: Parameters) -> Pipeline:
    """Made-up world or the user's files → their manifest."""
    world, place = create_world_pipeline(parameters, [one.path for one in parameters.corpus.inputs()])
    locate = fixed(locate_sources, parameters.corpus, parameters.demo)
    find = node(locate, place, "sources", name="locate_sources", tags="sources")
    return world + Pipeline([find])


def create_world_pipeline(parameters: Parameters, asked: Collection[object]) -> tuple[Pipeline, str]:
    """What writes the made-up world, where one of the inputs asks for it, and the dataset that says where it lies."""
    if DEMO not in asked:
        return Pipeline([]), "params:demo_place"
    make = node(
        fixed(make_demo_world, parameters.demo),
        "params:demo_place",
        "demo_world",
        name="make_demo_world",
        tags=["sources", "tasks"],
    )
    return Pipeline([make]), "demo_world"
