"""The default run at its smallest, and what the options of `kedro run` do."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from kedro.framework.cli.utils import KedroCliError
from kedro.io import DatasetError
from mlflow import MlflowClient
from pyspark.sql import SparkSession

from contexture.hooks import git_tags
from tests.pipelines.conftest import SMALLEST, run

VARIANTS = {"mspp_ie", "mspp_ae", "joint_ie", "joint_ae", "pairwise"}


@pytest.fixture(scope="module")
def demo(spark: SparkSession, make_project: Callable[[], Path]) -> Path:
    """A project after the default run."""
    folder = make_project()
    run(folder)
    return folder


def records(project: Path) -> list[dict[str, object]]:
    return json.loads((project / "data/08_reporting/mspp/metrics.json").read_text())


def test_metrics_of_every_variant_are_recorded(demo: Path) -> None:
    table = pd.DataFrame(records(demo))
    assert set(table) == {"system", "variant", "task", "split", "metric", "value", "seed"}
    grouped = table[table["task"] == "wikiqa"]
    assert set(grouped["variant"]) == VARIANTS
    assert set(table.loc[table["task"] == "wikiqa_rerank", "variant"]) == VARIANTS - {"pairwise"}
    assert set(table["metric"]) == {"p_at_1", "map", "mrr"}
    assert table["value"].between(0, 1).all()
    assert len(grouped) == 5 * 3 * 2  # variants, metrics, splits


def test_the_report_shows_tables_and_curves(demo: Path) -> None:
    folder = demo / "data/08_reporting/mspp/report"
    page = (folder / "report.html").read_text()
    assert "88.5" in page  # the published MAP of MSPP IE_k on WikiQA
    pictures = list(folder.glob("*.png"))
    assert any("pretrain" in picture.name for picture in pictures)
    assert any("finetune" in picture.name for picture in pictures)
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)


def test_mlflow_has_one_run_with_a_child_for_every_training(demo: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{demo}/mlflow.db")
    client = MlflowClient()
    experiment = client.get_experiment_by_name("contexture")
    runs = client.search_runs([experiment.experiment_id], max_results=100)
    parents = [r for r in runs if "mlflow.parentRunId" not in r.data.tags]
    assert len(parents) == 1
    parent = parents[0]
    children = {r.info.run_name: r for r in runs if r.data.tags.get("mlflow.parentRunId") == parent.info.run_id}
    assert len(children) == 4 + 5
    assert all(r.info.status == "FINISHED" for r in [parent, *children.values()])
    assert parent.data.params["mspp.pretrain.batch_size"] == "8"
    assert 0 <= parent.data.metrics["wikiqa/mspp_ie/map"] <= 1
    names = {f.path for f in client.list_artifacts(parent.info.run_id)}
    assert {"metrics.json", "report", "configuration", "data"} <= names
    model = {f.path for f in client.list_artifacts(children["finetune mspp_ie seed 0"].info.run_id, "model")}
    assert {"model/model.safetensors", "model/tokenizer.json", "model/answer_selection.json"} <= model
    curve = client.get_metric_history(children["pretrain mspp_ie seed 0"].info.run_id, "train/mspp")
    assert [point.step for point in curve] == [2, 4]


def test_a_run_is_tagged_with_its_commit(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=tmp_path, check=True)

    assert git_tags(tmp_path) == {}
    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "first")
    assert len(git_tags(tmp_path)["git_revision"]) == 40
    assert git_tags(tmp_path)["git_changed_files"] == "none"
    (tmp_path / "new.txt").write_text("")
    assert "new.txt" in git_tags(tmp_path)["git_changed_files"]


def test_one_stage_needs_only_the_files_of_the_stage_before(
    demo: Path, make_project: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training runs on model input and tokenizer alone, and never asks for Spark."""
    folder = make_project()
    for part in ("04_feature/tokenizer", "05_model_input"):
        shutil.copytree(demo / "data" / part, folder / "data" / part)
    monkeypatch.setattr("contexture.corpus.session.start_spark", lambda _: pytest.fail("training started Spark"))
    run(folder, node_names=["mspp.pretrain_base", "mspp.pretrain_mspp_ie", "mspp.finetune_mspp_ie"])
    for part in ("pretrained/mspp_ie/seed-0", "finetuned/mspp_ie/seed-0"):
        weights = f"data/06_models/mspp/{part}/model.safetensors"
        assert (folder / weights).read_bytes() == (demo / weights).read_bytes()
    with pytest.raises(DatasetError, match=r"03_primary/paragraphs is not there: run the stage"):
        run(folder, node_names=["make_tokenizer"])


def test_a_table_that_was_not_finished_is_refused(demo: Path, make_project: Callable[[], Path]) -> None:
    folder = make_project()
    for part in ("04_feature/tokenizer", "05_model_input"):
        shutil.copytree(demo / "data" / part, folder / "data" / part)
    (folder / "data/05_model_input/mspp/examples/_SUCCESS").unlink()
    with pytest.raises(DatasetError, match="was not written to its end"):
        run(folder, node_names=["mspp.pretrain_base"])


def test_unknown_parameters_stop_the_run_before_any_work(make_project: Callable[[], Path]) -> None:
    folder = make_project()
    with pytest.raises(KedroCliError, match=r"--params: mspp\.finetune\.epoch: no such parameter"):
        run(folder, SMALLEST | {"mspp": {"finetune": {"epoch": 3}}})
    assert not (folder / "data").exists()


@pytest.mark.slow
def test_missing_questions_leave_out_the_evaluation_only(demo: Path, make_project: Callable[[], Path]) -> None:
    folder = make_project()
    run(folder, SMALLEST | {"answers": {"input": "data/01_raw/wikiqa"}})
    assert (folder / "data/06_models/mspp/pretrained/mspp_ie/seed-0/model.safetensors").exists()
    assert records(folder) == []
    page = (folder / "data/08_reporting/mspp/report/report.md").read_text()
    assert "WikiQA is not here" in page


@pytest.mark.slow
def test_the_same_seed_gives_the_same_metrics(demo: Path, make_project: Callable[[], Path]) -> None:
    folder = make_project()
    run(folder)
    assert records(folder) == records(demo)
