"""Every pipeline by the name that `kedro run --pipelines` takes, built from the run's configuration."""

from kedro.pipeline import Pipeline

from contexture.pipelines.system import (
    create_ablation_pipeline,
    create_included_pipeline,
    create_pipeline,
    create_text_pipeline,
    resolve_all,
)
from contexture.settings import RUN_PARAMETERS


def register_pipelines() -> dict[str, Pipeline]:
    """`corpus` makes the text and the vocabulary; each system stands on it; the default runs every system.

    Those that read translations are left out of the default where the parameters name none.

    `tour` is the short way through all of them: the variants that the parameter `tour` names. A system with an
    ablation has it as `<system>_ablation`, on what the system's own pipeline left.
    """
    parameters = RUN_PARAMETERS.get()
    systems = resolve_all(parameters)
    pipelines = {name: create_pipeline(system, parameters) for name, system in systems.items()}
    short = parameters.toured()
    tour = [create_pipeline(system, short) for system in resolve_all(short, "kedro run").values()]
    ablations = {
        f"{name}_ablation": create_ablation_pipeline(system, parameters)
        for name, system in systems.items()
        if system.config.ablation is not None
    }
    alone = {name: pipelines[name] + create_included_pipeline(systems[name], parameters) for name in systems}
    return {
        "corpus": create_text_pipeline(parameters),
        **alone,
        **ablations,
        "tour": sum(tour, start=Pipeline([])),
        "__default__": sum((pipelines[name] for name in parameters.fed), start=Pipeline([])),
    }
