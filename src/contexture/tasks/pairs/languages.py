"""Sets of pairs in several languages, for zero-shot transfer: trained in one language, tested in each.

XTREME (Hu et al., 2020) has XNLI and PAWS-X as `train-en.tsv`, `dev-de.tsv`, `test-de.tsv`, without a header, with the
columns sentence, sentence and label. Its test parts have no labels.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from contexture.splits import TEST_SHARE, draw_rows
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.pairs.config import MultilingualSet
from contexture.tasks.pairs.files import COLUMNS, read_rows
from contexture.tasks.pairs.splits import DEV_SHARE, PairSet, split_set

#: Part, language → file.
LanguageFiles = Mapping[tuple[str, str], Path]

_FILE = re.compile(r"(train|dev|test)-([a-z]{2,3})\.tsv(\.gz)?")
_REMEDY = "Name a folder with {train,dev,test}-xx.tsv[.gz], XTREME's layout of XNLI and PAWS-X."


def find_language_files(folder: Path) -> dict[tuple[str, str], Path]:
    """Return (part, language) → file of a folder; empty for another layout."""
    files: dict[tuple[str, str], Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if match := _FILE.fullmatch(path.name):
            files.setdefault((match[1], match[2]), path)
    return files


def read_languages(name: str, source: MultilingualSet) -> PairSet:
    """Return training pairs in one language and test pairs in each; `genres` of test pairs is the language.

    Training uses the train part or, without one, the dev part. Tests use the test parts or, without labels, the dev
    parts. If both use dev parts, the same share of rows is tested in every language, because rows are translations of
    each other.

    Raises BenchmarkMissing for absent files, and ValueError, naming the file, for one that is missing or does not fit
    the others.
    """
    folder, language = Path(source.folder), source.learn_from
    files = find_language_files(folder)
    if not files:
        raise BenchmarkMissing(name, folder / f"test-{language}.tsv", _REMEDY)
    train_part = next((part for part in ("train", "dev") if (part, language) in files), None)
    if train_part is None:
        raise ValueError(
            f"{name}: {folder} has neither train-{language}.tsv nor dev-{language}.tsv to train on; add one, or "
            f"set pairs.input.{name}.learn_from to another language"
        )
    rows = {"train": read_rows(files[train_part, language])}
    test_part, tests = _read_tests(name, files, source)
    notes = []
    if test_part == "dev":
        notes.append("tested on the dev part: the test part has no labels")
    elif train_part == "train" and ("dev", language) in files:
        rows["dev"] = read_rows(files["dev", language])
    if train_part == "dev":
        notes.append(
            f"trained on the dev part ({language}), of which {DEV_SHARE:.0%} is held out: there is no training part"
        )
    if train_part == test_part:
        is_tested = draw_rows(rows["train"], "test", TEST_SHARE)
        notes.append(f"{TEST_SHARE:.0%} of the rows are tested, the same in every language, and not trained on")
        rows["train"] = rows["train"][~is_tested]
        for lang, table in tests.items():
            if len(table) != len(is_tested):
                raise ValueError(
                    f"{name}: {files['dev', lang]} has {len(table)} rows, the dev part for training has "
                    f"{len(is_tested)}: their rows must be translations; otherwise add a training part or test labels"
                )
            tests[lang] = table[is_tested]
    known = {*rows["train"]["label"]} - {""}
    for lang, table in tests.items():
        if unknown := sorted({*table["label"]} - known - {""}):
            raise ValueError(
                f"{name}: {files[test_part, lang]} has the labels {unknown}, the training rows have {sorted(known)}: "
                "use files of the same set"
            )
    parts = [table.assign(part=part, genres="") for part, table in rows.items()]
    parts += [table.assign(part="test", genres=lang) for lang, table in tests.items()]
    pairs = split_set(name, pd.concat(parts, ignore_index=True)[COLUMNS])
    return replace(pairs, note="; ".join(notes))


def _read_tests(name: str, files: LanguageFiles, source: MultilingualSet) -> tuple[str, dict[str, pd.DataFrame]]:
    """Return the tested part (test or, without labels, dev) and its rows by language."""
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
                f"{name}: {file} {'has no labels' if file.exists() else 'is missing'}, but {part}-{labelled[0]} "
                f"has labels: add it, or set pairs.input.{name}.languages to the languages to test"
            )
        return part, tables
    raise ValueError(f"{name}: {source.folder} has no labels to test; add test-xx.tsv or dev-xx.tsv with three columns")
