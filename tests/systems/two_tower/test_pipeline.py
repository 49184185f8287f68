"""`kedro run --pipelines two_tower` at its smallest: every output is there, and the index answers."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from contexture.command import main
from contexture.encoders.tower_files import load_towers
from contexture.pipeline_registry import SYSTEMS
from contexture.pipelines.retrieval.pipeline import OPEN_DOMAIN
from contexture.tasks.retrieval.ranks import METRICS
from tests.pipelines.conftest import SMALLEST, run

RUNS = list(SYSTEMS["two_tower"].runs)
SHARES = [20, 80]
STEPS = {
    name: {"schedule": [] if name.endswith("none") else [{"steps": 4, "weights": {"in_batch_negatives": 1}}]}
    for name in RUNS
} | {"mlm": {"schedule": [{"steps": 4, "weights": {"mlm": 1}}]}}
TINY: dict[str, Any] = SMALLEST | {
    "two_tower": {
        "sampling": {"files": 2},
        "encoders": {
            "transformer": {
                "encoder": {"hidden_size": 16, "heads": 2, "intermediate_size": 16},
                "embedding_size": 8,
            },
            "bow_mlp": {"word_size": 16, "hidden_size": 16, "embedding_size": 8},
        },
        "pretrain": {"batch_size": 12, "log_every": 2, "runs": STEPS},
        "finetune": {"shares": SHARES, "batch_size": 8, "steps": 4, "evaluate_every": 2},
        "evaluation": {"open_domain_pairs": 20},
        "ablation": {"shares": [80], "rows": [{"layers": 2, "run": "ict", "embedding_size": 4}]},
    }
}


@pytest.fixture(scope="module")
def project(spark: SparkSession, make_project: Callable[[], Path]) -> Path:
    """A project after the run."""
    folder = make_project()
    run(folder, TINY, pipeline_names=["two_tower"])
    return folder


def records(project: Path) -> pd.DataFrame:
    return pd.DataFrame(json.loads((project / "data/08_reporting/two_tower/metrics.json").read_text()))


@pytest.mark.slow
def test_every_variant_share_and_metric_is_recorded(project: Path) -> None:
    table = records(project)
    assert set(table) == {"system", "variant", "task", "split", "metric", "value", "seed"}
    assert set(table["system"]) == {"two_tower"}
    assert table["value"].between(0, 1).all()
    assert not table.duplicated(["variant", "task", "split", "metric", "seed"]).any()
    closed, grown = (table[table["task"].str.endswith("_open") == is_open] for is_open in (False, True))
    assert set(closed["variant"]) == {"bm25", *RUNS}
    assert set(grown["variant"]) == {"bm25", *OPEN_DOMAIN}
    for part in (closed, grown):
        assert set(part["metric"]) == set(METRICS)
        assert set(part["split"]) == {"20%", "80%"}
        assert len(part) == part["variant"].nunique() * len(METRICS) * len(SHARES)
    wide = table.pivot_table(index=["task", "variant", "split"], columns="metric", values="value")
    for fewer, more in (("recall_at_1", "recall_at_10"), ("recall_at_10", "recall_at_100")):
        assert (wide[fewer] <= wide[more]).all()
    assert (wide["recall_at_5"] <= wide["sentence_recall_at_5"]).all()


@pytest.mark.slow
def test_variants_are_tested_on_the_same_questions(project: Path) -> None:
    tables = {
        name: pd.read_parquet(project / f"data/07_model_output/two_tower/{name}.parquet") for name in ("bm25", *RUNS)
    }
    for name, table in tables.items():
        assert set(table["variant"]) == {name}
        for split in ("20%", "80%"):
            own, bm25 = (one.loc[one["split"] == split, "question_id"].tolist() for one in (table, tables["bm25"]))
            assert own == bm25


@pytest.mark.slow
def test_counts_report_and_models_are_there(project: Path) -> None:
    data = project / "data"
    pairs = json.loads((data / "08_reporting/two_tower/pairs.json").read_text())
    assert set(pairs) == {"ict", "bfs", "wlp"}
    assert all(counted["pairs"] > 0 for counted in pairs.values())
    page = (data / "08_reporting/two_tower/report/report.md").read_text()
    assert "Table 1: pairs of the pre-training tasks" in page and re.search(r"50[.,]2", page)  # ICT pairs, published
    assert all(
        file.read_bytes().startswith(b"\x89PNG") for file in (data / "08_reporting/two_tower/report").glob("*.png")
    )
    kinds = {found["kind"] for found in json.loads((data / "08_reporting/two_tower/indexes.json").read_text())}
    assert {"ivf", "hnsw"} <= kinds
    for variant in RUNS:
        for share in SHARES:
            load_towers(data / f"06_models/two_tower/finetuned/{variant}/share-{share}/seed-0")
    assert not list(data.rglob("*.unfinished"))


@pytest.mark.slow
def test_the_index_answers_on_the_command_line(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    titles = set(pd.read_parquet("data/06_models/two_tower/search/passages.parquet")["title"])
    main(["search", "Where does the river rise?", "-k", "3"])
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("   ")]
    assert [line.split(". ")[0] for line in lines] == ["1", "2", "3"]
    assert all(line.split(". ", 1)[1].rsplit("  (", 1)[0] in titles for line in lines)


@pytest.mark.slow
def test_mlflow_holds_the_encoder_as_a_model(project: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{project}/mlflow.db")
    found = mlflow.search_logged_models(output_format="list")
    assert [model.name for model in found] == ["encoder"]
    vectors = mlflow.pyfunc.load_model(found[0].model_uri).predict(["a river", "a town on the river"])
    assert np.shape(vectors) == (2, 8) and np.isfinite(vectors).all()


@pytest.mark.slow
def test_the_ablation_stands_on_what_the_system_left(project: Path) -> None:
    run(project, TINY, pipeline_names=["two_tower_ablation"])
    table = pd.DataFrame(json.loads((project / "data/08_reporting/two_tower/ablation.json").read_text()))
    assert set(table["variant"]) == {"layers=2 ict dim=4"}
    assert set(table["split"]) == {"80%"}
    assert set(table["metric"]) == set(METRICS)


@pytest.mark.slow
def test_missing_questions_leave_out_their_evaluation_only(
    spark: SparkSession, make_project: Callable[[], Path]
) -> None:
    folder = make_project()
    run(folder, TINY | {"retrieval": {"input": "data/01_raw/squad.json"}}, pipeline_names=["two_tower"])
    assert records(folder).empty
    assert (folder / "data/06_models/two_tower/search/vectors/vectors.json").exists()
    assert "squad.json" in (folder / "data/08_reporting/two_tower/report/report.md").read_text()
