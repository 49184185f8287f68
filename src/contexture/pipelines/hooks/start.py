"""Before a run: start Spark and the training processes."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from contexture.pipelines.datasets import SparkTable
from contexture.pipelines.hooks.console import LOG_FILE
from contexture.pipelines.parameters import RunParameters

#: Settings for less text than this, unless conf/ has others: generated Java code is not worth its compilation.
SMALL_TEXT_BYTES = 50_000_000
SMALL_TEXT = {"spark.sql.codegen.wholeStage": False, "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


class StartSpark:
    """Start Spark in the background if the run reads or writes a Spark table."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Store the settings of conf/<environment>/spark.yml, for the start of Spark."""
        self.settings: dict[str, Any] = dict(context.config_loader["spark"])
        self.log = context.project_path / LOG_FILE
        self.tables: set[str] = set()
        self.started: Future[Any] | None = None

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Start Spark in the background if a dataset of the pipeline is a Spark table."""
        self.tables = {name for name in pipeline.datasets() if isinstance(catalog.get(name), SparkTable)}
        if self.tables:
            from contexture.corpus.java import ensure_java
            from contexture.corpus.session import start_spark
            from contexture.pipelines.sources.nodes import count_checked_bytes

            ensure_java()  # fails without Java
            is_small = "sources" in pipeline.all_outputs() and count_checked_bytes() < SMALL_TEXT_BYTES
            pool = ThreadPoolExecutor(1)
            self.started = pool.submit(start_spark, (SMALL_TEXT if is_small else {}) | self.settings, self.log)
            pool.shutdown(wait=False)

    @hook_impl(tryfirst=True)
    def before_dataset_loaded(self, node: Node) -> None:
        """Wait for Spark before a node with a Spark table; raise the error if Spark did not start."""
        if self.started and self.tables.intersection(node.inputs + node.outputs):
            self.started.result()

    @hook_impl(tryfirst=True)
    def after_pipeline_run(self) -> None:
        """Wait for the start of Spark, even if no node needed it; raise its error."""
        if self.started:
            self.started.result()


class StartWorkers:
    """Start the training processes in the background if the run pre-trains."""

    def __init__(self, parameters: RunParameters) -> None:
        self.run_parameters = parameters

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline) -> None:
        """Start a process for each parallel training if the run pre-trains."""
        from contexture.pipelines.trainings import split_cores
        from contexture.training.fleet import start_workers

        trainings = max((len(node.outputs) for node in pipeline.nodes if node.short_name == "pretrain"), default=0)
        if trainings:
            processes, threads = split_cores(self.run_parameters.get().compute)
            start_workers(min(processes, trainings), threads)
