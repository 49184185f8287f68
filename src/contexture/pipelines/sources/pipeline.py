"""The stage `sources`."""

from kedro.pipeline import Pipeline, node

from contexture.config import Parameters
from contexture.pipelines.named import fixed
from contexture.pipelines.sources.nodes import locate_sources


def create_pipeline(parameters: Parameters) -> Pipeline:
    """Made-up world or the user's files → their manifest."""
    find = node(
        fixed(locate_sources, parameters), "params:demo_place", "sources", name="locate_sources", tags="sources"
    )
    return Pipeline([find])
