"""What a task is: it reads its files, measures frozen encoders, and fine-tunes them if it can."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypedDict, runtime_checkable

import pandas as pd

#: The report in a folder of task data: `name`, `counts`, and `missing`, reasons by set.
TASK_FILE = "task.json"
#: Between a protocol and the data set that a model learned from before.
AFTER = "_after_"
#: The variant that averages word vectors and needs no training.
WORD_AVERAGE = "word_average"


class Row(TypedDict):
    """A measured number: a record without its system, variant, seed and cost."""

    task: str
    data: str
    protocol: str
    split: str
    metric: str
    value: float


@dataclass(frozen=True)
class EvaluatedEncoder:
    """One variant of a system, trained with one seed."""

    variant: str
    seed: int
    #: Folders of encoders, or names of published models; their vectors are concatenated.
    models: tuple[str, ...]
    #: Folder of this task's fine-tuned models, one subfolder an option (`Task.list_options`); None: not fine-tuned.
    finetuned_dir: Path | None = None
    #: The head that is fine-tuned on tasks that judge candidates.
    head: str | None = None


@dataclass(frozen=True)
class Results:
    """The results of a task."""

    #: Rows with `variant` and `seed`.
    records: list[dict[str, Any]] = field(default_factory=list)
    #: Further JSON values for the page.
    details: dict[str, Any] = field(default_factory=dict)
    #: Tables that are saved with the records, such as the score of every candidate.
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)


#: Calls a module's function with each tuple of arguments, in parallel or not; returns the results in their order.
ParallelMap = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]


def serial_map(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The serial `ParallelMap`."""
    return [function(*args) for args in arguments]


def measure_encoders(
    measure: Callable[..., Any], encoders: Sequence[EvaluatedEncoder], parallel_map: ParallelMap, *arguments: Any
) -> dict[tuple[str, ...], Any]:
    """`measure(encoders, *arguments)` by encoders, each measured once even if several encoders share them."""
    models = list(dict.fromkeys(encoder.models for encoder in encoders))
    return dict(zip(models, parallel_map(measure, [(names, *arguments) for names in models]), strict=True))


def measure_rows(
    measure: Callable[..., Sequence[Row]],
    encoders: Sequence[EvaluatedEncoder],
    parallel_map: ParallelMap,
    *arguments: Any,
) -> list[dict[str, Any]]:
    """Records of the rows that `measure(encoders, *arguments)` gives, see `measure_encoders`."""
    rows = measure_encoders(measure, encoders, parallel_map, *arguments)
    return [
        {"variant": encoder.variant, "seed": encoder.seed, **row}
        for encoder in encoders
        for row in rows[encoder.models]
    ]


def list_seeds(encoders: Sequence[EvaluatedEncoder]) -> list[int]:
    """The seeds of all encoders, which their baselines have, too."""
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
) -> dict[str, Any]:
    """A record of `Results`."""
    row = Row(task=task, data=data, protocol=protocol, split=split, metric=metric, value=value)
    return {"variant": variant, "seed": seed, **row}


class Task(Protocol):
    """One benchmark, or a family of them that are measured alike."""

    def prepare_data(self, source: Any, demo_dir: Path, output_dir: Path) -> None:
        """Read and check the raw files once; write the folder `output_dir` with its `TASK_FILE`.

        `source` names the files, `demo_dir` is the folder of the demo. Missing files are reported, not raised.
        """

    def check_settings(self, settings: Any, data_dir: Path) -> None:
        """Raise ValueError, before any training, if the data do not fit the settings."""

    def list_options(self, settings: Any, head: str | None) -> list[str]:
        """Names of the models that are fine-tuned for each encoder."""

    def finetune(self, settings: Any, option: str, encoder: EvaluatedEncoder, data_dir: Path, model_dir: Path) -> None:
        """Write the fine-tuned model to `model_dir`; deterministic in the encoder's seed."""

    def evaluate(
        self,
        settings: Any,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """Measure all encoders, frozen and fine-tuned, and the task's own baselines; `vectors_dir` keeps vectors.

        The tables that `TaskSpec.corpus` names are passed by keyword.
        """


class FrozenTask:
    """A task that measures frozen encoders alone, on all data that `read` wrote."""

    def check_settings(self, settings: Any, data_dir: Path) -> None:
        """See `Task.check_settings`."""

    def list_options(self, settings: Any, head: str | None) -> list[str]:
        """See `Task.list_options`."""
        return []

    def finetune(self, settings: Any, option: str, encoder: EvaluatedEncoder, data_dir: Path, model_dir: Path) -> None:
        """Raises NotImplementedError."""
        raise NotImplementedError("encoders are measured as they are; there is nothing to fine-tune")


@runtime_checkable
class DocumentTask(Protocol):
    """A task whose documents can be kept out of a corpus (`cleaning.evaluation`)."""

    def load_documents(self, data_dir: Path) -> pd.DataFrame | None:
        """The documents of dev and test questions: title (or "") and text, a row for each part of a document.

        `data_dir` is the folder that `Task.prepare_data` wrote; None if the files were missing.
        """


@runtime_checkable
class EncoderChooser(Protocol):
    """A task whose results choose the encoder of `search: best`."""

    def choose_encoder(self, details: Mapping[str, Any], variants: Sequence[str]) -> str:
        """The best of the variants by the facts of `evaluate`; the first of them if too little was measured."""

    def render_card_section(self, records: Sequence[Mapping[str, Any]], variant: str) -> str:
        """Markdown for the card of the chosen encoder, from the records of `evaluate`; "" without records."""
