"""What happens around every `kedro run`: parameters checked, Spark started if needed, the run recorded."""

import importlib.metadata
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kedro.framework.cli.utils import KedroCliError
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline

from contexture.config import ConfigurationError, Parameters, check_parameters
from contexture.pipelines.datasets import SparkTable
from contexture.training.config import MsppSystem
from contexture.training.systems import System

RECORDED_PACKAGES = ("contexture", "kedro", "mlflow", "pyspark", "torch", "pytorch-lightning", "transformers")


class CheckParameters:
    """Refuse unknown keys and impossible values before any work starts."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Raises KedroCliError with the file and the key of every fault."""
        loader: Any = context.config_loader
        root = Path(loader.conf_source)
        folders = [root / (loader.env or loader.default_run_env), root / loader.base_env]
        try:
            parameters = check_parameters(context.params, folders, loader.runtime_params or {})
            check_systems(parameters)
        except ConfigurationError as error:
            raise KedroCliError(str(error)) from None


def check_systems(parameters: Parameters) -> None:
    """Raise ConfigurationError where runs or variants of a system are not those that its pipeline has."""
    from contexture.pipeline_registry import SYSTEMS
    from contexture.pipelines.sentences.nodes import WORD_AVERAGE

    for name, system in SYSTEMS.items():
        config: System = getattr(parameters, name)
        named: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
            ("pretrain.runs", config.pretrain.runs, system.runs)
        ]
        if isinstance(config, MsppSystem):
            named.append(("finetune.variants", config.finetune.variants, system.variants))
        for key, given, known in named:
            if set(given) != set(known):
                raise ConfigurationError(
                    f"the configuration was refused: {name}.{key} has {sorted(given)}, the pipeline has {sorted(known)}"
                )
    asked, frozen = parameters.quick_thoughts.evaluation, {*SYSTEMS["quick_thoughts"].frozen, WORD_AVERAGE}
    for key, variants in (("ensemble", asked.ensemble), ("neighbours.variants", asked.neighbours.variants)):
        if unknown := sorted(set(variants) - frozen):
            raise ConfigurationError(
                f"the configuration was refused: quick_thoughts.evaluation.{key} has {unknown}; there are "
                f"{sorted(frozen)}"
            )


class StartSpark:
    """Start Spark, once, if the run reads or writes a Spark table."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Remember the settings of conf/<environment>/spark.yml."""
        self.settings: dict[str, Any] = dict(context.config_loader["spark"])

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Look through the datasets of the nodes that will run."""
        if any(isinstance(catalog.get(name), SparkTable) for name in pipeline.datasets()):
            from contexture.corpus.session import start_spark

            start_spark(self.settings)


class RecordRun:
    """Give the MLflow run of `kedro run` its code version, its configuration and the fingerprints of its data."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Remember what to record."""
        self.parameters = context.params
        self.project = context.project_path

    @hook_impl(trylast=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """After kedro-mlflow has opened the run."""
        import mlflow

        if mlflow.active_run() is None:
            return
        mlflow.set_tags(git_tags(self.project))
        mlflow.log_dict(self.parameters, "configuration/parameters.yml")
        mlflow.log_dict(
            {name: importlib.metadata.version(name) for name in RECORDED_PACKAGES},
            "configuration/versions.yml",
        )

    @hook_impl(tryfirst=True)
    def after_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Before kedro-mlflow closes the run."""
        import mlflow

        if mlflow.active_run() is not None and catalog.exists("sources"):
            mlflow.log_dict(catalog.load("sources"), "data/sources.json")


def git_tags(project: Path) -> dict[str, str]:
    """The commit that runs, and whether files differ from it; nothing outside a git checkout."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=project, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        return {
            "git_revision": git("rev-parse", "HEAD"),
            "git_changed_files": git("status", "--porcelain")[:500] or "none",
        }
    except (OSError, subprocess.CalledProcessError):
        return {}
