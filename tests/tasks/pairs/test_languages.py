"""Sets in several languages: which files are learned from, and which are tested."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import TypeAdapter

from contexture.tasks.base import Contestant
from contexture.tasks.pairs.config import PairsConfig, SetInLanguages
from contexture.tasks.pairs.files import read_rows
from contexture.tasks.pairs.languages import language_files, read_languages
from contexture.tasks.pairs.task import PairsTask
from tests.tasks.pairs import toys

LABELS = ("no", "yes")


def put(folder: Path, name: str, count: int, labels: tuple[str, ...] = LABELS, text: str = "") -> Path:
    """So many pairs; without labels, two columns."""
    rows = []
    for number in range(count):
        label = [labels[number % len(labels)]] if labels else []
        rows.append("\t".join([f"{text or name} {number}.", f"Is {number} {name}?", *label]))
    folder.mkdir(exist_ok=True, parents=True)
    file = folder / name
    content = "".join(f"{row}\n" for row in rows).encode()
    file.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return file


def asked_in(rows: pd.DataFrame) -> dict[str, int]:
    counts: dict[str, int] = rows[rows["part"] == "test"].groupby("genres").size().to_dict()
    return counts


def test_one_language_is_learned_from_and_each_is_tested(tmp_path: Path) -> None:
    for name in ("train-en.tsv", "train-de.tsv", "dev-en.tsv", "dev-de.tsv"):
        put(tmp_path, name, 40)
    for language in ("en", "de", "qaa"):
        put(tmp_path, f"test-{language}.tsv.gz", 20)
    found = read_languages("xnli", SetInLanguages(str(tmp_path)))
    assert asked_in(found.rows) == {"de": 20, "en": 20, "qaa": 20} and found.note == ""
    own = found.rows[found.rows["part"] != "test"]
    assert own.groupby("part").size().to_dict() == {"train": 40, "dev": 40}
    assert not own["first"].str.contains("-de").any() and set(own["genres"]) == {""}
    few = read_languages("xnli", SetInLanguages(str(tmp_path), "de", ["qaa"]))
    assert asked_in(few.rows) == {"qaa": 20}
    assert few.rows.loc[few.rows["part"] != "test", "first"].str.contains("-de").all()


def test_without_a_part_to_train_on_the_dev_part_is_learned_from(tmp_path: Path) -> None:
    put(tmp_path, "dev-en.tsv", 400)
    put(tmp_path, "dev-de.tsv", 400)
    for language in ("en", "de"):
        put(tmp_path, f"test-{language}.tsv", 20)
    found = read_languages("xnli", SetInLanguages(str(tmp_path)))
    assert asked_in(found.rows) == {"de": 20, "en": 20}
    own = found.rows[found.rows["part"] != "test"]
    assert len(own) == 400 and own["first"].str.contains("dev-en").all() and 5 < own["part"].eq("dev").sum() < 40
    assert found.note == "learned from the dev part (en), as there is none to train on, 5% of it held out"


def test_without_labels_of_the_test_parts_the_dev_parts_are_tested(tmp_path: Path) -> None:
    put(tmp_path, "train-en.tsv", 400)
    for language in ("en", "de"):
        put(tmp_path, f"dev-{language}.tsv", 30)
        put(tmp_path, f"test-{language}.tsv", 20, ())
    put(tmp_path, "dev-fr.tsv", 30)
    found = read_languages("xnli", SetInLanguages(str(tmp_path)))
    assert asked_in(found.rows) == {"de": 30, "en": 30} and "no labels of a test part" in found.note
    assert found.rows["part"].eq("dev").sum() > 5  # held out of what is trained on


def test_rows_that_are_learned_from_are_tested_in_no_language(tmp_path: Path) -> None:
    for language in ("en", "de"):
        put(tmp_path, f"dev-{language}.tsv", 400, text="number")
        put(tmp_path, f"test-{language}.tsv", 20, ())
    found = read_languages("pawsx", SetInLanguages(str(tmp_path)))
    test = found.rows["part"].eq("test")
    asked = {language: set(rows["first"]) for language, rows in found.rows[test].groupby("genres")}
    assert asked["en"] == asked["de"] and 50 < len(asked["en"]) < 110
    assert not asked["de"] & set(found.rows.loc[~test, "first"]) and "the same in every language" in found.note
    put(tmp_path, "dev-de.tsv", 399)
    with pytest.raises(ValueError, match=r"dev-de\.tsv has 399 rows, .* learned from 400: they must be translations"):
        read_languages("pawsx", SetInLanguages(str(tmp_path)))


@pytest.mark.parametrize(
    ("files", "given", "said"),
    [
        ({"train-en.tsv": LABELS, "test-de.tsv": ("nein", "yes")}, {}, r"test-de\.tsv has the labels \['nein'\], what"),
        (
            {"train-en.tsv": LABELS, "test-de.tsv": (), "test-en.tsv": LABELS},
            {},
            r"test-de\.tsv has no labels, test-en has some",
        ),
        ({"train-en.tsv": LABELS, "dev-de.tsv": (), "test-de.tsv": ()}, {}, r"dev-de\.tsv, line 1: 2 columns"),
        ({"train-en.tsv": LABELS, "test-de.tsv": ()}, {}, r"has no labels to test by"),
        ({"train-en.tsv": LABELS, "test-de.tsv": LABELS}, {"languages": ["de", "fr"]}, r"test-fr\.tsv is not there"),
        ({"train-de.tsv": LABELS, "test-de.tsv": LABELS}, {}, r"neither train-en\.tsv nor dev-en\.tsv to learn from"),
    ],
)
def test_what_does_not_fit_is_named(files: Any, given: Any, said: str, tmp_path: Path) -> None:
    for name, labels in files.items():
        put(tmp_path, name, 40, labels)
    with pytest.raises(ValueError, match=said):
        read_languages("xnli", SetInLanguages(str(tmp_path), **given))


def test_from_files_to_records_frozen_and_fine_tuned(tmp_path: Path) -> None:
    """A language of the same words is told as well as the one that was learned; one of none is not."""
    rows = toys.rows()
    for part, of in rows.groupby("part"):
        for language in ("en", "qaa", "qab") if part == "test" else ("en",):
            own = of.assign(first=of["first"].str.upper(), second=of["second"].str[::-1]) if language == "qab" else of
            own[["first", "second", "label"]].to_csv(
                tmp_path / f"{part}-{language}.tsv", sep="\t", header=False, index=False
            )
    source = TypeAdapter(PairsConfig).validate_python(
        {"input": {"toys": str(tmp_path), "xnli": {"folder": str(tmp_path / "none")}}}
    )
    task = PairsTask()
    task.read(source, tmp_path, tmp_path / "data")
    report = json.loads((tmp_path / "data/task.json").read_text())
    assert report["counts"]["toys"]["tested"] == {"en": 60, "qaa": 60, "qab": 60} and "xnli" in report["missing"]
    toys.new_encoder(tmp_path / "encoder", toys.vocabulary(tmp_path / "words"), toys.BAG)
    who = Contestant("bag", 0, (str(tmp_path / "encoder"),), tmp_path / "tuned")
    (tmp_path / "tuned/toys").mkdir(parents=True)
    task.finetune(toys.settings(steps=40), "toys", who, tmp_path / "data", tmp_path / "tuned/toys")
    found = task.evaluate(toys.settings(), [who], tmp_path / "data", tmp_path / "vectors")
    values = pd.DataFrame(found.records).query("variant == 'bag'").set_index(["protocol", "data"])["value"]
    for protocol in ("frozen", "finetuned"):
        assert values[protocol, "toys_en"] == values[protocol, "toys_qaa"] > 0.7
        assert values[protocol, "toys_qab"] < 0.7


@pytest.mark.parametrize(("name", "languages", "rows", "tests"), [("xnli", 15, 2490, 5010), ("pawsx", 7, 2000, 2000)])
def test_real_sets_are_tested_in_every_language(
    name: str, languages: int, rows: int, tests: int, shared_data: Path
) -> None:
    """Of the test parts only the texts were published, so that the dev parts are split."""
    folder = shared_data / "multilingual" / name
    unlabelled = [read_rows(file) for (part, _), file in language_files(folder).items() if part == "test"]
    assert [len(of) for of in unlabelled] == [tests] * languages
    assert all(of["label"].eq("").all() and of["first"].ne("").all() for of in unlabelled)
    found = read_languages(name, SetInLanguages(str(folder)))
    counts = asked_in(found.rows)
    own = found.rows["part"].ne("test").sum()
    assert len(counts) == languages and len({*counts.values()}) == 1 and counts["de"] + own == rows
    assert 0.18 * rows < counts["de"] < 0.22 * rows and sum(found.dropped.values()) == 0
