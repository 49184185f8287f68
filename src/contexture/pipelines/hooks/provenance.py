"""After a run: write how the results of each system were made."""

import json
import shlex
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from contexture.folders import whole_file
from contexture.git import read_commit
from contexture.paths import METRICS_FILE, RUN_FILE, DataLayout, data_dir
from contexture.pipelines.parameters import RunParameters, flatten
from contexture.run_parameters import quote_parameter

#: The node that writes the records of a system.
REPORT_NODE = "write_report"


class WriteProvenance:
    """Write `run.json` next to the records of each system that the run reports on."""

    def __init__(self, parameters: RunParameters) -> None:
        self.run_parameters = parameters

    @hook_impl
    def before_pipeline_run(self) -> None:
        """Store the start time."""
        self.start = time.monotonic()

    @hook_impl
    def before_node_run(self, node: Node) -> None:
        """Delete the file of an earlier run before a node replaces the records."""
        if node.short_name == REPORT_NODE:
            reports_dir = DataLayout(data_dir(self.run_parameters.get().workspace)).reports_dir
            (reports_dir / str(node.namespace) / RUN_FILE).unlink(missing_ok=True)

    @hook_impl
    def after_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Write the file of each system with records."""
        from contexture.pipelines.sources.nodes import get_text_name
        from contexture.reporting.provenance import Provenance, describe_processor, hash_corpus
        from contexture.systems.resolved import ABLATION_SUFFIX

        parameters = self.run_parameters.get()
        layout = DataLayout(data_dir(parameters.workspace))
        systems = {str(node.namespace) for node in pipeline.nodes if node.short_name == REPORT_NODE}
        systems = {system for system in systems if (layout.reports_dir / system / METRICS_FILE).exists()}
        if not systems:
            return
        commit = read_commit(Path(run_params["project_path"]))
        sources = catalog.load("sources") if catalog.exists("sources") else None
        for system in sorted(systems):
            config = parameters.systems[system.removesuffix(ABLATION_SUFFIX)]
            budget = config.pretrain.budget
            provenance = Provenance(
                command=format_command(run_params, system),
                commit=commit.hash if commit else None,
                changed_files=bool(commit.changed_files) if commit else None,
                finished=datetime.now().isoformat(timespec="minutes"),
                minutes=round((time.monotonic() - self.start) / 60, 1),
                seeds=config.seeds,
                budget=f"{budget.amount:g} {budget.unit}" if budget else None,
                text=None if sources is None else get_text_name(sources),
                text_sha256=None if sources is None else hash_corpus(sources),
                **describe_processor(),
            )
            with whole_file(layout.reports_dir / system / RUN_FILE) as file:
                file.write(json.dumps(asdict(provenance), indent=1, ensure_ascii=False).encode())


def format_command(options: Mapping[str, Any], system: str) -> str:
    """Return the command that repeats a run with a system, with all its stages.

    A run of the pipeline `demo`, which trains other variants than the system alone, is repeated as a whole. An ablation
    reads the examples of its system, so that both are run.
    """
    from contexture.systems.resolved import ABLATION_SUFFIX

    names = options.get("pipeline_names") or []
    owner = system.removesuffix(ABLATION_SUFFIX)
    pipeline = system if owner == system else f"{owner},{system}"
    command = ["kedro", "run", "--pipelines", "demo" if "demo" in names else pipeline]
    if (environment := options.get("env")) not in (None, "local"):
        command += ["--env", str(environment)]
    params = [f"{key}={quote_parameter(value)}" for key, value in flatten(options.get("runtime_params") or {})]
    return shlex.join(command + (["--params", ",".join(params)] if params else []))
