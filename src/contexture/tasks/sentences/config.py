"""How frozen encoders of sentences are measured, and where the files of the tasks are."""

from collections.abc import Collection
from dataclasses import replace
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.corpus.config import Lang
from contexture.demo.config import DEMO
from contexture.strict import STRICT, Positive
from contexture.tasks.base import WORD_AVERAGE
from contexture.tasks.sentences.files import Counts
from contexture.tasks.sentences.senteval import CLASSIFICATION
from contexture.tasks.settings import SourceSettings, TaskSettings

#: The variant of several variants' averaged log-probabilities.
ENSEMBLE = "ensemble"

VariantNames = Annotated[list[str], Field(min_length=1)]


@dataclass(config=STRICT, frozen=True)
class SentenceTasksConfig(SourceSettings):
    """Where the tasks come from that frozen encoders are measured on."""

    # demo (sentences about the made-up world), or a folder in SentEval's layout (data/downstream).
    input: str = "demo"
    # published: every file must have the published number of rows. any: other sets in the same formats.
    row_counts: Counts = "published"
    # The same tasks in other languages (XEVAL): code → a folder in SentEval's layout. None: those of the demo, if it is
    # the input and has some.
    languages: dict[Lang, str] = Field(default_factory=dict)
    # Sentence analogies: demo, or a file of five columns: category, A, B, C, D. None: left out.
    analogies: str | None = "demo"
    # Image features and captions: a folder with {train,dev,test}_ims.npy and {train,dev,test}_caps.txt. None: left out.
    image_captions: str | None = None

    @property
    def reads_demo(self) -> bool:
        """See `SourceSettings.reads_demo`."""
        return DEMO in (self.input, self.analogies)


@dataclass(config=STRICT, frozen=True)
class NeighbourSettings:
    """Nearest neighbours (Quick-Thoughts, section 4.4.4) and sentence analogies (appendix A)."""

    # Variants whose vectors are searched.
    variants: VariantNames
    # Sentences drawn from the corpus whose neighbour is shown.
    queries: Positive = 10
    # Sentences of the corpus that are searched for neighbours and for the fourth sentence of an analogy.
    pool: Positive = 5000


@dataclass(config=STRICT, frozen=True)
class OverTimeSettings:
    """Quality against training time (Quick-Thoughts, appendix C): f alone, the query's role, at a run's snapshots."""

    # Variants of one encoder, whose snapshots are measured.
    variants: VariantNames
    # Tasks of classification.
    tasks: VariantNames

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.tasks) - set(CLASSIFICATION)):
            raise ValueError(f"no task of classification is called {unknown}; there are {sorted(CLASSIFICATION)}")


@dataclass(config=STRICT, frozen=True)
class SentenceSettings(TaskSettings):
    """How frozen encoders are measured. The defaults are SentEval's probes and similarity, and nothing else."""

    # Folds, strengths of regularisation and features of pairs: SentEval's, or those of the Skip-Thoughts scripts.
    protocol: Literal["skip_thoughts", "senteval"] = "senteval"
    # Variants whose log-probabilities are averaged (Quick-Thoughts, section 4.4.1); none: no ensemble.
    ensemble: list[str] = Field(default_factory=list)
    # None: no neighbours and no analogies.
    neighbours: NeighbourSettings | None = None
    # None: snapshots are not measured.
    over_time: OverTimeSettings | None = None
    # Vectors for words that were not trained, by a linear map from the word vectors.
    expansion: bool = False

    def __post_init__(self) -> None:
        if len(set(self.ensemble)) < len(self.ensemble):
            raise ValueError(f"ensemble: a variant stands there twice: {self.ensemble}")

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValueError for a variant that is named here and is none of `variants`."""
        with_average = {*variants, WORD_AVERAGE}
        searched = self.neighbours.variants if self.neighbours else []
        followed = self.over_time.variants if self.over_time else []
        for key, names, known in (
            ("ensemble", self.ensemble, with_average),
            ("neighbours", searched, with_average),
            ("over_time", followed, {*variants}),
        ):
            if unknown := [name for name in names if name not in known]:
                raise ValueError(f"{key}: no variant is called {', '.join(unknown)}; there are {sorted(known)}")

    def restricted(self, variants: Collection[str]) -> Self:
        """The same for fewer variants; an ensemble that lacks a member is none."""
        known = {*variants, WORD_AVERAGE}
        return replace(
            self,
            ensemble=self.ensemble if set(self.ensemble) <= known else [],
            neighbours=_restrict(self.neighbours, known),
            over_time=_restrict(self.over_time, known),
        )


_Settings = TypeVar("_Settings", NeighbourSettings, OverTimeSettings)


def _restrict(settings: _Settings | None, variants: Collection[str]) -> _Settings | None:
    names = [name for name in settings.variants if name in variants] if settings else []
    return replace(settings, variants=names) if settings and names else None
