"""The stage `sources`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.sources.nodes import locate_sources


def create_pipeline() -> Pipeline:
    """Made-up world or the user's files → their manifest, and the questions."""
    return Pipeline(
        [
            node(
                locate_sources,
                ["params:corpus", "params:answers", "params:demo", "demo_place"],
                ["sources", "answers"],
                name="locate_sources",
                tags="sources",
            )
        ]
    )
