"""What a task is: it reads its files, measures frozen encoders, and says how one is fine-tuned, if it can be."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypedDict, runtime_checkable

import pandas as pd

#: What a folder of task data says of itself: `name`, `counts`, and `missing`, by what is not there.
TASK_FILE = "task.json"
#: Between a protocol and the data set that a model learned from before.
AFTER = "_after_"
#: The variant that averages word vectors and needs no training.
WORD_AVERAGE = "word_average"


class Row(TypedDict):
    """A measured number: what a record has beside system, variant, seed and cost."""

    task: str
    data: str
    protocol: str
    split: str
    metric: str
    value: float


@dataclass(frozen=True)
class Contestant:
    """One variant of a system, of one seed, as a task meets it."""

    variant: str
    seed: int
    #: Folders of encoders, or names of published models; the vectors of several stand side by side.
    encoders: tuple[str, ...]
    #: Where this task's fine-tuned models of it lie, one folder an option (`Task.options`); None: not fine-tuned.
    finetuned: Path | None = None
    #: Of answer selection: the head that is fine-tuned.
    head: str | None = None


@dataclass(frozen=True)
class Results:
    """What a task found out about its contestants."""

    #: Rows with `variant` and `seed`.
    records: list[dict[str, Any]] = field(default_factory=list)
    #: What a page shows besides, as JSON values.
    facts: dict[str, Any] = field(default_factory=dict)
    #: What is kept beside the records, such as the score of every candidate.
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)


#: Does a function of a module for each tuple of arguments, side by side perhaps; the results in their order.
Each = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]


def one_by_one(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The plain `Each`."""
    return [function(*given) for given in arguments]


def measure_encoders(
    measure: Callable[..., Any], contestants: Sequence[Contestant], each: Each, *arguments: Any
) -> dict[tuple[str, ...], Any]:
    """`measure(encoders, *arguments)` by encoders, each measured once even if several contestants share them."""
    encoders = list(dict.fromkeys(contestant.encoders for contestant in contestants))
    return dict(zip(encoders, each(measure, [(names, *arguments) for names in encoders]), strict=True))


def measure_rows(
    measure: Callable[..., Sequence[Row]], contestants: Sequence[Contestant], each: Each, *arguments: Any
) -> list[dict[str, Any]]:
    """Records of the rows that `measure(encoders, *arguments)` gives, see `measure_encoders`."""
    rows = measure_encoders(measure, contestants, each, *arguments)
    return [
        {"variant": contestant.variant, "seed": contestant.seed, **row}
        for contestant in contestants
        for row in rows[contestant.encoders]
    ]


def seeds_of(contestants: Sequence[Contestant]) -> list[int]:
    """The seeds of all contestants, which their baselines have, too."""
    return sorted({contestant.seed for contestant in contestants})


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

    def read(self, source: Any, demo: Path, place: Path) -> None:
        """Read and check the raw files once; write the folder `place`, `TASK_FILE` in it.

        `source` says where they are, `demo` is the folder of the made-up world. What is missing is named, not raised.
        """

    def check(self, settings: Any, data: Path) -> None:
        """Raise ValueError where the data do not do for the settings, before anything is trained."""

    def options(self, settings: Any, head: str | None) -> list[str]:
        """Names of the models that are fine-tuned of one contestant; none where the task is for frozen ones alone."""

    def finetune(self, settings: Any, option: str, contestant: Contestant, data: Path, folder: Path) -> None:
        """Write the fine-tuned model to `folder`; deterministic in the contestant's seed."""

    def evaluate(
        self, settings: Any, contestants: Sequence[Contestant], data: Path, place: Path, each: Each = one_by_one
    ) -> Results:
        """Measure all contestants, frozen and fine-tuned, and the task's own baselines; `place` keeps vectors.

        What `TaskSpec.corpus` names is given by keyword.
        """


class FrozenTask:
    """What tasks have in common that measure encoders as they are, on whatever `read` let pass."""

    def check(self, settings: Any, data: Path) -> None:
        """Nothing can be wrong: see `Task.check`."""

    def options(self, settings: Any, head: str | None) -> list[str]:
        """None: see `Task.options`."""
        return []

    def finetune(self, settings: Any, option: str, contestant: Contestant, data: Path, folder: Path) -> None:
        """Raises NotImplementedError."""
        raise NotImplementedError("encoders are measured as they are; there is nothing to fine-tune")


@runtime_checkable
class DocumentTask(Protocol):
    """A task whose questions are about documents, which can be kept out of a corpus (`cleaning.evaluation`)."""

    def documents(self, data: Path) -> pd.DataFrame | None:
        """What dev and test questions are about: title ("" where there is none) and text, a row a part of a document.

        `data` is the folder that `Task.read` wrote; None where the files were missing.
        """


@runtime_checkable
class EncoderChooser(Protocol):
    """A task whose results choose the encoder of `search: best`."""

    def best_encoder(self, facts: Mapping[str, Any], variants: Sequence[str]) -> str:
        """The best of the variants by the facts of `evaluate`; the first of them if too little was measured."""

    def card_section(self, records: Sequence[Mapping[str, Any]], variant: str) -> str:
        """Markdown for the card of the encoder that was chosen, from the records of `evaluate`; "" without records."""
