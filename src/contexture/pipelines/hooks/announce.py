"""What is said at the beginning and at the end of a run: a verdict for each system, and what to try next."""

import json
import logging
import sys
import textwrap
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline

from contexture.config import Parameters
from contexture.folders import whole_file
from contexture.paths import CORPUS_CARD_FILE, METRICS_FILE, REPORTS_DIR
from contexture.pipelines.hooks.console import WIDTH, duration, say
from contexture.pipelines.hooks.record import git_tags
from contexture.pipelines.parameters import RunParameters

if TYPE_CHECKING:
    from contexture.reporting.index import Summary

LOG = logging.getLogger(__name__)
#: The system whose table ends a run.
LEAGUE = "league"
NEXT = (
    "Try     kedro run                                    everything at demo size: every row of every paper's tables",
    '        contexture search "how is salt traded"       the passages that answer, by the encoder just trained',
    "        make ui                                      every training of this run: parameters, curves, tables",
)


#: After a text of one's own.
NEXT_OWN = (
    'Try     contexture search "a question"               the passages of your text that answer',
    "        contexture adapt TEXT --questions FILE       by questions of your own: a question, a tab, a document",
)


class Announce:
    """The last lines of a run: a verdict and a page for each system, the league's table, and what to try next."""

    def __init__(self, parameters: RunParameters) -> None:
        self.run_parameters = parameters

    @hook_impl(trylast=True)
    def after_context_created(self, context: Any) -> None:
        """Remember where `make ui` shows the runs."""
        self.ui = f"http://{context.mlflow.ui.host}:{context.mlflow.ui.port}"

    @hook_impl(trylast=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline) -> None:
        """After kedro-mlflow has opened the run; settings of the demo's size for other text are warned of."""
        import mlflow

        from contexture.pipelines.sources.nodes import is_own

        trains = any(node.short_name == "pretrain" for node in pipeline.nodes)
        if trains and is_own(self.run_parameters.get().corpus) and run_params.get("env") in (None, "base", "local"):
            LOG.warning(
                "conf/base has the sizes of the demo; for text of your own take --env wikipedia_sample or another"
            )
        self.began = time.monotonic()
        active = mlflow.active_run()
        where = f"{active.info.experiment_id}/runs/{active.info.run_id}" if active else ""
        # The address decides upon the view for training.
        self.link = f"{self.ui}/#/experiments/{where}?workflowType=machine_learning" if where else ""

    @hook_impl
    def after_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """After the last stage; without a stage of reports there is little to say."""
        from contexture.reporting.index import read_summaries, render_index

        if "corpus_report" in pipeline.all_outputs():
            say(corpus_line(catalog.load("corpus_report")), sys.stdout)
        reported = {node.namespace for node in pipeline.nodes if node.short_name == "report" and node.namespace}
        if not reported:
            return
        summaries = read_summaries(REPORTS_DIR)
        git = git_tags(Path(run_params["project_path"]))
        run = {
            "What": ", ".join(run_params["pipeline_names"] or ["everything"]),
            "Finished": f"{datetime.now():%Y-%m-%d %H:%M}, after {duration(time.monotonic() - self.began)}",
            "Commit": git.get("git_revision", "not in a git checkout")[:12]
            + (", with changed files" if git.get("git_changed_files", "none") != "none" else ""),
        }
        with whole_file(REPORTS_DIR / "index.html") as file:
            file.write(render_index(summaries, run, self.link).encode())
        lines = [line for system in summaries if system in reported for line in _told(summaries[system])]
        if LEAGUE in reported:
            lines += ["", *league_lines(self.run_parameters.get())]
        lines += ["", f"Read    {REPORTS_DIR}/index.html", *(NEXT_OWN if reported == {"own_text"} else NEXT)]
        say("\n".join(["", *lines]), sys.stdout)


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
    return f"        {kept}{told}: {CORPUS_CARD_FILE}"


def league_lines(parameters: Parameters) -> list[str]:
    """The league's table as plain text."""
    from contexture.pipelines.report.assemble import labels
    from contexture.pipelines.system import resolve_all
    from contexture.systems.league.tables import league_text

    records = json.loads((REPORTS_DIR / LEAGUE / METRICS_FILE).read_text(encoding="utf-8"))
    systems = resolve_all(parameters)
    # The short demo may include other variants than the parameters: any system's can be named.
    return league_text(records, labels(replace(systems[LEAGUE], included=systems))).splitlines()
