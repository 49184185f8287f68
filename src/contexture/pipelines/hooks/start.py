"""Before a run: start Spark and the training processes."""

import os
from collections.abc import Mapping
from concurrent.futures import Future
from threading import Thread
from typing import Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from contexture.pipelines.datasets import SparkTable
from contexture.pipelines.hooks.check import NODE_OPTIONS, get_pipeline_names
from contexture.pipelines.hooks.console import LOG_FILE
from contexture.pipelines.parameters import RunParameters
from contexture.training.fleet import ALONE_WAITING, start_workers

#: Settings for less text than this, unless conf/ has others: generated Java code is not worth its compilation.
SMALL_TEXT_BYTES = 50_000_000
SMALL_TEXT = {"spark.sql.codegen.wholeStage": False, "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


class StartSpark:
    """Start Spark in the background if the run reads or writes a Spark table."""

    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Start Spark with conf/<environment>/spark.yml, if the nodes of `kedro run` need it.

        So it starts while other hooks work. It is called after `CheckParameters`, which `settings.HOOKS` has later.
        """
        self.settings: dict[str, Any] = dict(context.config_loader["spark"])
        self.log = context.project_path / LOG_FILE
        self.tables: set[str] = set()
        self.session_settings: dict[str, Any] = {}
        self.started: Future[Any] | None = None
        command = click.get_current_context(silent=True)
        if command and command.info_name == "run" and uses_spark(command.params):
            self._start()

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Start Spark, unless it is started, if a dataset of the pipeline is a Spark table."""
        self.tables = {name for name in pipeline.datasets() if isinstance(catalog.get(name), SparkTable)}
        if self.tables:
            from contexture.corpus.java import ensure_java
            from contexture.pipelines.sources.nodes import count_checked_bytes

            ensure_java()  # fails without Java
            if "sources" in pipeline.all_outputs() and count_checked_bytes() < SMALL_TEXT_BYTES:
                self.session_settings = {key: value for key, value in SMALL_TEXT.items() if key not in self.settings}
            if self.started is None:
                self._start()

    def _start(self) -> None:
        """Start Spark in a thread, which does not delay the end of a process that fails."""
        from contexture.corpus.session import start_spark

        started = self.started = Future[Any]()

        def run() -> None:
            try:
                started.set_result(start_spark(self.settings, self.log))
            except BaseException as error:
                started.set_exception(error)

        Thread(target=run, name="start Spark", daemon=True).start()

    @hook_impl(tryfirst=True)
    def before_dataset_loaded(self, node: Node) -> None:
        """Wait for Spark before a node with a Spark table; raise the error if Spark did not start."""
        if self.started and self.tables.intersection(node.inputs + node.outputs):
            session = self.started.result()
            while self.session_settings:
                session.conf.set(*self.session_settings.popitem())

    @hook_impl(tryfirst=True)
    def after_pipeline_run(self) -> None:
        """Wait for the start of Spark, even if no node needed it; raise its error."""
        if self.started:
            self.started.result()


def uses_spark(options: Mapping[str, Any]) -> bool:
    """Return whether the nodes that options of `kedro run` select read or write a Spark table."""
    selection = {name: options.get(name) or None for name in NODE_OPTIONS}
    try:
        nodes = sum((pipelines[name] for name in get_pipeline_names(options)), start=Pipeline([])).filter(**selection)
    except ValueError:  # Kedro rejects the options later
        return False
    return any(name.endswith("@spark") for name in nodes.datasets())


class StartWorkers:
    """Start the training processes in the background if the run pre-trains."""

    def __init__(self, parameters: RunParameters) -> None:
        self.run_parameters = parameters
        for name, value in ALONE_WAITING.items():
            os.environ.setdefault(name, value)

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline) -> None:
        """Start a process for each parallel training if the run pre-trains."""
        from contexture.pipelines.trainings import split_cores

        trainings = max((len(node.outputs) for node in pipeline.nodes if node.short_name == "pretrain"), default=0)
        if trainings:
            processes, threads = split_cores(self.run_parameters.get().compute)
            start_workers(min(processes, trainings), threads)
