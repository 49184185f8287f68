"""Labelled pairs of premise and hypothesis, a part of the stage `corpus` for systems that read them."""

from kedro.pipeline import Pipeline, node

from contexture.config import Parameters
from contexture.pipelines.named import fixed
from contexture.pipelines.nli.nodes import read_nli
from contexture.pipelines.sources.pipeline import create_world_pipeline


def create_pipeline(parameters: Parameters) -> Pipeline:
    """Files → pairs in every language."""
    world, demo_dir = create_world_pipeline(parameters, [parameters.nli.input])
    return world + Pipeline(
        [node(fixed(read_nli, parameters.nli), demo_dir, "nli@spark", name="read_nli", tags="corpus")]
    )
