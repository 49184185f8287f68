"""The stage `finetune`."""

from kedro.pipeline import Pipeline, node

from contexture.config import ComputeConfig
from contexture.pipelines.finetune.nodes import finetune_all
from contexture.pipelines.named import fixed
from contexture.systems.resolved import ResolvedSystem


def create_pipeline(system: ResolvedSystem, compute: ComputeConfig) -> Pipeline:
    """Return the stage `finetune`: encoders and task data → a model for each variant and option."""
    nodes, data = [], {task: f"{task}-data" for task in system.finetune_options}
    for task in data:
        inputs = [data[task], "params:models_dir", *system.task_datasets(task)]
        train = fixed(finetune_all, system, task, compute)
        nodes.append(node(train, inputs, f"{task}-finetuned", name=f"finetune_{task}"))
    return Pipeline(nodes, namespace=system.name, inputs=set(data.values()), tags="finetune")
