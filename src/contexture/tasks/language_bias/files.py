"""Files of sentences in several languages: XTREME's layout of PAWS-X (Yang et al., 2019)."""

import csv
from pathlib import Path

import pandas as pd

from contexture.tasks.missing import BenchmarkMissing

_ENDINGS = (".tsv", ".tsv.gz")
_REMEDY = "Give the folder that holds test-en.tsv, test-de.tsv, …, as XTREME has PAWS-X."


def read_sentences(name: str, folder: Path) -> pd.DataFrame:
    """One row a sentence: `lang` and `text`, the different ones of the first column of every language's test part.

    Raises BenchmarkMissing where there is none, and ValueError, naming the file, for one that cannot be read.
    """
    files = sorted(file for ending in _ENDINGS for file in folder.glob(f"test-*{ending}"))
    if not files:
        raise BenchmarkMissing(name, folder / "test-*.tsv", _REMEDY)
    tables = []
    for file in files:
        try:
            first = pd.read_csv(
                file, sep="\t", header=None, usecols=[0], dtype=str, quoting=csv.QUOTE_NONE, keep_default_na=False,
                encoding="utf-8", lineterminator="\n",
            )[0].str.strip()  # fmt: skip
        except (OSError, ValueError, EOFError) as error:
            raise ValueError(f"{file} cannot be read as sentences between tabs ({error}); fetch it again") from error
        texts = first[first.ne("")].drop_duplicates()
        lang = file.name.removeprefix("test-").partition(".")[0]
        tables.append(pd.DataFrame({"lang": lang, "text": texts}))
    return pd.concat(tables, ignore_index=True)
