"""Before a run: check the parameters and the arguments of `kedro run`."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline

from contexture.config_errors import ConfigurationError
from contexture.messages import explain_unknown
from contexture.pipelines.claims import CLAIMS
from contexture.pipelines.datasets import find_missing
from contexture.pipelines.hooks.console import RunRefusedError
from contexture.pipelines.parameters import RunParameters

#: Options that select nodes of a pipeline, as `Pipeline.filter` calls them.
NODE_OPTIONS = ("tags", "from_nodes", "to_nodes", "node_names", "from_inputs", "to_outputs")


@contextmanager
def refuse_run() -> Iterator[None]:
    """Turn a ConfigurationError raised in the `with` block into RunRefusedError."""
    try:
        yield
    except ConfigurationError as error:
        raise RunRefusedError(str(error)) from None


class CheckParameters:
    """Stop a run before any work if a parameter, an argument or an input cannot be used."""

    def __init__(self, parameters: RunParameters) -> None:
        self.run_parameters = parameters

    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Check parameters and command-line options; RunRefusedError with file and key of all errors."""
        runtime = context.config_loader.runtime_params or {}
        self.sets_input = "input" in runtime.get("corpus", {})
        command = click.get_current_context(silent=True)
        with refuse_run():
            self.run_parameters.check(context.config_loader)
            if command and command.info_name == "run":
                check_options(command.params)

    @hook_impl(tryfirst=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Raise RunRefusedError for missing inputs and for a corpus that would be replaced unasked."""
        from contexture.pipelines.sources.nodes import check_inputs

        parameters = self.run_parameters.get()
        with refuse_run():
            parameters.check_systems({str(node.namespace).split(".")[0] for node in pipeline.nodes})
            if "sources" in pipeline.all_outputs():
                sources = catalog.load("sources") if catalog.exists("sources") else {}
                check_inputs(parameters.corpus, self.sets_input, sources)
            check_earlier_stages(pipeline, catalog, run_params)


def get_pipeline_names(options: Mapping[str, Any]) -> list[str]:
    """Return the names of the pipelines that options of `kedro run` select."""
    return list(options.get("pipelines") or [options.get("pipeline") or "__default__"])


def check_options(options: Mapping[str, Any]) -> None:
    """Raise ConfigurationError for an unknown pipeline, tag or node, with the known ones.

    Kedro ignores an unknown tag next to known ones.
    """
    names = get_pipeline_names(options)
    _check_names(
        "--pipelines", "pipeline", [name for name in names if name != "__default__"], set(pipelines) - {"__default__"}
    )
    nodes = [node for name in names for node in pipelines[name].nodes]
    _check_names("--tags", "tag", options.get("tags") or [], {tag for node in nodes for tag in node.tags})
    for name, option in (("node_names", "--nodes"), ("from_nodes", "--from-nodes"), ("to_nodes", "--to-nodes")):
        _check_names(option, "node", options.get(name) or [], {node.name for node in nodes})


def _check_names(option: str, noun: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise ConfigurationError for names that are not known, with the known ones."""
    if unknown := [name for name in names if name not in known]:
        raise ConfigurationError(f"{option}: {explain_unknown(noun, unknown, known)}")


def check_earlier_stages(pipeline: Pipeline, catalog: CatalogProtocol[Any, Any], options: Mapping[str, Any]) -> None:
    """Raise ConfigurationError if results of earlier stages are missing, with the tags of these stages.

    The message names the pipeline `demo` if the results of the demo have all that the selected nodes need.
    """
    missing = {} if options.get("only_missing_outputs") else find_missing(pipeline, catalog)
    if not missing:
        return
    names = options.get("pipeline_names") or ["__default__"]
    bare = {name.partition("@")[0] for name in missing}  # a table has several names, one for each kind of reader
    nodes = [node for name in names for node in pipelines[name].nodes]
    makers = [node for node in nodes if bare & {name.partition("@")[0] for name in node.outputs}]
    stages = sorted({tag for node in makers for tag in node.tags})
    message, *more = missing.values()
    message += f", and {len(more)} more that this run needs" if more else ""
    message += ": run the stage that makes it first" + (f" (--tags {','.join(stages)})" if stages else "")
    if can_continue_demo(pipeline, catalog, options):
        message += "; to continue after make demo, add --pipelines demo"
    raise ConfigurationError(message)


def can_continue_demo(pipeline: Pipeline, catalog: CatalogProtocol[Any, Any], options: Mapping[str, Any]) -> bool:
    """Return whether the results of the demo have all that the selected nodes need."""
    try:
        selected = pipelines["demo"].filter(**{name: options.get(name) for name in NODE_OPTIONS})
    except ValueError:  # it has no such nodes
        return False
    systems = {node.namespace for node in pipeline.nodes} - {CLAIMS}  # which wait for all systems of the demo
    same = Pipeline([node for node in selected.nodes if node.namespace in systems])
    return bool(same.nodes) and len(same.nodes) < len(pipelines["demo"].nodes) and not find_missing(same, catalog)
