"""All stages of a system, one after the other."""

from kedro.pipeline import Pipeline

from contexture.config import Parameters
from contexture.pipelines.corpus import pipeline as corpus
from contexture.pipelines.derive import pipeline as derive
from contexture.pipelines.evaluate import pipeline as evaluate
from contexture.pipelines.examples import pipeline as examples
from contexture.pipelines.export import pipeline as export
from contexture.pipelines.finetune import pipeline as finetune
from contexture.pipelines.pretrain import pipeline as pretrain
from contexture.pipelines.report import pipeline as report
from contexture.pipelines.search import pipeline as search
from contexture.pipelines.sources import pipeline as sources
from contexture.pipelines.tasks import pipeline as tasks
from contexture.pipelines.vocabulary import pipeline as vocabulary
from contexture.systems.config import SystemConfig
from contexture.systems.resolved import ResolvedSystem, resolve_ablation, resolve_systems


def create_text_pipeline(parameters: Parameters, config: SystemConfig | None = None) -> Pipeline:
    """Return sources, corpus and vocabulary: those that a system needs, or by default the corpus and subwords.

    If documents of an evaluation are kept out of the corpus, its task is read first.
    """
    pipeline = sources.create_pipeline(parameters) + corpus.create_pipeline(parameters)
    pipeline += tasks.create_pipeline(parameters, parameters.cleaning.evaluation)
    if config is None or config.vocabulary == "subwords":
        pipeline += vocabulary.create_pipeline(parameters)
    if config is not None:
        if "bitext" in config.example_inputs:
            pipeline += corpus.create_bitext_pipeline(parameters)
        if "nli" in config.example_inputs:
            pipeline += corpus.create_nli_pipeline(parameters)
        if config.vocabulary_dataset in ("subwords", "subword_vectors"):
            pipeline += vocabulary.create_subwords_pipeline(parameters, config.vocabulary_dataset)
        if config.needs_words:
            pipeline += vocabulary.create_words_pipeline(parameters)
    return box(pipeline)


def box(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline drawn as one box in Kedro-Viz; its datasets keep their names."""
    return Pipeline(pipeline, namespace="text", prefix_datasets_with_namespace=False)


def create_pipeline(system: ResolvedSystem, parameters: Parameters) -> Pipeline:
    """Return all stages of a system from sources to page, without the encoders of other systems that it includes."""
    return (
        _create_pretraining(system, parameters)
        + _create_evaluation(system, parameters)
        + export.create_pipeline(system)
        + search.create_pipeline(system)
    )


def create_included_pipeline(system: ResolvedSystem, parameters: Parameters) -> Pipeline:
    """Return the stages that make the encoders which a system includes from other systems, from sources on."""
    included = (_create_pretraining(other, parameters) for other in system.included.values())
    return sum(included, start=Pipeline([]))


def create_ablation_pipeline(system: ResolvedSystem, parameters: Parameters) -> Pipeline:
    """Return the stages of a system's ablation, on the examples and questions of the system's pipeline."""
    ablation = resolve_ablation(system)
    return pretrain.create_pipeline(ablation, parameters.compute) + _create_evaluation(ablation, parameters)


def _create_pretraining(system: ResolvedSystem, parameters: Parameters) -> Pipeline:
    """Return the stages from sources to pre-training, with the data of the tasks."""
    return (
        create_text_pipeline(parameters, system.config)
        + box(tasks.create_pipeline(parameters, system.config.tasks))
        + examples.create_pipeline(system)
        + derive.create_pipeline(system)
        + pretrain.create_pipeline(system, parameters.compute)
    )


def _create_evaluation(system: ResolvedSystem, parameters: Parameters) -> Pipeline:
    """Return the stages fine-tuning, evaluation and report."""
    return (
        finetune.create_pipeline(system, parameters.compute)
        + evaluate.create_pipeline(system, parameters.compute)
        + report.create_pipeline(system, parameters.workspace)
    )


def resolve_all(parameters: Parameters, full_command: str = "") -> dict[str, ResolvedSystem]:
    """Return all systems, resolved, by name; the variants of the demo are their main variants."""
    preferred = {name: demo_system.variants for name, demo_system in parameters.demo_systems.items()}
    return resolve_systems(parameters.systems, preferred, full_command)
