"""All pipelines by the name that `kedro run --pipelines` takes."""

from collections.abc import Iterable

from kedro.pipeline import Pipeline

from contexture.pipelines.claims import pipeline as claims
from contexture.pipelines.system import (
    create_ablation_pipeline,
    create_included_pipeline,
    create_pipeline,
    create_text_pipeline,
    resolve_all,
)
from contexture.reporting.claims import read_all_claims
from contexture.settings import RUN_PARAMETERS
from contexture.systems.registry import SYSTEMS


def register_pipelines() -> dict[str, Pipeline]:
    """Return name → Kedro pipeline, by the parameters of the run.

    - `corpus`: text and vocabulary.
    - `<system>`: one system, from the text to its page.
    - `<system>_ablation`: the ablation of a system whose own pipeline has run.
    - `claims`: the page of the papers' claims, on the records of earlier runs. It is also the last stage of each system
      with claims.
    - `demo`: a short run through all default systems, with the variants of the parameter `demo_systems`.
    - `__default__`: all systems whose text is configured.
    """
    parameters = RUN_PARAMETERS.get()
    systems = resolve_all(parameters)
    pipelines = {name: create_pipeline(system, parameters) for name, system in systems.items()}
    demo_parameters = parameters.select_demo()
    demo_systems = resolve_all(demo_parameters, "kedro run")
    demo = sum((create_pipeline(system, demo_parameters) for system in demo_systems.values()), start=Pipeline([]))
    everything = sum((pipelines[name] for name in parameters.default_systems), start=Pipeline([]))
    return {
        "corpus": create_text_pipeline(parameters),
        "claims": claims.create_pipeline(),
        **{
            name: pipelines[name] + create_included_pipeline(systems[name], parameters) + create_claims_pipeline([name])
            for name in systems
        },
        **{
            f"{name}_ablation": create_ablation_pipeline(system, parameters)
            for name, system in systems.items()
            if system.config.ablation is not None
        },
        "demo": demo + create_claims_pipeline(demo_systems),
        "__default__": everything + create_claims_pipeline(parameters.default_systems),
    }


def create_claims_pipeline(systems: Iterable[str]) -> Pipeline:
    """Return the stage `claims` after the systems with claims; an empty pipeline if none of them has claims."""
    with_claims = [name for name in systems if name in read_all_claims(tuple(SYSTEMS))]
    return claims.create_pipeline(with_claims) if with_claims else Pipeline([])
