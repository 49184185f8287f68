"""The stage `evaluate`."""

from kedro.pipeline import Pipeline, node

from contexture.config import ComputeConfig
from contexture.pipelines.evaluate.nodes import evaluate, time_embedding
from contexture.pipelines.named import fixed, name_group
from contexture.systems.resolved import ResolvedSystem
from contexture.tasks.registry import TASKS

#: Tables of the corpus, and of a system.
PARAGRAPHS, WORDS, PASSAGES = "paragraphs@files", "words", "passages-examples@files"


def create_pipeline(system: ResolvedSystem, compute: ComputeConfig) -> Pipeline:
    """Return the stage `evaluate`: encoders, models and task data → records, details and tables of each task."""
    included = {f"{name}.encoders" for name in system.included}
    parts = [_create_task_pipeline(system, task, compute, included) for task in system.config.tasks]
    if system.config.speed:
        inputs = ["params:models_dir", PARAGRAPHS, *system.run_datasets, *sorted(included)]
        timed = node(fixed(time_embedding, system), inputs, "speed", name="time_embedding")
        parts.append(Pipeline([timed], namespace=system.name, inputs={PARAGRAPHS, *included}, tags="evaluate"))
    return sum(parts, start=Pipeline([]))


def _create_task_pipeline(system: ResolvedSystem, task: str, compute: ComputeConfig, included: set[str]) -> Pipeline:
    """Return the node that evaluates a system on a task, as a pipeline."""
    corpus = select_corpus_tables(task, system)
    encoders = system.task_datasets(task)
    if task in system.finetune_options:
        encoders.append(f"{task}-finetuned")
    inputs = {
        "data": f"{task}-data",
        "models_dir": "params:models_dir",
        "results_dir": f"params:{task}-results_dir",
        "vectors_dir": f"params:{task}-vectors_dir",
        **name_group("corpus", corpus),
        **name_group("encoders", {name: name for name in [*encoders, *sorted(included)]}),
    }
    measure = node(fixed(evaluate, system, task, compute), inputs, f"{task}-results", name=f"evaluate_{task}")
    shared = {f"{task}-data", *included, *corpus.values()} - {PASSAGES}
    return Pipeline([measure], namespace=system.name, inputs=shared, tags="evaluate")


def select_corpus_tables(task: str, system: ResolvedSystem) -> dict[str, str]:
    """Return the corpus tables that a task reads, if the system has them: argument → dataset."""
    config, datasets = system.config, {"paragraphs": PARAGRAPHS}
    if config.needs_words:
        datasets["words"] = WORDS
    if "pairs" in config.examples():
        datasets["passages"] = system.examples_dataset(PASSAGES)
    needed = {*TASKS[task].corpus, *(["words"] if config.word_average else [])}
    return {name: dataset for name, dataset in datasets.items() if name in needed}
