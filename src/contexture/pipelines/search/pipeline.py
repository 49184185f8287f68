"""The stage `index`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.named import fixed
from contexture.pipelines.search.nodes import index_exported, index_passages
from contexture.systems.config import BEST
from contexture.systems.resolved import ResolvedSystem


def create_pipeline(system: ResolvedSystem) -> Pipeline:
    """Passages and the system's search encoder, if it has one → the index of `contexture search`."""
    config = system.config
    if config.search is None or "pairs" not in config.examples():
        return Pipeline([])
    if config.search == BEST:
        index = fixed(index_exported, config.choosing_task, list(config.search_candidates))
        inputs = ["passages-examples@files", "exported", "params:search_dir", f"{config.choosing_task}-results"]
    else:
        index = fixed(index_passages, list(config.tasks.values()))
        inputs = ["passages-examples@files", f"{config.search}-pretrained", "params:search_dir"]
    build = node(index, inputs, "search_index", name="index_passages", tags="index")
    return Pipeline([build], namespace=system.name)
