"""Sentence analogies: A is to B as C is to D, as Guu et al. (2017) made them from pairs of words; QT, appendix A."""

from pathlib import Path

import pandas as pd

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.files import read_lines

COLUMNS = ("category", "a", "b", "c", "d")

_REMEDY = (
    "Name a file of lines `category TAB A TAB B TAB C TAB D` without a header, plain or gzipped, with one analogy of "
    "sentences a line, or leave the task out."
)


def read_analogies(path: Path, published: int | None = None) -> pd.DataFrame:
    """Tuples of four sentences and the category of their relation (as `family`), in the file's order.

    Args:
        path: the file.
        published: the rows that it must have; None: as many as there are. QT counts 1,300 in Guu et al.'s set.

    Returns:
        One row a line with the `COLUMNS`.

    Raises:
        BenchmarkMissing: the file is absent.
        ValueError: a line has not five fields or an empty one, or the number of rows is wrong; the text names the line.
    """
    if not path.is_file():
        raise BenchmarkMissing("The set of sentence analogies", path, _REMEDY)
    rows = [[field.strip() for field in line.split("\t")] for line in read_lines(path, published)]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(COLUMNS) or not all(row):
            raise ValueError(
                f"{path}, line {number}: {sum(map(bool, row))} of {len(row)} fields hold text; "
                "a line must be a category and four sentences, separated by tabs"
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))
