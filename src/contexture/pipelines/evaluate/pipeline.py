"""The stage `evaluate`."""

from collections.abc import Mapping

from kedro.pipeline import Pipeline, node

from contexture.config import ComputeConfig
from contexture.pipelines.contestants import datasets
from contexture.pipelines.evaluate.nodes import evaluate, time_embedding
from contexture.pipelines.finetune.pipeline import finetuned
from contexture.pipelines.named import fixed
from contexture.systems.config import SystemConfig
from contexture.systems.registry import task_of

#: Tables of the corpus, and of a system.
PARAGRAPHS, WORDS, PASSAGES = "paragraphs@files", "words", "passages-examples@files"


def create_pipeline(
    system: str,
    config: SystemConfig,
    guests: Mapping[str, SystemConfig],
    compute: ComputeConfig,
    examples_of: str = "",
) -> Pipeline:
    """Encoders, models and task data → records, facts and tables of every task."""
    parts = [_task(system, task, config, guests, compute, examples_of) for task in config.tasks]
    if config.speed:
        visiting = [f"{name}.encoders" for name in guests]
        encoders = [*(f"{run}-pretrained" for run in config.pretrain.runs), *visiting]
        timed = node(
            fixed(time_embedding, config, guests),
            ["params:models_place", PARAGRAPHS, *encoders],
            "speed",
            name="time_embedding",
        )
        parts.append(Pipeline([timed], namespace=system, inputs={PARAGRAPHS, *visiting}, tags="evaluate"))
    return sum(parts, start=Pipeline([]))


def _task(
    system: str,
    task: str,
    config: SystemConfig,
    guests: Mapping[str, SystemConfig],
    compute: ComputeConfig,
    examples_of: str,
) -> Pipeline:
    given = corpus_of(task, config, examples_of)
    shared = {f"{task}-data", *given.values()} - {PASSAGES}
    if task in finetuned(config):
        given["finetuned"] = f"{task}-finetuned"
    given |= {name: name for name in datasets(config, task)}
    visiting = {f"{name}.encoders" for name in guests}
    given |= {one: one for one in sorted(visiting)}
    shared |= visiting
    measure = node(
        fixed(evaluate, task, config, guests, compute, list(given)),
        [
            f"{task}-data",
            "params:models_place",
            f"params:{task}-results_place",
            f"params:{task}-vectors_place",
            *given.values(),
        ],
        f"{task}-results",
        name=f"evaluate_{task}",
    )
    return Pipeline([measure], namespace=system, inputs=shared, tags="evaluate")


def corpus_of(task: str, config: SystemConfig, examples_of: str) -> dict[str, str]:
    """What a task reads besides its own data, if the system has it: argument → dataset."""
    found = {"paragraphs": PARAGRAPHS}
    if config.needs_words:
        found["words"] = WORDS
    if "pairs" in config.examples():
        found["passages"] = f"{examples_of}.{PASSAGES}" if examples_of else PASSAGES
    wanted = {*task_of(task).corpus, *(["words"] if config.word_average else [])}
    return {name: dataset for name, dataset in found.items() if name in wanted}
