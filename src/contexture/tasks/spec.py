"""The description of a task for the rest of the project; each task has one in `tasks/<task>/spec.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from contexture.imports import resolve
from contexture.metrics.measures import Metric
from contexture.tasks.base import Task
from contexture.tasks.settings import SourceSettings, TaskSettings


@dataclass(frozen=True)
class LeagueUse:
    """A use of encoders that the league compares: per data set, columns of frozen and fine-tuned encoders."""

    name: str
    job: str  # description of the use
    opening: str  # first words of a sentence about it
    metric: str  # in the records
    score: str  # name of the metric
    meaning: str  # explanation of the metric
    task: str = ""  # in the records; empty: mean over all tasks of a protocol
    protocols: tuple[str, ...] = ()  # of such a mean; the first with records counts
    tuned: tuple[str, ...] = ()  # protocols of fine-tuned encoders; "%": the largest share of questions

    @property
    def description(self) -> str:
        """A sentence that explains the score."""
        return f"{self.score[0].upper()}{self.score[1:]}: {self.meaning}."


@dataclass(frozen=True)
class ModelUsage:
    """How to use a fine-tuned model, for its model card."""

    file: str  # marks folders of such models
    purpose: str  # "to …"
    code: str  # Python, run in the folder

    @property
    def markdown(self) -> str:
        """Section of the model card that shows how to use the model."""
        return f"In this folder, {self.purpose}:\n\n```python\n{self.code}\n```"


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """A task: its settings, its implementation, the labels of its results, and its columns in the league.

    `name` is the key of its source in the parameters, of its settings in `tasks` of a system, its key in
    `cleaning.evaluation`, and the name of its data folder.
    """

    name: str
    #: Heading of its tables.
    title: str
    #: How a system evaluates and fine-tunes.
    settings: type[TaskSettings]
    #: Where the files are.
    source: type[SourceSettings]
    #: "module:Class" of the `Task`, imported on use.
    implementation: str
    #: Optional keyword arguments of `evaluate`: the folders of `paragraphs`, of `passages`, or of a vocabulary of
    #: `words` with vectors.
    corpus: tuple[str, ...] = ()
    #: Whether the demo writes its files only if `demo.languages` ≥ 1.
    needs_demo_languages: bool = False
    #: Whether `implementation` is a `DocumentTask`.
    has_documents: bool = False
    #: Note about its documents in reports; empty: what `cleaning.evaluation` removed.
    documents_note: str = ""
    #: Whether `implementation` is an `EncoderChooser`, which `search: best` asks.
    chooses_encoder: bool = False
    #: "module:function" that checks the user's questions of `contexture adapt`, which become `<name>.input`.
    question_checker: str = ""
    #: "module:function" that evaluates a model for `contexture evaluate`.
    model_evaluator: str = ""
    #: Former name of its key in the parameters.
    former_key: str = ""
    #: Further task names in its records → titles.
    subtasks: Mapping[str, str] = field(default_factory=dict)
    #: Data set → title.
    data: Mapping[str, str] = field(default_factory=dict)
    #: Protocol → title, in the order of the columns.
    protocols: Mapping[str, str] = field(default_factory=dict)
    #: Metrics besides those of `metrics/measures.py`.
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    league: tuple[LeagueUse, ...] = ()
    usage: ModelUsage | None = None

    def load(self) -> Task:
        """Import the class `implementation` and return an instance."""
        task: Task = resolve(self.implementation)()
        return task
