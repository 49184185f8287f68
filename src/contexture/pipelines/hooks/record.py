"""What MLflow keeps of `kedro run`: its name, code version, configuration, and its data by name and digest."""

import importlib.metadata
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from contexture.git import read_commit
from contexture.pipelines.parameters import RunParameters
from contexture.tasks.registry import TASKS

LOG = logging.getLogger(__name__)
RECORDED_PACKAGES = ("contexture", "kedro", "mlflow", "pyspark", "torch", "pytorch-lightning", "transformers")


def run_opener() -> Any:
    """Return kedro-mlflow's hooks, which open and close the run and, here, log no inputs. They import MLflow."""
    from kedro_mlflow.framework.hooks import MlflowHook

    class OpenRun(MlflowHook):  # type: ignore[misc]
        @hook_impl
        def after_context_created(self, context: KedroContext) -> None:
            """Do as kedro-mlflow, which opens the database; if the project was copied or moved, correct its paths."""
            from contexture.pipelines.tracking.locations import ARTIFACTS_DIR, update_locations

            super().after_context_created(context)
            for former in update_locations(self.mlflow_config.server.mlflow_tracking_uri, context.project_path):
                message = "the project was copied or moved: MLflow now uses this project's %s, not %s"
                LOG.warning(message, ARTIFACTS_DIR, former)

        @hook_impl
        def before_node_run(
            self, node: Node, catalog: CatalogProtocol[Any, Any], inputs: dict[str, Any], is_async: bool
        ) -> None:
            """Do as kedro-mlflow, but log none of the inputs, which are paths on this machine; see `RecordRun`."""
            super().before_node_run(node, catalog, {}, is_async)

    return OpenRun()


class RecordRun:
    """Log code version, configuration, and names and digests of the data to the MLflow run."""

    def __init__(self, parameters: RunParameters) -> None:
        self.run_parameters = parameters

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Store the parameters and the path of the project."""
        self.parameters = dict(context.config_loader["parameters"])
        self.project = context.project_path

    @hook_impl(trylast=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Log run name, commit, settings and package versions to the run that kedro-mlflow has opened."""
        import mlflow
        from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME

        from contexture.pipelines.sources.nodes import get_text_name, input_paths
        from contexture.pipelines.tracking.child_runs import format_settings

        if mlflow.active_run() is None:
            return
        if "sources" in pipeline.all_outputs() or not catalog.exists("sources"):
            sources = {"inputs": input_paths(self.run_parameters.get().corpus)}
        else:
            sources = catalog.load("sources")
        text = get_text_name(sources)
        mlflow.set_tags(git_tags(self.project) | {MLFLOW_RUN_NAME: make_run_name(run_params, text)})
        systems = {name.split(".")[0] for name in pipeline.datasets() if "." in name}
        mlflow.log_params(format_settings({key: value for key, value in self.parameters.items() if key in systems}))
        mlflow.log_dict(self.parameters, "configuration/parameters.yml")
        versions = {name: importlib.metadata.version(name) for name in RECORDED_PACKAGES}
        mlflow.log_dict(versions, "configuration/versions.yml")

    @hook_impl(tryfirst=True)
    def after_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Log the source files, and the data by name and digest, before kedro-mlflow closes the run."""
        import mlflow

        from contexture.pipelines.sources.nodes import get_text_name
        from contexture.pipelines.tracking.inputs import log_corpus, log_task

        if mlflow.active_run() is None:
            return
        if catalog.exists("sources"):
            sources = catalog.load("sources")
            counts = catalog.load("corpus_report") if catalog.exists("corpus_report") else {}
            mlflow.log_dict(sources, "data/sources.json")
            log_corpus(get_text_name(sources), sources, counts)
        for task in TASKS:
            data = f"{task}-data"
            if data in pipeline.datasets() and catalog.exists(data):
                log_task(task, catalog.load(data))


def make_run_name(options: Mapping[str, Any], text: str) -> str:
    """Return a run's name: its pipelines, tags and nodes, then its text: "mspp pretrain finetune, wiki.xml.bz2"."""
    pipelines = options.get("pipeline_names") or ["everything"]
    parts = [part for option in ("tags", "node_names") for part in options.get(option) or []]
    parts += [f"{way} {node}" for way in ("from", "to") for node in options.get(f"{way}_nodes") or []]
    return f"{' '.join([*pipelines, *parts])}, {text}".replace("__default__", "everything")


def git_tags(project: Path) -> dict[str, str]:
    """Return the commit and the changed files as tags; {} outside a git checkout."""
    commit = read_commit(project)
    return {"git_revision": commit.hash, "git_changed_files": commit.changed_files or "none"} if commit else {}
