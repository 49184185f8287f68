"""The stage `report`."""

from collections.abc import Mapping, Sequence

from kedro.pipeline import Pipeline, node

from contexture.pipelines.named import fixed
from contexture.pipelines.report.nodes import log_metrics, no_speed, register, register_adopted, write_report
from contexture.systems.config import BEST, SystemConfig


def create_pipeline(
    system: str,
    config: SystemConfig,
    guests: Mapping[str, SystemConfig],
    main: Sequence[str],
    whole: str = "",
    examples_of: str = "",
) -> Pipeline:
    """Results, counts and curves → the page and all records; to MLflow, what the `main` variants reached."""
    tasks = list(config.tasks)
    owner = f"{examples_of}." if examples_of else ""
    counts = [f"{owner}{kind}-counts" for kind in config.examples()]
    shared = {"sources", "corpus_report", *(f"{task}-data" for task in tasks), *(counts if examples_of else [])}
    inputs = [
        "sources",
        "corpus_report",
        "params:models_place",
        "params:report_place",
        "speed",
        "params:ablation_place",
    ]
    inputs += [f"{task}-results" for task in tasks] + [f"{task}-data" for task in tasks] + counts
    inputs += [f"{run}-pretrained" for run in config.pretrain.runs]
    nodes = [
        node(fixed(write_report, system, config, guests, tasks, whole), inputs, ["report", "metrics"], name="report"),
        node(fixed(log_metrics, system, main), "metrics", None, name="log_metrics"),
    ]
    if not examples_of and config.search == BEST:
        nodes.append(node(fixed(register_adopted, system), "adopted", None, name="register_encoder"))
    elif not examples_of and (run := config.headline(main)):
        nodes.append(node(fixed(register, system), f"{run}-pretrained", None, name="register_encoder"))
    if not config.speed:
        nodes.append(node(no_speed, None, "speed", name="no_speed"))
    return Pipeline(nodes, namespace=system, inputs=shared, tags="report")
