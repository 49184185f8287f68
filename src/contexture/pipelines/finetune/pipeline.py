"""The stage `finetune`."""

from kedro.pipeline import Pipeline, node

from contexture.config import ComputeConfig
from contexture.pipelines.contestants import datasets, options
from contexture.pipelines.finetune.nodes import finetune_all
from contexture.pipelines.named import fixed
from contexture.systems.config import SystemConfig


def finetuned(config: SystemConfig) -> list[str]:
    """The tasks that something of a system is fine-tuned on."""
    return [task for task in config.tasks if any(options(config, task, name) for name in config.variants_of(task))]


def create_pipeline(system: str, config: SystemConfig, compute: ComputeConfig) -> Pipeline:
    """Encoders and task data → a model for every variant and option."""
    tasks = finetuned(config)
    nodes = [
        node(
            fixed(finetune_all, system, task, config, compute),
            [f"{task}-data", "params:pretrained_place", f"params:{task}-finetuned_place", *datasets(config, task)],
            f"{task}-finetuned",
            name=f"finetune_{task}",
        )
        for task in tasks
    ]
    return Pipeline(nodes, namespace=system, inputs={f"{task}-data" for task in tasks}, tags="finetune")
