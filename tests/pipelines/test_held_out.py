"""A small `kedro run` with held-out documents."""

import copy
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from contexture.splits import document_draw
from tests.pipelines.conftest import SMALLEST, check_report, read, records, run

SHARE = 0.4


@pytest.mark.slow
def test_losses_on_held_out_documents_are_measured_and_reported(
    spark: SparkSession, make_project: Callable[[], Path]
) -> None:
    params = copy.deepcopy(SMALLEST)
    params["mspp"]["pretrain"]["held_out"] = {"share": SHARE, "evaluate_every": 1, "batches": 2, "patience": 3}
    project = make_project()
    run(project, params)
    examples = project / "data/05_model_input/mspp"
    for folder, is_held_out in ((examples / "joint", False), (examples / "held_out" / "joint", True)):
        names = {name.rsplit(":", 2)[0] for name in pq.read_table(folder)["example_id"].to_pylist()}
        assert names and all((document_draw(name) < SHARE) == is_held_out for name in names)
    assert read(project, "05_model_input/mspp/joint/_corpus.json")["held_out_share"] == SHARE
    trained = records(project, "mspp").query("variant == 'mspp_ie'")
    assert (trained["held_out_loss"] < trained["held_out_loss_start"]).all()
    summary = read(project, "06_models/mspp/pretrained/mspp_ie/seed-0/training.json")["held_out"]
    assert set(trained["held_out_loss"]) == {summary["loss"]} and summary["step"] == summary["best_step"] > 0
    assert "pretrain_held_out_loss.png" in check_report(project, "mspp")
