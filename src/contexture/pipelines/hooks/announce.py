"""Messages at the end of a run: a verdict for each system and what to try next."""

import json
import logging
import sys
import textwrap
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline

from contexture.config import Parameters
from contexture.folders import whole_file
from contexture.git import read_commit
from contexture.paths import METRICS_FILE, DataLayout, data_dir
from contexture.pipelines.hooks.console_text import MAX_LINE_CHARS, duration, say
from contexture.pipelines.hooks.provenance import REPORT_NODE
from contexture.pipelines.parameters import RunParameters

LOG = logging.getLogger(__name__)
#: The system whose table ends a run.
LEAGUE = "league"
NEXT = (
    "Try     kedro run                                    everything at demo size: every row of every paper's tables",
    '        contexture search "how is salt traded"       the passages that answer, by the encoder just trained',
    "        make ui                                      every training of this run: parameters, curves, tables",
)


class Announce:
    """Print the last lines of a run: verdicts, pages, the league's table, and what to try next."""

    def __init__(self, parameters: RunParameters) -> None:
        self.run_parameters = parameters

    @hook_impl(trylast=True)
    def after_context_created(self, context: Any) -> None:
        """Store the address of the MLflow UI (`make ui`)."""
        self.ui = f"http://{context.mlflow.ui.host}:{context.mlflow.ui.port}"

    @hook_impl(trylast=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline) -> None:
        """Warn about text of the user at demo size; store the start time and the link to the MLflow run."""
        import mlflow

        from contexture.pipelines.sources.nodes import has_own_text

        trains = any(node.short_name == "pretrain" for node in pipeline.nodes)
        demo_size = run_params.get("env") in (None, "base", "local")
        if trains and demo_size and has_own_text(self.run_parameters.get().corpus):
            LOG.warning(
                "conf/base has the sizes of the demo; for text of your own use --env wikipedia_sample or another"
            )
        self.start = time.monotonic()
        active = mlflow.active_run()
        path = f"{active.info.experiment_id}/runs/{active.info.run_id}" if active else ""
        # The parameter selects the view for training.
        self.link = f"{self.ui}/#/experiments/{path}?workflowType=machine_learning" if path else ""

    @hook_impl
    def after_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Print counts of the corpus; after the stage `report`, also verdicts, and write the index of all pages."""
        from contexture.reporting.index import read_summaries, render_index

        workspace = self.run_parameters.get().workspace
        layout = DataLayout(data_dir(workspace))
        if "corpus_report" in pipeline.all_outputs():
            say(corpus_line(catalog.load("corpus_report"), layout.corpus_card_file), sys.stdout)
        reported = {node.namespace for node in pipeline.nodes if node.short_name == REPORT_NODE and node.namespace}
        if not reported:
            return
        summaries = read_summaries(layout.reports_dir)
        commit = read_commit(Path(run_params["project_path"]))
        run = {
            "What": ", ".join(run_params["pipeline_names"] or ["everything"]),
            "Finished": f"{datetime.now():%Y-%m-%d %H:%M}, after {duration(time.monotonic() - self.start)}",
            "Commit": commit.shorten(12) if commit else "not in a git checkout",
        }
        with whole_file(layout.reports_dir / "index.html") as file:
            file.write(render_index(summaries, run, self.link).encode())
        lines = [""]
        for summary in (summaries[system] for system in summaries if system in reported):
            lines.append(summary.title)
            lines += textwrap.wrap(
                " ".join(summary.verdict[:1]), MAX_LINE_CHARS, initial_indent=" " * 4, subsequent_indent=" " * 4
            )
            lines += (f"    {line}".rstrip() for line in summary.scores)
        if LEAGUE in reported:
            lines += ["", *league_lines(self.run_parameters.get(), layout)]
        page = layout.report_file(*reported) if len(reported) == 1 else layout.reports_dir / "index.html"
        lines += ["", f"Read    {page}", *(next_for_text(workspace) if reported == {"adapt"} else NEXT)]
        say("\n".join(lines), sys.stdout)


def next_for_text(workspace: str | None) -> tuple[str, str]:
    """Return the last lines of a run on the user's own text: what to try next."""
    from contexture.systems.adapt.page import name_option

    name = name_option(workspace)
    commands = (f'contexture search{name} "a question"', f"contexture adapt TEXT{name} --questions FILE")
    width = max(map(len, commands)) + 2
    return (
        f"Try     {commands[0]:<{width}}the passages of your text that answer",
        f"        {commands[1]:<{width}}by questions of your own: a question, a tab, a document",
    )


def corpus_line(counts: Mapping[str, Any], card: Path) -> str:
    """Return a line: paragraphs kept, the most frequent reason to drop one, resolved links, and the corpus card."""
    dropped: dict[str, int] = counts["paragraphs_dropped"]
    line = f"        {counts['paragraphs_out']:,} of {counts['paragraphs_found']:,} paragraphs kept"
    if dropped:
        reason = max(dropped, key=lambda reason: dropped[reason])
        line += f" ({dropped[reason]:,} dropped as {reason.replace('_', ' ')})"
    if counts["links_out"]:
        line += f", {counts['links_resolved']:,} of {counts['links_out']:,} links lead to a page"
    return f"{line}: {card}"


def league_lines(parameters: Parameters, layout: DataLayout) -> list[str]:
    """Return the lines of the league's table as plain text."""
    from contexture.pipelines.report.assemble import get_labels
    from contexture.pipelines.system import resolve_all
    from contexture.systems.league.tables import league_text

    records = json.loads((layout.reports_dir / LEAGUE / METRICS_FILE).read_text(encoding="utf-8"))
    systems = resolve_all(parameters)
    # The demo may include other variants than the parameters: label those of all systems.
    return league_text(records, get_labels(replace(systems[LEAGUE], included=systems))).splitlines()
