"""Before a run in a workspace: forget what its files were made from."""

from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline

from contexture.paths import DataLayout, data_dir
from contexture.pipelines.datasets import SparkTable
from contexture.pipelines.parameters import RunParameters


class ForgetBuild:
    """Delete the build file of the workspace if a run makes its text or encoders again.

    `contexture adapt` writes the file when the run is finished. Without it, the next run does not use these files.
    """

    def __init__(self, parameters: RunParameters) -> None:
        self.run_parameters = parameters

    @hook_impl(trylast=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Delete the file if the run writes a Spark table or trains."""
        workspace = self.run_parameters.get().workspace
        if workspace is None:
            return
        writes_table = any(isinstance(catalog.get(name), SparkTable) for name in pipeline.all_outputs())
        if writes_table or any(node.short_name == "pretrain" for node in pipeline.nodes):
            project = Path(run_params["project_path"])
            DataLayout(project / data_dir(workspace)).build_file.unlink(missing_ok=True)
