"""All stages of a system, one after the other."""

from kedro.pipeline import Pipeline

from contexture.config import Parameters
from contexture.pipelines import (
    adopt,
    bitext,
    corpus,
    evaluate,
    examples,
    finetune,
    nli,
    pretrain,
    report,
    search,
    sources,
    tasks,
    vocabulary,
)
from contexture.systems.config import SystemConfig
from contexture.systems.resolved import ResolvedSystem, resolve_ablation, resolve_systems


def create_text_pipeline(parameters: Parameters, config: SystemConfig | None = None) -> Pipeline:
    """Sources, corpus, what else a system's examples are made of, and vocabulary: of subwords, or what it asks for.

    Where the documents of an evaluation are kept out of the corpus, its task is read for them.
    """
    found = sources.create_pipeline(parameters) + corpus.create_pipeline(parameters)
    found += tasks.create_pipeline(parameters, parameters.cleaning.evaluation)
    made_of = config.example_inputs if config is not None else set()
    if "bitext" in made_of:
        found += bitext.create_pipeline(parameters)
    if "nli" in made_of:
        found += nli.create_pipeline(parameters)
    if config is None or config.vocabulary == "subwords":
        found += vocabulary.create_pipeline(parameters)
    if config is not None and config.vocabulary_dataset in ("subwords", "subword_vectors"):
        found += vocabulary.create_subwords_pipeline(parameters, config.vocabulary_dataset)
    if config is not None and config.needs_words:
        found += vocabulary.create_words_pipeline(parameters)
    return boxed(found)


def boxed(found: Pipeline) -> Pipeline:
    """What systems stand on, as one box in Kedro-Viz; its datasets keep their names."""
    return Pipeline(found, namespace="text", prefix_datasets_with_namespace=False)


def create_pipeline(system: ResolvedSystem, parameters: Parameters) -> Pipeline:
    """A system from the sources to its page; the encoders that it includes must be made by others."""
    compute = parameters.compute
    return (
        create_text_pipeline(parameters, system.config)
        + boxed(tasks.create_pipeline(parameters, system.config.tasks))
        + examples.create_pipeline(system)
        + pretrain.create_pipeline(system, compute)
        + finetune.create_pipeline(system, compute)
        + evaluate.create_pipeline(system, compute)
        + adopt.create_pipeline(system)
        + search.create_pipeline(system)
        + report.create_pipeline(system)
    )


def create_included_pipeline(system: ResolvedSystem, parameters: Parameters) -> Pipeline:
    """The encoders that a system includes, from the sources on."""
    pipeline = Pipeline([])
    for included in system.included.values():
        pipeline += create_text_pipeline(parameters, included.config)
        pipeline += boxed(tasks.create_pipeline(parameters, included.config.tasks))
        pipeline += examples.create_pipeline(included) + pretrain.create_pipeline(included, parameters.compute)
    return pipeline


def create_ablation_pipeline(system: ResolvedSystem, parameters: Parameters) -> Pipeline:
    """The rows of a system's ablation, on the examples and questions that its own pipeline left."""
    ablation, compute = resolve_ablation(system), parameters.compute
    return (
        pretrain.create_pipeline(ablation, compute)
        + finetune.create_pipeline(ablation, compute)
        + evaluate.create_pipeline(ablation, compute)
        + report.create_pipeline(ablation)
    )


def resolve_all(parameters: Parameters, full_command: str = "") -> dict[str, ResolvedSystem]:
    """All systems of the parameters; the variants of the tour stand for them."""
    preferred = {name: tour.variants for name, tour in parameters.tour.items()}
    return resolve_systems(parameters.systems, preferred, full_command)
