"""Run `kedro run --pipelines quick_thoughts` at the smallest size; all scores are reproducible."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from contexture.encoders.files import load_encoder
from contexture.training.snapshots import list_snapshots
from contexture.vocabulary.tokenizers import load_tokenizer
from contexture.vocabulary.words import VECTORS_FILE, count_trained_words
from tests.pipelines.conftest import (
    SMALLEST,
    check_records,
    check_report,
    copy_data,
    measured,
    read,
    records,
    run,
    run_without_spark,
)

UNTRAINED = {"untrained", "untrained_bi", "untrained_bow", "untrained_fixed", "untrained_single"}
RUNS = {"uni", "bi", "bow", "fixed", "skip_thought"} | UNTRAINED
TRAINED = {"uni", "bi", "combine", "bow", "mc", "skip_thought", "untrained_combine", "untrained_mc"} | UNTRAINED - {
    "untrained_fixed"
}
VARIANTS = {*TRAINED, "word_average", "ensemble"}
#: Task → metrics of its probe.
PROBES = {
    "mr": {"accuracy"}, "subj": {"accuracy"}, "trec": {"accuracy"}, "mrpc": {"accuracy", "f1"},
    "sick_e": {"accuracy"}, "sick_r": {"pearson", "spearman", "mse"}, "stsb": {"pearson", "spearman", "mse"},
}  # fmt: skip
SIMILARITY = {"sts14", "stsb", "sick_r"}
SUMMARIES = {f"{name}_{kind}" for name in ("pearson", "spearman") for kind in ("mean", "weighted_mean", "pooled")}
GRU = {"word_size": 8, "embedding_size": 8}
SENTENCES: dict[str, Any] = {
    "protocol": "senteval",
    "neighbours": {"variants": ["combine", "skip_thought"], "queries": 4, "pool": 200},
    "over_time": {"variants": ["uni"], "tasks": ["trec", "cr"]},  # the made-up world has no cr
}
SYSTEM: dict[str, Any] = {
    "encoders": {"uni": GRU, "bi": GRU, "single": GRU, "bow": {"embedding_size": 8}, "fixed": {"embedding_size": 8}},
    "pretrain": {
        "batch_size": 40,
        "log_every": 2,
        "checkpoint_every": 2,
        "snapshots": 2,
        "runs": {
            name: {
                "schedule": [
                    {"steps": 4, "weights": {"skip_thought" if name == "skip_thought" else "quick_thoughts": 1}}
                ]
            }
            for name in RUNS - UNTRAINED
        },
    },
    "tasks": {"sentences": SENTENCES},
}
TINY: dict[str, Any] = SMALLEST | {"words": {"size": 500, "vector_size": 12}, "quick_thoughts": SYSTEM}


@pytest.fixture(scope="module")
def project(spark: SparkSession, make_project: Callable[[], Path]) -> Path:
    """Return a project after the run."""
    folder = make_project()
    run(folder, TINY, pipeline_names=["quick_thoughts"])
    return folder


@pytest.mark.slow
def test_every_variant_and_task_is_recorded(project: Path) -> None:
    table = records(project, "quick_thoughts")
    check_records(table, "quick_thoughts", TRAINED | {"ensemble"})
    assert set(table["seed"]) == {0} and set(table["split"]) == {"test"}
    assert set(table["variant"]) == VARIANTS
    probes = table[table["protocol"] == "senteval"]
    assert set(probes["data"]) == {"demo"}
    for variant in VARIANTS:
        part = probes[probes["variant"] == variant].groupby("task")["metric"].agg(set).to_dict()
        assert part == PROBES
    similar = table[table["protocol"] == "cosine"]
    assert set(similar["variant"]) == VARIANTS - {"ensemble"} and set(similar["task"]) == SIMILARITY
    for (_, task), part in similar[similar["data"] == "demo"].groupby(["variant", "task"]):
        assert set(part["metric"]) == SUMMARIES | (set() if task == "sts14" else {"pearson", "spearman"})
    subsets = similar[(similar["task"] == "sts14") & (similar["data"] != "demo")]
    assert subsets["data"].str.startswith("demo/").all() and subsets["data"].nunique() == 6
    assert len(subsets) == len(VARIANTS - {"ensemble"}) * 6 * 2
    shares = table["metric"].isin(["accuracy", "f1", "accuracy_excluding"])
    assert table.loc[shares, "value"].between(0, 1).all()
    assert table.loc[table["metric"].str.startswith(("pearson", "spearman")), "value"].between(-1, 1).all()
    assert (table.loc[table["metric"] == "mse", "value"] >= 0).all()
    analogies = table[table["task"] == "analogies"]
    assert set(analogies["variant"]) == {"combine", "skip_thought"} and set(analogies["protocol"]) == {"nearest"}
    assert set(analogies["metric"]) == {"accuracy", "accuracy_excluding"}
    assert "demo" in set(analogies["data"]) and analogies["data"].nunique() > 2
    steps = table.dropna(subset="steps").groupby("variant")["steps"].first().to_dict()
    assert (steps["uni"], steps["combine"], steps["untrained"]) == (4, 8, 0)


@pytest.mark.slow
def test_encoders_have_the_trained_words_and_vectors(project: Path) -> None:
    words = project / "data/04_feature/words"
    assert count_trained_words(words) == load_tokenizer(words)[1].vocab_size <= 500
    vectors = np.load(words / VECTORS_FILE)
    assert vectors.shape == (count_trained_words(words), 12) and (vectors != 0).any(axis=1).mean() > 0.9
    for name in RUNS:
        folder = project / f"data/06_models/quick_thoughts/pretrained/{name}/seed-0"
        assert load_encoder(folder).dimension == (8 if name in ("skip_thought", "untrained_single") else 16)
        assert [snapshot.name for snapshot in list_snapshots(folder)] == (
            [] if name in UNTRAINED else ["00000002", "00000004"]
        )
    fixed = load_encoder(project / "data/06_models/quick_thoughts/pretrained/fixed/seed-0")
    np.testing.assert_array_equal(fixed.query.words.weight.detach().numpy(), vectors)


@pytest.mark.slow
def test_report_shows_tables_neighbours_and_curves(project: Path) -> None:
    page = check_report(project, "quick_thoughts")
    assert "90.8" in page  # the published accuracy of combine-QT on TREC
    details = read(project, "07_model_output/quick_thoughts/sentences/details.json")
    neighbours = details["neighbours"]
    assert [row["model"] for row in neighbours] == ["combine"] * 4 + ["skip_thought"] * 4
    for row in neighbours:
        assert row["query"] in page and row["neighbour"] in page and row["query"] != row["neighbour"]
    assert "CR is not here" in page
    over_time = details["quality_over_time"]
    assert {(row["run"], row["step"], row["task"]) for row in over_time} == {("uni", 2, "trec"), ("uni", 4, "trec")}
    counts = read(project, "08_reporting/quick_thoughts/examples-sentences.json")
    table = pd.read_parquet(project / "data/05_model_input/quick_thoughts/sentences")
    assert counts["sentences"] == len(table) and counts["documents"] == table["document"].nunique()


@pytest.mark.slow
def test_later_stages_need_no_spark(project: Path, make_project: Callable[[], Path]) -> None:
    folder = make_project()
    copy_data(project, folder, "01_raw", "03_primary", "04_feature", "05_model_input", "08_reporting")
    shutil.rmtree(folder / "data/08_reporting/quick_thoughts/report")
    (folder / "data/08_reporting/quick_thoughts/metrics.json").unlink()
    run_without_spark(folder, TINY, pipeline_names=["quick_thoughts"], tags=["pretrain", "evaluate", "report"])
    pd.testing.assert_frame_equal(measured(folder, "quick_thoughts"), measured(project, "quick_thoughts"))


@pytest.mark.slow
def test_expanded_words_and_two_seeds(project: Path) -> None:
    """Run again with two seeds, an ensemble with a variant without seeds, and words beyond the trained ones."""
    first_records = records(project, "quick_thoughts")
    glove = project / "vectors.txt"
    tokenizer = load_tokenizer(project / "data/04_feature/words")[0]
    known = [word for word in tokenizer.get_vocab() if word.isalpha()]
    draw = np.random.default_rng(0)
    lines = [
        f"{word} " + " ".join(f"{x:.3f}" for x in draw.normal(size=12)) for word in [*known, "harbour", "Lighthouse"]
    ]
    glove.write_text("\n".join(lines) + "\n")
    sentences = SENTENCES | {"expansion": True, "ensemble": ["bow", "word_average"]}
    params = TINY | {
        "words": TINY["words"] | {"vectors": str(glove)},
        "quick_thoughts": SYSTEM | {"tasks": {"sentences": sentences}, "seeds": 2},
    }
    run(project, params, pipeline_names=["quick_thoughts"], from_nodes=["text.make_word_list"])
    words = project / "data/04_feature/words"
    assert load_tokenizer(words)[1].vocab_size == count_trained_words(words) + 2
    vectors = project / "data/07_model_output/quick_thoughts/vectors/sentences/tasks/demo"
    assert any("expanded" in file.read_text() for file in vectors.glob("*uni-seed-1-*/identity.json"))
    table = records(project, "quick_thoughts")
    check_records(table, "quick_thoughts", TRAINED | {"ensemble"})
    assert set(table["variant"]) == set(first_records["variant"])
    assert set(table.loc[table["variant"] == "ensemble", "seed"]) == {0, 1}
    assert set(table.loc[table["variant"] == "word_average", "seed"]) == {0}
