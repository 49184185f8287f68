"""During a run: write how the results of each system were made."""

import json
import shlex
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kedro.config import MissingConfigException, OmegaConfigLoader
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline.node import Node

from contexture.folders import whole_file
from contexture.git import read_commit
from contexture.paths import RUN_FILE, DataLayout, data_dir
from contexture.pipelines.config_loader import ARGUMENTS
from contexture.pipelines.parameters import RunParameters, flatten
from contexture.run_parameters import merged, quote_parameter

if TYPE_CHECKING:
    from contexture.reporting.provenance import Provenance

#: The node that writes the records of a system.
REPORT_NODE = "write_report"
#: Environment of runs without `--env`.
LOCAL = ARGUMENTS["default_run_env"]


class WriteProvenance:
    """Write `run.json` next to the records of each system, as soon as these are saved."""

    def __init__(self, parameters: RunParameters) -> None:
        self.run_parameters = parameters

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Read the parameters of this machine, which the command of the run does not have."""
        self.local = read_local(Path(context.config_loader.conf_source))

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], catalog: CatalogProtocol[Any, Any]) -> None:
        """Store what describes the run, and its start time."""
        self.options, self.catalog, self.start = run_params, catalog, time.monotonic()

    @hook_impl
    def before_node_run(self, node: Node) -> None:
        """Delete the file of an earlier run before a node replaces the records."""
        if node.short_name == REPORT_NODE:
            self._find_file(str(node.namespace)).unlink(missing_ok=True)

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, node: Node) -> None:
        """Write the file of a system with new records; the claims of the same run read it."""
        if node.short_name != REPORT_NODE or not dataset_name.endswith(".metrics"):
            return
        provenance = self._describe(str(node.namespace))
        with whole_file(self._find_file(str(node.namespace))) as file:
            file.write(json.dumps(asdict(provenance), indent=1, ensure_ascii=False).encode())

    def _find_file(self, system: str) -> Path:
        """Return the path of a system's file."""
        return DataLayout(data_dir(self.run_parameters.get().workspace)).reports_dir / system / RUN_FILE

    def _describe(self, system: str) -> "Provenance":
        """Return how the results of a system were made."""
        from contexture.pipelines.sources.nodes import get_text_name
        from contexture.reporting.provenance import Provenance, describe_processor, hash_corpus
        from contexture.systems.resolved import ABLATION_SUFFIX

        commit = read_commit(Path(self.options["project_path"]))
        sources = self.catalog.load("sources") if self.catalog.exists("sources") else None
        config = self.run_parameters.get().systems[system.removesuffix(ABLATION_SUFFIX)]
        budget = config.pretrain.budget
        return Provenance(
            command=format_command(self.options, system, self.local),
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


def read_local(conf: Path) -> dict[str, Any]:
    """Return the parameters in `conf/local`, which runs without `--env` read; {} if there are none."""
    try:
        return dict(OmegaConfigLoader(str(conf), **(ARGUMENTS | {"base_env": LOCAL}))["parameters"])
    except MissingConfigException:
        return {}


def format_command(options: Mapping[str, Any], system: str, local: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Return the command that repeats a run with a system, with all its stages and the parameters of `conf/local`.

    A run of the pipeline `demo`, which trains other variants than the system alone, is repeated as a whole. An ablation
    reads the examples of its system, so that both are run.
    """
    from contexture.systems.resolved import ABLATION_SUFFIX

    names = options.get("pipeline_names") or []
    owner = system.removesuffix(ABLATION_SUFFIX)
    pipeline = system if owner == system else f"{owner},{system}"
    command = ["kedro", "run", "--pipelines", "demo" if "demo" in names else pipeline]
    is_local = (environment := options.get("env")) in (None, LOCAL)
    command += [] if is_local else ["--env", str(environment)]
    parameters = merged(local if is_local else {}, options.get("runtime_params") or {})
    params = [f"{key}={quote_parameter(value)}" for key, value in flatten(parameters)]
    return shlex.join(command + (["--params", ",".join(params)] if params else []))
