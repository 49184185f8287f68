"""Run `kedro run --pipelines cross_thought` at the smallest size; all scores exist, and the gain is drawn."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sentence_transformers import SentenceTransformer

from contexture.encoders.models import load_model
from contexture.training.curves import read_curves
from tests.pipelines.conftest import SMALLEST, check_records, check_report, read, records, run

VARIANTS = {
    "ct_1_64", "ct_3_64", "ct_5_64", "ct_1_512", "mlm_64", "mlm_512", "lm", "ict", "skip_thought", "untrained",
}  # fmt: skip
FROZEN = {"ct_1_64_cls", "ct_1_64_paper", "mlm_64_paper"}
SMALL = {"hidden_size": 16, "layers": 1, "intermediate_size": 16}
SAMPLES = {"sampling": {"sequences": 8, "tokens": 16, "run_length": 2, "files": 1}}
STEPS = {"steps": 2, "evaluate_every": 1}
TINY: dict[str, Any] = SMALLEST | {
    "cross_thought": {
        "encoders": dict.fromkeys(("plain", "ct_1", "ct_1_cls", "ct_1_paper", "ct_3", "ct_5", "cls", "lm"), SMALL),
        "streams": {"sequence_samples": SAMPLES, "short_sequences": SAMPLES},
        "pretrain": {"log_every": 1, "budget": {"amount": 1e8}},
        "tasks": {"pairs": STEPS, "ranking": STEPS},
    },
}


@pytest.fixture(scope="module")
def project(spark: SparkSession, make_project: Callable[[], Path]) -> Path:
    """Return a project after the run."""
    folder = make_project()
    run(folder, TINY, pipeline_names=["cross_thought"])
    return folder


@pytest.mark.slow
def test_every_variant_is_measured_on_pairs_and_ranking(project: Path) -> None:
    table = records(project, "cross_thought")
    check_records(table, "cross_thought", VARIANTS | FROZEN)
    measurements = {(task, protocol) for task in ("pairs", "ranking") for protocol in ("frozen", "finetuned")}
    by_score = table["protocol"].str.startswith("by_")
    assert {"by_attention", "by_cosine", "by_dot"} == set(table[by_score]["protocol"])
    cells = (
        table[~by_score]
        .groupby("variant")
        .apply(lambda part: set(zip(part["task"], part["protocol"], strict=True)), include_groups=False)
    )
    assert dict.fromkeys(VARIANTS, measurements) == {name: cells[name] for name in VARIANTS}
    frozen = {(task, "frozen") for task in ("pairs", "ranking")}
    assert dict.fromkeys(FROZEN, frozen) == {name: cells[name] for name in FROZEN}
    assert {"majority", "bm25", "random_order"} <= set(cells.index)
    check_report(project, "cross_thought")
    counts = read(project, "08_reporting/cross_thought/examples-sequence_samples.json")
    assert counts["samples"] > 10 and counts["sequences"] > counts["samples"] and "sequences_padded" in counts


@pytest.mark.slow
def test_report_draws_the_gain_of_other_sequences(project: Path) -> None:
    trained = project / "data/06_models/cross_thought/pretrained/ct_1_64/seed-0"
    gain = read_curves(trained)["train/cross_thought_gain"]
    assert len(gain) > 1 and gain.abs().max() <= 1
    pictures = {file.name for file in (project / "data/08_reporting/cross_thought/report").rglob("*.png")}
    assert "pretrain_train_cross_thought_gain.png" in pictures


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["ct_1_64_cls", "ct_5_64", "lm"])
def test_sentence_transformers_loads_the_encoders(variant: str, project: Path) -> None:
    folder = project / f"data/06_models/cross_thought/pretrained/{variant}/seed-0"
    texts = ["The coach came to town.", "Nobody had told Aldo."]
    ours, theirs = load_model(folder).embed(texts), SentenceTransformer(str(folder)).encode(texts)
    assert abs(ours - theirs).max() < 1e-5
