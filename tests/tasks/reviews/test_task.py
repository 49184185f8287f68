"""Reviews as a task, from published formats to records."""

import math
import random
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from pydantic import TypeAdapter
from safetensors.torch import load_file

from contexture.encoders.files import load_encoder
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.reviews.config import ReviewsConfig, ReviewSettings
from contexture.tasks.reviews.files import CATEGORIES, read_reviews
from contexture.tasks.reviews.model import ReviewClassification, ReviewModelSettings
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
    assert {record["examples"] for record in results.records} == {120}
    table = pd.DataFrame(results.records).set_index(["task", "protocol", "variant", "data"])["value"]
    values = table["reviews", "frozen", "bag"]
    assert len(table) == 2 * len(values) == 6
    assert values["amazon_en"] == values["amazon_de"] > 0.9
    assert values["amazon_fr"] < 0.1


def test_encoders_are_fine_tuned_on_english_reviews(tmp_path: Path) -> None:
    """A vector of the initial encoder hardly tells the halves of the words apart; French words have the opposite."""
    write_reviews(tmp_path / "cls", "en", "train", 60)
    for language in ("en", "de", "fr"):
        write_reviews(tmp_path / "cls", language, "test", 20, language == "fr")
    toys.read_report(TASK, ReviewsConfig(str(tmp_path / "cls")), tmp_path, tmp_path / "data")
    optimizer = {"learning_rate": 1e-2, "warmup_steps": 5}
    settings = TypeAdapter(ReviewSettings).validate_python(
        {"finetune": True, "steps": 40, "evaluate_every": 10, "batch_size": 16, "precision": "fp32"}
        | {"tokens_at_once": 200, "optimizer": optimizer}
    )
    assert TASK.list_options(settings, None) == ["amazon"] and TASK.list_options(ReviewSettings(), None) == []
    start = toys.new_encoder(tmp_path / "start", toys.vocabulary(tmp_path / "words"), toys.TRANSFORMER)
    encoder = EvaluatedEncoder("toy", 0, (str(start),), tmp_path / "tuned")
    (tmp_path / "tuned/amazon").mkdir(parents=True)
    TASK.finetune(settings, "amazon", encoder, tmp_path / "data", tmp_path / "tuned/amazon")
    untuned = replace(encoder, variant="untuned", finetuned_dir=tmp_path / "none")
    results = TASK.evaluate(settings, [encoder, untuned], tmp_path / "data", tmp_path / "vectors")
    table = pd.DataFrame(results.records).set_index(["protocol", "variant", "data"])["value"].sort_index()
    assert set(table["finetuned"].index.get_level_values("variant")) == {"toy"}
    values = table["finetuned", "toy"]
    assert values["amazon_en"] == values["amazon_de"] > 0.9 and values["amazon_fr"] < 0.1
    weights = [load_file(folder / "model.safetensors") for folder in (start, tmp_path / "tuned/amazon")]
    assert any(not torch.equal(weights[0][name], tensor) for name, tensor in weights[1].items())


def test_the_loss_of_a_review_by_hand(tmp_path: Path) -> None:
    """Logits are (0, 1): the loss of a positive review is log(1 + 1/e), of a negative one log(1 + e)."""
    encoder = load_encoder(toys.new_encoder(tmp_path / "start", toys.vocabulary(tmp_path / "words"), toys.TRANSFORMER))
    head = ReviewClassification(ReviewModelSettings(), encoder).eval()
    torch.nn.init.zeros_(head.linear.weight)
    with torch.no_grad():
        head.linear.weight[1, 0] = 1.0
    vectors = torch.zeros(1, encoder.dimension).index_fill(1, torch.tensor([0]), 1.0)
    for label, expected in ((1, math.log(1 + math.exp(-1))), (0, math.log(1 + math.e))):
        loss = head(encoder, vectors, {"labels": torch.tensor([label])}).value
        assert loss.item() == pytest.approx(expected, abs=1e-6)


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
