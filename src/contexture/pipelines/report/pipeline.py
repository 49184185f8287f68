"""The stage `report`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.named import fixed, name_group
from contexture.pipelines.report.nodes import log_metrics, register, write_report
from contexture.systems.config import BEST
from contexture.systems.resolved import ResolvedSystem

#: Folder of the documents that examples are made of, by the kind of vocabulary.
DOCUMENTS = {"subwords": "documents@files", "words": "word_documents@files"}


def create_pipeline(system: ResolvedSystem, workspace: str | None = None) -> Pipeline:
    """Return the stage `report`: results, counts and curves → page, records, and scores in MLflow."""
    config = system.config
    data = {task: f"{task}-data" for task in config.tasks}
    counts = {kind: system.examples_dataset(f"{kind}-counts") for kind in config.examples()}
    inputs = {
        "sources": "sources",
        "corpus_report": "corpus_report",
        "documents_dir": DOCUMENTS[config.vocabulary],
        "models_dir": "params:models_dir",
        "report_dir": "params:report_dir",
        "ablation_dir": "params:ablation_dir",
        **name_group("results", {task: f"{task}-results" for task in data}),
        **name_group("data", data),
        **name_group("counts", counts),
        **name_group("speed", {"embedding": "speed"} if config.speed else {}),
        **name_group("encoders", dict(zip(config.pretrain.runs, system.run_datasets, strict=True))),
    }
    nodes = [
        node(fixed(write_report, system, workspace), inputs, ["report", "metrics"], name="write_report"),
        node(fixed(log_metrics, system), "metrics", "headline", name="log_metrics"),
    ]
    if not system.is_ablation and (encoders := _list_encoders(system)):
        # After log_metrics, which reads the runs of trainings that this node continues.
        to_register = {"headline": "headline", "metrics": "metrics", **name_group("encoders", encoders)}
        nodes.append(node(fixed(register, system, workspace), to_register, None, name="register_encoder"))
    shared = {"sources", "corpus_report", DOCUMENTS[config.vocabulary], *data.values()}
    shared |= {*counts.values()} if system.is_ablation else set()
    return Pipeline(nodes, namespace=system.name, inputs=shared, tags="report")


def _list_encoders(system: ResolvedSystem) -> dict[str, str]:
    """Return run → dataset of the encoders that may be registered: that of `search`, or else those of all runs."""
    search = system.config.search
    if search == BEST:
        return {"exported": "exported"}
    return {run: f"{run}-pretrained" for run in ([search] if search else system.config.pretrain.runs)}
