"""A linear classifier of main content, trained on weak labels.

The CMLM paper (Yang et al. 2021, section 3) filters web text with such a classifier but does not describe it. Here,
prose in a section of prose is main content; list items in a section of lists (references, links) are not.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

#: Maximum number of labelled paragraphs, drawn by a hash of their ids.
MAX_EXAMPLES = 200_000
_MIN_SECTION_SHARE = 0.8  # of prose or list items among a section's paragraphs in all documents
_NUM_COMMON_WORDS = 50
_HELD_OUT_EVERY = 5  # one document in five
_L2_PENALTY = 1e-3  # relative to the mean loss
_MAX_STEPS = 25

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class MainContentModel:
    """Bias, feature weights in log-odds, and the most frequent words of main content by language."""

    bias: float
    weights: dict[str, float]
    common_words: dict[str, list[str]]


def load_model(values: dict[str, Any]) -> MainContentModel:
    """Return a MainContentModel from its JSON. Raises ValueError if this version computes other features."""
    model = TypeAdapter(MainContentModel).validate_python(values)
    if list(model.weights) != list(build_features({})):
        raise ValueError(
            f"main content model: trained by another version, on {list(model.weights)}; run the pipeline corpus again"
        )
    return model


def build_features(common_words: dict[str, list[str]]) -> dict[str, Column]:
    """Return the classifier's features by name, as non-null expressions on the paragraphs table."""
    length = F.greatest(F.length("text"), F.lit(1))
    words = F.split(F.lower("text"), " ")
    linked = F.aggregate("links", F.lit(0), lambda total, link: total + link["end"] - link["start"])
    sentences = F.greatest(F.size("sentences"), F.lit(1))

    def character_share(character_class: str) -> Column:
        """Return the share of a paragraph's characters that belong to a class of a regular expression."""
        return F.length(F.regexp_replace("text", f"[^{character_class}]+", "")) / length

    common = F.lit(None).cast("array<string>")
    for lang, lang_words in sorted(common_words.items()):
        common = F.when(F.col("lang") == lang, F.array(*map(F.lit, lang_words))).otherwise(common)
    return {
        "log_characters": F.log1p(length),
        "log_sentences": F.log1p(sentences),
        "log_words_a_sentence": F.log1p(F.size(words) / sentences),
        "log_common_words": F.log1p(F.coalesce(F.size(F.array_intersect(words, common)), F.lit(0))),
        "ends_a_sentence": F.col("text").rlike(r"[.!?…;。！？।։؟]\p{P}*$").cast("int"),
        "link_share": F.least(linked / length, F.lit(1.0)),
        "digit_share": character_share(r"\p{Nd}"),
        "capital_share": character_share(r"\p{Lu}"),
        "punctuation_share": character_share(r"\p{P}\p{S}"),
        "log_place": F.log1p("paragraph_index"),
    }


def main_content_probability(model: MainContentModel) -> Column:
    """Return the model's probability, in (0, 1), that a row of the paragraphs table is main content, as a column."""
    columns = build_features(model.common_words)
    log_odds = F.lit(model.bias)
    for name, weight in model.weights.items():
        log_odds = log_odds + F.lit(weight) * columns[name]
    return 1 / (1 + F.exp(-log_odds))


def train_classifier(paragraphs: DataFrame) -> tuple[MainContentModel, dict[str, Any]]:
    """Train the classifier on four of five documents; return it with its quality on the fifth (threshold 0.5).

    Depends only on the rows. Raises ValueError unless the table has both prose and list items.
    """
    labelled = _label_paragraphs(paragraphs)
    common_words = _find_common_words(labelled)
    columns = build_features(common_words)
    order = ["doc_id", "paragraph_index"]
    rows = (
        labelled.select(*order, "lang", "label", "held_out", *(column.alias(name) for name, column in columns.items()))
        .toPandas()
        .sort_values(order)
    )
    values, labels = rows[list(columns)].to_numpy(np.float64), rows["label"].to_numpy(np.float64)
    test = rows["held_out"].to_numpy(bool)
    for part in (~test, test):
        if len(np.unique(labels[part])) < 2:
            raise ValueError(
                "not enough examples to train main content: it needs both prose and list items (kind) in at least five "
                "documents; keep list items, or set cleaning.main_content to null"
            )
    bias, weights = _fit_logistic_regression(values[~test], labels[~test])
    model = MainContentModel(bias, dict(zip(columns, weights, strict=True)), common_words)
    scores = bias + values @ np.array(weights)
    quality: dict[str, Any] = {
        "train_paragraphs": int((~test).sum()),
        "train_main_content": int(labels[~test].sum()),
        "held_out": _measure_quality(scores[test], labels[test]),
        "held_out_by_language": {
            lang: _measure_quality(scores[chosen], labels[chosen])
            for lang in sorted(set(rows["lang"]))
            if len(np.unique(labels[chosen := test & (rows["lang"] == lang).to_numpy()])) == 2
        },
        # baseline: length only
        "held_out_roc_auc_of_length": _roc_auc(values[test, 0], labels[test]),
    }
    return model, quality


def _label_paragraphs(paragraphs: DataFrame) -> DataFrame:
    """Return at most MAX_EXAMPLES paragraphs with a weak `label` (1: main content, 0: not) and `held_out`."""
    is_list = (F.col("kind") == "list_item").cast("int")
    section = F.lower("section").alias("heading")
    sections = paragraphs.groupBy("lang", section).agg(F.avg(is_list).alias("lists"))
    prose = (is_list == 0) & (F.col("lists") <= 1 - _MIN_SECTION_SHARE)
    items = (is_list == 1) & (F.col("lists") >= _MIN_SECTION_SHARE)
    draw_order = [F.xxhash64("doc_id", "paragraph_index"), F.col("doc_id"), F.col("paragraph_index")]
    return (
        paragraphs.withColumn("heading", F.lower("section"))
        .join(sections, ["lang", "heading"])
        .withColumn("label", F.when(prose, 1).when(items, 0))
        .where("label is not null")
        .withColumn("held_out", F.pmod(F.xxhash64("doc_id"), F.lit(_HELD_OUT_EVERY)) == 0)
        .orderBy(*draw_order)
        .limit(MAX_EXAMPLES)
    )


def _find_common_words(labelled: DataFrame) -> dict[str, list[str]]:
    """Return by language the most frequent words of main content in the training part."""
    words = (
        labelled.where("label = 1 and not held_out")
        .select("lang", F.explode(F.split(F.lower("text"), " ")).alias("word"))
        .where(F.col("word").rlike(r"^[\p{L}\p{M}]+$"))
        .groupBy("lang", "word")
        .count()
        .toPandas()
        .sort_values(["lang", "count", "word"], ascending=[True, False, True])
    )
    return {str(lang): list(group["word"][:_NUM_COMMON_WORDS]) for lang, group in words.groupby("lang")}


def _fit_logistic_regression(values: FloatArray, labels: FloatArray) -> tuple[float, list[float]]:
    """Return bias and weights of a logistic regression (Newton's method), rounded to be the same on all machines."""
    mean, scale = values.mean(0), values.std(0)
    scale[scale == 0] = 1
    inputs = np.hstack([np.ones((len(values), 1)), (values - mean) / scale])
    penalty = _L2_PENALTY * np.array([0.0] + [1.0] * values.shape[1])
    weights = np.zeros(inputs.shape[1])
    for _ in range(_MAX_STEPS):
        probabilities = 1 / (1 + np.exp(-inputs @ weights))
        gradient = inputs.T @ (probabilities - labels) / len(labels) + penalty * weights
        hessian = (inputs * (probabilities * (1 - probabilities))[:, None]).T @ inputs / len(labels) + np.diag(
            penalty + 1e-9
        )
        step = np.linalg.solve(hessian, gradient)
        weights -= step
        if np.abs(step).max() < 1e-9:
            break
    unscaled = weights[1:] / scale
    return round(float(weights[0] - unscaled @ mean), 6), [round(float(weight), 6) for weight in unscaled]


def _measure_quality(scores: FloatArray, labels: FloatArray) -> dict[str, float]:
    """Return counts, precision, recall and F1 at the threshold 0.5, and ROC AUC; `scores` are log-odds."""
    from sklearn.metrics import precision_recall_fscore_support

    measures = precision_recall_fscore_support(labels, scores > 0, average="binary", zero_division=0)[:3]
    return {
        "paragraphs": len(labels),
        "main_content": int(labels.sum()),
        **{name: round(float(value), 4) for name, value in zip(("precision", "recall", "f1"), measures, strict=True)},
        "roc_auc": _roc_auc(scores, labels),
    }


def _roc_auc(scores: FloatArray, labels: FloatArray) -> float:
    """Return the area under the ROC curve, rounded to four digits."""
    from sklearn.metrics import roc_auc_score

    return round(float(roc_auc_score(labels, scores)), 4)
