"""Reader of sentences in several languages, in XTREME's layout of PAWS-X (Yang et al., 2019)."""

import csv
from pathlib import Path

import pandas as pd

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.pairs.languages import find_language_files

_REMEDY = "Name the folder with test-en.tsv, test-de.tsv, … as in XTREME's PAWS-X."


def read_sentences(name: str, folder: Path) -> pd.DataFrame:
    """Return a table of `lang` and `text` of the distinct sentences in each language's test part (first column).

    Raises BenchmarkMissing if there is no test part, and ValueError, naming the file, if one cannot be read.
    """
    files = {lang: file for (part, lang), file in find_language_files(folder).items() if part == "test"}
    if not files:
        raise BenchmarkMissing(name, folder / "test-*.tsv", _REMEDY)
    tables = []
    for lang, file in files.items():
        try:
            first = pd.read_csv(
                file, sep="\t", header=None, usecols=[0], dtype=str, quoting=csv.QUOTE_NONE, keep_default_na=False,
                encoding="utf-8-sig", lineterminator="\n",
            )[0].str.strip()  # fmt: skip
        except (OSError, ValueError, EOFError) as error:
            raise ValueError(f"{file} cannot be read as tab-separated text ({error}); fetch it again") from error
        tables.append(pd.DataFrame({"lang": lang, "text": first[first.ne("")].drop_duplicates()}))
    return pd.concat(tables, ignore_index=True)
