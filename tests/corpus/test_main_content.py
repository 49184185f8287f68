"""The classifier of main content: features computed by hand, the fit compared with scikit-learn, and training."""

import dataclasses
import json
import math
import random
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from sklearn.linear_model import LogisticRegression

from contexture.corpus import main_content
from contexture.corpus.main_content import (
    MainContentModel,
    build_features,
    load_model,
    main_content_probability,
    train_classifier,
)
from tests.corpus.test_cleaning import SCHEMA

NAMES = ["Anna", "Boris", "Clara", "David", "Emil", "Fiona", "Greta", "Hugo"]


def make_row(doc: int, section: str, index: int, text: str, kind: str, linked: int = 0) -> tuple[Any, ...]:
    sentences = text.split(". ")
    return (f"en:{doc}", "T", "en", 0, section, index, text, sentences, [("X", 0, linked)], kind)


def make_corpus(documents: int = 40) -> list[tuple[Any, ...]]:
    """Return articles with three paragraphs of prose, a list of names, and a mixed section."""
    rows = []
    for doc in range(documents):
        draw = random.Random(doc)
        for index in range(3):
            name, other = draw.sample(NAMES, 2)
            text = f"In the {index}th year the farm of {name} was sold to {other}. It was old, and it had no roof."
            rows.append(make_row(doc, "History", index, text, "prose"))
        for index in range(3, 8):
            text = " and ".join(draw.sample(NAMES, 2)) + f" ({draw.randrange(1900, 2000)})"
            rows.append(make_row(doc, "Links", index, text, "list_item", linked=len(text)))
        rows.append(make_row(doc, "Mixed", 8, "The farm is described as follows.", "prose"))
        rows.append(make_row(doc, "Mixed", 9, "A farm of stone, and it was old.", "list_item"))
    return rows


@pytest.fixture(scope="module")
def paragraphs(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(make_corpus(), SCHEMA).cache()


def test_features(spark: SparkSession) -> None:
    text = "The old Bell, of 1912, is. Rung!"
    frame = spark.createDataFrame(
        [make_row(1, "", 4, text, "prose", 8), ("el:2", "T", "el", 0, "", 0, "", [], [], "prose")], SCHEMA
    )
    columns = build_features({"en": ["the", "of", "and"], "it": ["il"]})
    first, second = frame.select(*(column.alias(name) for name, column in columns.items())).collect()
    assert first.asDict() == pytest.approx(
        {
            "log_characters": math.log(1 + 32),
            "log_sentences": math.log(1 + 2),
            "log_words_a_sentence": math.log(1 + 7 / 2),
            "log_common_words": math.log(1 + 2),
            "ends_a_sentence": 1,
            "link_share": 8 / 32,
            "digit_share": 4 / 32,
            "capital_share": 3 / 32,
            "punctuation_share": 4 / 32,
            "log_place": math.log(1 + 4),
        }
    )
    assert all(value is not None for value in second)


def test_training_separates_prose_from_lists(
    paragraphs: DataFrame, trained: tuple[MainContentModel, dict[str, Any]]
) -> None:
    model, quality = trained
    assert quality["held_out"]["f1"] == quality["held_out"]["roc_auc"] == 1.0
    assert quality["held_out_by_language"] == {"en": quality["held_out"]}
    # Mixed sections have no labels.
    assert quality["train_paragraphs"] + quality["held_out"]["paragraphs"] == 40 * 8
    assert quality["train_main_content"] + quality["held_out"]["main_content"] == 40 * 3
    assert quality["held_out"]["paragraphs"] % 8 == 0  # whole documents
    assert {"the", "of", "was"} <= set(model.common_words["en"])
    scored = paragraphs.select("kind", "section", main_content_probability(model).alias("p")).collect()
    for scored_row in scored:
        if scored_row.section != "Mixed":
            assert (scored_row.p > 0.5) == (scored_row.kind == "prose")


@pytest.fixture(scope="module")
def trained(paragraphs: DataFrame) -> tuple[MainContentModel, dict[str, Any]]:
    return train_classifier(paragraphs)


def test_training_depends_only_on_the_rows(
    spark: SparkSession, trained: tuple[MainContentModel, dict[str, Any]]
) -> None:
    assert train_classifier(spark.createDataFrame(make_corpus()[::-1], SCHEMA).repartition(7)) == trained


def test_a_model_is_readable_json(trained: tuple[MainContentModel, dict[str, Any]]) -> None:
    model, _ = trained
    assert load_model(json.loads(json.dumps(dataclasses.asdict(model)))) == model
    with pytest.raises(ValueError, match="trained by another version"):
        load_model({"bias": 0.0, "weights": {"length": 1.0}, "common_words": {}})


def test_one_kind_is_not_enough(paragraphs: DataFrame) -> None:
    with pytest.raises(ValueError, match="keep list items"):
        train_classifier(paragraphs.where("kind = 'prose'"))


def test_the_fit_is_logistic_regression() -> None:
    draw = np.random.default_rng(0)
    values = draw.normal(size=(500, 3)) * [1, 5, 0.2] + [3, 0, 1]
    labels = (draw.random(500) < 1 / (1 + np.exp(-(values @ [1, -0.3, 2] - 4)))).astype(float)
    bias, weights = main_content._fit_logistic_regression(values, labels)
    mean, scale = values.mean(0), values.std(0)
    # scikit-learn sums the losses, and also halves the penalty.
    peer = LogisticRegression(C=1 / (main_content._L2_PENALTY * 500), tol=1e-10).fit((values - mean) / scale, labels)
    assert np.allclose(weights, peer.coef_[0] / scale, atol=1e-4)
    assert bias == pytest.approx(peer.intercept_[0] - (peer.coef_[0] / scale) @ mean, abs=1e-3)


def test_quality_of_a_ranking() -> None:
    scores, labels = np.array([2.0, 1.0, 1.0, -1.0, -2.0]), np.array([1.0, 1.0, 0.0, 1.0, 0.0])
    expected = {"precision": 0.6667, "recall": 0.6667, "f1": 0.6667, "roc_auc": 0.75}
    assert main_content._measure_quality(scores, labels) == {"paragraphs": 5, "main_content": 3, **expected}
    nothing = main_content._measure_quality(-abs(scores), labels)
    assert nothing["precision"] == nothing["recall"] == nothing["f1"] == 0


def test_probability(spark: SparkSession) -> None:
    weights = dict.fromkeys(build_features({}), 0.0) | {"digit_share": 4.0}
    frame = spark.createDataFrame([make_row(1, "", 0, "1234abcd", "prose")], SCHEMA)
    (scored_row,) = frame.select(main_content_probability(MainContentModel(-1.0, weights, {})).alias("p")).collect()
    assert scored_row.p == pytest.approx(1 / (1 + math.exp(-1)))
