"""What happens around every `kedro run`: parameters checked, Spark started if needed, the run recorded."""

import importlib.metadata
import json
import logging
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from contexture.config import ConfigurationError
from contexture.folders import whole_file
from contexture.pipelines.asked import check_asked
from contexture.pipelines.console import LOG_FILE, WIDTH, RunRefusedError, duration, say
from contexture.pipelines.datasets import SparkTable
from contexture.pipelines.parameters import check, current

if TYPE_CHECKING:
    from contexture.reporting.index import Summary

LOG = logging.getLogger(__name__)

RECORDED_PACKAGES = ("contexture", "kedro", "mlflow", "pyspark", "torch", "pytorch-lightning", "transformers")


class CheckParameters:
    """Refuse unknown keys, impossible values, and what is asked for and not there, before any work starts."""

    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Raises RunRefusedError with the file and the key of every fault."""
        runtime = context.config_loader.runtime_params or {}
        self.told = "input" in runtime.get("corpus", {})
        command = click.get_current_context(silent=True)
        try:
            check(context.config_loader)
            if command and command.info_name == "run":
                check_asked(command.params)
        except ConfigurationError as error:
            raise RunRefusedError(str(error)) from None

    @hook_impl(tryfirst=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Raises RunRefusedError for a tokenizer, a first encoder or text that is not there.

        Also where another corpus would be replaced that this run does not name.
        """
        from contexture.pipelines.sources.nodes import check_inputs, is_own

        try:
            current().check_systems({str(node.namespace).split(".")[0] for node in pipeline.nodes})
            if "sources" in pipeline.datasets() - pipeline.inputs():
                check_inputs(current().corpus, self.told, catalog.load("sources") if catalog.exists("sources") else {})
        except ConfigurationError as error:
            raise RunRefusedError(str(error)) from None
        trains = any(node.short_name == "pretrain" for node in pipeline.nodes)
        if trains and is_own(current().corpus) and run_params.get("env") in (None, "base", "local"):
            LOG.warning(
                "conf/base has the sizes of the demo; for text of your own take --env wikipedia_sample or another"
            )


class StartSpark:
    """Start Spark, once, if the run reads or writes a Spark table: Java loads while the first nodes work."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Remember the settings of conf/<environment>/spark.yml."""
        self.settings: dict[str, Any] = dict(context.config_loader["spark"])
        self.log = context.project_path / LOG_FILE
        self.tables: set[str] = set()
        self.started: Future[Any] | None = None

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Look through the datasets of the nodes that will run."""
        self.tables = {name for name in pipeline.datasets() if isinstance(catalog.get(name), SparkTable)}
        if self.tables:
            from contexture.corpus.java import ensure_java
            from contexture.corpus.session import start_spark

            ensure_java()  # without one the run ends here
            pool = ThreadPoolExecutor(1)
            self.started = pool.submit(start_spark, self.settings, self.log)
            pool.shutdown(wait=False)

    @hook_impl(tryfirst=True)
    def before_dataset_loaded(self, node: Node) -> None:
        """A node that reads or writes a Spark table waits until Spark is there; raises what kept it from starting."""
        if self.started and self.tables.intersection(node.inputs + node.outputs):
            self.started.result()

    @hook_impl(tryfirst=True)
    def after_pipeline_run(self) -> None:
        """Even where no node came to need it."""
        if self.started:
            self.started.result()


class StartWorkers:
    """Start the processes that train side by side, if anything is trained: they load while Spark works."""

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline) -> None:
        """Look for a stage of training."""
        from contexture.pipelines.trainings import shares
        from contexture.training.fleet import prepare_workers

        trainings = max((len(node.outputs) for node in pipeline.nodes if node.short_name == "pretrain"), default=0)
        if trainings:
            processes, threads = shares(current().compute)
            prepare_workers(min(processes, trainings), threads)


class RecordRun:
    """Give the MLflow run of `kedro run` its code version, its configuration and the fingerprints of its data."""

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
        made = "sources" in pipeline.datasets() - pipeline.inputs() or not catalog.exists("sources")
        asked = {"inputs": [one.path for one in current().corpus.inputs()]}
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


class Announce:
    """The last lines of a run: a verdict and a page for each system, the league's table, and what to try next."""

    @hook_impl(trylast=True)
    def before_pipeline_run(self, pipeline: Pipeline) -> None:
        """After kedro-mlflow has opened the run; without a stage of reports there is nothing to say."""
        import mlflow

        self.began = time.monotonic()
        active = mlflow.active_run()
        where = f"{active.info.experiment_id}/runs/{active.info.run_id}" if active else ""
        # The address decides upon the view for training.
        self.link = f"http://127.0.0.1:5000/#/experiments/{where}?workflowType=machine_learning" if where else ""

    @hook_impl
    def after_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """After the last stage."""
        from contexture.reporting.index import read_summaries, render_index

        if "corpus_report" in pipeline.datasets() - pipeline.inputs():
            say(corpus_line(catalog.load("corpus_report")), sys.stdout)
        reported = {node.namespace for node in pipeline.nodes if node.short_name == "report" and node.namespace}
        if not reported:
            return
        summaries = read_summaries(REPORTS)
        git = git_tags(Path(run_params["project_path"]))
        run = {
            "What": ", ".join(run_params["pipeline_names"] or ["everything"]),
            "Finished": f"{datetime.now():%Y-%m-%d %H:%M}, after {duration(time.monotonic() - self.began)}",
            "Commit": git.get("git_revision", "not in a git checkout")[:12]
            + (", with changed files" if git.get("git_changed_files", "none") != "none" else ""),
        }
        with whole_file(REPORTS / "index.html") as file:
            file.write(render_index(summaries, run, self.link).encode())
        lines = [line for system in summaries if system in reported for line in _told(summaries[system])]
        if LEAGUE in reported:
            lines += ["", *league_lines()]
        lines += ["", f"Read    {REPORTS}/index.html", *NEXT]
        say("\n".join(["", *lines]), sys.stdout)


#: Where pages lie.
REPORTS = Path("data/08_reporting")
#: The system whose table ends a run.
LEAGUE = "league"
NEXT = (
    "Try     kedro run                                    everything at demo size: every row of every paper's tables",
    '        contexture search "how is salt traded"       the passages that answer, by the encoder just trained',
    "        make ui                                      every training of this run: parameters, curves, tables",
)


def _told(summary: "Summary") -> list[str]:
    """A title and the first thing that its page says, in lines that fit."""
    indent = 4 * " "
    lines = [
        textwrap.fill(told, WIDTH, initial_indent=indent, subsequent_indent=indent) for told in summary.verdict[:1]
    ]
    return [summary.title, *lines]


def corpus_line(counts: Mapping[str, Any]) -> str:
    """What became of the text, and where to read more of it."""
    kept = f"{counts['paragraphs_out']:,} of {counts['paragraphs_found']:,} paragraphs kept"
    dropped: dict[str, int] = counts["paragraphs_dropped"]
    most = max(dropped, key=lambda reason: dropped[reason], default="")
    told = f" ({dropped[most]:,} dropped as {most.replace('_', ' ')})" if most else ""
    return f"        {kept}{told}: {REPORTS}/corpus/card.html"


def league_lines() -> list[str]:
    """The league's table as plain text."""
    from contexture.pipelines.report.nodes import labels
    from contexture.reporting.league_tables import league_text

    records = json.loads(Path(f"data/08_reporting/{LEAGUE}/metrics.json").read_text(encoding="utf-8"))
    systems = current().systems
    return league_text(records, labels(LEAGUE, systems[LEAGUE], systems)).splitlines()


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
