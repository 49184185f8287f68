"""Sets of pairs that come in several languages: learned from in one, tested in each (zero-shot transfer).

XTREME (Hu et al., 2020) lays out XNLI and PAWS-X so: `train-en.tsv`, `dev-de.tsv`, `test-de.tsv`, without a header,
with the columns sentence, sentence and label; its test parts come without the last.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from contexture.splits import TEST, drawn
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.pairs.config import MultilingualSet
from contexture.tasks.pairs.files import COLUMNS, read_rows
from contexture.tasks.pairs.splits import DEV_SHARE, PairSet, split_set

#: Part, language → file.
LanguageFiles = Mapping[tuple[str, str], Path]

_FILE = re.compile(r"(train|dev|test)-([a-z]{2,3})\.tsv(\.gz)?")
_REMEDY = "Give a folder with {train,dev,test}-xx.tsv[.gz], as XTREME lays out XNLI and PAWS-X."


def find_language_files(folder: Path) -> dict[tuple[str, str], Path]:
    """The files of a set in languages; empty for a folder of anything else."""
    files: dict[tuple[str, str], Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if match := _FILE.fullmatch(path.name):
            files.setdefault((match[1], match[2]), path)
    return files


def read_languages(name: str, source: MultilingualSet) -> PairSet:
    """The pairs to learn from, of one language, and those to test, whose `genres` are their language.

    Learned from are the pairs to train on or, without such, those of the dev part. Tested are the test parts or, if
    these have no labels, the dev parts. If that leaves dev parts for both, a share of their rows is tested, the same
    rows in every language: these are translations of one another. Raises BenchmarkMissing if there are no such files,
    and ValueError for a file that is missing or unlike the others, naming it.
    """
    folder, language = Path(source.folder), source.learn_from
    files = find_language_files(folder)
    if not files:
        raise BenchmarkMissing(name, folder / f"test-{language}.tsv", _REMEDY)
    train_part = next((part for part in ("train", "dev") if (part, language) in files), None)
    if train_part is None:
        raise ValueError(
            f"{name}: {folder} has neither train-{language}.tsv nor dev-{language}.tsv to learn from; give one of "
            f"them, or say in which language to learn, as pairs.input.{name}.learn_from"
        )
    rows = {"train": read_rows(files[train_part, language])}
    test_part, tests = _read_tests(name, files, source)
    notes = []
    if test_part == "dev":
        notes.append("tested on the dev part, as there are no labels of a test part")
    elif train_part == "train" and ("dev", language) in files:
        rows["dev"] = read_rows(files["dev", language])
    if train_part == "dev":
        notes.append(
            f"learned from the dev part ({language}), as there is none to train on, {DEV_SHARE:.0%} of it held out"
        )
    if train_part == test_part:
        is_tested = drawn(rows["train"], "test", TEST)
        notes.append(f"{TEST:.0%} of the rows are tested, the same in every language, and not learned from")
        rows["train"] = rows["train"][~is_tested]
        for lang, table in tests.items():
            if len(table) != len(is_tested):
                raise ValueError(
                    f"{name}: {files['dev', lang]} has {len(table)} rows, the dev part that is learned from "
                    f"{len(is_tested)}: they must be translations, row by row, or else give a part to train on or "
                    "labels of the test part"
                )
            tests[lang] = table[is_tested]
    known = {*rows["train"]["label"]} - {""}
    for lang, table in tests.items():
        if unknown := sorted({*table["label"]} - known - {""}):
            raise ValueError(
                f"{name}: {files[test_part, lang]} has the labels {unknown}, what is learned from has {sorted(known)}: "
                "give files of the same set"
            )
    parts = [table.assign(part=part, genres="") for part, table in rows.items()]
    parts += [table.assign(part="test", genres=lang) for lang, table in tests.items()]
    pairs = split_set(name, pd.concat(parts, ignore_index=True)[COLUMNS])
    return replace(pairs, note="; ".join(notes))


def _read_tests(name: str, files: LanguageFiles, source: MultilingualSet) -> tuple[str, dict[str, pd.DataFrame]]:
    """The part that is tested and its rows by language: test or, if that has no labels, dev."""
    available = {part: sorted(lang for of_part, lang in files if of_part == part) for part in ("test", "dev")}
    languages = source.languages or available["test"] or available["dev"]
    for part in available:
        tables = {lang: read_rows(files[part, lang]) for lang in languages if (part, lang) in files}
        labelled = [lang for lang, rows in tables.items() if rows["label"].ne("").any()]
        if not labelled:
            continue
        if unlabelled := [lang for lang in languages if lang not in labelled]:
            file = files.get((part, unlabelled[0]), Path(source.folder) / f"{part}-{unlabelled[0]}.tsv")
            raise ValueError(
                f"{name}: {file} {'has no labels' if file.exists() else 'is not there'}, {part}-{labelled[0]} has "
                f"some: give it, or say which languages to test, as pairs.input.{name}.languages"
            )
        return part, tables
    raise ValueError(
        f"{name}: {source.folder} has no labels to test by; give test-xx.tsv or dev-xx.tsv with three columns"
    )
