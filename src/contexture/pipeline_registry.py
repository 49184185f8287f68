"""Every pipeline by the name that `kedro run --pipelines` takes."""

from collections.abc import Mapping
from dataclasses import dataclass

from kedro.pipeline import Pipeline

from contexture.pipelines import corpus, evaluate, examples, finetune, pretrain, report, sources, vocabulary


@dataclass(frozen=True)
class System:
    """The parts of a system that Kedro must know as nodes."""

    # Pre-training run → the run that it continues, if any; settings of the same name under pretrain.runs.
    runs: Mapping[str, str | None]
    # Fine-tuned variant → the run whose encoder it starts from; settings under finetune.variants.
    variants: Mapping[str, str]


SYSTEMS = {
    "mspp": System(
        # One language model, continued for as many steps with MLM alone and with MLM and MSPP.
        runs={"base": None, "mlm": "base", "mspp_ie": "base", "mspp_ae": "base"},
        variants={
            "pairwise": "mlm",
            "joint_ie": "mlm",
            "joint_ae": "mlm",
            "mspp_ie": "mspp_ie",
            "mspp_ae": "mspp_ae",
        },
    )
}


def system_pipeline(name: str, system: System) -> Pipeline:
    """The stages of one system, from examples to report."""
    return (
        examples.create_pipeline(name)
        + pretrain.create_pipeline(name, system.runs)
        + finetune.create_pipeline(name, system.variants)
        + evaluate.create_pipeline(name, system.variants)
        + report.create_pipeline(name, system.runs, system.variants)
    )


def register_pipelines() -> dict[str, Pipeline]:
    """`corpus` makes the text and the vocabulary; each system stands on it; the default runs everything."""
    text = sources.create_pipeline() + corpus.create_pipeline() + vocabulary.create_pipeline()
    systems = {name: text + system_pipeline(name, system) for name, system in SYSTEMS.items()}
    return {"corpus": text, **systems, "__default__": sum(systems.values(), start=Pipeline([]))}
