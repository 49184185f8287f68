"""The stage `evaluate`."""

from collections.abc import Mapping

from kedro.pipeline import Pipeline, node

from contexture.pipelines.contestants import datasets
from contexture.pipelines.evaluate.nodes import evaluate, time_embedding
from contexture.pipelines.finetune.pipeline import finetuned
from contexture.pipelines.named import fixed
from contexture.systems.config import SystemConfig

#: What tasks ask for of the corpus, by the name of the argument.
CORPUS = {"paragraphs": "paragraphs@files", "words": "words"}


def create_pipeline(
    system: str, config: SystemConfig, guests: Mapping[str, SystemConfig], examples_of: str = ""
) -> Pipeline:
    """Encoders, models and task data → records, facts and tables of every task."""
    parts = [_task(system, task, config, guests, examples_of) for task in config.tasks]
    if config.speed:
        runs = [f"{run}-pretrained" for run in config.pretrain.runs]
        timed = node(
            fixed(time_embedding, config), ["models_place", CORPUS["paragraphs"], *runs], "speed", name="time_embedding"
        )
        parts.append(Pipeline([timed], namespace=system, inputs={CORPUS["paragraphs"]}, tags="evaluate"))
    return sum(parts, start=Pipeline([]))


def _task(
    system: str, task: str, config: SystemConfig, guests: Mapping[str, SystemConfig], examples_of: str
) -> Pipeline:
    given = {"paragraphs": CORPUS["paragraphs"]}
    if config.needs_words:
        given["words"] = CORPUS["words"]
    shared = {f"{task}-data", *given.values()}
    if "pairs" in config.examples():
        given["passages"] = f"{examples_of}.passages-examples@files" if examples_of else "passages-examples@files"
        shared |= {given["passages"]} if examples_of else set()
    if task in finetuned(config):
        given["finetuned"] = f"{task}-finetuned"
    given |= {name: name for name in datasets(config, task)}
    for name, guest in guests.items():
        visiting = {f"{name}.{run}-pretrained" for run in guest.pretrain.runs}
        given |= {one: one for one in visiting}
        shared |= visiting
    measure = node(
        fixed(evaluate, task, config, guests, list(given)),
        [f"{task}-data", "models_place", f"{task}-results_place", f"{task}-vectors_place", *given.values()],
        f"{task}-results",
        name=f"evaluate_{task}",
    )
    return Pipeline([measure], namespace=system, inputs=shared, tags="evaluate")
