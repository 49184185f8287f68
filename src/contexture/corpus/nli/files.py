"""Files of premise, hypothesis and label, one a language, as XTREME has XNLI: row by row the same in all of them."""

import csv
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from contexture.corpus.errors import SourceError
from contexture.corpus.nli.config import NliConfig
from contexture.splits import TEST_SHARE, draw_rows

#: The classes, in the order of their numbers.
LABELS = ("entailment", "neutral", "contradiction")
COLUMNS = ("premise", "hypothesis", "label")
#: "train-en (1).tsv" is no language: beside train-en.tsv it would make pairs of two English sentences.
_FILE = re.compile(r"[a-z]+-([a-z]{2,3})\.tsv(\.gz)?")


def files_of(config: NliConfig, folder: Path) -> dict[str, Path]:
    """Language → its file. Raises SourceError for less than two languages, or without the file of one in `config`."""
    named: dict[str, Path] = {}
    for file in sorted(folder.glob(f"{config.part}-*")):
        if match := _FILE.fullmatch(file.name):
            named.setdefault(match[1], file)
    wanted = sorted(named if config.languages is None else set(config.languages))
    if absent := [lang for lang in wanted if lang not in named]:
        raise SourceError(
            f"{folder}: no {config.part}-{absent[0]}.tsv; the languages of that part there are {sorted(named)}."
        )
    if len(wanted) < 2:
        raise SourceError(
            f"{folder}: {len(wanted)} files {config.part}-<language>.tsv, where premise and hypothesis shall be in "
            "different languages: give two at least, or another nli.part."
        )
    return {lang: named[lang] for lang in wanted}


def read_pairs(config: NliConfig, folder: Path) -> pd.DataFrame:
    """One row for each pair and language: number, lang, premise, hypothesis, and the number of the label.

    Raises SourceError, with file and line, for rows that are not three texts, unknown or differing labels, and files of
    different length.
    """
    tables = {lang: _read(file) for lang, file in files_of(config, folder).items()}
    (first, table), *other_tables = tables.items()
    for lang, other in other_tables:
        if len(other) != len(table):
            raise SourceError(
                f"{folder}: {config.part}-{first} has {len(table):,} rows, {config.part}-{lang} {len(other):,}: those "
                "of one number must be translations of one another. Take all files of one release."
            )
        if not (same := table["label"].eq(other["label"])).all():
            raise SourceError(
                f"{folder}: row {int(same.argmin()) + 1} has another label in {config.part}-{first} than in "
                f"{config.part}-{lang}: rows of one number must be translations of one another."
            )
    kept = _untested(config, folder, tables)
    return pd.concat([table[kept].assign(lang=lang) for lang, table in tables.items()], ignore_index=True)


def _untested(config: NliConfig, folder: Path, tables: Mapping[str, pd.DataFrame]) -> npt.NDArray[np.bool_]:
    """The rows to train on."""
    if config.without_tested is None:
        return np.ones(len(next(iter(tables.values()))), np.bool_)
    if config.without_tested not in tables:
        raise SourceError(f"{folder}: nli.without_tested is {config.without_tested}, but read are {sorted(tables)}.")
    return ~draw_rows(
        tables[config.without_tested].set_axis(["first", "second", "label", "number"], axis=1), "test", TEST_SHARE
    )


def _read(file: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(
            file, sep="\t", header=None, dtype=str, quoting=csv.QUOTE_NONE, keep_default_na=False, encoding="utf-8-sig",
            lineterminator="\n", skip_blank_lines=False,
        )  # fmt: skip
    except (OSError, ValueError, EOFError) as error:
        raise SourceError(f"{file} cannot be read as {', '.join(COLUMNS)} between tabs: {error}") from error
    if table.shape[1] != len(COLUMNS):
        raise SourceError(f"{file} has {table.shape[1]} columns, not {', '.join(COLUMNS)}.")
    table.columns = pd.Index(COLUMNS)
    table = table.fillna("").apply(lambda column: column.str.strip())
    for column in ("premise", "hypothesis"):
        if (empty := table[column].eq("")).any():
            raise SourceError(f"{file}, line {int(empty.argmax()) + 1}: the {column} is empty.")
    numbers = table["label"].map({label: number for number, label in enumerate(LABELS)})
    if (unknown := numbers.isna()).any():
        line = int(unknown.argmax())
        raise SourceError(
            f"{file}, line {line + 1}: the label {table['label'][line]!r} is none of {', '.join(LABELS)}."
        )
    return pd.DataFrame(table).assign(label=numbers.astype("int32"), number=range(len(table)))
