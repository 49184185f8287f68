"""All pipelines by the name that `kedro run --pipelines` takes."""

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
    """Return name → Kedro pipeline, by the parameters of the run.

    - `corpus`: text and vocabulary.
    - `<system>`: one system, from the text to its page.
    - `<system>_ablation`: the ablation of a system whose own pipeline has run.
    - `demo`: a short run through all default systems, with the variants of the parameter `demo_systems`.
    - `__default__`: all systems whose text is configured.
    """
    parameters = RUN_PARAMETERS.get()
    systems = resolve_all(parameters)
    pipelines = {name: create_pipeline(system, parameters) for name, system in systems.items()}
    demo_parameters = parameters.select_demo()
    demo_systems = resolve_all(demo_parameters, "kedro run").values()
    return {
        "corpus": create_text_pipeline(parameters),
        **{name: pipelines[name] + create_included_pipeline(systems[name], parameters) for name in systems},
        **{
            f"{name}_ablation": create_ablation_pipeline(system, parameters)
            for name, system in systems.items()
            if system.config.ablation is not None
        },
        "demo": sum((create_pipeline(system, demo_parameters) for system in demo_systems), start=Pipeline([])),
        "__default__": sum((pipelines[name] for name in parameters.default_systems), start=Pipeline([])),
    }
