"""The stage `index`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.named import fixed
from contexture.pipelines.search.nodes import index_adopted, index_passages
from contexture.retrieval.config import Bm25Config
from contexture.systems.config import BEST, HELD_OUT
from contexture.systems.resolved import ResolvedSystem
from contexture.tasks.retrieval.config import RetrievalSettings


def create_pipeline(system: ResolvedSystem) -> Pipeline:
    """Passages and the encoder that searches → the index of `contexture search`; nothing if none searches."""
    config = system.config
    if config.search is None or "pairs" not in config.examples():
        return Pipeline([])
    if config.search == BEST:
        inputs = ["passages-examples@files", "adopted", "params:search_place"]
        index = fixed(index_adopted, config.task(HELD_OUT))
        return Pipeline(
            [node(index, inputs, "search_index", name="index_passages", tags="index")], namespace=system.name
        )
    measured = (task.bm25 for task in config.tasks.values() if isinstance(task, RetrievalSettings))
    words = next(measured, Bm25Config())
    inputs = ["passages-examples@files", f"{config.search}-pretrained", "params:search_place"]
    build = node(fixed(index_passages, words), inputs, "search_index", name="index_passages", tags="index")
    return Pipeline([build], namespace=system.name)
