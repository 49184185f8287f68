"""The stage `export`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.export.nodes import export
from contexture.pipelines.named import fixed, name_group
from contexture.systems.config import BEST
from contexture.systems.resolved import ResolvedSystem


def create_pipeline(system: ResolvedSystem) -> Pipeline:
    """Results of a task and all encoders → the best encoder; nothing unless `search` is best."""
    if system.config.search != BEST:
        return Pipeline([])
    chooser = system.config.choosing_task
    variants = {name: f"{name}-pretrained" for name in system.config.search_candidates}
    inputs = {"results_dir": f"{chooser}-results", "output_dir": "params:exported_dir"} | name_group(
        "encoders", variants
    )
    outputs = ["exported", "search_defaults"]
    choose = node(
        fixed(export, chooser, system.config.first_seed), inputs, outputs, name="export_encoder", tags="export"
    )
    return Pipeline([choose], namespace=system.name)
