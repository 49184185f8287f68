"""Sets of pairs that come in several languages: learned from in one, tested in each (zero-shot transfer).

XTREME (Hu et al., 2020) lays out XNLI and PAWS-X so: `train-en.tsv`, `dev-de.tsv`, `test-de.tsv`, without a header,
with the columns sentence, sentence and label; its test parts come without the last.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from contexture.splits import TEST_SHARE, draw_rows
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.pairs.config import SetInLanguages
from contexture.tasks.pairs.files import COLUMNS, read_rows
from contexture.tasks.pairs.splits import HELD_OUT, PairSet, split_set

#: Part, language → file.
Files = Mapping[tuple[str, str], Path]

_FILE = re.compile(r"(train|dev|test)-([a-z]{2,3})\.tsv(\.gz)?")
_REMEDY = "Give a folder with {train,dev,test}-xx.tsv[.gz], as XTREME lays out XNLI and PAWS-X."


def language_files(folder: Path) -> dict[tuple[str, str], Path]:
    """The files of a set in languages; none in a folder of anything else."""
    found: dict[tuple[str, str], Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if named := _FILE.fullmatch(path.name):
            found.setdefault((named[1], named[2]), path)
    return found


def read_languages(name: str, given: SetInLanguages) -> PairSet:
    """The pairs to learn from, of one language, and those to test, whose `genres` are their language.

    Learned from are the pairs to train on or, without such, those of the dev part. Tested are the test parts or, where
    these have no labels, the dev parts. Where that leaves dev parts for both, a share of their rows is tested, the
    same rows in every language: these are translations of one another.

    Raises:
        BenchmarkMissing: there are no such files.
        ValueError: a file is missing or unlike the others, naming it.
    """
    folder, source = Path(given.folder), given.learn_from
    files = language_files(folder)
    if not files:
        raise BenchmarkMissing(name, folder / f"test-{source}.tsv", _REMEDY)
    learned = next((part for part in ("train", "dev") if (part, source) in files), None)
    if learned is None:
        raise ValueError(
            f"{name}: {folder} has neither train-{source}.tsv nor dev-{source}.tsv to learn from; give one of them, or "
            f"say in which language to learn, as pairs.input.{name}.learn_from"
        )
    rows = {"train": read_rows(files[learned, source])}
    part, tests = _tests(name, files, given)
    said = []
    if part == "dev":
        said.append("tested on the dev part, as there are no labels of a test part")
    elif learned == "train" and ("dev", source) in files:
        rows["dev"] = read_rows(files["dev", source])
    if learned == "dev":
        said.append(
            f"learned from the dev part ({source}), as there is none to train on, {HELD_OUT:.0%} of it held out"
        )
    if learned == part:
        tested = draw_rows(rows["train"], "test", TEST_SHARE)
        said.append(f"{TEST_SHARE:.0%} of the rows are tested, the same in every language, and not learned from")
        rows["train"] = rows["train"][~tested]
        tests = {language: _same(name, files, language, of, len(tested))[tested] for language, of in tests.items()}
    _check_labels(name, files, part, tests, set(rows["train"]["label"]))
    parts = [table.assign(part=part, genres="") for part, table in rows.items()]
    parts += [table.assign(part="test", genres=language) for language, table in tests.items()]
    found = split_set(name, pd.concat(parts, ignore_index=True)[COLUMNS])
    return replace(found, said="; ".join(said))


def _tests(name: str, files: Files, given: SetInLanguages) -> tuple[str, dict[str, pd.DataFrame]]:
    """The part that is tested and, by language, its rows: test or, where nothing of that has labels, dev."""
    there = {part: sorted(language for of, language in files if of == part) for part in ("test", "dev")}
    languages = given.languages or there["test"] or there["dev"]
    for part in there:
        tables = {language: read_rows(files[part, language]) for language in languages if (part, language) in files}
        labelled = [language for language, rows in tables.items() if rows["label"].ne("").any()]
        if unlabelled := [language for language in languages if language not in labelled] if labelled else []:
            file = files.get((part, unlabelled[0]), Path(given.folder) / f"{part}-{unlabelled[0]}.tsv")
            raise ValueError(
                f"{name}: {file} {'has no labels' if file.exists() else 'is not there'}, {part}-{labelled[0]} has "
                f"some: give it, or say which languages to test, as pairs.input.{name}.languages"
            )
        if labelled:
            return part, tables
    raise ValueError(
        f"{name}: {given.folder} has no labels to test by; give test-xx.tsv or dev-xx.tsv with three columns"
    )


def _same(name: str, files: Files, language: str, rows: pd.DataFrame, count: int) -> pd.DataFrame:
    if len(rows) != count:
        raise ValueError(
            f"{name}: {files['dev', language]} has {len(rows)} rows, the dev part that is learned from {count}: they "
            "must be translations, row by row, or else give a part to train on or labels of the test part"
        )
    return rows


def _check_labels(name: str, files: Files, part: str, tests: Mapping[str, pd.DataFrame], known: set[str]) -> None:
    for language, rows in tests.items():
        if unknown := sorted({*rows["label"]} - known - {""}):
            raise ValueError(
                f"{name}: {files[part, language]} has the labels {unknown}, what is learned from has "
                f"{sorted(known - {''})}: give files of the same set"
            )
