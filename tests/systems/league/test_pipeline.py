"""Run `kedro run --pipelines league` at the smallest size; all variants have scores on all tasks."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from contexture.objectives.config import OBJECTIVES
from contexture.systems.registry import SYSTEMS
from tests.pipelines.conftest import SMALLEST, check_records, check_report, read, records, run

#: Runs without the name of an objective.
UNTRAINED = {"untrained", "untrained_cross", "untrained_last"}
MIXTURES = {*UNTRAINED, "mlm_ict_quick_thoughts", "mlm_mspp_ict"}
INCLUDED = {
    "mspp": ["mspp_ie"],
    "cmlm": ["mlm"],
    "cross_thought": ["ct_3_64"],
    "quick_thoughts": ["bow", "untrained"],
    "two_tower": ["bow_mlp_none"],
}
#: Streams that the league does not have.
OTHER_STREAMS = {"bitext", "hard_pairs", "nli"}
COMPARED = {
    name
    for name, config in OBJECTIVES.items()
    if not config.stream_settings and not OTHER_STREAMS.issuperset(config.streams)
}
TRAINED = COMPARED | MIXTURES
INCLUDED_VARIANTS = {f"{system}: {name}" for system, names in INCLUDED.items() for name in names}
BUDGET = 2e8
SAMPLES = {"sampling": {"sequences": 4, "tokens": 16, "run_length": 2}}
PROBES = ("mr", "subj", "trec", "mrpc", "sick_e", "sick_r", "stsb")
SIMILARITY = ("sts14", "stsb", "sick_r")
FROZEN = {
    ("answer_selection", "frozen"),
    ("retrieval", "frozen"),
    *((task, "senteval") for task in PROBES),
    *((task, "cosine") for task in SIMILARITY),
}
FINETUNED = {("answer_selection", "bi_encoder"), ("retrieval", "80%")}
TINY: dict[str, Any] = SMALLEST | {
    "words": {"size": 500, "vector_size": 12},
    "quick_thoughts": {
        "encoders": {"bow": {"embedding_size": 8}, "uni": {"word_size": 8, "embedding_size": 8}},
        "pretrain": {"runs": {"bow": {"schedule": [{"steps": 4, "weights": {"quick_thoughts": 1}}]}}},
    },
    # The run of `search`, besides the included one.
    "two_tower": {
        "pretrain": {"runs": {"ict_bfs_wlp": {"schedule": [{"steps": 2, "weights": {"in_batch_negatives": 1}}]}}}
    },
    "cmlm": {
        "encoders": {"transformer": {"hidden_size": 16, "layers": 1, "intermediate_size": 16}},
        "pretrain": {"batch_size": 16, "budget": {"amount": BUDGET}},
    },
    "cross_thought": {
        "encoders": {"ct_3": {"hidden_size": 16, "layers": 1, "intermediate_size": 16}},
        "streams": {"sequence_samples": SAMPLES, "short_sequences": SAMPLES},
        "pretrain": {"budget": {"amount": BUDGET}},
    },
    "league": {
        "encoders": {name: {"hidden_size": 16, "intermediate_size": 16} for name in ("transformer", "cross", "last")},
        "streams": {"sequence_samples": SAMPLES, "short_sequences": SAMPLES},
        "pretrain": {"batch_size": 16, "budget": {"amount": BUDGET}},
        "tasks": {"retrieval": {"steps": 2, "evaluate_every": 1}, "answer_selection": {"epochs": 1}},
        "include": INCLUDED,
        "head": "bi_encoder",
    },
}


@pytest.fixture(scope="module")
def project(spark: SparkSession, make_project: Callable[[], Path]) -> Path:
    """Return a project after a run of the league."""
    folder = make_project()
    run(folder, TINY, pipeline_names=["league"])
    return folder


@pytest.mark.slow
def test_every_variant_and_task_is_recorded(project: Path) -> None:
    table = records(project, "league")
    check_records(table, "league", TRAINED | INCLUDED_VARIANTS)
    cells = table.groupby("variant").apply(
        lambda part: set(zip(part["task"], part["protocol"], strict=True)), include_groups=False
    )
    assert dict.fromkeys(TRAINED, FROZEN | FINETUNED) == {name: cells[name] for name in TRAINED}
    frozen = {*INCLUDED_VARIANTS, "word_average"}
    assert dict.fromkeys(frozen, FROZEN) == {name: cells[name] for name in frozen}
    assert set(table["variant"]) - TRAINED - INCLUDED_VARIANTS == {
        "bm25", "file_order", "random_order", "word_overlap", "word_average",
    }  # fmt: skip
    # All variants of a task and protocol have the same metrics.
    measurements = table.groupby(["task", "protocol", "variant"]).apply(
        lambda part: frozenset(zip(part["data"], part["split"], part["metric"], strict=True)), include_groups=False
    )
    assert (measurements.groupby(["task", "protocol"]).nunique() == 1).all()
    assert not table["value"].isna().any()


@pytest.mark.slow
def test_every_run_spends_the_budget(project: Path) -> None:
    table = records(project, "league").drop_duplicates("variant").set_index("variant")
    trained = table.loc[sorted(TRAINED - UNTRAINED)]
    # Up to one step more or less, or 2%, because the first steps of a row are not quite like its others.
    tolerance = (trained["flops"] / trained["steps"]).clip(lower=0.02 * BUDGET)
    assert ((trained["flops"] - BUDGET).abs() <= tolerance).all()
    assert (table.loc[[*UNTRAINED, "two_tower: bow_mlp_none", "quick_thoughts: untrained"], "flops"] == 0).all()
    assert (table.loc[sorted(TRAINED), "training_text"].nunique()) == 1


@pytest.mark.slow
def test_page_shows_all_rows_and_speeds(project: Path) -> None:
    page = check_report(project, "league")
    for name in COMPARED:
        assert OBJECTIVES[name].title in page
    for included in INCLUDED_VARIANTS:
        system, variant = included.split(": ")
        assert import_module(SYSTEMS[system]).LABELS[variant] in page
    speed = read(project, "07_model_output/league/speed.json")
    assert set(speed) == TRAINED | INCLUDED_VARIANTS and all(value > 0 for value in speed.values())
    missing = read(project, "07_model_output/league/sentences/details.json")["missing"]
    assert "cr" in missing
    for task in ("answer_selection", "retrieval", "sentences"):
        assert read(project, f"07_model_output/league/{task}/records.json")
    scores = pd.read_parquet(project / "data/07_model_output/league/answer_selection/scores-demo.parquet")
    assert set(scores["variant"]) >= TRAINED | INCLUDED_VARIANTS
    models = project / "data/06_models"
    assert {folder_path.name for folder_path in (models / "league/pretrained").iterdir()} == TRAINED
    assert not (models / "search").exists() and not (project / "data/08_reporting/mspp/report").exists()
