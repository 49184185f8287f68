"""Parallel sentences, a part of the stage `corpus` for systems that read them."""

from kedro.pipeline import Pipeline, node

from contexture.config import Parameters
from contexture.pipelines.bitext.nodes import clean_bitext, read_bitext
from contexture.pipelines.named import fixed
from contexture.pipelines.sources.pipeline import create_world_pipeline


def create_pipeline(parameters: Parameters) -> Pipeline:
    """Files → all pairs → pairs to learn from, and their counts."""
    pairs, settings = "found_bitext@spark", (parameters.bitext, parameters.demo)
    world, demo_dir = create_world_pipeline(parameters, [parameters.bitext.input])
    outputs = ["bitext@spark", "bitext_report"]
    return world + Pipeline(
        [
            node(fixed(read_bitext, *settings), demo_dir, pairs, name="read_bitext"),
            node(fixed(clean_bitext, *settings), [demo_dir, pairs], outputs, name="clean_bitext"),
        ],
        tags="corpus",
    )
