"""Specification of the task reviews."""

from contexture.tasks.reviews.config import ReviewsConfig, ReviewSettings
from contexture.tasks.spec import TaskSpec

SPEC = TaskSpec(
    name="reviews",
    title="Reviews",
    settings=ReviewSettings,
    source=ReviewsConfig,
    implementation="contexture.tasks.reviews.task:ReviewsTask",
    data={
        "amazon": "Amazon reviews",
        "amazon_en": "Amazon reviews, English",
        "amazon_de": "Amazon reviews, German",
        "amazon_fr": "Amazon reviews, French",
        "amazon_jp": "Amazon reviews, Japanese",
    },
    protocols={"frozen": "frozen", "finetuned": "fine-tuned"},
)
