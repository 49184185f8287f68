"""Run `kedro run --pipelines cmlm` at the smallest size; all scores exist, and the conditioning gain is drawn."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sentence_transformers import SentenceTransformer

from contexture.encoders.models import load_model
from contexture.training.curves import read_curves
from tests.pipelines.conftest import SMALLEST, check_records, check_report, read, records, run

VARIANTS = {"cmlm", "cmlm_n1", "cmlm_skip", "cmlm_proj", "mlm", "quick_thoughts", "skip_thought", "untrained"}
SMALL = {"hidden_size": 16, "layers": 1, "intermediate_size": 16}
TINY: dict[str, Any] = SMALLEST | {
    "cmlm": {
        "encoders": {"transformer": SMALL, "proj": SMALL, "quick_thoughts": SMALL},
        "pretrain": {"batch_size": 16, "log_every": 1, "budget": {"amount": 4e8}},
    },
}


@pytest.fixture(scope="module")
def project(spark: SparkSession, make_project: Callable[[], Path]) -> Path:
    """Return a project after the run."""
    folder = make_project()
    run(folder, TINY, pipeline_names=["cmlm"])
    return folder


@pytest.mark.slow
def test_every_variant_is_recorded_with_equal_cost(project: Path) -> None:
    table = records(project, "cmlm")
    check_records(table, "cmlm", VARIANTS)
    tasks = {"mr", "subj", "trec", "mrpc", "sick_e", "sick_r", "stsb", "sts14"}
    assert {variant for variant, part in table.groupby("variant") if set(part["task"]) == tasks} == VARIANTS
    flops = table.drop_duplicates("variant").set_index("variant")["flops"]
    assert flops["untrained"] == 0
    assert flops.drop("untrained").between(2e8, 8e8).all()
    check_report(project, "cmlm")
    assert read(project, "08_reporting/cmlm/examples-sequence_pairs.json")["pairs"] > 100


@pytest.mark.slow
def test_report_draws_the_conditioning_gain(project: Path) -> None:
    trained = project / "data/06_models/cmlm/pretrained/cmlm/seed-0"
    gain = read_curves(trained)["train/cmlm_conditioning_gain"]
    assert len(gain) > 3 and gain.abs().max() <= 1
    pictures = {file.name for file in (project / "data/08_reporting/cmlm/report").rglob("*.png")}
    assert "pretrain_train_cmlm_conditioning_gain.png" in pictures


@pytest.mark.slow
def test_sentence_transformers_loads_the_encoder(project: Path) -> None:
    folder = project / "data/06_models/cmlm/pretrained/cmlm/seed-0"
    texts = ["The coach came to town.", "Nobody had told Aldo."]
    ours, theirs = load_model(folder).embed(texts), SentenceTransformer(str(folder)).encode(texts)
    assert abs(ours - theirs).max() < 1e-5
