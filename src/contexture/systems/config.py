"""Configuration of a system: encoders, streams, a schedule of objectives for each run, and evaluation tasks."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import ROLES, AnyEncoderConfig, HeadKind, Lengths
from contexture.objectives.config import OBJECTIVES
from contexture.streams.base_config import StreamConfig, with_run
from contexture.streams.config import STREAMS
from contexture.strict import STRICT, DropNull, Positive, checked, key_error
from contexture.tasks.registry import TASKS
from contexture.training.config import PretrainConfig, Pretraining

#: The encoder that searches is the best one by the results of a task (`TaskSpec.chooses_encoder`).
BEST = "best"
#: Seed of the sampling of examples.
SAMPLING_SEED = 0


def _typed(kinds: Mapping[str, Any], noun: str) -> AfterValidator:
    def check(values: dict[str, Any]) -> dict[str, Any]:
        if unknown := sorted(set(values) - set(kinds)):
            raise ValueError(f"no {noun} is called {', '.join(unknown)}; there are {sorted(kinds)}")
        return {name: checked(kinds[name], value, name) for name, value in values.items()}

    return AfterValidator(check)


def check_known(key: str, noun: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise a ValueError for names that are not known."""
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"{key}: no {noun} {unknown}; there are {sorted(known)}")


@dataclass(config=STRICT, frozen=True)
class Variant:
    """A row of the tables: an encoder, or several side by side, and the tasks on which it is measured."""

    # Runs whose embeddings are concatenated. Default: the run with the variant's name.
    runs: list[str] | None = None
    # Folder of an encoder, or the name of a published model, in place of runs.
    model: str | None = None
    # Default: all tasks of the system.
    tasks: list[str] | None = None
    # Head with which it is fine-tuned on tasks that judge candidates. Default: there it is only measured frozen.
    head: HeadKind | None = None
    # Whether it is fine-tuned on the other tasks that have something to learn from.
    finetuned: bool = True
    # Explanation in the league.
    explained: str | None = None

    def __post_init__(self) -> None:
        if self.model is not None and self.runs is not None:
            raise ValueError("a variant is made of runs or of a model, not of both")


@dataclass(config=STRICT, frozen=True)
class AblationRow:
    """One row of an ablation: a run, with some of its encoder's sizes changed."""

    run: str
    encoder: dict[str, Any]


@dataclass(config=STRICT, frozen=True)
class Ablation:
    """What `kedro run --pipelines <system>_ablation` trains and measures instead of the runs."""

    rows: Annotated[list[AblationRow], Field(min_length=1)]
    # Task → settings that differ from the system's.
    tasks: dict[str, dict[str, Any]] = Field(default_factory=dict)


@dataclass(config=STRICT, frozen=True)
class SystemConfig:
    """A system."""

    # How often everything is done, with the seeds 0, 1, ….
    seeds: Positive
    # Tokens at which texts are cut.
    lengths: Lengths
    # Tokens at which the texts of pre-training examples (pairs, sentences) are cut. Default: lengths. Shorter ones let
    # an encoder read longer texts in tasks than in pre-training.
    example_lengths: Lengths | None = Field(default=None, kw_only=True)
    # Name → encoder. Runs that name none have the first.
    encoders: Annotated[dict[str, AnyEncoderConfig], Field(min_length=1)]
    # Stream → how its examples are sampled and read.
    streams: Annotated[dict[str, Any], DropNull, _typed(STREAMS, "stream")]
    pretrain: PretrainConfig
    # Task → how it measures, and fine-tunes.
    tasks: Annotated[
        dict[str, Any], DropNull, _typed({name: spec.settings for name, spec in TASKS.items()}, "task")
    ] = Field(default_factory=dict)
    # Name → what is measured. Default: every run.
    variants: Annotated[dict[str, Variant], DropNull] = Field(default_factory=dict)
    # Name → what else is measured, such as published models.
    more_variants: Annotated[dict[str, Variant], DropNull] = Field(default_factory=dict)
    # Variants and runs that are trained and measured, with the runs that they continue; without guests, and without the
    # index of `contexture search` unless its run is among them. Default: all.
    select: Annotated[list[str], Field(min_length=1)] | None = None
    # Head of runs that are variants, as `Variant.head`.
    head: HeadKind | None = None
    # subwords, or whole words.
    vocabulary: Literal["subwords", "words"] = "subwords"
    # Published tokenizer that its runs are meant for: with any other, the run stops with an error.
    tokenizer: str | None = None
    # Run whose pre-trained encoder `contexture search` uses; best: that of the best variant on held-out documents.
    # Default: there is no index.
    search: str | None = None
    ablation: Ablation | None = None
    # Frozen encoders of other systems that are measured, too: system → variants.
    guests: Annotated[dict[str, list[str]], DropNull] = Field(default_factory=dict)
    # Whether the average of word vectors is measured, too.
    word_average: bool = False
    # Whether the texts that each variant embeds per second are measured.
    speed: bool = False

    def __post_init__(self) -> None:
        for name, run in self.pretrain.runs.items():
            if run.encoder is not None and run.encoder not in self.encoders:
                raise ValueError(f"pretrain.runs.{name}: no encoder {run.encoder!r}; there are {sorted(self.encoders)}")
            if run.start is not None and run.start not in self.pretrain.runs and "/" not in run.start:
                raise ValueError(f"pretrain.runs.{name}: no run {run.start!r} to start from, nor is it a folder's path")
            sizes = set(run.batch_size if isinstance(run.batch_size, dict) else ())
            named = {*run.streams, *sizes} - {name for name in run.names if OBJECTIVES[name].stream_settings}
            check_known(f"pretrain.runs.{name}", "stream", named, self.streams)
        for role in ROLES:
            if self.sampled_lengths.of(role) > self.lengths.of(role):
                raise ValueError(
                    f"example_lengths.{role}: {self.sampled_lengths.of(role)} is more than lengths.{role}, "
                    f"{self.lengths.of(role)}: encoders would cut these texts again; lower it"
                )
        for name in self.run_order:
            start = self.previous_run(name)
            if start is not None and self.encoder_name(name) != (encoder := self.encoder_name(start)):
                raise ValueError(f"pretrain.runs.{name}: {start}, from which it starts, is of encoder {encoder!r}")
            self.pretraining(name)
        for name, variant in self.all_variants.items():
            check_known(f"variants.{name}", "run", self.run_names(name), self.pretrain.runs)
            check_known(f"variants.{name}", "task", variant.tasks or (), self.tasks)
        if self.search == BEST and self.choosing_task is None:
            choosers = [name for name, spec in TASKS.items() if spec.chooses_encoder]
            raise ValueError(f"search: {BEST} is chosen by a task: give the system the task {' or '.join(choosers)}")
        if self.search == BEST and not self.search_candidates:
            raise ValueError(
                f"search: {BEST} is one of the runs: have {self.choosing_task} measure one under its own name"
            )
        if self.search not in (None, BEST, *self.pretrain.runs):
            raise ValueError(f"search: no run {self.search!r}; there are {sorted(self.pretrain.runs)}")
        if unknown := sorted(set(self.select or ()) - set(self.selectable)):
            raise key_error(f"no variant or run {unknown}; there are {sorted(self.selectable)}", "select")
        for task, settings in self.tasks.items():
            settings.check_variants(self.task_variants(task))
        for name, config in self.streams.items():
            first = self.examples()[config.examples]
            for key in ("sampling", "files"):
                if getattr(first, key, None) != getattr(config, key, None):
                    raise ValueError(f"streams.{name}.{key}: these examples are made once, with other settings beside")

    @property
    def run_order(self) -> list[str]:
        """The runs, each behind the one that it starts from; ValueError if they go in a circle."""
        order: list[str] = []
        while left := [name for name in self.pretrain.runs if name not in order]:
            ready = [name for name in left if self.previous_run(name) in (None, *order)]
            if not ready:
                raise ValueError(f"pretrain.runs: {sorted(left)} start from one another")
            order += ready
        return order

    @property
    def all_variants(self) -> dict[str, Variant]:
        """All variants."""
        return (self.variants or {name: Variant(head=self.head) for name in self.pretrain.runs}) | self.more_variants

    @property
    def selectable(self) -> dict[str, Variant]:
        """All variants, and each run as a variant by itself unless a variant has its name."""
        return {name: Variant(head=self.head) for name in self.pretrain.runs} | self.all_variants

    def run_names(self, variant: str) -> list[str]:
        """The runs that a variant is made of; none for a published model."""
        settings = self.selectable[variant]
        return [] if settings.model is not None else (settings.runs or [variant])

    def previous_run(self, run: str) -> str | None:
        """The run of this system that a run continues."""
        start = self.pretrain.runs[run].start
        return start if start in self.pretrain.runs else None

    def previous_dir(self, run: str) -> Path | None:
        """The folder of an encoder of another system, or of no system, that a run continues."""
        start = self.pretrain.runs[run].start
        return Path(start) if start is not None and start not in self.pretrain.runs else None

    def encoder_name(self, run: str) -> str:
        """The name of the encoder of a run: its own, that of the run it starts from, or the first."""
        recipe, start = self.pretrain.runs[run], self.previous_run(run)
        if recipe.encoder is None and start is not None:
            return self.encoder_name(start)
        return recipe.encoder or next(iter(self.encoders))

    def run_chain(self, run: str) -> list[str]:
        """A run, the one that it starts from, and so on."""
        start = self.previous_run(run)
        return [run] + (self.run_chain(start) if start else [])

    def pretraining(self, run: str) -> Pretraining:
        """All that a run depends on."""
        recipe = self.pretrain.recipe(run)
        streams = {
            name: with_run(config, recipe.streams[name], "pretrain", "runs", run, "streams", name)
            if name in recipe.streams
            else config
            for name, config in self.streams.items()
        }
        streams |= recipe.own_streams(streams)
        encoder, settings = self.encoders[self.encoder_name(run)], self.pretrain.of_run(run)
        return Pretraining(run, recipe, encoder, self.lengths, streams, settings)

    @property
    def sampled_lengths(self) -> Lengths:
        """The lengths of the texts of pre-training examples."""
        return self.example_lengths or self.lengths

    def examples(self) -> dict[str, StreamConfig]:
        """Folder of examples → the stream whose settings make them."""
        examples: dict[str, StreamConfig] = {}
        for config in self.streams.values():
            examples.setdefault(config.examples, config)
        return examples

    def task(self, name: str) -> Any:
        """The settings of a task, with what follows from others."""
        return self.tasks[name].completed(self.streams.values())

    def task_variants(self, task: str) -> list[str]:
        """The variants that a task measures."""
        return [name for name, variant in self.all_variants.items() if variant.tasks is None or task in variant.tasks]

    @property
    def choosing_task(self) -> str | None:
        """The task whose results choose the encoder of `search: best`; None if the system has none."""
        return next((name for name in self.tasks if TASKS[name].chooses_encoder), None)

    @property
    def search_candidates(self) -> list[str]:
        """Of the variants that the chooser measures, those that are a run each: one of them may search."""
        return [name for name in self.task_variants(self.choosing_task or "") if self.run_names(name) == [name]]

    @property
    def vocabulary_dataset(self) -> str:
        """The vocabulary that training reads: words, or subwords with the counts that an encoder needs."""
        if self.vocabulary == "words":
            return "words"
        if any(encoder.start == "word_vectors" for encoder in self.encoders.values()):
            return "subword_vectors"
        return "subwords" if any(encoder.weighs_tokens for encoder in self.encoders.values()) else "tokenizer"

    @property
    def needs_words(self) -> bool:
        """Whether it needs the vocabulary of words and their vectors."""
        return self.vocabulary == "words" or self.word_average

    @property
    def example_inputs(self) -> set[str]:
        """What examples are made of (`StreamConfig.made_of`)."""
        return {config.made_of for config in self.streams.values()}

    def select_variants(self, variants: list[str]) -> "SystemConfig":
        """The same system with these variants and runs alone, the runs that they need, and no guests."""
        needed = {run for name in variants for needed_run in self.run_names(name) for run in self.run_chain(needed_run)}
        runs = {name: run for name, run in self.pretrain.runs.items() if name in needed}
        return replace(
            self,
            pretrain=replace(self.pretrain, runs=runs),
            variants={name: self.selectable[name] for name in variants},
            more_variants={},
            select=None,
            guests={},
            search=self.search if self.search == BEST or self.search in runs else None,
            tasks={name: settings.restricted(variants) for name, settings in self.tasks.items()},
            ablation=None,
        )

    def main_run(self, main: Sequence[str]) -> str | None:
        """The run whose encoder stands for the system: the one that searches, or the first of its main variants'."""
        return self.search or next((run for variant in main for run in self.run_names(variant)), None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, from which it can be read again."""
        return asdict(self)
