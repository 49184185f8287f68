"""Every pipeline by the name that `kedro run --pipelines` takes, built from the run's configuration."""

from kedro.pipeline import Pipeline

from contexture.pipelines.parameters import current
from contexture.pipelines.system import (
    create_ablation_pipeline,
    create_guests_pipeline,
    create_pipeline,
    create_text_pipeline,
)


def register_pipelines() -> dict[str, Pipeline]:
    """`corpus` makes the text and the vocabulary; each system stands on it; the default runs every system.

    Those that read translations are left out of the default where the parameters name none.

    `tour` is the short way through all of them: the variants that the parameter `tour` names. A system with an
    ablation has it as `<system>_ablation`, on what the system's own pipeline left.
    """
    parameters = current()
    systems = {name: create_pipeline(name, config, parameters) for name, config in parameters.systems.items()}
    short = parameters.toured()
    tour = [create_pipeline(name, config, short, whole="kedro run") for name, config in short.systems.items()]
    ablations = {
        f"{name}_ablation": create_ablation_pipeline(name, config, parameters)
        for name, config in parameters.systems.items()
        if config.ablation is not None
    }
    alone = {
        name: found + create_guests_pipeline(parameters.systems[name], parameters) for name, found in systems.items()
    }
    return {
        "corpus": create_text_pipeline(parameters),
        **alone,
        **ablations,
        "tour": sum(tour, start=Pipeline([])),
        "__default__": sum((systems[name] for name in parameters.fed), start=Pipeline([])),
    }
