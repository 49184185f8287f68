"""All parameters of the project, checked when a run starts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.dataclasses import dataclass

from contexture.corpus.bitext.config import BitextConfig
from contexture.corpus.bitext.files import check
from contexture.corpus.config import CleaningConfig, CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.nli.config import NliConfig
from contexture.corpus.nli.files import files_of
from contexture.demo.config import DEMO, DemoConfig
from contexture.encoders.config import TransformerConfig
from contexture.encoders.saved import of_seed, saved
from contexture.objectives.config import OBJECTIVES
from contexture.packages import packaged
from contexture.strict import STRICT, DropNull, Positive, checked, drop_null, key_error, with_key_prefix
from contexture.systems.ablation import build_ablation
from contexture.systems.config import BEST, SystemConfig
from contexture.systems.registry import SYSTEMS
from contexture.tasks.registry import TASKS
from contexture.tasks.settings import SourceSettings
from contexture.vocabulary.tokenizers import VocabularyConfig, same_tokens
from contexture.vocabulary.words import WordsConfig

#: Settings of an encoder that only tell how a new one is made.
HOW_NEW = {"start", "init_from", "initialization"}
#: Former names of keys → the present ones.
RENAMED = {"only": "select"} | {spec.former_key: name for name, spec in TASKS.items() if spec.former_key}


class ConfigurationError(ValueError):
    """A parameter that nobody knows, or an impossible value; names the file and the key."""


@dataclass(config=STRICT, frozen=True)
class ComputeConfig:
    """How a run uses the machine."""

    # Threads of each training on a CPU. The last bits of weights depend on them, not on the number of cores.
    threads: Positive = 1
    # Trainings side by side on a CPU; null: as many as the cores have threads for. On a GPU there is one at a time.
    processes: Positive | None = None


@dataclass(config=STRICT, frozen=True)
class Tour:
    """A system's part in the short way through all of them."""

    # Variants that are trained and measured; the others are left out.
    variants: list[str]
    # Settings of the system that differ there, such as steps.
    changes: dict[str, Any] = Field(default_factory=dict)
    #: The system with these settings; made of the others.
    system: SystemConfig | None = None


_Sources: Any = create_model(
    "Sources",
    __config__=ConfigDict(extra="forbid"),
    **{name: (spec.source, Field(default_factory=spec.source)) for name, spec in TASKS.items()},  # type: ignore[call-overload]
)


def check_sources(values: dict[str, Any]) -> dict[str, SourceSettings]:
    """Where the files of every task are, typed, with defaults; ValidationError with the keys of all faults."""
    return dict(checked(_Sources, values))


@dataclass(config=STRICT, frozen=True)
class Parameters:
    """Everything under conf/<environment>/parameters."""

    demo: DemoConfig
    corpus: CorpusConfig
    cleaning: CleaningConfig
    bitext: BitextConfig
    nli: NliConfig
    vocabulary: VocabularyConfig
    words: WordsConfig
    # Task → where its files are; in the configuration files each is a key of its own.
    sources: Annotated[dict[str, Any], AfterValidator(check_sources)]
    compute: ComputeConfig
    # System → what `kedro run --pipelines tour` trains and measures of it.
    tour: Annotated[dict[str, Tour], DropNull]
    systems: dict[str, SystemConfig] = Field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, system in self.systems.items():
            if system.ablation is not None:
                check_ablation(name, system)
            for key, encoder in system.encoders.items():
                if isinstance(encoder, TransformerConfig) and encoder.init_from and not self.vocabulary.published:
                    raise ValueError(
                        f"{name}.encoders.{key}.init_from is {encoder.init_from}, whose weights belong to its own "
                        "tokens: set vocabulary.published to the same name or folder"
                    )
            check_guests(name, system, self.systems)
        self.told(self.systems, "systems")
        if self.tour:
            self.toured()
        if self.cleaning.main_content is not None and self.corpus.list_items != "flag":
            raise ValueError("cleaning.main_content learns from list items: set corpus.list_items to flag")
        check_evaluation(self.cleaning.evaluation)
        translated = {name: self.sources[name].reads_demo for name, spec in TASKS.items() if spec.needs_demo_languages}
        translated |= {"bitext": self.bitext.input == DEMO, "nli": self.nli.input == DEMO}
        for name, asked in translated.items():
            if asked and not self.demo.languages:
                raise ValueError(
                    f"{name}.input: the made-up world speaks English alone: set demo.languages to 1 or more"
                )

    def chosen(self) -> "Parameters":
        """The same with what each system's `select` names alone, as a guest of others, too, and with `told` tasks."""
        chosen = {
            name: system if system.select is None else system.select_variants(system.select)
            for name, system in self.systems.items()
        }
        return replace(self, systems=self.told(with_guests(chosen), "systems"))

    def toured(self) -> "Parameters":
        """The same with the systems and variants of the tour alone."""
        chosen: dict[str, SystemConfig] = {}
        for name, tour in self.tour.items():
            if tour.system is None:
                raise key_error(f"no system {name!r}; there are {sorted(self.systems)}", "tour")
            check_variants(tour.variants, tour.system, "tour", name, "variants")
            selected = tour.system.select or tour.variants
            variants = [variant for variant in tour.variants if variant in selected] or selected
            chosen[name] = replace(tour.system.select_variants(variants), guests=tour.system.guests)
        return replace(self, systems=self.told(with_guests(chosen), "tour"), tour={})

    def told(self, systems: Mapping[str, SystemConfig], place: str) -> dict[str, SystemConfig]:
        """Systems whose tasks know what follows from where their files are; `place`: where the systems stand."""
        found = {}
        for name, system in systems.items():
            tasks = {}
            for task, settings in system.tasks.items():
                try:
                    tasks[task] = settings.given(self.sources[task])
                except ValidationError as error:
                    raise with_key_prefix(
                        error, place, name, *(["system"] if place == "tour" else []), "tasks", task
                    ) from None
            found[name] = replace(system, tasks=tasks)
        return found

    @property
    def fed(self) -> list[str]:
        """The systems that run by default: all but those that read what no parameter names, and one's own text.

        A system that adopts its best encoder is for text of one's own, and is asked for by name.
        """
        named = {"corpus": True, "bitext": bool(self.bitext.input), "nli": self.nli.input is not None}
        found = {name: all(named[one] for one in system.example_inputs) for name, system in self.systems.items()}
        return [name for name, fed in found.items() if fed and self.systems[name].search != BEST]

    def check_systems(self, systems: Collection[str]) -> None:
        """Raise ConfigurationError where one of these systems cannot be run as things lie.

        It is meant for other subwords than those of the run, begins with a folder that holds no fitting encoder, or
        reads parallel sentences or labelled pairs where none are named, or a file of them is not there.
        """
        for name in sorted(set(systems) & set(self.systems)):
            check_starts(name, self.systems[name])
            check_tokens(name, self.systems[name], self.vocabulary.published or "")
            made_of = self.systems[name].example_inputs
            if "bitext" in made_of:
                check_bitext(name, self.bitext)
            if "nli" in made_of:
                check_nli(name, self.nli)
            wanted, there = self.systems[name].tokenizer, self.vocabulary.published
            if wanted is not None and Path(there or "").name != Path(wanted).name:
                raise ConfigurationError(
                    f"{name} is meant for the subwords of {wanted}, vocabulary.published is {there}, and a run has "
                    f"one tokenizer: run it alone, --pipelines {name} --params vocabulary.published={wanted}"
                )


def with_guests(systems: Mapping[str, SystemConfig]) -> dict[str, SystemConfig]:
    """Systems with those of their guests that are there; a system of which no variant is there is no guest."""
    found = {}
    for name, system in systems.items():
        guests = {
            guest: [variant for variant in variants if variant in systems[guest].all_variants]
            for guest, variants in system.guests.items()
            if guest in systems
        }
        found[name] = replace(system, guests={guest: variants for guest, variants in guests.items() if variants})
    return found


def check_guests(name: str, system: SystemConfig, systems: Mapping[str, SystemConfig]) -> None:
    """Raise ValidationError if a guest of a system does not exist, or is not trained."""
    for guest, variants in system.guests.items():
        key = ("systems", name, "guests", guest)
        if guest not in systems:
            raise key_error(f"no system {guest!r}; there are {sorted(systems)}", *key)
        check_variants(variants, systems[guest], *key)
        if published := [variant for variant in variants if systems[guest].all_variants[variant].model is not None]:
            raise key_error(f"{published} are published models: name them in {name}.more_variants", *key)


def check_variants(variants: Collection[str], system: SystemConfig, *key: str) -> None:
    """Raise ValidationError at `key` if a system does not have one of these variants."""
    if unknown := sorted(set(variants) - set(system.all_variants)):
        raise key_error(f"no variant is called {', '.join(unknown)}; there are {sorted(system.all_variants)}", *key)


def check_bitext(name: str, bitext: BitextConfig) -> None:
    """Raise ConfigurationError where a system that reads parallel sentences has none, or a file cannot be used."""
    if not bitext.input:
        raise ConfigurationError(f"{name} reads parallel sentences, and bitext.input names none: see docs/bitext.md")
    for key, one in bitext.sets.items():
        try:
            check(one)
        except SourceError as error:
            raise ConfigurationError(f"bitext.input.{key}: {error}") from None


def check_nli(name: str, nli: NliConfig) -> None:
    """Raise ConfigurationError where a system that reads labelled pairs of several languages has none."""
    if nli.input is None:
        raise ConfigurationError(
            f"{name} reads labelled pairs, and nli.input names none: see docs/cmlm-multilingual.md"
        )
    if nli.input == DEMO:
        return
    try:
        files_of(nli, Path(nli.input).expanduser())
    except SourceError as error:
        raise ConfigurationError(f"nli.input: {error}") from None


def check_starts(name: str, system: SystemConfig) -> None:
    """Raise ConfigurationError where a run of a system continues what is not there, or is no encoder of its kind."""
    for key, encoder in system.encoders.items():
        try:
            packaged(getattr(encoder, "init_from", None) or "")
        except ValueError as error:
            raise ConfigurationError(f"{name}.encoders.{key}.init_from: {error}") from None
    for run in system.pretrain.runs:
        if (place := system.previous_dir(run)) is None:
            continue
        said = f"{name}.pretrain.runs.{run}.start: {place}"
        for seed in range(system.seeds):
            try:
                there = asdict(saved(of_seed(place, seed)).config)
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise ConfigurationError(f"{said} holds no encoder for seed {seed} ({error}); train it first") from None
            key = system.encoder_name(run)
            wanted = asdict(system.encoders[key])
            differ = [part for part in wanted if part not in HOW_NEW and there.get(part) != wanted[part]]
            if differ:
                lines = "; ".join(f"{part} is {there.get(part)} there, {wanted[part]} here" for part in differ)
                raise ConfigurationError(f"{said} is not an encoder like {name}.encoders.{key}: {lines}")


def check_tokens(name: str, system: SystemConfig, published: str) -> None:
    """Raise ConfigurationError where published weights would read others' subwords, or these are not installed."""
    try:
        tokens = packaged(published)
    except ValueError as error:
        raise ConfigurationError(f"vocabulary.published: {error}") from None
    for key, encoder in system.encoders.items():
        weights = getattr(encoder, "init_from", None)
        if weights is None or packaged(weights) == tokens:
            continue
        try:
            same = same_tokens(weights, published)
        except ValueError:
            continue  # a folder of weights alone
        if not same:
            raise ConfigurationError(
                f"{name}.encoders.{key}.init_from is {weights}, vocabulary.published is {published}, and their tokens "
                "differ: set both to the same name or folder"
            )


def check_ablation(name: str, system: SystemConfig) -> None:
    """Raise ValidationError or ValueError where a row of a system's ablation cannot be made."""
    try:
        build_ablation(system)
    except ValidationError as error:
        raise with_key_prefix(error, "systems", name) from None
    except ValueError as error:
        raise ValueError(f"{name}.{error}") from None


def check_evaluation(tasks: Sequence[str]) -> None:
    """Raise ValueError for a task whose documents cannot be kept out of the corpus, or that is named twice."""
    for name in tasks:
        if name not in TASKS:
            raise ValueError(f"cleaning.evaluation: no task {name!r}; there are {sorted(TASKS)}")
        if not TASKS[name].has_documents:
            raise ValueError(f"cleaning.evaluation: {name} has no documents that could be kept out of the corpus")
        if tasks.count(name) > 1:
            raise ValueError(f"cleaning.evaluation: {name} stands there twice")


def check_parameters(values: Mapping[str, Any], folders: list[Path], given: Mapping[str, Any]) -> Parameters:
    """Typed parameters, or ConfigurationError with every fault, the file and the key of each.

    `folders` are the configuration folders, the strongest first; `given` came on the command line.
    """
    try:
        return TypeAdapter(Parameters).validate_python(nested(values)).chosen()
    except ValidationError as error:
        faults, known = [], set[tuple[str, ...]]()
        for fault in sorted(error.errors(), key=lambda fault: fault["loc"][:1] == ("tour",)):
            key = [str(part) for part in fault["loc"]]
            key = key[1:] if key[:1] in (["systems"], ["sources"]) else key
            if key[:1] == ["tour"] and key[2:3] == ["system"]:
                if (key[1], *key[3:]) in known:
                    continue  # a fault of the system, which the tour takes over
                key[2] = "changes"
            known.add(tuple(key))
            said = fault["msg"].removeprefix("Value error, ")
            if fault["type"] == "unexpected_keyword_argument":
                renamed = RENAMED.get(key[-1])
                said = f"renamed to {renamed}" if renamed else "no such parameter"
            elif fault["type"] in ("missing", "missing_argument"):
                said = "missing"
            shown = f" (is {fault['input']!r})" if isinstance(fault["input"], str | int | float) else ""
            where = [str(source(key, folders, given)), ".".join(key)]
            faults.append(": ".join([*filter(None, where), f"{said}{shown}"]))
        raise ConfigurationError("the configuration was refused:\n  " + "\n  ".join(faults)) from None


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with those of systems and tasks, which stand beside the others in the files, under their heads."""
    found = {key: value for key, value in values.items() if key not in (*SYSTEMS, *TASKS)}
    found["sources"] = {key: value for key, value in values.items() if key in TASKS}
    found["systems"] = {key: each_objective(value) for key, value in values.items() if key in SYSTEMS}
    if isinstance(found.get("tour"), Mapping):
        found["tour"] = {name: _toured(tour, values.get(name)) for name, tour in found["tour"].items()}
    return found


def _toured(tour: Any, system: Any) -> Any:
    if not isinstance(tour, Mapping) or not isinstance(system, Mapping) or "system" in tour:
        return tour
    return {**tour, "system": each_objective(merged(system, tour.get("changes") or {}))}


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested values with some changed; lists are replaced."""
    both = {
        key: merged(values[key], value)
        if isinstance(value, Mapping) and isinstance(values.get(key), Mapping)
        else value
        for key, value in changes.items()
    }
    return {**values, **both}


def each_objective(system: Any) -> Any:
    """A system with `each_objective: true` gets a run of its own for every objective that no run is named after.

    Such runs spend what `pretrain.budget` says; objectives that can read none of the system's streams are left out.
    """
    if not isinstance(system, Mapping) or "each_objective" not in system:
        return system
    found = {key: value for key, value in system.items() if key != "each_objective"}
    if system["each_objective"]:
        pretrain, streams = dict(system.get("pretrain") or {}), set(drop_null(system.get("streams")))
        runs = dict(pretrain.get("runs") or {})
        for name, config in OBJECTIVES.items():
            if streams & set(config.streams) and not config.stream_settings:
                runs.setdefault(name, {"schedule": [{"weights": {name: 1}}]})
        found["pretrain"] = pretrain | {"runs": runs}
    return found


def source(key: list[str], folders: list[Path], given: Mapping[str, Any]) -> str:
    """The file, or --params, that sets a key; for a key that nothing sets, the file that sets what surrounds it."""
    for depth in range(len(key), 0, -1):
        if _holds(given, key[:depth]):
            return "--params"
        for folder in folders:
            for file in sorted(folder.glob("parameters*/**/*.yml")) + sorted(folder.glob("parameters*.yml")):
                if _holds(yaml.safe_load(file.read_text(encoding="utf-8")) or {}, key[:depth]):
                    return str(file)
    return str(folders[-1] / "parameters")


def _holds(tree: Any, key: list[str]) -> bool:
    for part in key:
        if not isinstance(tree, Mapping) or part not in tree:
            return False
        tree = tree[part]
    return True
