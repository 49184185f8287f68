"""The protocol of tasks: prepare data, fine-tune encoders and evaluate them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, Protocol, TypedDict, runtime_checkable

import pandas as pd

from contexture.retrieval.config import SearchDefaults

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

#: Report in a folder of task data: `name`, `counts`, and `missing` (set → reason).
TASK_FILE = "task.json"
#: Separates a protocol or option from the data set that the model was fine-tuned on first.
AFTER = "_after_"
#: The variant that averages word vectors.
WORD_AVERAGE = "word_average"


class Row(TypedDict):
    """A score: a record without system, variant, seed and cost."""

    task: str
    data: str
    protocol: str
    split: str
    metric: str
    value: float
    #: Questions, sentences or pairs that were scored.
    examples: NotRequired[int]


@dataclass(frozen=True)
class EvaluatedEncoder:
    """One variant of a system, trained with one seed."""

    variant: str
    seed: int
    #: Folders of encoders or names of published models. Their vectors are concatenated.
    models: tuple[str, ...]
    #: Folder of the task's fine-tuned models, one subfolder per option (`Task.list_options`). None: not fine-tuned.
    finetuned_dir: Path | None = None
    #: Kind of head for tasks that judge candidates.
    head: str | None = None


@dataclass(frozen=True)
class Results:
    """The results of a task."""

    #: Rows with `variant` and `seed`.
    records: list[dict[str, Any]] = field(default_factory=list)
    #: Further JSON values for the report.
    details: dict[str, Any] = field(default_factory=dict)
    #: Tables to save with the records, such as the score of each candidate.
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)


#: Calls a function of a module with each tuple of arguments and returns the results in order.
ParallelMap = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]


def serial_map(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return the results of `function` for each tuple of arguments, called one after the other; a `ParallelMap`."""
    return [function(*args) for args in arguments]


def measure_encoders(
    measure: Callable[..., Any], encoders: Sequence[EvaluatedEncoder], parallel_map: ParallelMap, *arguments: Any
) -> dict[tuple[str, ...], Any]:
    """Return `models` of an encoder → `measure(models, *arguments)`. What several encoders share is measured once."""
    models = list(dict.fromkeys(encoder.models for encoder in encoders))
    return dict(zip(models, parallel_map(measure, [(names, *arguments) for names in models]), strict=True))


def measure_rows(
    measure: Callable[..., Sequence[Row]],
    encoders: Sequence[EvaluatedEncoder],
    parallel_map: ParallelMap,
    *arguments: Any,
) -> list[dict[str, Any]]:
    """Return the rows of `measure(models, *arguments)` of all encoders, with variant and seed (`measure_encoders`)."""
    rows = measure_encoders(measure, encoders, parallel_map, *arguments)
    return [
        {"variant": encoder.variant, "seed": encoder.seed, **row}
        for encoder in encoders
        for row in rows[encoder.models]
    ]


def list_seeds(encoders: Sequence[EvaluatedEncoder]) -> list[int]:
    """Return the sorted seeds of all encoders."""
    return sorted({encoder.seed for encoder in encoders})


def make_record(
    variant: str,
    seed: int,
    task: str,
    data: str,
    value: float,
    protocol: str = "frozen",
    split: str = "test",
    metric: str = "accuracy",
    examples: int | None = None,
) -> dict[str, Any]:
    """Return a score as a dict with these keys, for `Results.records`; `examples` only if it is known."""
    row = Row(task=task, data=data, protocol=protocol, split=split, metric=metric, value=value)
    if examples is not None:
        row["examples"] = examples
    return {"variant": variant, "seed": seed, **row}


class Task(Protocol):
    """A benchmark, or several that are measured alike."""

    def prepare_data(self, source: Any, demo_dir: Path, output_dir: Path) -> None:
        """Read and check the raw files of `source`; write the task's data and the report `TASK_FILE` to `output_dir`.

        `demo_dir` has the files of the demo. Missing files are reported in `TASK_FILE`.
        """

    def check_settings(self, settings: Any, data_dir: Path) -> None:
        """Raise ValueError if the data do not fit the settings; called before training."""

    def list_options(self, settings: Any, head: str | None) -> list[str]:
        """Return the names (options) of the models to fine-tune from an encoder with this head, such as data sets."""

    def finetune(self, settings: Any, option: str, encoder: EvaluatedEncoder, data_dir: Path, model_dir: Path) -> None:
        """Fine-tune the encoder as the model `option` and write it to `model_dir`; its seed determines the result."""

    def evaluate(
        self,
        settings: Any,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """Measure all encoders, frozen and fine-tuned, and the baselines; cache vectors in `vectors_dir`.

        The tables that `TaskSpec.corpus` names are keyword arguments.
        """


class FrozenTask:
    """A task that measures frozen encoders on all its data."""

    def check_settings(self, settings: Any, data_dir: Path) -> None:
        """Accept all settings."""

    def list_options(self, settings: Any, head: str | None) -> list[str]:
        """Return no names of models to fine-tune, because this task only measures frozen encoders."""
        return []

    def finetune(self, settings: Any, option: str, encoder: EvaluatedEncoder, data_dir: Path, model_dir: Path) -> None:
        """Raise NotImplementedError: this task does not fine-tune encoders."""
        raise NotImplementedError("this task does not fine-tune encoders")


@runtime_checkable
class DocumentTask(Protocol):
    """A task whose documents can be removed from a corpus (`cleaning.evaluation`)."""

    def load_documents(self, data_dir: Path) -> pd.DataFrame | None:
        """Return the documents of dev and test questions: `title` (or "") and `text`, one row per part.

        `data_dir` is the output of `Task.prepare_data`. Return None if files were missing.
        """


@runtime_checkable
class EncoderChooser(Protocol):
    """A task whose results choose the encoder of `search: best`."""

    def choose_encoder(self, details: Mapping[str, Any], variants: Sequence[str]) -> str:
        """Return the best of the variants by the details of `evaluate`; the first if too little was measured."""

    def choose_search(self, details: Mapping[str, Any], variant: str) -> SearchDefaults:
        """Return the best search settings for the encoder of `variant`, by the details of `evaluate`."""

    def card_results(self, records: Sequence[Mapping[str, Any]], variant: str) -> "tuple[str, list[EvalResult]]":
        """Return a section of text, and the results as metadata, for the model card of `variant`; from all records."""
