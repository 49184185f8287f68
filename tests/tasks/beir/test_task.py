"""BEIR as a task, from its files to the records."""

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
from contexture.tasks.base import TASK_FILE, Contestant, Results
from contexture.tasks.beir.config import BeirConfig, BeirSettings
from contexture.tasks.beir.evaluation import DEPTH, intervals, without_own
from contexture.tasks.beir.task import BeirTask
from tests.tasks.beir.toys import drawn, put, small
from tests.tasks.retrieval import toys

TASK = BeirTask()


def read(place: Path, split: Any = "test", **sets: Path) -> dict[str, Any]:
    TASK.read(BeirConfig({name: str(folder) for name, folder in sets.items()}, split), place, place)
    report: dict[str, Any] = json.loads((place / TASK_FILE).read_text())
    return report


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("beir")


@pytest.fixture(scope="module")
def encoder(folder: Path) -> str:
    return str(toys.new_encoder(folder / "encoder", toys.vocabulary(folder / "words"), toys.BAG))


@pytest.fixture(scope="module")
def results(folder: Path, encoder: str) -> Results:
    read(folder / "data", drawn=drawn(folder / "drawn"), small=small(folder / "small"), gone=folder / "gone")
    who = [Contestant("one", 0, (encoder,)), Contestant("one", 1, (encoder,)), Contestant("two", 0, (encoder, encoder))]
    return TASK.evaluate(BeirSettings(hybrid=["one"]), who, folder / "data", folder / "vectors")


def test_a_set_that_is_missing_is_named_and_the_others_go_on(folder: Path, results: Results) -> None:
    report = json.loads((folder / "data" / TASK_FILE).read_text())
    assert list(report["counts"]) == ["drawn", "small"] and report["name"] == "drawn, small, gone"
    assert list(report["missing"]) == ["gone"] and "gone/corpus.jsonl" in report["missing"]["gone"]
    assert report["counts"]["drawn"]["queries"] == 30 and report["counts"]["drawn"]["documents"] == 60


def test_records(results: Results) -> None:
    table = pd.DataFrame(results.records)
    assert set(table["task"]) == {"beir"} and set(table["protocol"]) == {"frozen"} and set(table["split"]) == {"test"}
    runs = {("bm25", 0), ("bm25", 1), ("one", 0), ("one", 1), ("one+bm25", 0), ("one+bm25", 1), ("two", 0)}
    assert set(zip(table["variant"], table["seed"], strict=True)) == runs
    assert len(table) == len(runs) * 2 * len(METRICS) and set(table["metric"]) == set(METRICS)
    assert not table.duplicated(["variant", "seed", "data", "metric"]).any()
    means = results.tables["queries"].groupby(["data", "variant", "seed"])["ndcg_at_10"].mean()
    for record in results.records:
        if record["metric"] == "ndcg_at_10":
            assert record["value"] == pytest.approx(means[record["data"], record["variant"], record["seed"]])
    assert table.groupby("data")["value"].max()["small"] == 1.0


def test_each_querys_ndcg_is_scikit_learns(folder: Path, encoder: str, results: Results) -> None:
    """Of all inner products, where the document that has the query's id is no candidate but stays relevant."""
    documents = pd.read_parquet(folder / "data/drawn/documents.parquet")
    queries = pd.read_parquet(folder / "data/drawn/queries.parquet")
    model = load_model(encoder)
    texts = list(documents[["title", "text"]].itertuples(index=False, name=None))
    scores = model.embed(queries["text"].tolist(), "query") @ model.embed(texts, "document").T
    scores[0, 0] = scores.min() - 1  # d0 is the first query and the first document
    grades = np.zeros(scores.shape)
    for row, (names, graded) in enumerate(zip(queries["documents"], queries["scores"], strict=True)):
        grades[row, [int(name[1:]) for name in names]] = graded
    expected = [ndcg_score([grade], [score], k=10) for grade, score in zip(grades, scores, strict=True)]
    table = results.tables["queries"].query("data == 'drawn' and variant == 'one' and seed == 0")
    assert table["query_id"].tolist() == queries["id"].tolist() == ["d0", *(f"q{number}" for number in range(1, 30))]
    assert table["ndcg_at_10"].tolist() == pytest.approx(expected, abs=1e-6)


def test_bm25_finds_its_words_and_never_the_query_itself(results: Results) -> None:
    values = (
        results.tables["queries"].query("data == 'drawn' and variant == 'bm25' and seed == 0").set_index("query_id")
    )
    grades = values["ndcg_at_10"]
    assert grades["d0"] < grades.drop("d0").min()  # its best document is itself
    assert (values.loc[values.index != "d0", "recall_at_10"] == 1).all()
    assert values["recall_at_100"]["d0"] < 1


def test_intervals(results: Results) -> None:
    told = results.facts["intervals"]
    assert list(told) == ["drawn", "small"] and set(told["drawn"]) == {"bm25", "one", "one+bm25", "two"}
    assert list(told["drawn"]["bm25"]) == ["ndcg_at_10"]
    table = results.tables["queries"].query("data == 'drawn'")
    for variant, of in told["drawn"].items():
        mean, low, high = of["ndcg_at_10"]
        assert mean == pytest.approx(table[table["variant"] == variant]["ndcg_at_10"].mean()) and low < mean < high
    assert told["drawn"]["one"]["over_bm25"][0] == pytest.approx(
        told["drawn"]["one"]["ndcg_at_10"][0] - told["drawn"]["bm25"]["ndcg_at_10"][0]
    )


def test_a_gain_on_every_query_is_sure_however_far_queries_lie_apart() -> None:
    values = {"bm25": [0.0, 0.5, 0.9], "better": [0.1, 0.6, 1.0]}
    table = pd.DataFrame(
        [
            {"variant": variant, "seed": seed, "query_id": str(query), "ndcg_at_10": value + (seed - 0.5) / 100}
            for variant, of in values.items()
            for seed in (0, 1)
            for query, value in enumerate(of)
        ]
    )
    found = intervals(table)["better"]
    assert found["over_bm25"] == pytest.approx([0.1] * 3)
    assert found["ndcg_at_10"] == pytest.approx([1.7 / 3, 0.1, 1.0])


def test_the_own_document_is_left_out() -> None:
    found = np.full((3, DEPTH + 1), -1)
    found[0] = np.arange(DEPTH + 1)
    found[1, :3] = [4, 2, 3]
    found[2, :2] = [4, 2]
    left = without_own(found, np.array([-1, 2, 9]))
    assert left.shape == (3, DEPTH)
    assert left[0].tolist() == list(range(DEPTH))
    assert left[1, :4].tolist() == [4, 3, -1, -1] and left[2, :3].tolist() == [4, 2, -1]


def test_documents_that_are_nowhere_count_as_not_found(encoder: str, tmp_path: Path) -> None:
    documents = [{"_id": "a", "text": "kana"}, {"_id": "b", "text": "lona"}]
    source = put(tmp_path / "set", documents, [{"_id": "1", "text": "kana"}], [("1", "a", 1), ("1", "lost", 1)], "dev")
    report = read(tmp_path / "data", "dev", mine=source)
    assert report["notes"] and "(lost): they count as not found" in report["notes"][0]
    found = TASK.evaluate(BeirSettings(), [Contestant("one", 0, (encoder,))], tmp_path / "data", tmp_path / "vectors")
    (row,) = found.tables["queries"].query("variant == 'bm25'").to_dict("records")
    assert row["split"] == "dev" and [row[name] for name in METRICS] == pytest.approx(
        [1 / (1 + 1 / np.log2(3)), 0.5, 0.5, 0.5]
    )


def test_without_sets_nothing_is_measured(tmp_path: Path) -> None:
    report = read(tmp_path / "data")
    assert report["counts"] == {} and "beir.input names no folder" in report["missing"]["beir"]
    found = TASK.evaluate(BeirSettings(), [Contestant("a", 0, ("b",))], tmp_path / "data", tmp_path / "vectors")
    assert found == Results()


def test_settings() -> None:
    settings = BeirSettings(hybrid=["one", "two"])
    settings.check_variants(["one", "two", "three"])
    with pytest.raises(ValueError, match=r"no variant is called two; there are \['one'\]"):
        settings.check_variants(["one"])
    assert settings.restricted(["two"]).hybrid == ["two"]
    with pytest.raises(ValidationError):
        BeirConfig({"Sci Fact": "x"})
    with pytest.raises(ValidationError):
        BeirConfig({}, "training")  # type: ignore[arg-type]
