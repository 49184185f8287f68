"""The stage `index`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.search.nodes import index_passages
from contexture.systems.config import SystemConfig


def create_pipeline(system: str, config: SystemConfig) -> Pipeline:
    """Passages and the encoder that searches → the index of `contexture search`; nothing where none searches."""
    if config.search is None or "pairs" not in config.examples():
        return Pipeline([])
    inputs = ["passages-examples@files", f"{config.search}-pretrained", "search_place"]
    build = node(index_passages, inputs, "search_index", name="index_passages", tags="index")
    return Pipeline([build], namespace=system)
