"""The stage `tasks`."""

from collections.abc import Iterable

from kedro.pipeline import Pipeline, node

from contexture.config import Parameters
from contexture.demo.config import DEMO
from contexture.pipelines.named import fixed
from contexture.pipelines.sources.pipeline import create_world_pipeline
from contexture.pipelines.tasks.nodes import read_task


def create_pipeline(parameters: Parameters, tasks: Iterable[str]) -> Pipeline:
    """The files of each task, of the made-up world or the user's → a folder that measuring and fine-tuning read."""
    found = Pipeline([])
    for name in tasks:
        source = parameters.sources[name]
        world, place = create_world_pipeline(parameters, [DEMO] if source.reads_demo else [])
        read = node(
            fixed(read_task, name, source),
            [place, f"params:{name}-data_place"],
            f"{name}-data",
            name=f"read_{name}",
            tags="tasks",
        )
        found += world + Pipeline([read])
    return found
