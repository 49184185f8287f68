"""Run `kedro run --pipelines two_tower` at the smallest size; all outputs exist, and search works."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from contexture.commands.main import main
from contexture.encoders.files import load_encoder
from contexture.tasks.retrieval.ranks import METRICS
from tests.pipelines.conftest import SMALLEST, check_records, check_report, read, records, run

STATIC = {"static_ict", "static_ict_bfs_wlp"}
TRAINED = {"ict_bfs_wlp", "ict", "bfs", "wlp", "mlm", "bow_mlp_ict_bfs_wlp"} | STATIC
RUNS = TRAINED | {"none", "bow_mlp_none", "static_none"}
#: Combined with BM25.
HYBRID = {f"{name}+bm25" for name in STATIC}
OPEN_DOMAIN = {"ict", "ict_bfs_wlp", "static_ict"}
SHARES = [20, 80]
PROTOCOLS = {"frozen", "20%", "80%"}
SAMPLING = {"files": 2}
SYSTEM: dict[str, Any] = {
    "streams": {"pairs": {"sampling": SAMPLING}, "passages": {"sampling": SAMPLING}},
    "encoders": {
        "transformer": {"hidden_size": 16, "heads": 2, "intermediate_size": 16, "embedding_size": 8},
        "static": {"embedding_size": 8},
        "bow_mlp": {"word_size": 16, "hidden_size": 16, "embedding_size": 8},
    },
    "pretrain": {
        "batch_size": 12,
        "log_every": 2,
        "runs": {
            name: {"schedule": [{"steps": 4, "weights": {"mlm" if name == "mlm" else "in_batch_negatives": 1}}]}
            for name in TRAINED
        },
    },
    "tasks": {
        "retrieval": {"shares": SHARES, "batch_size": 8, "steps": 4, "evaluate_every": 2, "open_domain_pairs": 20}
    },
    "ablation": {
        "tasks": {"retrieval": {"shares": [80]}},
        "rows": [{"run": "ict", "encoder": {"layers": 2, "embedding_size": 4}}],
    },
}
TINY: dict[str, Any] = SMALLEST | {"two_tower": SYSTEM}


@pytest.fixture(scope="module")
def project(spark: SparkSession, make_project: Callable[[], Path]) -> Path:
    """Return a project after the run."""
    folder = make_project()
    run(folder, TINY, pipeline_names=["two_tower"])
    return folder


@pytest.mark.slow
def test_every_variant_protocol_and_metric_is_recorded(project: Path) -> None:
    table = records(project, "two_tower")
    check_records(table, "two_tower", RUNS)
    assert set(table["task"]) == {"retrieval"} and set(table["data"]) == {"demo"} and set(table["split"]) == {"test"}
    assert table["value"].between(0, 1).all()
    grown = table["protocol"].str.endswith(" open")
    for part, variants in ((table[~grown], RUNS | HYBRID), (table[grown], OPEN_DOMAIN)):
        assert set(part["variant"]) == {"bm25", *variants}
        assert set(part["protocol"].str.removesuffix(" open")) == PROTOCOLS
        assert set(part["metric"]) == set(METRICS)
        assert len(part) == part["variant"].nunique() * len(METRICS) * len(PROTOCOLS)
    wide = table.pivot_table(index=["protocol", "variant"], columns="metric", values="value")
    for fewer, more in (("recall_at_1", "recall_at_10"), ("recall_at_10", "recall_at_100")):
        assert (wide[fewer] <= wide[more]).all()
    assert (wide["recall_at_5"] <= wide["sentence_recall_at_5"]).all()
    steps = table.dropna(subset="steps").groupby("variant")["steps"].first()
    assert steps.to_dict() == {name: 4 if name in TRAINED else 0 for name in RUNS}


@pytest.mark.slow
def test_variants_are_tested_on_the_same_questions(project: Path) -> None:
    table = pd.read_parquet(project / "data/07_model_output/two_tower/retrieval/ranks.parquet")
    closed = table[~table["protocol"].str.endswith(" open")]
    questions = closed.groupby(["protocol", "variant"])["question_id"].agg(tuple)
    assert set(questions.index) == {(protocol, name) for protocol in PROTOCOLS for name in ("bm25", *RUNS, *HYBRID)}
    assert (questions.groupby("protocol").nunique() == 1).all()
    assert (closed.groupby(["protocol", "variant"])["question_id"].nunique() == questions.map(len)).all()


@pytest.mark.slow
def test_counts_report_and_models(project: Path) -> None:
    pairs = read(project, "08_reporting/two_tower/examples-pairs.json")
    assert set(pairs) == {"ict", "bfs", "wlp"}
    assert all(counted["pairs"] > 0 for counted in pairs.values())
    page = check_report(project, "two_tower")
    assert "Table 1: pairs of the pre-training tasks" in page and re.search(r"50[.,]2", page)  # ICT pairs, published
    details = read(project, "07_model_output/two_tower/retrieval/details.json")
    assert {"ivf", "hnsw"} <= {index["kind"] for index in details["indexes"]}
    [examples] = details["examples"]
    assert examples["variant"] in RUNS and examples["protocol"] == "80%" and examples["missed"]
    assert all(row["predicted"] == row["right"] for row in examples["answered"])
    assert all(row["predicted"] != row["right"] and row["question"] in page for row in examples["missed"])
    models = project / "data/06_models/two_tower"
    for variant in RUNS:
        tuned = [f"finetuned/retrieval/{variant}/seed-0/share-{share}" for share in SHARES]
        for path in [f"pretrained/{variant}/seed-0", *tuned]:
            assert load_encoder(models / path).dimension == 8
    assert (project / "data/03_primary/tasks/retrieval/task.json").exists()


@pytest.mark.slow
def test_search_command(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    titles = set(pd.read_parquet("data/06_models/search/passages.parquet")["title"])
    main(["search", "Where does the river rise?", "-k", "3"])
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("   ")]
    assert [line.split(". ")[0] for line in lines] == ["1", "2", "3"]
    assert all(line.split(". ", 1)[1].rsplit("  (", 1)[0] in titles for line in lines)


@pytest.mark.slow
def test_mlflow_has_the_encoder_as_a_model(project: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{project}/mlflow.db")
    models = mlflow.search_logged_models(output_format="list")
    assert [model.name for model in models] == ["two_tower"]
    texts = ["a river", "a town on the river"]
    served = mlflow.pyfunc.load_model("models:/two_tower/latest")
    encoder = load_encoder(project / "data/06_models/two_tower/pretrained/static_ict/seed-0")  # the encoder of `search`
    for role in ("document", "query", None):
        vectors = served.predict(texts, params=role and {"role": role})
        assert np.shape(vectors) == (2, 8) and np.isfinite(vectors).all()
        np.testing.assert_allclose(vectors, encoder.embed(texts, role), atol=1e-5)
    with pytest.raises(ValueError, match="role 'reader' is unknown"):
        served.predict(texts, params={"role": "reader"})


@pytest.mark.slow
def test_ablation_uses_the_examples_of_the_system(project: Path) -> None:
    run(project, TINY, pipeline_names=["two_tower_ablation"])
    table = records(project, "two_tower_ablation")
    name = "ict layers=2 embedding_size=4"
    check_records(table, "two_tower_ablation", {name})
    assert set(table["variant"]) == {name}
    assert set(table["protocol"]) == {"frozen ablation", "80% ablation"}
    assert set(table["metric"]) == set(METRICS)
    heading = "Ours, the demo's made-up world"
    assert heading in check_report(project, "two_tower_ablation").partition("Table 5")[2]
    run(
        project, TINY, pipeline_names=["two_tower"], node_names=["two_tower.write_report"]
    )  # its page has the ablation, too
    both = records(project, "two_tower")
    check_records(both, "two_tower", {*RUNS, name})
    assert heading in check_report(project, "two_tower").partition("Table 5")[2]


@pytest.mark.slow
def test_missing_questions_skip_only_their_evaluation(spark: SparkSession, make_project: Callable[[], Path]) -> None:
    folder = make_project()
    run(folder, TINY | {"retrieval": {"input": "data/01_raw/squad.json"}}, pipeline_names=["two_tower"])
    assert records(folder, "two_tower").empty
    assert (folder / "data/06_models/search/vectors/vectors.json").exists()
    assert "squad.json" in (folder / "data/08_reporting/two_tower/report/report.md").read_text()
