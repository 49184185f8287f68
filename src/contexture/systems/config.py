"""Configuration of a system: encoders, streams, a schedule of objectives for each run, and evaluation tasks."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic.dataclasses import dataclass

from contexture.derive.config import DeriveConfig
from contexture.encoders.alike import complete_alike
from contexture.encoders.config import ROLES, AnswerHeadKind, AnyEncoderConfig, Lengths
from contexture.messages import suggest
from contexture.objectives.config import OBJECTIVES
from contexture.streams.base_config import StreamConfig, apply_run_settings
from contexture.streams.config import STREAMS
from contexture.strict import STRICT, DropNull, Positive, TypedValues, check_names, key_error, move_errors
from contexture.tasks.registry import TASKS
from contexture.training.config import QUESTIONS, PretrainConfig, Pretraining

#: Value of `search`: the best encoder by the results of a task (`TaskSpec.chooses_encoder`).
BEST = "best"
#: Former names of its keys → the present ones.
FORMER_KEYS: dict[str, str] = json.loads(Path(__file__).with_name("former_keys.json").read_text(encoding="utf-8"))
#: Seed for sampling examples.
SAMPLING_SEED = 0


@dataclass(config=STRICT, frozen=True)
class Variant:
    """A row of the tables: one encoder, or several with concatenated embeddings, and its tasks."""

    # Runs whose embeddings are concatenated. Default: the run with the variant's name.
    runs: list[str] | None = None
    # Folder of an encoder, or name of a published model, instead of runs.
    model: str | None = None
    # Default: all tasks of the system.
    tasks: list[str] | None = None
    # Head for fine-tuning on tasks that score candidates; bi_encoder: none, the cosine of question and candidate is
    # trained. Default: evaluated frozen only.
    head: AnswerHeadKind | None = None
    # Whether it is fine-tuned on other tasks with training data.
    finetuned: bool = True

    def __post_init__(self) -> None:
        if self.model is not None and self.runs is not None:
            raise ValueError("set runs or model of a variant, not both")


@dataclass(config=STRICT, frozen=True)
class AblationRow:
    """A row of an ablation: a run with changed sizes of its encoder."""

    # Run of the system.
    run: str
    # Keys of its encoder → other values, such as sizes.
    encoder: dict[str, Any]


@dataclass(config=STRICT, frozen=True)
class Ablation:
    """Runs of `kedro run --pipelines <system>_ablation`."""

    # Rows of the table.
    rows: Annotated[list[AblationRow], Field(min_length=1)]
    # Task → settings that replace the system's.
    tasks: dict[str, dict[str, Any]] = Field(default_factory=dict)


@dataclass(config=STRICT, frozen=True)
class SystemConfig:
    """Configuration of a system."""

    # Number of seeds: all trainings and evaluations run with the seeds first_seed, first_seed + 1, ….
    seeds: Positive
    # With another one, a run adds seeds to saved results (contexture results save NAME --add).
    first_seed: int = Field(default=0, ge=0, kw_only=True)
    # Maximum tokens of texts.
    lengths: Lengths
    # Maximum tokens of texts in pre-training examples (pairs, sentences). Default: lengths. With shorter ones, an
    # encoder reads longer texts in tasks than in pre-training.
    example_lengths: Lengths | None = Field(default=None, kw_only=True)
    # Name → encoder. Default of runs: the first one. With `like: NAME`, it has the settings of that encoder, too.
    encoders: Annotated[dict[str, AnyEncoderConfig], Field(min_length=1), BeforeValidator(complete_alike)]
    # Stream → settings for sampling and reading its examples.
    streams: Annotated[dict[str, Any], DropNull, AfterValidator(TypedValues(STREAMS, "stream"))]
    pretrain: PretrainConfig
    # Harder examples for the stream hard_pairs, derived from its pairs with models. null: none.
    derive: DeriveConfig | None = Field(default=None, kw_only=True)
    # Task → settings of evaluation and fine-tuning.
    tasks: Annotated[
        dict[str, Any],
        DropNull,
        AfterValidator(TypedValues({name: spec.settings for name, spec in TASKS.items()}, "task")),
    ] = Field(default_factory=dict)
    # Name → variant. Default: all runs.
    variants: Annotated[dict[str, Variant], DropNull] = Field(default_factory=dict)
    # Name → further variants, such as published models.
    published_models: Annotated[dict[str, Variant], DropNull] = Field(default_factory=dict)
    # Variants and runs to train and evaluate, with the runs that they continue. Variants of other systems are left out,
    # and so is the index of `contexture search` unless its run is selected. Default: all.
    select: Annotated[list[str], Field(min_length=1)] | None = None
    # `Variant.head` of runs that are variants.
    head: AnswerHeadKind | None = None
    # Subwords or whole words.
    vocabulary: Literal["subwords", "words"] = "subwords"
    # Published tokenizer of its runs: with another one, the run stops with an error.
    tokenizer: str | None = None
    # Run whose pre-trained encoder `contexture search` uses; best: the best variant on held-out documents. Default: no
    # index.
    search: str | None = None
    ablation: Ablation | None = None
    # System → its variants to evaluate here, too, with frozen encoders.
    include: Annotated[dict[str, list[str]], DropNull] = Field(default_factory=dict)
    # Whether to evaluate the average of word vectors, too.
    word_average: bool = False
    # Whether to measure the embedded texts per second of each variant.
    speed: bool = False

    def __post_init__(self) -> None:
        self._check_runs()
        self._check_held_out()
        self._check_minutes()
        self._check_derive()
        for role in ROLES:
            if self.sampled_lengths.for_role(role) > self.lengths.for_role(role):
                raise key_error(
                    f"{self.sampled_lengths.for_role(role)} is more than lengths.{role}, "
                    f"{self.lengths.for_role(role)}: encoders would truncate these texts; lower it",
                    "example_lengths",
                    role,
                )
        for name, variant in self.all_variants.items():
            variant_key = ("published_models" if name in self.published_models else "variants", name)
            # Without `runs`, the name of a variant is that of its run.
            runs_key = (*variant_key, "runs") if variant.runs else variant_key
            check_names("run", self.run_names(name), self.pretrain.runs, *runs_key)
            check_names("task", variant.tasks or (), self.tasks, *variant_key, "tasks")
        if self.search == BEST and self.choosing_task is None:
            choosers = [name for name, spec in TASKS.items() if spec.chooses_encoder]
            raise key_error(f"{BEST} needs the task {' or '.join(choosers)}; add it to the system", "search")
        if self.search == BEST and not self.search_candidates:
            message = f"{BEST} needs a variant in {self.choosing_task} that is one run with its name"
            raise key_error(message, "search")
        if self.search not in (None, BEST):
            check_names("run", [self.search], self.pretrain.runs, "search")
        check_names("variant or run", self.select or (), self.selectable, "select")
        for task, settings in self.tasks.items():
            try:
                settings.check_variants(self.task_variants(task))
            except ValidationError as error:
                raise move_errors(error, "tasks", task) from None
        for name, config in self.streams.items():
            first = self.examples()[config.examples]
            for key in ("sampling", "files"):
                if getattr(first, key, None) != getattr(config, key, None):
                    raise key_error("another stream with the same examples has other settings", "streams", name, key)

    def _check_runs(self) -> None:
        """Raise a ValidationError for a run that cannot be trained."""
        for name, run in self.pretrain.runs.items():
            key = ("pretrain", "runs", name)
            if run.encoder is not None:
                check_names("encoder", [run.encoder], self.encoders, *key, "encoder")
            if run.start is not None and run.start not in self.pretrain.runs and "/" not in run.start:
                closest = suggest(run.start, self.pretrain.runs)
                raise key_error(f"{run.start!r} is neither a run nor the path of a folder{closest}", *key, "start")
            # Objectives with separate batches.
            separate = {name for name in run.objective_names if OBJECTIVES[name].stream_settings}
            known = {*self.streams, *separate}
            check_names("stream", run.streams, known, *key, "streams")
            if isinstance(run.batch_size, dict):
                check_names("stream", run.batch_size, known, *key, "batch_size")
        for name in self.run_order:
            key, start = ("pretrain", "runs", name), self.previous_run(name)
            if start is not None and self.encoder_name(name) != (encoder := self.encoder_name(start)):
                raise key_error(f"its start, {start}, has another encoder, {encoder!r}", *key)
            try:
                self.pretraining(name)
            except ValidationError:
                raise
            except ValueError as error:
                raise key_error(str(error), *key) from None

    def _check_held_out(self) -> None:
        """Raise a ValidationError if the criterion needs pairs, and the system has none, or batches of one pair."""
        held_out = self.pretrain.held_out
        if held_out is None or held_out.criterion != "questions":
            return
        if QUESTIONS not in self.streams:
            message = f"questions are held-out pairs; add {QUESTIONS} to the streams, or set loss"
            raise key_error(message, "pretrain", "held_out", "criterion")
        if self.pretrain.batch_size < 2:
            message = "a question needs several candidates; set at least 2 (runs may have a batch_size of their own)"
            raise key_error(message, "pretrain", "batch_size")
        if self.pretrain.batch_size % self.pretrain.devices:
            message = f"the questions of a batch are divided among {self.pretrain.devices} devices; set a multiple"
            raise key_error(message, "pretrain", "batch_size")

    def _check_minutes(self) -> None:
        """Raise a ValidationError for a budget in minutes without passages, on several devices or with several stages.

        The run subtracts the time to embed all passages, which one process estimates. Each stage would take all that is
        left of the run.
        """
        for name in self.runs_in_minutes:
            budgets = enumerate(stage.budget for stage in self.pretrain.runs[name].schedule)
            stages = [
                ("runs", name, "schedule", str(n)) for n, budget in budgets if budget and budget.unit == "minutes"
            ]
            key = ("pretrain", *(stages[0] if stages else ()), "budget", "unit")
            if "pairs" not in self.examples():
                raise key_error("minutes need a system with the stream pairs: set seconds, or add this stream", *key)
            if self.pretrain.devices > 1:
                raise key_error("minutes need a single device: set seconds, or pretrain.devices to 1", *key)
            if len(self.pretrain.runs[name].schedule) > 1:
                raise key_error("minutes need a schedule of one stage: set seconds", *key)

    def _check_derive(self) -> None:
        """Raise a ValidationError if the settings of derived examples do not fit the streams and runs."""
        if self.derive is None:
            return
        if "pairs" not in self.streams or "hard_pairs" not in self.streams:
            raise key_error("it needs the streams pairs and hard_pairs; add them to streams", "derive")
        encoder = self.derive.encoder
        if (run := self.pretrain.runs.get(encoder)) and (run.schedule or run.start is not None):
            message = f"{encoder} is trained after this stage; name a run without schedule and start, or a model"
            raise key_error(message, "derive", "encoder")
        for name, run in self.pretrain.runs.items():
            if "margin_distillation" in run.objective_names and self.derive.margins.model is None:
                raise key_error(
                    f"the run {name} distills margins, and no model computes them; name a cross-encoder",
                    *("derive", "margins", "model"),
                )

    @property
    def seed_range(self) -> range:
        """The seeds of all trainings and evaluations."""
        return range(self.first_seed, self.first_seed + self.seeds)

    @property
    def run_order(self) -> list[str]:
        """The runs, each after the run that it starts from; ValidationError for a cycle."""
        order: list[str] = []
        while left := [name for name in self.pretrain.runs if name not in order]:
            ready = [name for name in left if self.previous_run(name) in (None, *order)]
            if not ready:
                message = f"{', '.join(sorted(left))} start from each other; change the start of one"
                raise key_error(message, "pretrain", "runs")
            order += ready
        return order

    @property
    def all_variants(self) -> dict[str, Variant]:
        """Name → variant, also of published models; by default, each run is a variant."""
        return (self.variants or {name: Variant(head=self.head) for name in self.pretrain.runs}) | self.published_models

    @property
    def selectable(self) -> dict[str, Variant]:
        """Name → variant: all variants, and each run as a variant unless a variant has its name."""
        return {name: Variant(head=self.head) for name in self.pretrain.runs} | self.all_variants

    def run_names(self, variant: str) -> list[str]:
        """Return the names of the runs whose encoders a variant has; none for a published model."""
        settings = self.selectable[variant]
        return [] if settings.model is not None else (settings.runs or [variant])

    @property
    def runs_in_minutes(self) -> list[str]:
        """The runs with a budget in minutes."""
        return [
            run
            for run in self.run_order
            if any(stage.budget and stage.budget.unit == "minutes" for stage in self.pretrain.recipe(run).schedule)
        ]

    def previous_run(self, run: str) -> str | None:
        """Return the run of this system that a run continues; None if it continues none."""
        start = self.pretrain.runs[run].start
        return start if start in self.pretrain.runs else None

    def previous_dir(self, run: str) -> Path | None:
        """Return the folder of an encoder from outside of this system that a run continues; None if there is none."""
        start = self.pretrain.runs[run].start
        return Path(start) if start is not None and start not in self.pretrain.runs else None

    def encoder_name(self, run: str) -> str:
        """Return the name of a run's encoder; default: that of the run that it continues, or the first one."""
        recipe, start = self.pretrain.runs[run], self.previous_run(run)
        if recipe.encoder is None and start is not None:
            return self.encoder_name(start)
        return recipe.encoder or next(iter(self.encoders))

    def run_chain(self, run: str) -> list[str]:
        """Return a run, followed by the run that it continues, and so on."""
        start = self.previous_run(run)
        return [run] + (self.run_chain(start) if start else [])

    def pretraining(self, run: str) -> Pretraining:
        """Return the complete settings of the pre-training of a run."""
        recipe = self.pretrain.recipe(run)
        streams = {
            name: apply_run_settings(config, recipe.streams[name], "pretrain", "runs", run, "streams", name)
            if name in recipe.streams
            else config
            for name, config in self.streams.items()
        }
        streams |= recipe.separate_streams(streams)
        encoder, settings = self.encoders[self.encoder_name(run)], self.pretrain.with_run_rate(run)
        return Pretraining(run, recipe, encoder, self.lengths, streams, settings)

    @property
    def held_out_share(self) -> float:
        """Share of the documents that are kept out of training to measure its loss on them; 0 if there are none."""
        return self.pretrain.held_out.share if self.pretrain.held_out else 0.0

    @property
    def sampled_lengths(self) -> Lengths:
        """Maximum tokens of texts in pre-training examples."""
        return self.example_lengths or self.lengths

    def examples(self) -> dict[str, StreamConfig]:
        """Return folder of examples → the stream whose settings create them."""
        examples: dict[str, StreamConfig] = {}
        for config in self.streams.values():
            examples.setdefault(config.examples, config)
        return examples

    def task(self, name: str) -> Any:
        """Return the settings of a task, with values that are not set filled in from the streams."""
        return self.tasks[name].complete_from_streams(self.streams.values())

    def task_variants(self, task: str) -> list[str]:
        """Return the names of the variants that a task evaluates."""
        return [name for name, variant in self.all_variants.items() if variant.tasks is None or task in variant.tasks]

    @property
    def choosing_task(self) -> str | None:
        """The task that chooses the encoder of `search: best`, if the system has one."""
        return next((name for name in self.tasks if TASKS[name].chooses_encoder), None)

    @property
    def search_candidates(self) -> list[str]:
        """Variants of `choosing_task` that are a single run each: the candidates of `search: best`."""
        return [name for name in self.task_variants(self.choosing_task or "") if self.run_names(name) == [name]]

    @property
    def vocabulary_dataset(self) -> str:
        """Catalog name of the vocabulary for training: words, or subwords with the counts that encoders need."""
        if self.vocabulary == "words":
            return "words"
        if any(encoder.start == "word_vectors" for encoder in self.encoders.values()):
            return "subword_vectors"
        return "subwords" if any(encoder.has_token_weights for encoder in self.encoders.values()) else "tokenizer"

    @property
    def needs_words(self) -> bool:
        """Whether the system needs the vocabulary of words and their vectors."""
        return self.vocabulary == "words" or self.word_average

    @property
    def example_inputs(self) -> set[str]:
        """Kinds of input data of its examples (`StreamConfig.source`)."""
        return {config.source for config in self.streams.values()}

    def select_variants(self, variants: list[str]) -> "SystemConfig":
        """Return the system reduced to these variants or runs, and to the runs that they need."""
        needed = {run for name in variants for needed_run in self.run_names(name) for run in self.run_chain(needed_run)}
        if self.derive is not None:
            needed.add(self.derive.encoder)
        runs = {name: run for name, run in self.pretrain.runs.items() if name in needed}
        return replace(
            self,
            pretrain=replace(self.pretrain, runs=runs),
            variants={name: self.selectable[name] for name in variants},
            published_models={},
            select=None,
            include={},
            search=self.search if self.search == BEST or self.search in runs else None,
            tasks={name: settings.restrict_variants(variants) for name, settings in self.tasks.items()},
            ablation=None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as plain data, which can be parsed again."""
        return asdict(self)
