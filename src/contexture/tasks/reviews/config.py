"""Settings of reviews."""

from pydantic.dataclasses import dataclass

from contexture.strict import STRICT
from contexture.tasks.settings import SourceSettings, StepSettings


@dataclass(config=STRICT, frozen=True)
class ReviewsConfig(SourceSettings):
    """Folder of the Amazon reviews of Prettenhofer and Stein (2010)."""

    # The folder cls-acl10-unprocessed. None: the task is skipped.
    input: str | None = None


@dataclass(config=STRICT, frozen=True)
class ReviewSettings(StepSettings):
    """Logistic regression on frozen vectors, and fine-tuning. The CMLM paper does not report values of fine-tuning."""

    # Whether to fine-tune the encoders, too. false: they are measured frozen only.
    finetune: bool = False
