"""Labelled pairs in several languages: files in XTREME's layout, and errors for faulty ones."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from contexture.corpus.errors import SourceError
from contexture.corpus.nli.config import NliConfig
from contexture.corpus.nli.files import find_language_files, read_pairs
from contexture.tasks.pairs.config import MultilingualSet
from contexture.tasks.pairs.languages import read_languages

ROWS = [("A dog runs.", "An animal runs.", "entailment"), ("A dog\u2028runs.", 'It "sleeps.', "contradiction")]
GERMAN = [("Ein Hund läuft.", "Ein Tier läuft.", "entailment"), ("Er läuft.", "NA", "contradiction")]


def write(folder: Path, name: str, rows: list[tuple[str, ...]]) -> None:
    text = "".join("\t".join(row) + "\n" for row in rows)
    if name.endswith(".gz"):
        (folder / name).write_bytes(gzip.compress(text.encode()))
    else:
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "train-en.tsv", ROWS)  # type: ignore[arg-type]
    write(tmp_path, "train-de.tsv.gz", GERMAN)  # type: ignore[arg-type]
    write(tmp_path, "test-en.tsv", ROWS)  # type: ignore[arg-type]
    return tmp_path


def test_every_pair_in_every_language(folder: Path) -> None:
    """Quotation marks, line separators within a sentence and the word NA are plain text."""
    rows_read = read_pairs(NliConfig(), folder).sort_values(["number", "lang"])
    rows = [(*row[:2], row[2]) for row in [GERMAN[0], ROWS[0], GERMAN[1], ROWS[1]]]
    numbers = {"entailment": 0, "contradiction": 2}
    assert rows_read[["premise", "hypothesis"]].to_numpy().tolist() == [[*row[:2]] for row in rows]
    assert rows_read["label"].tolist() == [numbers[row[2]] for row in rows]
    assert rows_read["lang"].tolist() == ["de", "en"] * 2 and rows_read["number"].tolist() == [0, 0, 1, 1]


def test_languages_are_selected(folder: Path) -> None:
    write(folder, "train-fr.tsv", ROWS)  # type: ignore[arg-type]
    assert [*find_language_files(NliConfig(), folder)] == ["de", "en", "fr"]
    assert [*find_language_files(NliConfig(languages=["en", "fr"]), folder)] == ["en", "fr"]


def test_a_language_is_read_once_and_copies_are_ignored(folder: Path) -> None:
    """A plain file takes precedence over a compressed one. A byte-order mark is not text."""
    write(folder, "train-en.tsv.gz", [("Old.", "Older.", "neutral")] * 2)
    write(folder, "train-en (1).tsv", ROWS)  # type: ignore[arg-type]
    write(folder, "train-en.tsv", [("\ufeff" + ROWS[0][0], *ROWS[0][1:]), ROWS[1]])
    assert {lang: file.name for lang, file in find_language_files(NliConfig(), folder).items()} == {
        "de": "train-de.tsv.gz",
        "en": "train-en.tsv",
    }
    rows_read = read_pairs(NliConfig(), folder)
    assert rows_read[rows_read["lang"] == "en"]["premise"].tolist() == [row[0] for row in ROWS]


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("train-de.tsv", ROWS[:1], "train-de has 1 rows, train-en 2"),
        (
            "train-de.tsv",
            [ROWS[0], (*ROWS[1][:2], "neutral")],
            "row 2 has different labels in train-de and train-en|row 2 has different labels in train-en and train-de",
        ),
        ("train-de.tsv", [ROWS[0], (*ROWS[1][:2], "yes")], r"train-de\.tsv, line 2: the label 'yes' is none of"),
        ("train-de.tsv", [ROWS[0], ("", *ROWS[1][1:])], r"train-de\.tsv, line 2: the premise is empty"),
        ("train-de.tsv", [ROWS[0], ROWS[1][:2]], r"train-de\.tsv, line 2: the label '' is none of"),
        ("train-de.tsv", [row[:2] for row in ROWS], "has 2 columns"),
        ("train-de.tsv", [(*row, "4") for row in ROWS], "has 4 columns"),
        ("train-de.tsv", [ROWS[0], (*ROWS[1], "4")], r"train-de\.tsv cannot be read"),
        ("train-de.tsv", [], r"train-de\.tsv cannot be read"),
    ],
)
def test_faulty_files_raise(folder: Path, name: str, rows: list[tuple[str, ...]], message: str) -> None:
    (folder / "train-de.tsv.gz").unlink()
    write(folder, name, rows)
    with pytest.raises(SourceError, match=message):
        read_pairs(NliConfig(), folder)


def test_fewer_than_two_languages_raise(folder: Path) -> None:
    with pytest.raises(SourceError, match=r"train-fr\.tsv is missing; this part has the languages \['de', 'en'\]"):
        find_language_files(NliConfig(languages=["en", "fr"]), folder)
    with pytest.raises(SourceError, match="1 files train-<language>"):
        find_language_files(NliConfig(languages=["en", "en"]), folder)
    (folder / "train-de.tsv.gz").unlink()
    for part, count in (("train", 1), ("dev", 0)):
        with pytest.raises(SourceError, match=f"{count} files {part}-<language>"):
            find_language_files(NliConfig(part=part), folder)  # type: ignore[arg-type]


def test_a_damaged_file_raises(folder: Path) -> None:
    whole = (folder / "train-de.tsv.gz").read_bytes()
    for damaged in (whole[:-10], whole[:10] + b"\xff" + whole[11:]):  # cut off; damaged inside
        (folder / "train-de.tsv.gz").write_bytes(damaged)
        with pytest.raises(SourceError, match=r"train-de\.tsv\.gz cannot be read"):
            read_pairs(NliConfig(), folder)


def test_rows_that_pairs_test_are_left_out(shared_data: Path) -> None:
    """The task `pairs` tests a share of XNLI's development part, because the test part has no labels here."""
    folder = shared_data / "multilingual/xnli"
    tested = read_languages("xnli", MultilingualSet(str(folder), languages=["en", "de"])).rows
    config = NliConfig(part="dev", languages=["en", "de"], without_tested="en")
    whole, left = read_pairs(replace(config, without_tested=None), folder), read_pairs(config, folder)
    assert len(whole) == 2 * 2490 and 0.75 < len(left) / len(whole) < 0.85
    for lang in ("en", "de"):
        rows = tested[(tested["part"] == "test") & (tested["genres"] == lang)]
        trained = left[left["lang"] == lang]
        pairs = set(zip(trained["premise"], trained["hypothesis"], strict=True))
        assert len(rows) + len(trained) == 2490
        assert not pairs & set(zip(rows["first"], rows["second"], strict=True))
    with pytest.raises(SourceError, match=r"nli\.without_tested is fr, but the languages are \['de', 'en'\]"):
        read_pairs(replace(config, without_tested="fr"), folder)
