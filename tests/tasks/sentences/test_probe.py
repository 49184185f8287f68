"""Probes compared with the loops of the published scripts in scikit-learn."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import shuffle

from contexture.tasks.sentences.probe import ProbeResult, accuracy, f1, run_probe
from contexture.tasks.sentences.probe_protocols import (
    PROTOCOLS,
    SENTEVAL,
    SKIP_THOUGHTS,
    Protocol,
    pair_features,
    split_outer_folds,
)
from contexture.tasks.sentences.tables import ClassificationTask

DIMENSION = 6
Folds = Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]


def vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return sums of word vectors, which depend only on the words' letters."""
    words = {word: np.random.default_rng(zlib.crc32(word.encode())) for text in texts for word in text.split()}
    known = {word: rng.standard_normal(DIMENSION) for word, rng in words.items()}
    return np.array([np.sum([known[word] for word in text.split()], 0) for text in texts], np.float32)


def make_sentences(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    words = ["ash", "bay", "cedar", "dogwood", "elm", "fir", "gum", "holly", "ivy", "juniper"]
    return [" ".join(rng.choice(words, rng.integers(1, 7))) for _ in range(count)]


def make_task(splits: dict[str, int], classes: int = 2, pairs: bool = False) -> ClassificationTask:
    """Return a task with labels by a direction of the vectors, plus noise; without splits, class 0 is first."""
    count, rng = sum(splits.values()), np.random.default_rng(len(splits) + classes)
    table = pd.DataFrame({"split": np.repeat(list(splits), list(splits.values())), "text": make_sentences(count, 1)})
    seen = vectors(table["text"])
    if pairs:
        table["text2"] = make_sentences(count, 2)
        seen = np.abs(seen - vectors(table["text2"]))
    score = seen[:, 0] + rng.normal(0, 2, count)
    table["label"] = pd.qcut(score, classes, labels=False).astype(np.int64)
    if set(splits) == {"all"}:
        table = table.sort_values("label", kind="stable", ignore_index=True)
    return ClassificationTask("cedars", tuple(map(str, range(classes))), table)


def features(table: pd.DataFrame) -> NDArray[np.float64]:
    u = vectors(table["text"])
    if "text2" not in table:
        return u.astype(np.float64)
    v = vectors(table["text2"])
    return np.hstack([np.abs(u - v), u * v]).astype(np.float64)


def senteval_order(table: pd.DataFrame) -> pd.DataFrame:
    second = table["text2"] if "text2" in table else pd.Series([""] * len(table), index=table.index)
    rows = zip(table.index, table["text"], second, table["label"], strict=True)
    order = sorted(rows, key=lambda row: (len(row[1].split()), len(row[2].split()), row[3]))
    return table.loc[[row[0] for row in order]]


def skip_thoughts_order(table: pd.DataFrame) -> pd.DataFrame:
    files = [table[table["label"] == 1], table[table["label"] == 0]] if (table["split"] == "all").all() else [table]
    return shuffle(pd.concat(files), random_state=1234)


ORDERS = {"senteval": senteval_order, "skip_thoughts": skip_thoughts_order}


def folds(protocol: str, labels: NDArray[np.int64]) -> Folds:
    cut: Any = KFold(10) if protocol == "skip_thoughts" else StratifiedKFold(10, shuffle=True, random_state=1111)
    return cut.split(labels, labels)


def fit_model(x: NDArray[np.float64], y: NDArray[np.int64], strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, solver="newton-cholesky", tol=1e-8).fit(x, y)


def select_strength(
    protocol: str, x: NDArray[np.float64], y: NDArray[np.int64], strengths: Sequence[float], by_f1: bool = False
) -> float:
    means = []
    for strength in strengths:
        scores = []
        for train, held in folds(protocol, y):
            predicted = fit_model(x[train], y[train], strength).predict(x[held])
            scores.append(f1_score(y[held], predicted) if by_f1 else np.mean(predicted == y[held]))
        means.append(np.mean(scores))
    if protocol == "senteval":
        means = [round(100 * mean, 2) for mean in means]
    return strengths[int(np.argmax(means))]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_task_without_splits_equals_the_nested_loops(protocol: str) -> None:
    cedars = make_task({"all": 130})
    table = ORDERS[protocol](cedars.table)
    x, y = features(table), table["label"].to_numpy()
    strengths = [2.0**p for p in (range(-2, 4) if protocol == "senteval" else range(9))]
    result = run_probe(cedars, vectors, PROTOCOLS[protocol])
    accuracies, tested = [], []
    for number, (train, test) in enumerate(folds(protocol, y)):
        chosen = result.chosen[number]
        if number % 3 == 0:
            assert chosen == select_strength(protocol, x[train], y[train], strengths)
        accuracies.append(fit_model(x[train], y[train], chosen).score(x[test], y[test]))
        tested += table.index[test].tolist()
    assert len(set(result.chosen[::3])) > 1
    assert result.metrics == {"accuracy": pytest.approx(np.mean(accuracies), abs=1e-12)}
    assert (
        np.concatenate([part.test for part in split_outer_folds(cedars.table, PROTOCOLS[protocol])]).tolist() == tested
    )
    assert sorted(tested) == list(range(130))
    assert result.labels.tolist() == cedars.table["label"].iloc[tested].tolist()
    assert np.bincount(result.folds).tolist() == [13] * 10


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("classes", "pairs"), [(4, False), (2, True)])
def test_a_task_without_a_development_part_equals_the_loop_over_folds(protocol: str, classes: int, pairs: bool) -> None:
    cedars = make_task({"train": 140, "test": 45}, classes, pairs)
    train, test = (cedars.table[cedars.table["split"] == part] for part in ("train", "test"))
    strengths = [2.0**p for p in (range(-1, 6) if protocol == "senteval" else range(9))]
    ordered = ORDERS[protocol](train)
    by_f1 = pairs and protocol == "skip_thoughts"
    c = select_strength(protocol, features(ordered), ordered["label"].to_numpy(), strengths, by_f1)
    model = fit_model(features(train), train["label"].to_numpy(), c)
    result = run_probe(cedars, vectors, PROTOCOLS[protocol])
    assert result.chosen == (c,)
    expected = {"accuracy": model.score(features(test), test["label"])}
    if pairs:
        expected["f1"] = f1_score(test["label"], model.predict(features(test)))
    assert result.metrics == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(np.exp(result.log_probabilities), model.predict_proba(features(test)), atol=2e-3)


def test_a_development_part_chooses() -> None:
    cedars = make_task({"train": 90, "dev": 40, "test": 50}, 3, pairs=True)
    tables = [cedars.table[cedars.table["split"] == name] for name in ("train", "dev", "test")]
    train, dev, test = ((features(table), table["label"].to_numpy()) for table in tables)
    models = [fit_model(*train, 2.0**p) for p in range(-2, 4)]
    scores = [model.score(*dev) for model in models]
    best = int(np.argmax(scores))
    result = run_probe(cedars, vectors, SENTEVAL)
    assert result.chosen == (2.0 ** (best - 2),)
    assert result.validation == pytest.approx(scores[best])
    assert result.metrics == {"accuracy": pytest.approx(models[best].score(*test))}
    assert result.labels.tolist() == test[1].tolist()


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_folds_are_disjoint_and_inner_folds_are_of_the_training_part(protocol: Protocol) -> None:
    outer = split_outer_folds(make_task({"all": 104}).table, protocol)
    assert sorted(np.concatenate([part.test for part in outer]).tolist()) == list(range(104))
    for part in outer:
        assert len(part.inner) == 10
        assert not set(part.train) & set(part.test)
        assert sorted(np.concatenate([held for _, held in part.inner]).tolist()) == sorted(part.train.tolist())
        for fitting, held in part.inner:
            assert sorted([*fitting, *held]) == sorted(part.train.tolist())


def test_features_of_pairs_by_hand() -> None:
    u, v = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 0.5]])
    assert pair_features(u, v).tolist() == [[2, 2.5, 3, -1]]
    assert pair_features(u, v, with_vectors=True).tolist() == [[1, -2, 3, 0.5, 2, 2.5, 3, -1]]


def test_metrics_by_hand() -> None:
    labels, predicted = np.array([1, 1, 1, 0, 0]), np.array([1, 0, 1, 1, 0])
    assert accuracy(labels, predicted) == 0.6
    assert f1(labels, predicted) == pytest.approx(2 / 3)  # 2 true, 1 false positive, 1 false negative
    assert f1(np.zeros(3, np.int64), np.zeros(3, np.int64)) == 0
    log_probs = np.log(np.eye(2, dtype=np.float32)[predicted] * 0.8 + 0.1)
    result = ProbeResult("cedars", (), 0.0, np.array([0, 0, 0, 0, 1]), labels, log_probs, has_f1=True)
    assert result.metrics == {"accuracy": pytest.approx((0.5 + 1) / 2), "f1": pytest.approx(2 / 3)}  # a mean over folds
    without_f1 = replace(result, folds=np.zeros(5, np.int64), has_f1=False)
    assert without_f1.metrics == {"accuracy": pytest.approx(0.6)}


def test_errors_name_the_task() -> None:
    cedars = make_task({"all": 40})
    with pytest.raises(ValueError, match=r"cedars: the vector of '.*' is not finite"):
        run_probe(cedars, lambda texts: np.full((len(texts), 2), np.nan, np.float32), SENTEVAL)
    for bad, protocol, message in (
        (
            replace(cedars, table=cedars.table.assign(label=0)),
            SKIP_THOUGHTS,
            "a training part of .* has only one class",
        ),
        (make_task({"dev": 20, "test": 20}), SENTEVAL, r"the splits are \['dev', 'test'\]: expected"),
        (make_task({"all": 7}), SKIP_THOUGHTS, "7 rows are too few for 10 folds"),
        (make_task({"all": 12}), SENTEVAL, "n_splits=10 cannot be greater than the number of members in each class"),
    ):
        with pytest.raises(ValueError, match=f"cedars: {message}"):
            run_probe(bad, vectors, protocol)
