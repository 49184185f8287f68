"""Sets in several languages: files for training and testing."""

import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import TypeAdapter

from contexture.tasks.pairs.config import MultilingualSet, PairsConfig
from contexture.tasks.pairs.files import read_rows
from contexture.tasks.pairs.languages import find_language_files, read_languages
from contexture.tasks.pairs.task import PairsTask
from tests.tasks.pairs import toys

LABELS = ("no", "yes")


def write_pairs(folder: Path, name: str, count: int, labels: tuple[str, ...] = LABELS, text: str = "") -> Path:
    """Write `count` pairs; without labels, two columns."""
    rows = []
    for number in range(count):
        label = [labels[number % len(labels)]] if labels else []
        rows.append("\t".join([f"{text or name} {number}.", f"Is {number} {name}?", *label]))
    folder.mkdir(exist_ok=True, parents=True)
    file = folder / name
    content = "".join(f"{row}\n" for row in rows).encode()
    file.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return file


def count_tests(rows: pd.DataFrame) -> dict[str, int]:
    counts: dict[str, int] = rows[rows["part"] == "test"].groupby("genres").size().to_dict()
    return counts


def read(folder: Path, *options: Any) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Return training rows, test rows, and the note."""
    pairs = read_languages("xnli", MultilingualSet(str(folder), *options))
    is_test = pairs.rows["part"].eq("test")
    return pairs.rows[~is_test], pairs.rows[is_test], pairs.note


def test_training_uses_one_language_and_tests_all(tmp_path: Path) -> None:
    for name in ("train-en.tsv", "train-de.tsv", "dev-en.tsv", "dev-de.tsv"):
        write_pairs(tmp_path, name, 40)
    for language in ("en", "de", "qaa"):
        write_pairs(tmp_path, f"test-{language}.tsv.gz", 20)
    learned, tests, note = read(tmp_path)
    assert (count_tests(tests), note) == ({"de": 20, "en": 20, "qaa": 20}, "")
    assert learned.groupby("part").size().to_dict() == {"train": 40, "dev": 40}
    assert not learned["first"].str.contains("-de").any() and set(learned["genres"]) == {""}
    learned, tests, _ = read(tmp_path, "de", ["qaa"])
    assert count_tests(tests) == {"qaa": 20} and learned["first"].str.contains("-de").all()


def test_training_uses_the_dev_part_without_a_train_part(tmp_path: Path) -> None:
    for language in ("en", "de"):
        write_pairs(tmp_path, f"dev-{language}.tsv", 400)
        write_pairs(tmp_path, f"test-{language}.tsv", 20)
    learned, tests, note = read(tmp_path)
    assert count_tests(tests) == {"de": 20, "en": 20}
    assert len(learned) == 400 and learned["first"].str.contains("dev-en").all()
    assert 5 < learned["part"].eq("dev").sum() < 40
    assert note == "trained on the dev part (en), of which 5% is held out: there is no training part"


def test_dev_parts_are_tested_if_test_labels_are_missing(tmp_path: Path) -> None:
    write_pairs(tmp_path, "train-en.tsv", 400)
    for language in ("en", "de"):
        write_pairs(tmp_path, f"dev-{language}.tsv", 30)
        write_pairs(tmp_path, f"test-{language}.tsv", 20, ())
    write_pairs(tmp_path, "dev-fr.tsv", 30)
    learned, tests, note = read(tmp_path)
    assert count_tests(tests) == {"de": 30, "en": 30} and "the test part has no labels" in note
    assert learned["part"].eq("dev").sum() > 5  # held out of the training rows


def test_training_rows_are_not_tested_in_any_language(tmp_path: Path) -> None:
    for language in ("en", "de"):
        write_pairs(tmp_path, f"dev-{language}.tsv", 400, text="number")
        write_pairs(tmp_path, f"test-{language}.tsv", 20, ())
    learned, tests, note = read(tmp_path)
    tested = {language: set(rows["first"]) for language, rows in tests.groupby("genres")}
    assert tested["en"] == tested["de"] and 50 < len(tested["en"]) < 110
    assert not tested["de"] & set(learned["first"]) and "the same in every language" in note
    write_pairs(tmp_path, "dev-de.tsv", 399)
    with pytest.raises(
        ValueError, match=r"dev-de\.tsv has 399 rows, .* training has 400: their rows must be translations"
    ):
        read(tmp_path)


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({"train-en": LABELS, "test-de": ("nein", "yes")}, [], r"test-de\.tsv has the labels \['nein'\], the training"),
        ({"train-en": LABELS, "test-de": (), "test-en": LABELS}, [], r"test-de\.tsv has no labels, but test-en has"),
        ({"train-en": LABELS, "dev-de": (), "test-de": ()}, [], r"dev-de\.tsv, line 1: 2 columns"),
        ({"train-en": LABELS, "test-de": ()}, [], r"has no labels to test;"),
        ({"train-en": LABELS, "test-de": LABELS}, ["en", ["de", "fr"]], r"test-fr\.tsv is missing"),
        ({"train-de": LABELS, "test-de": LABELS}, [], r"neither train-en\.tsv nor dev-en\.tsv to train on"),
    ],
)
def test_errors_name_files_that_do_not_fit(files: Any, options: list[Any], message: str, tmp_path: Path) -> None:
    for name, labels in files.items():
        write_pairs(tmp_path, f"{name}.tsv", 40, labels)
    with pytest.raises(ValueError, match=message):
        read(tmp_path, *options)


def test_from_files_to_records(tmp_path: Path) -> None:
    """Accuracy is equal in a language with the same words, and lower in one with other words."""
    for part, table in toys.rows().groupby("part"):
        unknown = table.assign(first=table["first"].str.upper(), second=table["second"].str[::-1])
        for language in ("en", "qaa", "qab") if part == "test" else ("en",):
            rows = unknown if language == "qab" else table
            file = tmp_path / f"{part}-{language}.tsv"
            rows[["first", "second", "label"]].to_csv(file, sep="\t", header=False, index=False)
    sets = {"toys": str(tmp_path), "xnli": {"folder": str(tmp_path / "none")}}
    source = TypeAdapter(PairsConfig).validate_python({"input": sets})
    task, settings, encoders = PairsTask(), toys.settings(steps=40), toys.bag(tmp_path)
    report = toys.read_report(task, source, tmp_path, tmp_path / "data")
    assert report["counts"]["toys"]["tested"] == {"en": 60, "qaa": 60, "qab": 60} and "xnli" in report["missing"]
    (tmp_path / "tuned/toys").mkdir(parents=True)
    task.finetune(settings, "toys", encoders[0], tmp_path / "data", tmp_path / "tuned/toys")
    results = task.evaluate(settings, encoders, tmp_path / "data", tmp_path / "vectors")
    values = pd.DataFrame(results.records).query("variant == 'bag'").set_index(["protocol", "data"])["value"]
    for protocol in ("frozen", "finetuned"):
        assert values[protocol, "toys_en"] == values[protocol, "toys_qaa"] > 0.7
        assert values[protocol, "toys_qab"] < 0.7


@pytest.mark.parametrize(("name", "languages", "rows", "tests"), [("xnli", 15, 2490, 5010), ("pawsx", 7, 2000, 2000)])
def test_real_sets_are_tested_in_every_language(
    name: str, languages: int, rows: int, tests: int, shared_data: Path
) -> None:
    """Published test parts have no labels, so that dev parts are split."""
    folder = shared_data / "multilingual" / name
    unlabelled = [read_rows(file) for (part, _), file in find_language_files(folder).items() if part == "test"]
    assert [len(table) for table in unlabelled] == [tests] * languages
    assert all(table["label"].eq("").all() and table["first"].ne("").all() for table in unlabelled)
    pairs = read_languages(name, MultilingualSet(str(folder)))
    counts = count_tests(pairs.rows)
    num_training_rows = pairs.rows["part"].ne("test").sum()
    assert len(counts) == languages and len({*counts.values()}) == 1 and counts["de"] + num_training_rows == rows
    assert 0.18 * rows < counts["de"] < 0.22 * rows and sum(pairs.dropped.values()) == 0
