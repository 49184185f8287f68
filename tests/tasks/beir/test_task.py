"""The BEIR task, from files to records."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from sklearn.metrics import ndcg_score

from contexture.encoders.models import load_model
from contexture.metrics.graded import METRICS
from contexture.retrieval.config import Bm25Config
from contexture.tasks.base import TASK_FILE, EvaluatedEncoder, Results
from contexture.tasks.beir.config import BeirConfig, BeirSettings
from contexture.tasks.beir.task import BeirTask
from contexture.tasks.passage_ranking import measure_intervals, rank_by_vectors, rank_by_words
from tests.tasks.beir.toys import write_beir_set, write_drawn_set, write_small_set
from tests.tasks.retrieval import toys

TASK = BeirTask()


def read(data: Path, split: Any = "test", **sets: Path) -> dict[str, Any]:
    TASK.prepare_data(BeirConfig({name: str(folder) for name, folder in sets.items()}, split), data, data)
    report: dict[str, Any] = json.loads((data / TASK_FILE).read_text())
    return report


def query_metrics(results: Results, variant: str) -> pd.DataFrame:
    """Return the metrics of each query of the random set, first seed."""
    table = results.tables["queries"].query("data == 'drawn' and variant == @variant and seed == 0")
    return table.set_index("query_id")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("beir")


@pytest.fixture(scope="module")
def encoder(folder: Path) -> str:
    return toys.new_bag(folder / "encoder")


@pytest.fixture(scope="module")
def results(folder: Path, encoder: str) -> Results:
    read(
        folder / "data",
        drawn=write_drawn_set(folder / "drawn"),
        small=write_small_set(folder / "small"),
        gone=folder / "gone",
    )
    runs = [("one", 0, (encoder,)), ("one", 1, (encoder,)), ("two", 0, (encoder, encoder))]
    encoders = [EvaluatedEncoder(*run) for run in runs]
    return TASK.evaluate(BeirSettings(hybrid=["one"]), encoders, folder / "data", folder / "vectors")


def test_missing_sets_are_reported_and_the_others_read(folder: Path, results: Results) -> None:
    report = json.loads((folder / "data" / TASK_FILE).read_text())
    assert list(report["counts"]) == ["drawn", "small"] and report["name"] == "drawn, small, gone"
    assert list(report["missing"]) == ["gone"] and "gone/corpus.jsonl" in report["missing"]["gone"]
    assert report["counts"]["drawn"]["queries"] == 30 and report["counts"]["drawn"]["documents"] == 60


def test_records(results: Results) -> None:
    runs = [("bm25", 0), ("bm25", 1), ("one", 0), ("one", 1), ("one+bm25", 0), ("one+bm25", 1), ("two", 0)]
    means = results.tables["queries"].groupby(["data", "variant", "seed"])[METRICS].mean()
    constant = {"task": "beir", "protocol": "frozen", "split": "test"}
    assert results.records == [
        {"variant": variant, "seed": seed, "data": data, "metric": metric, **constant}
        | {"value": pytest.approx(value), "examples": examples}
        for data, examples in {"drawn": 30, "small": 2}.items()
        for variant, seed in runs
        for metric, value in means.loc[data, variant, seed].items()
    ]
    assert means.loc["small"].max().max() == 1.0


def test_ndcg_of_each_query_equals_scikit_learn(folder: Path, encoder: str, results: Results) -> None:
    """The document with the query's id is no candidate but stays relevant."""
    documents = pd.read_parquet(folder / "data/drawn/documents.parquet")
    queries = pd.read_parquet(folder / "data/drawn/queries.parquet")
    model = load_model(encoder)
    texts = list(documents[["title", "text"]].itertuples(index=False, name=None))
    scores = model.embed(queries["text"].tolist(), "query") @ model.embed(texts, "document").T
    scores[0, 0] = scores.min() - 1  # d0 is the first query and document
    grades = np.zeros(scores.shape)
    for row, (names, graded) in enumerate(zip(queries["documents"], queries["scores"], strict=True)):
        grades[row, [int(name[1:]) for name in names]] = graded
    expected = [ndcg_score([grade], [score], k=10) for grade, score in zip(grades, scores, strict=True)]
    table = query_metrics(results, "one")
    assert table.index.tolist() == queries["id"].tolist() == ["d0", *(f"q{number}" for number in range(1, 30))]
    assert table["ndcg_at_10"].tolist() == pytest.approx(expected, abs=1e-6)


def test_bm25_retrieves_shared_words_but_not_the_query_itself(results: Results) -> None:
    values = query_metrics(results, "bm25")
    grades = values["ndcg_at_10"]
    assert grades["d0"] < grades.drop("d0").min()  # its best document has its id
    assert (values.loc[values.index != "d0", "recall_at_10"] == 1).all()
    assert values["recall_at_100"]["d0"] < 1


def test_intervals(results: Results) -> None:
    details = results.details["intervals"]
    assert list(details) == ["drawn", "small"] and set(details["drawn"]) == {"bm25", "one", "one+bm25", "two"}
    assert list(details["drawn"]["bm25"]) == ["ndcg_at_10"]
    for variant, scores in details["drawn"].items():
        mean, low, high = scores["ndcg_at_10"]
        assert mean == pytest.approx(query_metrics(results, variant)["ndcg_at_10"].mean()) and low < mean < high
    encoder_score, bm25 = (details["drawn"][variant]["ndcg_at_10"][0] for variant in ("one", "bm25"))
    assert details["drawn"]["one"]["over_bm25"][0] == pytest.approx(encoder_score - bm25)


def test_intervals_of_gains_are_paired_by_query() -> None:
    values = {"bm25": [0.0, 0.5, 0.9], "better": [0.1, 0.6, 1.0]}
    table = pd.DataFrame(
        [
            {"variant": variant, "seed": seed, "query_id": str(query), "ndcg_at_10": value + (seed - 0.5) / 100}
            for variant, scores in values.items()
            for seed in (0, 1)
            for query, value in enumerate(scores)
        ]
    )
    better = measure_intervals(table)["better"]
    assert better["over_bm25"] == pytest.approx([0.1] * 3)
    assert better["ndcg_at_10"] == pytest.approx([1.7 / 3, 0.1, 1.0])


def test_unknown_relevant_documents_count_as_not_retrieved(encoder: str, tmp_path: Path) -> None:
    documents = [{"_id": "a", "text": "kana"}, {"_id": "b", "text": "lona"}]
    source = write_beir_set(
        tmp_path / "set", documents, [{"_id": "1", "text": "kana"}], [("1", "a", 1), ("1", "lost", 1)], "dev"
    )
    report = read(tmp_path / "data", "dev", mine=source)
    assert report["notes"] and "(lost): they count as not retrieved" in report["notes"][0]
    results = TASK.evaluate(
        BeirSettings(), [EvaluatedEncoder("one", 0, (encoder,))], tmp_path / "data", tmp_path / "vectors"
    )
    (row,) = results.tables["queries"].query("variant == 'bm25'").to_dict("records")
    assert row["split"] == "dev" and [row[name] for name in METRICS] == pytest.approx(
        [1 / (1 + 1 / np.log2(3)), 0.5, 0.5, 0.5]
    )


def test_without_sets_there_are_no_results(tmp_path: Path) -> None:
    report = read(tmp_path / "data")
    assert report["counts"] == {} and "beir.input has no folders" in report["missing"]["beir"]
    results = TASK.evaluate(BeirSettings(), [EvaluatedEncoder("a", 0, ("b",))], tmp_path / "data", tmp_path / "vectors")
    assert results == Results()


def test_settings() -> None:
    settings = BeirSettings(hybrid=["one", "two"])
    settings.check_variants(["one", "two", "three"])
    with pytest.raises(ValueError, match=r"hybrid\n.*unknown variant 'two'; known: one"):
        settings.check_variants(["one"])
    assert settings.restrict_variants(["two"]).hybrid == ["two"]
    for bad in ({"input": {"Sci Fact": "x"}}, {"split": "training"}):
        with pytest.raises(ValidationError):
            BeirConfig(**bad)  # type: ignore[arg-type]


def test_fused_rankings_are_sums_of_reciprocal_ranks(
    folder: Path, encoder: str, results: Results, tmp_path: Path
) -> None:
    """Of both rankings, without the document that has the query's id; ties are ordered by row."""
    file, queries = folder / "data/drawn/documents.parquet", pd.read_parquet(folder / "data/drawn/queries.parquet")
    texts, expected = queries["text"].tolist(), []
    by_vectors = rank_by_vectors([encoder], file, texts, tmp_path, 60)[1]
    by_words = rank_by_words(file, texts, tmp_path, Bm25Config(), 60)[1]
    for number, (names, graded) in enumerate(zip(queries["documents"], queries["scores"], strict=True)):
        sums, grades = np.zeros(60), np.zeros(60)
        for ranked in (by_vectors, by_words):
            rows = [row for row in ranked[number] if row >= 0 and (number, row) != (0, 0)]
            sums[rows] += 1 / (61 + np.arange(len(rows)))
        grades[[int(name[1:]) for name in names]] = graded
        expected.append(ndcg_score([grades], [sums - 1e-9 * np.arange(60)], k=10))
    assert query_metrics(results, "one+bm25")["ndcg_at_10"].tolist() == pytest.approx(expected, abs=1e-6)
