"""Specification of the task bitext retrieval."""

from contexture.tasks.bitext_retrieval.config import BitextRetrievalConfig, BitextRetrievalSettings
from contexture.tasks.spec import TaskSpec

SPEC = TaskSpec(
    name="bitext_retrieval",
    title="Bitext retrieval",
    settings=BitextRetrievalSettings,
    source=BitextRetrievalConfig,
    implementation="contexture.tasks.bitext_retrieval.task:BitextRetrievalTask",
    corpus=("paragraphs",),
    needs_demo_languages=True,
    subtasks={"bitext_mining": "Bitext mining"},
    data={"tatoeba": "Tatoeba", "multi30k": "Multi30k"},
    protocols={"frozen": "frozen", "pcr": "frozen, PCR", "cosine": "cosine", "ratio": "ratio margin"},
)
