"""Settings of reviews."""

from pydantic.dataclasses import dataclass

from contexture.strict import STRICT
from contexture.tasks.settings import SourceSettings, TaskSettings


@dataclass(config=STRICT, frozen=True)
class ReviewsConfig(SourceSettings):
    """Folder of the Amazon reviews of Prettenhofer and Stein (2010)."""

    # The folder cls-acl10-unprocessed. None: the task is skipped.
    input: str | None = None


@dataclass(config=STRICT, frozen=True)
class ReviewSettings(TaskSettings):
    """Logistic regression on frozen vectors; it has no settings."""
