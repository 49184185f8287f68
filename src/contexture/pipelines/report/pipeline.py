"""The stage `report`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.named import fixed, name_group
from contexture.pipelines.report.nodes import log_metrics, no_speed, register, register_adopted, write_report
from contexture.systems.config import BEST
from contexture.systems.resolved import ResolvedSystem


def create_pipeline(system: ResolvedSystem) -> Pipeline:
    """Results, counts and curves → the page and all records; to MLflow, what the main variants reached."""
    config = system.config
    data = {task: f"{task}-data" for task in config.tasks}
    counts = {kind: system.examples_dataset(f"{kind}-counts") for kind in config.examples()}
    inputs = {
        "sources": "sources",
        "corpus_report": "corpus_report",
        "models_dir": "params:models_place",
        "report_dir": "params:report_place",
        "ablation_dir": "params:ablation_place",
        "speed": "speed",
        **name_group("results", {task: f"{task}-results" for task in config.tasks}),
        **name_group("data", data),
        **name_group("counts", counts),
        **name_group("encoders", dict(zip(config.pretrain.runs, system.run_datasets, strict=True))),
    }
    nodes = [
        node(fixed(write_report, system), inputs, ["report", "metrics"], name="report"),
        node(fixed(log_metrics, system), "metrics", None, name="log_metrics"),
    ]
    if not system.is_ablation and config.search == BEST:
        nodes.append(node(fixed(register_adopted, system.name), "adopted", None, name="register_encoder"))
    elif not system.is_ablation and (run := config.main_run(system.main_variants)):
        nodes.append(node(fixed(register, system.name), f"{run}-pretrained", None, name="register_encoder"))
    if not config.speed:
        nodes.append(node(no_speed, None, "speed", name="no_speed"))
    shared = {"sources", "corpus_report", *data.values(), *(counts.values() if system.is_ablation else ())}
    return Pipeline(nodes, namespace=system.name, inputs=shared, tags="report")
