"""Reviews as a task, from published formats to records."""

import random
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.reviews.config import ReviewsConfig, ReviewSettings
from contexture.tasks.reviews.files import CATEGORIES, read_reviews
from contexture.tasks.reviews.task import REVIEWS_FILE, ReviewsTask
from tests.tasks.pairs import toys

TASK = ReviewsTask()
HALVES = toys.WORDS[::2], toys.WORDS[1::2]


def write_reviews(folder: Path, language: str, part: str, count: int, swapped: bool = False) -> None:
    """Write `count` reviews of each category; positive and negative ones have different words."""
    draw = random.Random(f"{part}")
    for category in CATEGORIES:
        items = []
        for number in range(count):
            stars = (1, 2, 4, 5)[number % 4]
            text = " ".join(draw.choices(HALVES[(stars > 3) != swapped], k=8))
            items.append(make_item(f"{stars}.0", text))
        write_items(folder / language / category / f"{part}.review", *items)


def make_item(rating: str, text: str, summary: str = "So &amp; so") -> str:
    return (
        f"<item>\n<category>books</category><rating>{rating}</rating><asin>1</asin><date/>\n"
        f"<summary>{summary}</summary><text>\n{text}\n</text></item>"
    )


def write_items(file: Path, *items: str, head: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = "\n".join(["<?xml version='1.0' encoding='UTF-8'?>", head, "<items>", *items, "</items>"])
    file.write_text(lines, encoding="utf-8")


def test_from_files_to_records(tmp_path: Path) -> None:
    """German words have the same sentiment, French words the opposite; Japanese is missing."""
    write_reviews(tmp_path / "cls", "en", "train", 120)
    for language in ("en", "de", "fr"):
        write_reviews(tmp_path / "cls", language, "test", 40, language == "fr")
    write_reviews(tmp_path / "cls", "de", "train", 40, swapped=True)  # is not read
    report = toys.read_report(TASK, ReviewsConfig(str(tmp_path / "cls")), tmp_path, tmp_path / "data")
    counts = report["counts"]
    assert counts["test"] == {language: dict.fromkeys(CATEGORIES, 40) for language in ("en", "de", "fr")}
    assert list(counts["train"]) == ["en"] and 15 < sum(counts["dev"]["en"].values()) < 60
    assert sum(counts["dev"]["en"].values()) + sum(counts["train"]["en"].values()) == 360
    assert list(report["missing"]) == ["amazon_jp"] and "jp/books/test.review" in report["missing"]["amazon_jp"]
    (bag,) = toys.bag(tmp_path)
    encoders = [bag, replace(bag, variant="twice", models=bag.models * 2)]
    results = TASK.evaluate(ReviewSettings(), encoders, tmp_path / "data", tmp_path / "vectors")
    table = pd.DataFrame(results.records).set_index(["task", "protocol", "variant", "data"])["value"]
    values = table["reviews", "frozen", "bag"]
    assert len(table) == 2 * len(values) == 6
    assert values["amazon_en"] == values["amazon_de"] > 0.9
    assert values["amazon_fr"] < 0.1


def test_stars_headline_and_text(tmp_path: Path) -> None:
    write_reviews(tmp_path, "en", "train", 4)
    write_reviews(tmp_path, "en", "test", 4)
    write_items(
        tmp_path / "en/books/test.review", make_item("3.0", "Not bad.", ""), make_item("4.0", "<![CDATA[A < B]]>")
    )
    rows, _ = read_reviews(tmp_path)
    books = rows[(rows["part"] == "test") & (rows["category"] == "books")]
    assert books[["text", "label"]].values.tolist() == [["Not bad.", 0], ["So & so A < B", 1]]


@pytest.mark.parametrize(
    ("items", "head", "message"),
    [
        (["<item><rating>5.0</rating><text> </text></item>"], "", "review 1: needs words in <text>"),
        ([make_item("5.0", "a"), make_item("many", "b")], "", "review 2: needs words"),
        ([make_item("7", "a")], "", "review 1: .* a <rating> of 1 to 5 stars"),
        (["<item>"], "", "cannot be read .*; fetch it again"),
        ([], "", "has no <item>"),
        (
            [make_item("5.0", "&a;")],
            '<!DOCTYPE items [<!ENTITY a "b">]>',
            "cannot be read .declares a document type, items",
        ),
    ],
)
def test_errors_name_the_damaged_file(items: list[str], head: str, message: str, tmp_path: Path) -> None:
    write_reviews(tmp_path, "en", "train", 4)
    write_items(tmp_path / "en/dvd/train.review", *items, head=head)
    with pytest.raises(ValueError, match=rf"en/dvd/train\.review.*{message}"):
        read_reviews(tmp_path)


def test_without_files_nothing_is_measured(tmp_path: Path) -> None:
    report = toys.read_report(TASK, ReviewsConfig(str(tmp_path / "none")), tmp_path, tmp_path / "data")
    assert report["counts"] == {} and "none/en/books/train.review" in report["missing"]["amazon"]
    report = toys.read_report(TASK, ReviewsConfig(), tmp_path, tmp_path / "data")
    assert "reviews.input names no folder" in report["missing"]["amazon"]
    assert not (tmp_path / "data" / REVIEWS_FILE).exists()
    results = TASK.evaluate(
        ReviewSettings(), [EvaluatedEncoder("a", 0, ("b",))], tmp_path / "data", tmp_path / "vectors"
    )
    assert results.records == []
