"""Read files of premise, hypothesis and label, one for each language and with parallel rows (XNLI in XTREME)."""

import csv
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from contexture.corpus.errors import SourceError
from contexture.corpus.nli.config import NliConfig
from contexture.splits import TEST_SHARE, draw_rows

#: Classes in the order of their numbers.
LABELS = ("entailment", "neutral", "contradiction")
COLUMNS = ("premise", "hypothesis", "label")
#: Does not match copies such as "train-en (1).tsv", which would give pairs of two English sentences.
_FILE_NAME = re.compile(r"[a-z]+-([a-z]{2,3})\.tsv(\.gz)?")


def find_language_files(config: NliConfig, folder: Path) -> dict[str, Path]:
    """Return language → file of the part. Raises SourceError for fewer than two languages or a missing file."""
    file_by_lang: dict[str, Path] = {}
    for file in sorted(folder.glob(f"{config.part}-*")):
        if match := _FILE_NAME.fullmatch(file.name):
            file_by_lang.setdefault(match[1], file)
    languages = sorted(file_by_lang if config.languages is None else set(config.languages))
    if missing := [lang for lang in languages if lang not in file_by_lang]:
        raise SourceError(
            f"{folder}: {config.part}-{missing[0]}.tsv is missing; this part has the languages {sorted(file_by_lang)}."
        )
    if len(languages) < 2:
        raise SourceError(
            f"{folder}: {len(languages)} files {config.part}-<language>.tsv: premise and hypothesis must be in "
            "different languages. Add a file of another language, or set another nli.part."
        )
    return {lang: file_by_lang[lang] for lang in languages}


def read_pairs(config: NliConfig, folder: Path) -> pd.DataFrame:
    """Return a table with a row for each pair and language: number, lang, premise, hypothesis, number of the label.

    Raises SourceError with file and line for rows that are not three texts, for unknown or differing labels, and for
    files of different length.
    """
    tables = {lang: _read_file(file) for lang, file in find_language_files(config, folder).items()}
    (first, table), *other_tables = tables.items()
    for lang, other in other_tables:
        if len(other) != len(table):
            raise SourceError(
                f"{folder}: {config.part}-{first} has {len(table):,} rows, {config.part}-{lang} {len(other):,}: rows "
                "of the same number must be translations. Use files of the same release."
            )
        if not (same := table["label"].eq(other["label"])).all():
            raise SourceError(
                f"{folder}: row {int(same.argmin()) + 1} has different labels in {config.part}-{first} and "
                f"{config.part}-{lang}: rows of the same number must be translations. Use files of the same release."
            )
    kept = _select_untested(config, folder, tables)
    return pd.concat([table[kept].assign(lang=lang) for lang, table in tables.items()], ignore_index=True)


def _select_untested(config: NliConfig, folder: Path, tables: Mapping[str, pd.DataFrame]) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows that the task `pairs` does not test on."""
    if config.without_tested is None:
        return np.ones(len(next(iter(tables.values()))), np.bool_)
    if config.without_tested not in tables:
        raise SourceError(
            f"{folder}: nli.without_tested is {config.without_tested}, but the languages are {sorted(tables)}."
        )
    return ~draw_rows(
        tables[config.without_tested].set_axis(["first", "second", "label", "number"], axis=1), "test", TEST_SHARE
    )


def _read_file(file: Path) -> pd.DataFrame:
    """Return the table of one language's file: premise, hypothesis, number of the label, number of the row."""
    try:
        table = pd.read_csv(
            file, sep="\t", header=None, dtype=str, quoting=csv.QUOTE_NONE, keep_default_na=False, encoding="utf-8-sig",
            lineterminator="\n", skip_blank_lines=False,
        )  # fmt: skip
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise SourceError(f"{file} cannot be read as tab-separated {', '.join(COLUMNS)}: {error}") from error
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
