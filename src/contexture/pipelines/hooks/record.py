"""What MLflow keeps of `kedro run`: its name and code version, its configuration, the fingerprints of its data."""

import importlib.metadata
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from contexture.pipelines.parameters import RunParameters

RECORDED_PACKAGES = ("contexture", "kedro", "mlflow", "pyspark", "torch", "pytorch-lightning", "transformers")


def run_opener() -> Any:
    """kedro-mlflow's own hooks, which open and close the run; MLflow is imported here."""
    from kedro_mlflow.framework.hooks import MlflowHook

    class OpenRun(MlflowHook):  # type: ignore[misc]
        @hook_impl
        def before_node_run(
            self, node: Node, catalog: CatalogProtocol[Any, Any], inputs: dict[str, Any], is_async: bool
        ) -> None:
            """Nothing of a node's inputs is logged: they are places on this machine; see `RecordRun`."""
            super().before_node_run(node, catalog, {}, is_async)

    return OpenRun()


class RecordRun:
    """Give the MLflow run of `kedro run` its code version, its configuration and the fingerprints of its data."""

    def __init__(self, parameters: RunParameters) -> None:
        self.run_parameters = parameters

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Remember what to record."""
        self.parameters = dict(context.config_loader["parameters"])
        self.project = context.project_path

    @hook_impl(trylast=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """After kedro-mlflow has opened the run."""
        import mlflow
        from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME

        from contexture.pipelines.sources.nodes import name_of_text
        from contexture.pipelines.tracking import shown

        if mlflow.active_run() is None:
            return
        made = "sources" in pipeline.all_outputs() or not catalog.exists("sources")
        asked = {"inputs": [one.path for one in self.run_parameters.get().corpus.inputs()]}
        text = name_of_text(asked if made else catalog.load("sources"))
        mlflow.set_tags(git_tags(self.project) | {MLFLOW_RUN_NAME: run_name(run_params, text)})
        run = {name.split(".")[0] for name in pipeline.datasets() if "." in name}
        mlflow.log_params(shown({key: value for key, value in self.parameters.items() if key in run}))
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


def run_name(asked: Mapping[str, Any], text: str) -> str:
    """What runs, and on which text: "tour, the demo's made-up world"; "mspp pretrain finetune, wiki.xml.bz2"."""
    pipelines = asked.get("pipeline_names") or ["everything"]
    parts = [part for option in ("tags", "node_names") for part in asked.get(option) or []]
    parts += [f"{way} {node}" for way in ("from", "to") for node in asked.get(f"{way}_nodes") or []]
    return f"{' '.join([*pipelines, *parts])}, {text}".replace("__default__", "everything")


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
