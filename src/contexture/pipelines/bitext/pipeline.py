"""Parallel sentences, a part of the stage `corpus` for systems that read them."""

from kedro.pipeline import Pipeline, node

from contexture.config import Parameters
from contexture.pipelines.bitext.nodes import clean_bitext, read_bitext
from contexture.pipelines.named import fixed
from contexture.pipelines.sources.pipeline import create_world_pipeline


def create_pipeline(parameters: Parameters) -> Pipeline:
    """Files → pairs found → pairs worth learning from, and their counts."""
    found, kept = "found_bitext@spark", "bitext@spark"
    settings = parameters.bitext, parameters.demo
    world, place = create_world_pipeline(parameters, [parameters.bitext.input])
    return world + Pipeline(
        [
            node(fixed(read_bitext, *settings), place, found, name="read_bitext"),
            node(fixed(clean_bitext, *settings), [place, found], [kept, "bitext_report"], name="clean_bitext"),
        ],
        tags="corpus",
    )
