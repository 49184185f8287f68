"""Specification of the task answer ranking."""

from contexture.tasks.ranking.config import RankingConfig, RankingSettings
from contexture.tasks.spec import LeagueUse, TaskSpec

SPEC = TaskSpec(
    name="ranking",
    title="Answer ranking",
    settings=RankingSettings,
    source=RankingConfig,
    implementation="contexture.tasks.ranking.task:AnswerRankingTask",
    has_documents=True,
    data={"quasar_t": "Quasar-T", "hotpotqa": "HotpotQA"},
    protocols={
        "frozen": "frozen",
        "by_attention": "frozen, by attention",
        "by_cosine": "frozen, by cosine",
        "by_dot": "frozen, by inner product",
        "finetuned": "fine-tuned",
    },
    league=(
        LeagueUse(
            "Ranking",
            "Of many candidates, sentences or paragraphs, put those first that answer.",
            "For ranking",
            "mrr",
            "MRR",
            "100 if the first candidate is always right, 50 if the second is",
            task="ranking",
        ),
    ),
)
