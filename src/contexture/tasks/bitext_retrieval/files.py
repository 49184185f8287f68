"""Files of parallel test sentences: Tatoeba's (Artetxe and Schwenk, 2019), or two sides of any other."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from contexture.corpus.bitext.config import BitextSet
from contexture.corpus.bitext.files import read_pairs
from contexture.corpus.errors import SourceError
from contexture.tasks.bitext_retrieval.config import TatoebaSet
from contexture.tasks.missing import BenchmarkMissing

#: The languages of CMLM's Table 5, those of XTREME, as Tatoeba's files are called, in the table's order.
PAPERS = (
    "afr", "ara", "bul", "ben", "deu", "ell", "spa", "est", "eus", "pes", "fin", "fra", "heb", "hin", "hun", "ind",
    "ita", "jpn", "jav", "kat", "kaz", "kor", "mal", "mar", "nld", "por", "rus", "swh", "tam", "tel", "tha", "tgl",
    "tur", "urd", "vie", "cmn",
)  # fmt: skip
_REMEDY = (
    "Tatoeba's test sets are the folder data/tatoeba/v1 of LASER's repository; BUCC's is bucc2018, with "
    "de-en/de-en.training.de, .en and .gold and the same of sample."
)


def read_set(name: str, given: str | TatoebaSet | BitextSet) -> pd.DataFrame:
    """One row a pair: `source_lang`, `target_lang`, `source` and `target`, none dropped.

    Raises BenchmarkMissing where nothing is there, and ValueError, naming the files, where sides are of different
    length, or one is empty or not UTF-8.
    """
    if isinstance(given, BitextSet):
        sets = [given]
    elif isinstance(given, TatoebaSet):
        sets = tatoeba(name, Path(given.folder).expanduser(), given.languages)
    else:
        sets = tatoeba(name, Path(given).expanduser())
    return pd.concat([_rows(name, one) for one in sets], ignore_index=True)


def tatoeba(name: str, folder: Path, languages: Sequence[str] = ("*",)) -> list[BitextSet]:
    """The pairs of languages in a folder, English in the second place."""
    found = []
    for wanted in languages:
        files = sorted(folder.glob(f"tatoeba.{wanted}-eng.eng"))
        if not files:
            raise BenchmarkMissing(name, folder / f"tatoeba.{wanted}-eng.eng", _REMEDY)
        for file in files:
            lang = file.name.removeprefix("tatoeba.").partition("-")[0]
            found.append(BitextSet([str(file.with_suffix(f".{lang}")), str(file)], (lang, "eng")))
    return found


def _rows(name: str, one: BitextSet) -> pd.DataFrame:
    for file in one.files:
        if not Path(file).exists():
            raise BenchmarkMissing(name, Path(file), _REMEDY)
    try:
        pairs = [tuple(" ".join((side or "").split()) for side in pair) for pair in read_pairs(one)]
    except SourceError as error:
        raise ValueError(f"{name}: {error}") from error
    if empty := next((number for number, pair in enumerate(pairs, start=1) if not all(pair)), 0):
        raise ValueError(f"{name}: {' and '.join(one.files)}, line {empty}: a side is empty")
    if broken := next((number for number, pair in enumerate(pairs, start=1) if "\ufffd" in "".join(pair)), 0):
        raise ValueError(f"{name}: {' and '.join(one.files)}, line {broken}: is not UTF-8 text; convert it first")
    rows = pd.DataFrame(pairs, columns=["source", "target"])
    return rows.assign(source_lang=one.languages[0], target_lang=one.languages[1])
