"""The stage `index`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.search.nodes import index_passages

#: The run whose towers search, as they were pre-trained: questions are not needed for it.
SEARCHED_BY = "ict_bfs_wlp"


def create_pipeline(system: str) -> Pipeline:
    """Passages and towers → the index of `contexture search`."""
    return Pipeline(
        [
            node(
                index_passages,
                ["passages@files", f"{SEARCHED_BY}-pretrained", "search_place"],
                "search_index",
                name="index_passages",
            )
        ],
        namespace=system,
        tags="index",
    )
