"""Settings of questions from held-out documents and from users."""

from pydantic.dataclasses import dataclass

from contexture.strict import STRICT, Positive
from contexture.tasks.settings import SourceSettings, TaskSettings

#: Suffix of variants whose encoder is untrained.
UNTRAINED_SUFFIX = "_none"
#: Minimal number of the user's questions for a recommendation by them.
MIN_USER_QUESTIONS = 20


@dataclass(config=STRICT, frozen=True)
class HeldOutConfig(SourceSettings):
    """Source of the user's questions."""

    # A file with a question and the document or passage that answers it per line, separated by a tab or, in .csv, a
    # comma; a question with several answers has several lines. null: no questions.
    input: str | None = None


@dataclass(config=STRICT, frozen=True)
class HeldOutSettings(TaskSettings):
    """Settings of the evaluation."""

    # Maximal number of questions of each kind.
    questions: Positive = 300
