"""Registration of passage retrieval."""

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
    # Other protocols are the shares of questions for fine-tuning, such as "80%".
    protocols={"frozen": "frozen"},
    # The gold sentence in any passage.
    metrics={f"sentence_recall_at_{k}": Metric(f"sentence R@{k}") for k in RECALL_AT},
    league=(
        LeagueUse(
            "Search",
            "Find the passage that answers a question.",
            "For search",
            "recall_at_10",
            "R@10",
            "percent of questions with the right sentence in its passage among the first ten results",
            task="retrieval",
            tuned=("%",),
        ),
    ),
)
