"""Readers of parallel test sentences: Tatoeba (Artetxe and Schwenk, 2019), pairs of files, and BUCC.

BUCC (Zweigenbaum et al., 2018) has one list of sentences per language, some of which are translations of each other:
`de-en/de-en.training.de` and `.en` have lines of id and sentence, `de-en/de-en.training.gold` the pairs of ids.
`sample` and `test` have the same format; the gold of `test` is not public.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from contexture.corpus.bitext.config import BitextSet
from contexture.corpus.bitext.files import read_pairs
from contexture.corpus.errors import SourceError
from contexture.folders import expand_home
from contexture.tasks.bitext_retrieval.config import TatoebaSet
from contexture.tasks.missing import BenchmarkMissing

#: Languages of CMLM's Table 5 (XTREME's), by Tatoeba's codes and in the table's order.
PAPER_LANGUAGES = (
    "afr", "ara", "bul", "ben", "deu", "ell", "spa", "est", "eus", "pes", "fin", "fra", "heb", "hin", "hun", "ind",
    "ita", "jpn", "jav", "kat", "kaz", "kor", "mal", "mar", "nld", "por", "rus", "swh", "tam", "tel", "tha", "tgl",
    "tur", "urd", "vie", "cmn",
)  # fmt: skip
#: BUCC's parts to tune and to test the threshold on; the first available pair is used.
MINING_PARTS = (("training", "test"), ("sample", "training"))
_REMEDY = (
    "Tatoeba's test sets are in data/tatoeba/v1 of the LASER repository. BUCC's is bucc2018, with "
    "de-en/de-en.training.de, .en and .gold, and the same for sample."
)


def read_set(name: str, source: str | TatoebaSet | BitextSet) -> pd.DataFrame:
    """Return a table of translations: `source_lang`, `target_lang`, `source` and `target`. No pair is dropped.

    Raises BenchmarkMissing for absent files. Raises ValueError, naming the files, for sides of different length, empty
    sentences and text that is not UTF-8.
    """
    if isinstance(source, BitextSet):
        sets = [source]
    elif isinstance(source, TatoebaSet):
        sets = list_tatoeba_sets(name, source.folder, source.languages)
    else:
        sets = list_tatoeba_sets(name, source)
    return pd.concat([_read_bitext(name, bitext) for bitext in sets], ignore_index=True)


def list_tatoeba_sets(name: str, folder: str, languages: Sequence[str] = ("*",)) -> list[BitextSet]:
    """Return the files of each language pair in a folder of Tatoeba, with English as target."""
    sets = []
    for language in languages:
        pattern = expand_home(folder) / f"tatoeba.{language}-eng.eng"
        files = sorted(pattern.parent.glob(pattern.name))
        if not files:
            raise BenchmarkMissing(name, pattern, _REMEDY)
        for file in files:
            lang = file.name.removeprefix("tatoeba.").partition("-")[0]
            sets.append(BitextSet([str(file.with_suffix(f".{lang}")), str(file)], (lang, "eng")))
    return sets


def _read_bitext(name: str, bitext: BitextSet) -> pd.DataFrame:
    """Return the rows of `read_set` for the files of one language pair."""
    for file in bitext.files:
        if not Path(file).exists():
            raise BenchmarkMissing(name, Path(file), _REMEDY)
    try:
        pairs = [tuple(" ".join((side or "").split()) for side in pair) for pair in read_pairs(bitext)]
    except SourceError as error:
        raise ValueError(f"{name}: {error}") from error
    for number, pair in enumerate(pairs, start=1):
        line = f"{name}: {' and '.join(bitext.files)}, line {number}"
        if not all(pair):
            raise ValueError(f"{line}: a side is empty; remove the pair or add its sentence")
        if "\ufffd" in "".join(pair):
            raise ValueError(f"{line}: not UTF-8 text; convert it first")
    rows = pd.DataFrame(pairs, columns=["source", "target"])
    return rows.assign(source_lang=bitext.languages[0], target_lang=bitext.languages[1])


@dataclass(frozen=True)
class MiningPart:
    """Distinct sentences of two languages, and the pairs that are translations."""

    source: list[str]
    target: list[str]
    gold: set[tuple[str, str]]


def list_mining_parts(folder: Path) -> dict[str, tuple[str, str]]:
    """Return language pair → parts to tune and to test on, both with gold. Empty unless the folder is BUCC's."""
    usable: dict[str, tuple[str, str]] = {}
    for pair_dir in sorted(folder.glob("*-*/")):
        for parts in MINING_PARTS:
            if all(_mining_path(pair_dir, f"{part}.gold").exists() for part in parts):
                usable.setdefault(pair_dir.name, parts)
    return usable


def read_mining_part(pair_dir: Path, part: str) -> MiningPart:
    """Return the sentences and the gold pairs of one part of BUCC's language pair.

    Raises BenchmarkMissing for an absent file, and ValueError with file and line for another format.
    """
    files = [_mining_path(pair_dir, f"{part}.{language}") for language in pair_dir.name.split("-")]
    sides = [dict(_read_fields(file)) for file in files]
    gold = set()
    gold_file = _mining_path(pair_dir, f"{part}.gold")
    for number, ids in enumerate(_read_fields(gold_file), start=1):
        for sentence_id, side, file in zip(ids, sides, files, strict=True):
            if sentence_id not in side:
                raise ValueError(f"{gold_file}, line {number}: {sentence_id} is not in {file}; fetch both files again")
        gold.add((sides[0][ids[0]], sides[1][ids[1]]))
    if not gold:
        raise ValueError(f"{gold_file} is empty; fetch it again")
    source, target = (list(dict.fromkeys(side.values())) for side in sides)
    return MiningPart(source, target, gold)


def _read_fields(file: Path) -> list[tuple[str, str]]:
    """Return the two fields of each line of a BUCC file: id and sentence, or two ids."""
    if not file.exists():
        raise BenchmarkMissing(file.parent.name, file, "Unpack all archives of BUCC 2018 into one folder.")
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 text ({error}); convert it first") from error
    fields = []
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), start=1):
        first, tab, second = line.rstrip("\r").partition("\t")
        if not (tab and first.strip() and second.strip()):
            raise ValueError(f"{file}, line {number}: a line must be an id, a tab, and a sentence or another id")
        fields.append((first.strip(), second.strip()))
    return fields


def _mining_path(pair_dir: Path, ending: str) -> Path:
    """Return the file with this ending of BUCC's language pair."""
    return pair_dir / f"{pair_dir.name}.{ending}"
