"""All parameters of the project, checked when a run starts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from contexture.config_errors import ConfigurationError, describe_errors
from contexture.corpus.bitext.config import BitextConfig
from contexture.corpus.bitext.files import check_files
from contexture.corpus.config import CleaningConfig, CorpusConfig
from contexture.corpus.nli.config import NliConfig
from contexture.corpus.nli.files import find_language_files
from contexture.demo.config import DEMO, DemoConfig
from contexture.derive.config import check_path, check_weights
from contexture.encoders.config import TransformerConfig
from contexture.encoders.saved import read_settings, seed_dir
from contexture.folders import expand_home
from contexture.messages import errors_at, explain_unknown
from contexture.objectives.config import OBJECTIVES
from contexture.packages import encoder_path
from contexture.paths import WORKSPACE_PATTERN
from contexture.run_parameters import merged
from contexture.strict import (
    STRICT,
    DropNull,
    Positive,
    TypedValues,
    check_names,
    drop_null,
    key_error,
    move_errors,
)
from contexture.systems.ablation import build_ablation
from contexture.systems.config import BEST, SystemConfig
from contexture.systems.registry import SYSTEMS
from contexture.tasks.registry import TASKS
from contexture.vocabulary.tokenizers import VocabularyConfig, have_same_tokens
from contexture.vocabulary.words import WordsConfig

#: Settings that say how a new encoder is made. They may differ from those of the encoder that a run continues.
INITIALIZATION_KEYS = {"start", "init_from", "initialization"}


@dataclass(config=STRICT, frozen=True)
class ComputeConfig:
    """How a run uses the machine."""

    # Threads of each training on a CPU; null: cores / processes. The last bits of weights depend on them, not on the
    # number of cores.
    threads: Positive | None = 2
    # Parallel trainings on a CPU; null: as many as give each core two threads. On a GPU, trainings run one at a time.
    processes: Positive | None = None


@dataclass(config=STRICT, frozen=True)
class DemoSystem:
    """A system's part in the short run through all systems."""

    # Variants to train and measure.
    variants: list[str]
    # Settings of the system that differ in the demo, such as steps.
    changes: dict[str, Any] = Field(default_factory=dict)
    #: The system with these settings; made from the other keys.
    system: SystemConfig | None = None


def add_sources(values: dict[str, Any]) -> dict[str, Any]:
    """Return `values`, the settings of the files of each task, with empty settings for tasks that it lacks."""
    return {name: values.get(name, {}) for name in TASKS} | values


SOURCES = TypedValues({name: spec.source for name, spec in TASKS.items()}, "task")


@dataclass(config=STRICT, frozen=True)
class Parameters:
    """All parameters in conf/<environment>/parameters."""

    demo: DemoConfig
    corpus: CorpusConfig
    cleaning: CleaningConfig
    bitext: BitextConfig
    nli: NliConfig
    vocabulary: VocabularyConfig
    words: WordsConfig
    # Task → its files; in the configuration files each task is a key of its own.
    sources: Annotated[dict[str, Any], AfterValidator(add_sources), AfterValidator(SOURCES)]
    compute: ComputeConfig
    # System → what `kedro run --pipelines demo` trains and measures.
    demo_systems: Annotated[dict[str, DemoSystem], DropNull]
    systems: dict[str, SystemConfig] = Field(default_factory=dict)
    # Name of the workspace that has all files of the run; null: data/.
    workspace: Annotated[str, Field(pattern=f"^{WORKSPACE_PATTERN}$")] | None = None

    def __post_init__(self) -> None:
        for name, system in self.systems.items():
            check_system(name, system, self)
        self.complete_tasks(self.systems, "systems")
        if self.demo_systems:
            self.select_demo()
        if self.cleaning.main_content is not None and self.corpus.list_items != "flag":
            raise key_error("it learns from list items: set corpus.list_items to flag", "cleaning", "main_content")
        check_evaluation(self.cleaning.evaluation)
        reads_demo = {name: self.sources[name].reads_demo for name, spec in TASKS.items() if spec.needs_demo_languages}
        reads_demo |= {"bitext": self.bitext.input == DEMO, "nli": self.nli.input == DEMO}
        for name in filter(reads_demo.get, reads_demo):
            if not self.demo.languages:
                message = "the made-up world is in English only: set demo.languages to 1 or more"
                raise key_error(message, name, "input")

    def select(self) -> "Parameters":
        """Return the parameters with each system reduced to its `select`, also where other systems include it."""
        selected = {
            name: system if system.select is None else system.select_variants(system.select)
            for name, system in self.systems.items()
        }
        return replace(self, systems=self.complete_tasks(restrict_included(selected), "systems"))

    def select_demo(self) -> "Parameters":
        """Return parameters reduced to the systems and variants of the demo."""
        selected: dict[str, SystemConfig] = {}
        for name, demo_system in self.demo_systems.items():
            if demo_system.system is None:
                raise key_error(explain_unknown("system", [name], self.systems), "demo_systems")
            known = demo_system.system.all_variants
            check_names("variant", demo_system.variants, known, "demo_systems", name, "variants")
            allowed = demo_system.system.select or demo_system.variants
            variants = [variant for variant in demo_system.variants if variant in allowed] or allowed
            selected[name] = replace(demo_system.system.select_variants(variants), include=demo_system.system.include)
        return replace(self, systems=self.complete_tasks(restrict_included(selected), "demo_systems"), demo_systems={})

    def complete_tasks(self, systems: Mapping[str, SystemConfig], section: str) -> dict[str, SystemConfig]:
        """Return the systems with their tasks' settings completed from the tasks' sources.

        `section`, the key of the systems in the parameters, is named in errors.
        """
        completed = {}
        for name, system in systems.items():
            key = (section, name, "system") if section == "demo_systems" else (section, name)
            tasks = {}
            for task, settings in system.tasks.items():
                try:
                    tasks[task] = settings.complete_from_source(self.sources[task])
                except ValidationError as error:
                    raise move_errors(error, *key, "tasks", task) from None
            completed[name] = replace(system, tasks=tasks)
        return completed

    @property
    def default_systems(self) -> list[str]:
        """Names of systems that run by default: all whose text is configured, except those for the user's own text.

        A system that exports its best encoder is for the user's own text.
        """
        configured = {
            "corpus",
            "derive",
            *(["bitext"] if self.bitext.input else []),
            *(["nli"] if self.nli.input else []),
        }
        return [
            name
            for name, system in self.systems.items()
            if system.example_inputs <= configured and system.search != BEST
        ]

    def check_systems(self, systems: Collection[str]) -> None:
        """Raise ConfigurationError if the tokenizer, start encoder or text of one of these systems cannot be used."""
        for name in sorted(set(systems) & set(self.systems)):
            system, published = self.systems[name], self.vocabulary.published
            check_starts(name, system)
            check_derive(name, system)
            check_tokens(name, system, published or "")
            if "bitext" in system.example_inputs:
                check_bitext(name, self.bitext)
            if "nli" in system.example_inputs:
                check_nli(name, self.nli)
            if system.tokenizer is not None and Path(published or "").name != Path(system.tokenizer).name:
                raise ConfigurationError(
                    f"{name} needs the tokenizer {system.tokenizer}, vocabulary.published is {published}, and a run "
                    f"has one tokenizer: run it alone, --pipelines {name} "
                    f"--params vocabulary.published={system.tokenizer}"
                )


def restrict_included(systems: Mapping[str, SystemConfig]) -> dict[str, SystemConfig]:
    """Return the systems with `include` reduced to the systems and variants that are among `systems`."""
    restricted = {}
    for name, system in systems.items():
        included = {
            other: [variant for variant in variants if variant in systems[other].all_variants]
            for other, variants in system.include.items()
            if other in systems
        }
        restricted[name] = replace(
            system, include={other: variants for other, variants in included.items() if variants}
        )
    return restricted


def check_system(name: str, system: SystemConfig, parameters: Parameters) -> None:
    """Raise ValidationError if the ablation, initial weights or included variants of a system cannot be used."""
    try:
        if system.ablation is not None:
            build_ablation(system)
    except ValidationError as error:
        raise move_errors(error, "systems", name) from None
    if system.derive is None and "hard_pairs" in system.streams:
        message = "the stream hard_pairs reads derived examples: set derive.encoder, or set the stream to null"
        raise key_error(message, "systems", name, "derive")
    for key, encoder in system.encoders.items():
        if isinstance(encoder, TransformerConfig) and encoder.init_from and not parameters.vocabulary.published:
            message = (
                f"the weights of {encoder.init_from} need its tokenizer: set vocabulary.published to the same name or "
                "folder"
            )
            raise key_error(message, "systems", name, "encoders", key, "init_from")
    systems = parameters.systems
    for other, variants in system.include.items():
        location = ("systems", name, "include", other)
        if other not in systems:
            raise key_error(explain_unknown("system", [other], systems), *location)
        check_names("variant", variants, systems[other].all_variants, *location)
        if published := [variant for variant in variants if systems[other].all_variants[variant].model is not None]:
            raise key_error(f"{published} are published models: name them in {name}.published_models", *location)


def check_bitext(name: str, bitext: BitextConfig) -> None:
    """Raise ConfigurationError if no parallel sentences are configured for a system or a file cannot be used."""
    if not bitext.input:
        raise ConfigurationError(f"{name} reads parallel sentences, and bitext.input names none: see docs/bitext.md")
    for key, pair_set in bitext.sets.items():
        with errors_at(f"bitext.input.{key}", kind=ConfigurationError):
            check_files(pair_set)


def check_nli(name: str, nli: NliConfig) -> None:
    """Raise ConfigurationError if no labelled pairs are configured for a system or their files cannot be used."""
    if nli.input is None:
        raise ConfigurationError(
            f"{name} reads labelled pairs, and nli.input names none: see docs/cmlm-multilingual.md"
        )
    if nli.input != DEMO:
        with errors_at("nli.input", kind=ConfigurationError):
            find_language_files(nli, expand_home(nli.input))


def check_starts(name: str, system: SystemConfig) -> None:
    """Raise ConfigurationError if a run continues an encoder that is missing or has another architecture."""
    for key, encoder in system.encoders.items():
        with errors_at(f"{name}.encoders.{key}.init_from", kind=ConfigurationError):
            if (weights := getattr(encoder, "init_from", None)) is not None:
                check_weights(weights)
    for run in system.pretrain.runs:
        if (folder := system.previous_dir(run)) is None:
            continue
        prefix = f"{name}.pretrain.runs.{run}.start: {folder}"
        key = system.encoder_name(run)
        settings = asdict(system.encoders[key]).items()
        wanted = {part: value for part, value in settings if part not in INITIALIZATION_KEYS}
        for seed in system.seed_range:
            try:
                actual = asdict(read_settings(seed_dir(folder, seed)).config)
            except (OSError, ValueError, KeyError, TypeError) as error:
                message = f"{prefix} holds no encoder for seed {seed} ({error}); train it first"
                raise ConfigurationError(message) from None
            if differing := [part for part in wanted if actual.get(part) != wanted[part]]:
                lines = "; ".join(f"{part} is {actual.get(part)} there, {wanted[part]} here" for part in differing)
                raise ConfigurationError(f"{prefix} is not an encoder like {name}.encoders.{key}: {lines}")


def check_derive(name: str, system: SystemConfig) -> None:
    """Raise ConfigurationError if a model that derives examples is a path without a usable model."""
    if system.derive is None:
        return
    if (encoder := system.derive.encoder) not in system.pretrain.runs:
        with errors_at(f"{name}.derive.encoder", kind=ConfigurationError):
            check_path(encoder)
    for key, model in system.derive.published_models.items():
        with errors_at(f"{name}.derive.{key}", kind=ConfigurationError):
            check_weights(model)


def check_tokens(name: str, system: SystemConfig, published: str) -> None:
    """Raise ConfigurationError if published weights and the published tokenizer do not belong together."""
    with errors_at("vocabulary.published", kind=ConfigurationError):
        tokenizer = encoder_path(published)
    for key, encoder in system.encoders.items():
        weights = getattr(encoder, "init_from", None)
        if weights is None or encoder_path(weights) == tokenizer:
            continue
        try:
            same = have_same_tokens(weights, published)
        except ValueError:
            continue  # a folder with weights only
        if not same:
            raise ConfigurationError(
                f"{name}.encoders.{key}.init_from is {weights}, vocabulary.published is {published}, and their tokens "
                "differ: set both to the same name or folder"
            )


def check_evaluation(tasks: Sequence[str]) -> None:
    """Raise ValidationError for a task whose documents cannot be kept out of the corpus, or that is named twice."""
    key = ("cleaning", "evaluation")
    check_names("task", tasks, TASKS, *key)
    for name in tasks:
        if not TASKS[name].has_documents:
            raise key_error(f"{name} has no documents that could be kept out of the corpus", *key)
        if tasks.count(name) > 1:
            raise key_error(f"{name} is named twice", *key)


def check_parameters(values: Mapping[str, Any], folders: list[Path], runtime: Mapping[str, Any]) -> Parameters:
    """Return typed parameters, or raise ConfigurationError with file and key of all errors.

    `folders` are the configuration folders, the strongest first; `runtime` came from the command line.
    """
    try:
        return TypeAdapter(Parameters).validate_python(nest(values)).select()
    except ValidationError as error:
        lines = list(describe_errors(error, Parameters, folders, runtime))
        raise ConfigurationError("\n  ".join(["the configuration has errors:", *lines])) from None


def nest(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with the top-level keys of systems and tasks moved under `systems` and `sources`."""
    nested = {key: value for key, value in values.items() if key not in (*SYSTEMS, *TASKS)}
    nested["sources"] = {key: value for key, value in values.items() if key in TASKS}
    nested["systems"] = {key: add_objective_runs(value) for key, value in values.items() if key in SYSTEMS}
    if isinstance(nested.get("demo_systems"), Mapping):
        nested["demo_systems"] = {
            name: _complete_demo_system(demo_system, values.get(name))
            for name, demo_system in nested["demo_systems"].items()
        }
    return nested


def _complete_demo_system(demo_system: Any, system: Any) -> Any:
    """Return a demo system with the key `system`: the system's settings with the demo's `changes`."""
    if not isinstance(demo_system, Mapping) or not isinstance(system, Mapping) or "system" in demo_system:
        return demo_system
    return {**demo_system, "system": add_objective_runs(merged(system, demo_system.get("changes") or {}))}


def add_objective_runs(system: Any) -> Any:
    """Return a system's settings with a run for each objective without one, if they have `all_objectives: true`.

    A run belongs to the objective that it is named after. The added runs have the budget `pretrain.budget`. Objectives
    that read none of the system's streams are left out.
    """
    if not isinstance(system, Mapping) or "all_objectives" not in system:
        return system
    completed = {key: value for key, value in system.items() if key != "all_objectives"}
    if system["all_objectives"]:
        pretrain, streams = dict(system.get("pretrain") or {}), set(drop_null(system.get("streams")))
        runs = dict(pretrain.get("runs") or {})
        for name, config in OBJECTIVES.items():
            if streams & set(config.streams) and not config.stream_settings:
                runs.setdefault(name, {"schedule": [{"weights": {name: 1}}]})
        completed["pretrain"] = pretrain | {"runs": runs}
    return completed
