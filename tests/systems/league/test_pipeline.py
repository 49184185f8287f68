"""`kedro run --pipelines league` at its smallest: no cell of variants and tasks is empty."""

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

#: Runs that are not named after an objective, and guests.
OTHERS = {"random", "mlm_ict_quick_thoughts", "mlm_mspp_ict"}
GUESTS = {
    "mspp": ["mspp_ie"],
    "cmlm": ["mlm"],
    "cross_thought": ["ct_3_64"],
    "quick_thoughts": ["bow", "random"],
    "two_tower": ["bow_mlp_none"],
}
OWN = {*(name for name, config in OBJECTIVES.items() if not config.stream_settings), *OTHERS}
VISITORS = {f"{system}: {name}" for system, names in GUESTS.items() for name in names}
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
FINETUNED = {("answer_selection", "grouped"), ("retrieval", "80%")}
TINY: dict[str, Any] = SMALLEST | {
    "words": {"size": 500, "vector_size": 12},
    "quick_thoughts": {
        "encoders": {"bow": {"embedding_size": 8}, "uni": {"word_size": 8, "embedding_size": 8}},
        "pretrain": {"runs": {"bow": {"schedule": [{"steps": 4, "weights": {"quick_thoughts": 1}}]}}},
    },
    # The run with which it would be searched is there beside the guest.
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
        "guests": GUESTS,
    },
}


@pytest.fixture(scope="module")
def project(spark: SparkSession, make_project: Callable[[], Path]) -> Path:
    """A project after the run of the league alone."""
    folder = make_project()
    run(folder, TINY, pipeline_names=["league"])
    return folder


@pytest.mark.slow
def test_every_cell_is_there(project: Path) -> None:
    table = records(project, "league")
    check_records(table, "league", OWN | VISITORS)
    cells = table.groupby("variant").apply(
        lambda part: set(zip(part["task"], part["protocol"], strict=True)), include_groups=False
    )
    assert dict.fromkeys(OWN, FROZEN | FINETUNED) == {name: cells[name] for name in OWN}
    frozen = {*VISITORS, "word_average"}
    assert dict.fromkeys(frozen, FROZEN) == {name: cells[name] for name in frozen}
    assert set(table["variant"]) - OWN - VISITORS == {
        "bm25", "file_order", "random_order", "word_overlap", "word_average",
    }  # fmt: skip
    # Whoever is in a cell is measured there in the same ways.
    ways = table.groupby(["task", "protocol", "variant"]).apply(
        lambda part: frozenset(zip(part["data"], part["split"], part["metric"], strict=True)), include_groups=False
    )
    assert (ways.groupby(["task", "protocol"]).nunique() == 1).all()
    assert not table["value"].isna().any()


@pytest.mark.slow
def test_every_row_spends_the_budget(project: Path) -> None:
    table = records(project, "league").drop_duplicates("variant").set_index("variant")
    own = table.loc[sorted(OWN - {"random"})]
    # As near as whole steps come: by no more than half of one, or by less than one that is taken at any rate.
    step = own["flops"] / own["steps"]
    assert ((own["flops"] - BUDGET).abs() <= step).all()
    assert (table.loc[["random", "two_tower: bow_mlp_none", "quick_thoughts: random"], "flops"] == 0).all()
    assert (table.loc[sorted(OWN), "training_text"].nunique()) == 1


@pytest.mark.slow
def test_the_page_shows_all_rows_and_their_speed(project: Path) -> None:
    page = check_report(project, "league")
    for objective in OBJECTIVES.values():
        assert objective.stream_settings or objective.title in page
    for visitor in VISITORS:
        system, variant = visitor.split(": ")
        assert f"{import_module(SYSTEMS[system]).LABELS[variant]} ({system})" in page
    speed = read(project, "07_model_output/league/speed.json")
    assert set(speed) == OWN | VISITORS and all(value > 0 for value in speed.values())
    missing = read(project, "07_model_output/league/sentences/details.json")["missing"]
    assert "cr" in missing
    for task in ("answer_selection", "retrieval", "sentences"):
        assert read(project, f"07_model_output/league/{task}/records.json")
    scores = pd.read_parquet(project / "data/07_model_output/league/answer_selection/scores-demo.parquet")
    assert set(scores["variant"]) >= OWN | VISITORS
    models = project / "data/06_models"
    assert {one.name for one in (models / "league/pretrained").iterdir()} == OWN
    assert not (models / "search").exists() and not (project / "data/08_reporting/mspp/report").exists()
