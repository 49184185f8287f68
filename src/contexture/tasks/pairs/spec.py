"""Specification of the task sentence pairs."""

from contexture.tasks.pairs.config import PairsConfig, PairSettings
from contexture.tasks.spec import LeagueUse, TaskSpec

SPEC = TaskSpec(
    name="pairs",
    title="Sentence pairs",
    settings=PairSettings,
    source=PairsConfig,
    implementation="contexture.tasks.pairs.task:PairsTask",
    data={
        "pawsx": "PAWS-X",
        "snli": "SNLI",
        "mnli_matched": "MultiNLI, matched",
        "mnli_mismatched": "MultiNLI, mismatched",
        "xnli": "XNLI",
        "qqp": "Quora question pairs",
        "scitail": "SciTail",
    },
    protocols={"frozen": "frozen", "finetuned": "fine-tuned"},
    league=(
        LeagueUse(
            "Sentence pairs",
            "Classify how two sentences are related: one follows from the other, or contradicts it …",
            "For sentence pairs",
            "accuracy",
            "accuracy",
            "pairs in a hundred whose relation a simple classifier on their vectors predicts",
            task="pairs",
        ),
    ),
)
