"""Before a run: check the parameters and the arguments."""

from typing import Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline

from contexture.config import ConfigurationError
from contexture.pipelines.hooks.arguments import check_asked, check_there
from contexture.pipelines.hooks.console import RunRefusedError
from contexture.pipelines.parameters import RunParameters


class CheckParameters:
    """Refuse unknown keys, impossible values, and what is asked for and not there, before any work starts."""

    def __init__(self, parameters: RunParameters) -> None:
        self.run_parameters = parameters

    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Raises RunRefusedError with the file and the key of every fault."""
        runtime = context.config_loader.runtime_params or {}
        self.told = "input" in runtime.get("corpus", {})
        command = click.get_current_context(silent=True)
        try:
            self.run_parameters.check(context.config_loader)
            if command and command.info_name == "run":
                check_asked(command.params)
        except ConfigurationError as error:
            raise RunRefusedError(str(error)) from None

    @hook_impl(tryfirst=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Raises RunRefusedError for a tokenizer, a first encoder, text or work of an earlier stage that is not there.

        Also where another corpus would be replaced that this run does not name.
        """
        from contexture.pipelines.sources.nodes import check_inputs

        try:
            self.run_parameters.get().check_systems({str(node.namespace).split(".")[0] for node in pipeline.nodes})
            if "sources" in pipeline.all_outputs():
                check_inputs(
                    self.run_parameters.get().corpus,
                    self.told,
                    catalog.load("sources") if catalog.exists("sources") else {},
                )
            check_there(pipeline, catalog, run_params)
        except ConfigurationError as error:
            raise RunRefusedError(str(error)) from None
