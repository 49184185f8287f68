"""Settings of the sentence tasks: files and evaluation."""

from collections.abc import Collection
from dataclasses import replace
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.corpus.config import Lang
from contexture.demo.config import DEMO
from contexture.strict import STRICT, Positive, Unique, check_names
from contexture.tasks.base import WORD_AVERAGE
from contexture.tasks.sentences.files import RowCounts
from contexture.tasks.sentences.senteval import CLASSIFICATION
from contexture.tasks.settings import SourceSettings, TaskSettings

#: Variant of the averaged log-probabilities.
ENSEMBLE = "ensemble"

VariantNames = Annotated[list[str], Field(min_length=1)]


@dataclass(config=STRICT, frozen=True)
class SentenceTasksConfig(SourceSettings):
    """Files of the sentence tasks."""

    # demo (sentences of the demo world), or a folder in SentEval's layout (data/downstream).
    input: str = "demo"
    # published: files must have the published number of rows. any: other sets in the same formats.
    row_counts: RowCounts = "published"
    # Tasks in other languages (XEVAL): code → a folder in SentEval's layout. Empty: those of the demo, if that is the
    # input.
    languages: dict[Lang, str] = Field(default_factory=dict)
    # Sentence analogies: demo, or a file with the columns category, A, B, C, D. None: skipped.
    analogies: str | None = "demo"
    # Image features and captions: a folder with {train,dev,test}_ims.npy and {train,dev,test}_caps.txt. None: skipped.
    image_captions: str | None = None

    @property
    def reads_demo(self) -> bool:
        """Whether the demo writes some of the files."""
        return DEMO in (self.input, self.analogies)


@dataclass(config=STRICT, frozen=True)
class NeighbourSettings:
    """Nearest neighbours (Quick-Thoughts, section 4.4.4) and sentence analogies (appendix A)."""

    # Variants whose vectors are searched.
    variants: VariantNames
    # Corpus sentences whose nearest neighbour is shown.
    queries: Positive = 10
    # Corpus sentences among which neighbours and answers of analogies are searched.
    pool: Positive = 5000


@dataclass(config=STRICT, frozen=True)
class OverTimeSettings:
    """Quality by training time (Quick-Thoughts, appendix C): the query encoder f at a run's snapshots."""

    # Single-encoder variants whose snapshots are measured.
    variants: VariantNames
    # Classification tasks.
    tasks: VariantNames

    def __post_init__(self) -> None:
        check_names("classification task", self.tasks, CLASSIFICATION, "tasks")


@dataclass(config=STRICT, frozen=True)
class SentenceSettings(TaskSettings):
    """Evaluation of frozen encoders. By default, only SentEval's probes and similarity."""

    # Folds, regularisation strengths and selection score of SentEval or of the Skip-Thoughts scripts.
    protocol: Literal["skip_thoughts", "senteval"] = "senteval"
    # Variants whose log-probabilities are averaged (Quick-Thoughts, section 4.4.2); empty: no ensemble.
    ensemble: Annotated[list[str], Unique] = Field(default_factory=list)
    # None: no neighbours and no analogies.
    neighbours: NeighbourSettings | None = None
    # None: snapshots are not measured.
    over_time: OverTimeSettings | None = None
    # Embed words outside the vocabulary by a linear map from word vectors.
    expansion: bool = False

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValidationError, with the key, if the settings name a variant that is not in `variants`."""
        with_average = {*variants, WORD_AVERAGE}
        searched = self.neighbours.variants if self.neighbours else []
        followed = self.over_time.variants if self.over_time else []
        for key, names, known in (
            (("ensemble",), self.ensemble, with_average),
            (("neighbours", "variants"), searched, with_average),
            (("over_time", "variants"), followed, {*variants}),
        ):
            check_names("variant", names, known, *key)

    def list_combined(self, name: str) -> list[str]:
        """Return the variants of the ensemble, if it has this name."""
        return self.ensemble if name == ENSEMBLE else []

    def restrict_variants(self, variants: Collection[str]) -> Self:
        """Return the settings for fewer variants; an ensemble without all members is removed."""
        known = {*variants, WORD_AVERAGE}
        return replace(
            self,
            ensemble=self.ensemble if set(self.ensemble) <= known else [],
            neighbours=_restrict_to(self.neighbours, known),
            over_time=_restrict_to(self.over_time, known),
        )


_Settings = TypeVar("_Settings", NeighbourSettings, OverTimeSettings)


def _restrict_to(settings: _Settings | None, variants: Collection[str]) -> _Settings | None:
    """Return the settings with only those of their variants that are in `variants`; None if there are none."""
    names = [name for name in settings.variants if name in variants] if settings else []
    return replace(settings, variants=names) if settings and names else None
