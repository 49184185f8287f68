"""The stage `finetune`."""

from kedro.pipeline import Pipeline, node

from contexture.config import ComputeConfig
from contexture.pipelines.finetune.nodes import finetune_all
from contexture.pipelines.named import fixed
from contexture.systems.resolved import ResolvedSystem


def create_pipeline(system: ResolvedSystem, compute: ComputeConfig) -> Pipeline:
    """Encoders and task data → a model for every variant and option."""
    tasks = list(system.finetune_options)
    nodes = [
        node(
            fixed(finetune_all, system, task, compute),
            [f"{task}-data", "params:models_place", *system.task_datasets(task)],
            f"{task}-finetuned",
            name=f"finetune_{task}",
        )
        for task in tasks
    ]
    return Pipeline(nodes, namespace=system.name, inputs={f"{task}-data" for task in tasks}, tags="finetune")
