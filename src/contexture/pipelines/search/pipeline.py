"""The stage `index`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.named import fixed
from contexture.pipelines.search.nodes import index_passages
from contexture.systems.config import BEST
from contexture.systems.resolved import ResolvedSystem


def create_pipeline(system: ResolvedSystem) -> Pipeline:
    """Passages and the system's search encoder, if it has one → the index of `contexture search`."""
    config = system.config
    if config.search is None or "pairs" not in config.examples():
        return Pipeline([])
    best = config.search == BEST
    encoder = "exported" if best else f"{config.search}-pretrained"
    inputs = ["passages-examples@files", encoder, "params:search_dir", *(["search_defaults"] if best else [])]
    index = fixed(index_passages, list(config.tasks.values()), config.first_seed)
    build = node(index, inputs, "search_index", name="index_passages", tags="index")
    return Pipeline([build], namespace=system.name)
