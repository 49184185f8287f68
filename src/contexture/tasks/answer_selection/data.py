"""Questions and candidates as token ids, in groups that a model reads together."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from contexture.encoders.base import Encoder, tokenize_texts
from contexture.encoders.config import HeadKind, LayoutConfig
from contexture.encoders.layout import Batch
from contexture.tasks.finetuned import Examples, Step, lay_out

IGNORED = -100
RowNumbers = npt.NDArray[np.int64]
_DTYPES = {
    "tokens": np.int32,
    "ends": np.int64,
    "questions": np.int64,
    "candidates": np.int64,
    "labels": np.int8,
    "starts": np.int64,
}


@dataclass(frozen=True)
class AnswerRows:
    """Token ids of questions and candidates without special tokens, in memory or memory-mapped.

    Consecutive rows of a question form groups of at most `size`.
    """

    #: Concatenated token ids of all texts, and 0 followed by the end of each text.
    tokens: npt.NDArray[Any]
    ends: npt.NDArray[Any]
    #: Text number of the question, text number of the candidate, and label of each row.
    questions: npt.NDArray[Any]
    candidates: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    #: First row of each group.
    starts: npt.NDArray[Any]

    @classmethod
    def in_memory(cls, answers: pd.DataFrame, encoder: Encoder, size: int) -> Self:
        """Return the tokenized rows of a table with question_id, question, candidate and label.

        Groups have at most `size` candidates of one question.
        """
        parts = list(_tokenize_tables([answers], encoder, size))
        return cls(**{name: np.concatenate([part[name] for part in parts]) for name in _DTYPES})

    @classmethod
    def on_disk(cls, tables: Iterable[pd.DataFrame], encoder: Encoder, size: int, folder: Path) -> Self:
        """Return the token ids of tables, memory-mapped from new files in `folder`; see `in_memory`."""
        folder.mkdir()
        with ExitStack() as stack:
            files = {name: stack.enter_context((folder / name).open("wb")) for name in _DTYPES}
            for part in _tokenize_tables(tables, encoder, size):
                for name, file in files.items():
                    part[name].tofile(file)
        return cls(**{name: _map_file(folder / name, kind) for name, kind in _DTYPES.items()})

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> RowNumbers:
        """The number of tokens of each row's candidate."""
        lengths: RowNumbers = np.diff(self.ends)[self.candidates]
        return lengths

    def text(self, number: int) -> npt.NDArray[Any]:
        """Return the token ids of the text with this number."""
        return self.tokens[self.ends[number] : self.ends[number + 1]]

    def group(self, number: int) -> RowNumbers:
        """Return the row numbers of the group with this number."""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self)
        return np.arange(self.starts[number], end, dtype=np.int64)


class AnswerInputs(Examples):
    """Model inputs; a training example is a group of candidates."""

    noun, small_last_batch = "groups of candidates", True

    def __init__(self, rows: AnswerRows, head: HeadKind, encoder: Encoder, layout: LayoutConfig) -> None:
        self.rows, self.head, self.specials, self.layout = rows, head, encoder.specials, layout

    def __len__(self) -> int:
        return len(self.rows.starts)

    def training_batch(self, step: Step) -> Batch:
        """Return the batch of this device's groups; a device without a group gets one with ignored labels."""
        device_rows = step.device_rows
        batch = self.batch([self.rows.group(number) for number in (device_rows if len(device_rows) else step.rows[:1])])
        return batch if len(device_rows) else batch | {"labels": torch.full_like(batch["labels"], IGNORED)}

    def batch(self, groups: Sequence[RowNumbers]) -> Batch:
        """Return model input with `labels` (B, k) of groups of at most k rows; −100 marks an empty slot."""
        size, table = get_group_size(self.head, self.layout), self.rows
        texts = [[table.text(n) for n in (table.questions[rows[0]], *table.candidates[rows])] for rows in groups]
        labels = np.full((len(groups), size), IGNORED, dtype=np.int64)
        for row, rows in zip(labels, groups, strict=True):
            row[: len(rows)] = table.labels[rows]
        batch = lay_out(texts, size + 1, self.specials, self.layout, self.head == "ie_1")
        return batch | {"labels": torch.from_numpy(labels)}


def get_group_size(head: HeadKind, layout: LayoutConfig) -> int:
    """Return the number of candidates that the head reads together."""
    return 1 if head == "ie_1" else layout.candidates


def _tokenize_tables(
    tables: Iterable[pd.DataFrame], encoder: Encoder, size: int
) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield the tokenized columns of `AnswerRows` for each table; a question may continue in the next table."""
    yield _to_columns(ends=[0])
    rows = texts = tokens = begin = 0
    question, question_id = -1, None
    for table in tables:
        ids = table["question_id"].to_numpy()
        if not len(ids):
            continue
        is_new = np.concatenate([[ids[0] != question_id], ids[1:] != ids[:-1]])
        numbers = np.arange(len(ids))
        read = tokenize_texts([*table["candidate"], *table["question"].to_numpy()[is_new]], encoder.vocabulary)
        new_questions = np.arange(texts + len(ids), texts + len(read.lengths))
        questions = np.concatenate([[question], new_questions])[np.cumsum(is_new)]
        begins = np.maximum.accumulate(np.where(is_new, rows + numbers, begin))
        yield _to_columns(
            tokens=read.tokens,
            ends=tokens + np.cumsum(read.lengths),
            questions=questions,
            candidates=texts + numbers,
            labels=table["label"].to_numpy(),
            starts=(rows + numbers)[(rows + numbers - begins) % size == 0],
        )
        rows, texts, tokens = rows + len(ids), texts + len(read.lengths), tokens + len(read.tokens)
        begin, question, question_id = begins[-1], questions[-1], ids[-1]


def _to_columns(**columns: Any) -> dict[str, npt.NDArray[Any]]:
    """Return all columns of `AnswerRows` as arrays of their types; those that are not given are empty."""
    return {name: np.asarray(columns.get(name, ()), dtype=kind) for name, kind in _DTYPES.items()}


def _map_file(file: Path, dtype: Any) -> npt.NDArray[Any]:
    """Return the array in a file, memory-mapped unless the file is empty."""
    return np.memmap(file, dtype=dtype, mode="r") if file.stat().st_size else np.empty(0, dtype=dtype)
