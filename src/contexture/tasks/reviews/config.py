"""Where the reviews are."""

from pydantic.dataclasses import dataclass

from contexture.strict import STRICT
from contexture.tasks.settings import SourceSettings, TaskSettings


@dataclass(config=STRICT, frozen=True)
class ReviewsConfig(SourceSettings):
    """Where the Amazon reviews of Prettenhofer and Stein (2010) are."""

    # The folder cls-acl10-unprocessed. None: left out.
    input: str | None = None


@dataclass(config=STRICT, frozen=True)
class ReviewSettings(TaskSettings):
    """Frozen vectors and a logistic regression, without settings."""
