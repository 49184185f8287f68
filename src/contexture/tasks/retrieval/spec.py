"""What the rest of the project knows of retrieval."""

from contexture.metrics.measures import Metric
from contexture.tasks.retrieval.config import RECALL_AT, RetrievalConfig, RetrievalSettings
from contexture.tasks.spec import LeagueUse, TaskSpec

SPEC = TaskSpec(
    name="retrieval",
    title="Passage retrieval",
    settings=RetrievalSettings,
    source=RetrievalConfig,
    implementation="contexture.tasks.retrieval.task:RetrievalTask",
    corpus=("passages",),
    has_documents=True,
    data={"squad": "SQuAD", "natural_questions": "Natural Questions"},
    # Besides these, the shares of questions that encoders were fine-tuned on: "80%".
    protocols={"frozen": "frozen"},
    # The laxer count: the gold sentence's text, in any passage.
    metrics={f"sentence_recall_at_{k}": Metric(f"sentence R@{k}") for k in RECALL_AT},
    league=(
        LeagueUse(
            "Search",
            "Find the passage that answers a question.",
            "For search",
            "recall_at_10",
            "R@10",
            "questions in a hundred whose passage is among the first ten found",
            task="retrieval",
            tuned="%",
        ),
    ),
)
