"""Specification of the task multi-hop questions."""

from contexture.metrics.measures import Metric
from contexture.tasks.answer_selection.spec import USAGE
from contexture.tasks.multi_hop.config import MultiHopConfig, MultiHopSettings
from contexture.tasks.spec import TaskSpec

SPEC = TaskSpec(
    name="multi_hop",
    title="Multi-hop questions",
    settings=MultiHopSettings,
    source=MultiHopConfig,
    implementation="contexture.tasks.multi_hop.task:MultiHopTask",
    has_documents=True,
    data={"hotpotqa": "HotpotQA"},
    protocols={"frozen": "frozen", "finetuned": "fine-tuned"},
    # Recall of gold paragraphs; exact match of the two re-ranked ones; HotpotQA's official metrics.
    metrics={
        "paragraph_recall": Metric("gold paragraphs found"),
        "passage_em": Metric("passage EM"),
        **{
            f"{part}_{measure}": Metric(f"{part} {measure.upper()}")
            for part in ("answer", "support", "joint")
            for measure in ("em", "f1")
        },
    },
    usage=USAGE,
)
