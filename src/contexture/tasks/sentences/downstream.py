"""Reader of all tasks in a folder with SentEval's layout (`data/downstream`)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from contexture.messages import explain_unknown
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.files import RowCounts
from contexture.tasks.sentences.senteval import (
    CLASSIFICATION,
    RELATEDNESS,
    SIMILARITY,
    read_classification,
    read_relatedness,
    read_similarity,
)
from contexture.tasks.sentences.tables import ClassificationTask, RelatednessTask, SimilarityTask, distinct

#: Names of all tasks; stsb and sick_r are both relatedness and similarity tasks.
TASK_NAMES = tuple(dict.fromkeys([*CLASSIFICATION, *RELATEDNESS, *SIMILARITY]))

_Task = TypeVar("_Task", ClassificationTask, RelatednessTask, SimilarityTask)


@dataclass(frozen=True, eq=False)
class SentenceTasks:
    """Tasks of a folder, and the reasons for missing ones."""

    classification: tuple[ClassificationTask, ...] = ()
    relatedness: tuple[RelatednessTask, ...] = ()
    similarity: tuple[SimilarityTask, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(
        cls, folder: Path, row_counts: RowCounts = "published", select: Collection[str] = TASK_NAMES
    ) -> "SentenceTasks":
        """Read the classification, relatedness and similarity tasks of `select` from `folder`.

        `missing` has the reasons for absent ones. `row_counts`: "published" requires the published number of rows.

        Raises ValueError for an unknown task, and for a file that differs from the published one.
        """
        if unknown := [name for name in select if name not in TASK_NAMES]:
            raise ValueError(explain_unknown("task", unknown, TASK_NAMES))
        missing: dict[str, str] = {}

        def read_available(names: Collection[str], read: Callable[[Path, str, RowCounts], _Task]) -> tuple[_Task, ...]:
            tasks = []
            for name in names:
                try:
                    if name in select:
                        tasks.append(read(folder, name, row_counts))
                except BenchmarkMissing as error:
                    missing[name] = str(error)
            return tuple(tasks)

        return cls(
            read_available(CLASSIFICATION, read_classification),
            read_available(RELATEDNESS, read_relatedness),
            read_available(SIMILARITY, read_similarity),
            missing,
        )

    @property
    def tasks(self) -> tuple[ClassificationTask | RelatednessTask | SimilarityTask, ...]:
        """All tasks of the three kinds."""
        return (*self.classification, *self.relatedness, *self.similarity)

    def __len__(self) -> int:
        return len(self.tasks)

    def sentences(self) -> list[str]:
        """Return the distinct sentences of all tasks, in order of first occurrence."""
        tables = [task.table for task in self.tasks]
        return distinct(table[column] for table in tables for column in ("text", "text2") if column in table)
