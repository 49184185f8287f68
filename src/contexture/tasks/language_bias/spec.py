"""Specification of the task language bias."""

from contexture.metrics.measures import Metric
from contexture.tasks.language_bias.config import LanguageBiasConfig, LanguageBiasSettings
from contexture.tasks.spec import TaskSpec

SPEC = TaskSpec(
    name="language_bias",
    title="Language bias",
    settings=LanguageBiasSettings,
    source=LanguageBiasConfig,
    implementation="contexture.tasks.language_bias.task:LanguageBiasTask",
    corpus=("paragraphs",),
    needs_demo_languages=True,
    data={"pawsx": "PAWS-X"},
    protocols={"frozen": "frozen", "pcr": "frozen, PCR"},
    metrics={"own_language": Metric("neighbours of its own language", lower_is_better=True)},
)
