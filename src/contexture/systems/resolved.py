"""A system with everything that follows from its configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from contexture.paths import encoder_dir, finetuned_dir, pretrained_dir
from contexture.systems.ablation import build_ablation
from contexture.systems.config import SystemConfig
from contexture.systems.registry import SYSTEMS
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.registry import TASKS

#: Number of variants of a system whose main metric is logged to MLflow.
NUM_MAIN_VARIANTS = 2
#: Ends the name of an ablation's system.
ABLATION_SUFFIX = "_ablation"


@dataclass(frozen=True)
class ResolvedSystem:
    """A system, its main variants, and the systems whose encoders its tables include."""

    name: str  # namespace of its pipeline and datasets
    config: SystemConfig
    main_variants: tuple[str, ...] = ()  # represent the system
    #: Other systems whose encoders are evaluated here, limited to the included variants.
    included: "Mapping[str, ResolvedSystem]" = field(default_factory=dict)
    is_included: bool = False  # whether the tables of another system include its encoders
    examples_owner: str = ""  # the system whose examples an ablation reads
    full_command: str = ""  # command of the full run, if this run is the demo

    @property
    def page_module(self) -> str:
        """Name of the Python module that makes its report page."""
        return SYSTEMS[self.name.removesuffix(ABLATION_SUFFIX)]

    @property
    def is_ablation(self) -> bool:
        """Whether it is the ablation of another system."""
        return bool(self.examples_owner)

    def examples_dataset(self, name: str) -> str:
        """Return the catalog name of a dataset of its examples, relative to its namespace."""
        return f"{self.examples_owner}.{name}" if self.examples_owner else name

    @cached_property
    def run_datasets(self) -> tuple[str, ...]:
        """Catalog names of the pre-trained encoders of all runs."""
        return tuple(f"{run}-pretrained" for run in self.config.pretrain.runs)

    def task_datasets(self, task: str) -> list[str]:
        """Return the catalog names of the pre-trained encoders that a task evaluates."""
        runs = dict.fromkeys(run for name in self.config.task_variants(task) for run in self.config.run_names(name))
        return [f"{run}-pretrained" for run in runs]

    @cached_property
    def finetune_options(self) -> dict[str, dict[str, list[str]]]:
        """Task → variant → names of its fine-tuned models; tasks without any are left out."""
        options = {
            task: {variant: self._list_options(task, variant) for variant in self.config.task_variants(task)}
            for task in self.config.tasks
        }
        return {task: variants for task, variants in options.items() if any(variants.values())}

    def _list_options(self, task: str, name: str) -> list[str]:
        """Return the names of a variant's fine-tuned models on a task; none for published models and several runs."""
        variant = self.config.all_variants[name]
        if variant.model is not None or not variant.finetuned or len(self.config.run_names(name)) != 1:
            return []
        return TASKS[task].load().list_options(self.config.task(task), variant.head)

    def encoders(self, task: str, models_dir: Path) -> list[EvaluatedEncoder]:
        """Return the encoders of the variants that a task evaluates, for all seeds; published models only once."""
        evaluated = []
        for seed in self.config.seed_range:
            for name in self.config.task_variants(task):
                variant = self.config.all_variants[name]
                if variant.model is not None and seed != self.config.first_seed:
                    continue
                options = self.finetune_options.get(task, {}).get(name)
                model_dir = finetuned_dir(models_dir, task, name, seed) if options else None
                encoders = (variant.model,) if variant.model is not None else self.encoder_dirs(name, seed, models_dir)
                evaluated.append(EvaluatedEncoder(name, seed, encoders, model_dir, variant.head))
        return evaluated

    def included_encoders(self, models_dir: Path) -> list[EvaluatedEncoder]:
        """Return the frozen encoders of included variants of other systems, for the seeds that both systems have."""
        return [
            EvaluatedEncoder(f"{name}: {variant}", seed, other.encoder_dirs(variant, seed, models_dir.parent / name))
            for name, other in self.included.items()
            for seed in self.config.seed_range
            if seed in other.config.seed_range
            for variant in other.config.all_variants
        ]

    def encoder_dirs(self, variant: str, seed: int, models_dir: Path) -> tuple[str, ...]:
        """Return the folders of a variant's pre-trained encoders with a seed, one per run."""
        pretrained = pretrained_dir(models_dir)
        return tuple(str(encoder_dir(pretrained, run, seed)) for run in self.config.run_names(variant))


def resolve_systems(
    configs: Mapping[str, SystemConfig], preferred: Mapping[str, Sequence[str]], full_command: str = ""
) -> dict[str, ResolvedSystem]:
    """Return name → system with its main variants and included systems, for systems that run together.

    `preferred` are their main variants, by default the first ones. `full_command` is the command of the full run, if
    this run is the demo.
    """
    includes = {name for config in configs.values() for name, variants in config.include.items() if variants}
    plain = {
        name: ResolvedSystem(
            name,
            config,
            main_variants(config, preferred.get(name, ())),
            is_included=name in includes,
            full_command=full_command,
        )
        for name, config in configs.items()
    }
    included = {
        owner: {
            name: replace(plain[name], config=configs[name].select_variants(variants))
            for name, variants in config.include.items()
            if variants
        }
        for owner, config in configs.items()
    }
    return {name: replace(system, included=included[name]) for name, system in plain.items()}


def resolve_ablation(system: ResolvedSystem) -> ResolvedSystem:
    """Return a system's ablation as a system that reads the examples of its owner."""
    config = build_ablation(system.config)
    return ResolvedSystem(system.name + ABLATION_SUFFIX, config, main_variants(config, ()), examples_owner=system.name)


def main_variants(config: SystemConfig, preferred: Sequence[str]) -> tuple[str, ...]:
    """Return the main variants of a system: the first preferred ones that it has, or its first ones."""
    known = [variant for variant in preferred if variant in config.all_variants]
    return tuple((known or [*config.all_variants])[:NUM_MAIN_VARIANTS])
