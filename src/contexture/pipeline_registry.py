"""Every pipeline by the name that `kedro run --pipelines` takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kedro.pipeline import Pipeline

from contexture.pipelines import (
    ablation,
    contiguous,
    corpus,
    evaluate,
    examples,
    finetune,
    pairs,
    pretrain,
    report,
    retrieval,
    search,
    sentences,
    sources,
    vocabulary,
)


@dataclass(frozen=True)
class System:
    """The parts of a system that Kedro must know as nodes."""

    # Pre-training run → the run that it continues, if any; settings of the same name under pretrain.runs.
    runs: Mapping[str, str | None]
    # Fine-tuned variant → the run whose encoder it starts from; settings under finetune.variants. Empty: every run is
    # fine-tuned, on several shares of the questions.
    variants: Mapping[str, str] = field(default_factory=dict)
    # Variant that is measured frozen → the runs whose vectors it concatenates.
    frozen: Mapping[str, Sequence[str]] = field(default_factory=dict)


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
    ),
    "quick_thoughts": System(
        runs={"uni": None, "bi": None, "bow": None, "fixed": None, "skip_thought": None, "random": None},
        frozen={
            "uni": ["uni"],
            "bi": ["bi"],
            "combine": ["uni", "bi"],
            "bow": ["bow"],
            # Two bidirectional encoders, one over trained and one over fixed words (section 4.4.1).
            "mc": ["bi", "fixed"],
            "skip_thought": ["skip_thought"],
            "random": ["random"],
        },
    ),
    "two_tower": System(
        runs={
            "ict_bfs_wlp": None,
            "ict": None,
            "bfs": None,
            "wlp": None,
            "mlm": None,
            "none": None,
            "bow_mlp_ict_bfs_wlp": None,
            "bow_mlp_none": None,
        }
    ),
}


def mspp_pipeline(name: str, system: System) -> Pipeline:
    """MSPP, from examples to report."""
    return (
        examples.create_pipeline(name)
        + pretrain.create_pipeline(name, system.runs)
        + finetune.create_pipeline(name, system.variants)
        + evaluate.create_pipeline(name, system.variants)
        + report.create_pipeline(name, system.runs, system.variants)
    )


def two_tower_pipeline(name: str, system: System) -> Pipeline:
    """Two towers, from pairs to report and search."""
    runs = list(system.runs)
    return (
        pairs.create_pipeline(name)
        + pretrain.create_pipeline(name, system.runs, "pairs@files")
        + retrieval.create_pipeline(name, runs)
        + search.create_pipeline(name)
        + report.create_retrieval_pipeline(name, runs)
    )


def quick_thoughts_pipeline(name: str, system: System) -> Pipeline:
    """Quick-Thoughts, from sentences in their order to report."""
    runs = list(system.runs)
    return (
        sources.create_sentence_tasks_pipeline()
        + contiguous.create_pipeline(name)
        + pretrain.create_pipeline(name, system.runs, tokenizer="words")
        + sentences.create_pipeline(name, runs, system.frozen)
        + report.create_sentence_pipeline(name, runs)
    )


def register_pipelines() -> dict[str, Pipeline]:
    """`corpus` makes the text and the vocabulary; each system stands on it; the default runs every system.

    `two_tower_ablation` stands on what `two_tower` left: pairs, questions and vocabulary.
    """
    paragraphs = sources.create_pipeline() + corpus.create_pipeline()
    text = paragraphs + vocabulary.create_pipeline()
    words = paragraphs + vocabulary.create_words_pipeline()
    systems = {
        "quick_thoughts": words + quick_thoughts_pipeline("quick_thoughts", SYSTEMS["quick_thoughts"]),
        "mspp": text + mspp_pipeline("mspp", SYSTEMS["mspp"]),
        "two_tower": text + two_tower_pipeline("two_tower", SYSTEMS["two_tower"]),
    }
    return {
        "corpus": text,
        **systems,
        "two_tower_ablation": ablation.create_pipeline("two_tower"),
        "__default__": sum(systems.values(), start=Pipeline([])),
    }
