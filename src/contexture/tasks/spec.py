"""All that the rest of the project knows of a task; each task defines its own in `tasks/<task>/spec.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from contexture.imports import resolve
from contexture.metrics.measures import Metric
from contexture.tasks.base import Task
from contexture.tasks.settings import SourceSettings, TaskSettings


@dataclass(frozen=True)
class LeagueUse:
    """A use of encoders that the league compares: for each data set, one column of frozen and one of tuned encoders."""

    name: str
    job: str  # in plain words
    opening: str  # of a sentence about it
    metric: str  # of the records
    score: str  # its name
    meaning: str  # and what it says
    task: str = ""  # of the records; empty: the mean over all tasks of a protocol
    protocols: tuple[str, ...] = ()  # of such a mean, the first that was run
    tuned: str = ""  # protocol of fine-tuned encoders; "%": the largest share of the questions; empty: no column

    @property
    def description(self) -> str:
        """The score in a sentence."""
        return f"{self.score[0].upper()}{self.score[1:]}: {self.meaning}."


@dataclass(frozen=True)
class ModelUsage:
    """How a fine-tuned model is used, for the card in its folder."""

    file: str  # models of this kind have it in their folder
    purpose: str  # "to …"
    code: str  # Python, run in the folder

    @property
    def markdown(self) -> str:
        """The section of the card."""
        return f"In this folder, {self.purpose}:\n\n```python\n{self.code}\n```"


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """A task: its settings, where its code is, what its results are called, and its part in the league.

    `name` is the task's key among the parameters (where its files are), among the tasks of a system (how it measures
    and fine-tunes), in `cleaning.evaluation`, and the folder of its data.
    """

    name: str
    #: In tables.
    title: str
    #: How a system measures and fine-tunes.
    settings: type[TaskSettings]
    #: Where the files are.
    source: type[SourceSettings]
    #: The class that does the work, as "module:Class"; loaded on use.
    implementation: str
    #: Keyword arguments of `evaluate` that are passed if the system has them: folders of `paragraphs`, of `passages`,
    #: or of a vocabulary of `words` with vectors.
    corpus: tuple[str, ...] = ()
    #: Whether the demo has its files only if `demo.languages` is 1 or more.
    needs_demo_languages: bool = False
    #: Whether its documents can be kept out of the corpus (`cleaning.evaluation`): the class is a `DocumentTask`.
    has_documents: bool = False
    #: How a report describes its documents; empty: by what `cleaning.evaluation` kept out.
    documents_note: str = ""
    #: Whether its results choose the encoder of `search: best`: the class is an `EncoderChooser`.
    chooses_encoder: bool = False
    #: "module:function" that checks a user's own questions for `contexture adapt`, which sets `<name>.input` to them.
    question_checker: str = ""
    #: "module:function" that measures any model for `contexture evaluate`.
    model_evaluator: str = ""
    #: An older name of its key among the parameters.
    former_key: str = ""
    #: Further names of tasks among its records → titles.
    subtasks: Mapping[str, str] = field(default_factory=dict)
    #: Data set → title.
    data: Mapping[str, str] = field(default_factory=dict)
    #: Protocol → title, from frozen encoders to the most fine-tuned: the order of the columns.
    protocols: Mapping[str, str] = field(default_factory=dict)
    #: Metrics that no other task has; those of `metrics/measures.py` need not be named.
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    league: tuple[LeagueUse, ...] = ()
    #: For the card of its fine-tuned models.
    usage: ModelUsage | None = None

    def load(self) -> Task:
        """An instance of the implementation."""
        task: Task = resolve(self.implementation)()
        return task
