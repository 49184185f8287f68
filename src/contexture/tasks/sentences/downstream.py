"""All tasks of a folder that SentEval calls `data/downstream`, read without what embeds and measures."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.files import Counts
from contexture.tasks.sentences.senteval import (
    CLASSIFICATION,
    RELATEDNESS,
    SIMILARITY,
    read_classification,
    read_relatedness,
    read_similarity,
)
from contexture.tasks.sentences.tables import ClassificationTask, RelatednessTask, SimilarityTask, distinct

#: Every task by name; stsb and sick_r are both regressions to train and similarities to correlate.
NAMES = tuple(dict.fromkeys([*CLASSIFICATION, *RELATEDNESS, *SIMILARITY]))

_Task = TypeVar("_Task", ClassificationTask, RelatednessTask, SimilarityTask)


@dataclass(frozen=True, eq=False)
class SentenceTasks:
    """The tasks of a folder, and why the others are not there."""

    classification: tuple[ClassificationTask, ...] = ()
    relatedness: tuple[RelatednessTask, ...] = ()
    similarity: tuple[SimilarityTask, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, counts: Counts = "published", only: Collection[str] = NAMES) -> "SentenceTasks":
        """Read every task of `only` whose files are in `folder`, SentEval's `data/downstream`; name the missing ones.

        Raises:
            ValueError: a name in `only` is no task's, or a file is not as published, naming it.
        """
        if unknown := [name for name in only if name not in NAMES]:
            raise ValueError(f"no task is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
        missing: dict[str, str] = {}

        def there(names: Collection[str], read: Callable[[Path, str, Counts], _Task]) -> Iterator[_Task]:
            for name in names:
                try:
                    if name in only:
                        yield read(folder, name, counts)
                except BenchmarkMissing as error:
                    missing[name] = str(error)

        return cls(
            tuple(there(CLASSIFICATION, read_classification)),
            tuple(there(RELATEDNESS, read_relatedness)),
            tuple(there(SIMILARITY, read_similarity)),
            missing,
        )

    def __len__(self) -> int:
        return len(self.classification) + len(self.relatedness) + len(self.similarity)

    def sentences(self) -> list[str]:
        """Every sentence of every task, each once, in the order in which they come first."""
        tables = [
            *(task.table for task in self.classification),
            *(task.table for task in self.relatedness),
            *(task.table for task in self.similarity),
        ]
        return distinct(table[column] for table in tables for column in ("text", "text2") if column in table)
