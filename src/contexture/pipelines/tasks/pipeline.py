"""The stage `tasks`."""

from collections.abc import Iterable

from kedro.pipeline import Pipeline, node

from contexture.config import Parameters
from contexture.demo.config import DEMO
from contexture.pipelines.named import fixed
from contexture.pipelines.sources.pipeline import create_world_pipeline
from contexture.pipelines.tasks.nodes import read_task


def create_pipeline(parameters: Parameters, tasks: Iterable[str]) -> Pipeline:
    """Return the stage `tasks`: files of each task, made up or of the user → its data for evaluation."""
    pipeline = Pipeline([])
    for name in tasks:
        source, data = parameters.sources[name], f"{name}-data"
        world, demo_dir = create_world_pipeline(parameters, [DEMO] if source.reads_demo else [])
        inputs = [demo_dir, f"params:{data}_dir"]
        pipeline += world
        pipeline += Pipeline([node(fixed(read_task, name, source), inputs, data, name=f"read_{name}", tags="tasks")])
    return pipeline
