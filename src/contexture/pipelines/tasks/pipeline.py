"""The stage `tasks`."""

from collections.abc import Iterable

from kedro.pipeline import Pipeline, node

from contexture.config import Parameters
from contexture.pipelines.named import fixed
from contexture.pipelines.tasks.nodes import read_task
from contexture.systems.registry import TASKS


def create_pipeline(parameters: Parameters, tasks: Iterable[str]) -> Pipeline:
    """The files of each task → a folder that measuring and fine-tuning read."""
    return Pipeline(
        [
            node(
                fixed(read_task, name, getattr(parameters, TASKS[name][2])),
                ["sources", "params:demo_place", f"params:{name}-data_place"],
                f"{name}-data",
                name=f"read_{name}",
                tags="tasks",
            )
            for name in tasks
        ]
    )
