"""`kedro run --pipelines quick_thoughts` at its smallest: every number is there, and comes out again."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from contexture.encoders.sentence_encoder_files import load_sentence_encoders
from contexture.pipeline_registry import SYSTEMS
from contexture.training.snapshots import snapshots
from contexture.vocabulary.tokenizers import load_tokenizer
from contexture.vocabulary.words import VECTORS_FILE, trained_words
from tests.pipelines.conftest import SMALLEST, run

RUNS = list(SYSTEMS["quick_thoughts"].runs)
VARIANTS = {*SYSTEMS["quick_thoughts"].frozen, "word_average", "ensemble"}
#: Task → the metrics of a probe of it.
PROBES = {
    "mr": {"accuracy"}, "subj": {"accuracy"}, "trec": {"accuracy"}, "mrpc": {"accuracy", "f1"},
    "sick_e": {"accuracy"}, "sick_r": {"pearson", "spearman", "mse"}, "stsb": {"pearson", "spearman", "mse"},
}  # fmt: skip
SIMILARITY = {"sts14", "stsb", "sick_r"}
STEPS = {
    name: {"schedule": [{"steps": 4, "weights": {"skip_thought" if name == "skip_thought" else "quick_thoughts": 1}}]}
    for name in RUNS
    if name != "random"
}
SYSTEM: dict[str, Any] = {
    "encoders": {
        "uni": {"word_size": 8, "embedding_size": 8},
        "bi": {"word_size": 8, "embedding_size": 8},
        "bow": {"embedding_size": 8},
        "fixed": {"embedding_size": 8},
    },
    "pretrain": {"batch_size": 40, "log_every": 2, "checkpoint_every": 2, "snapshots": 2, "runs": STEPS},
    "evaluation": {
        "protocol": "senteval",
        "neighbours": {"variants": ["combine", "skip_thought"], "queries": 4, "pool": 200},
        "over_time": {"runs": ["uni"], "tasks": ["trec", "cr"]},  # the made-up world has no cr
    },
}
TINY: dict[str, Any] = SMALLEST | {"words": {"size": 500, "vector_size": 12}, "quick_thoughts": SYSTEM}


@pytest.fixture(scope="module")
def project(spark: SparkSession, make_project: Callable[[], Path]) -> Path:
    """A project after the run."""
    folder = make_project()
    run(folder, TINY, pipeline_names=["quick_thoughts"])
    return folder


def records(project: Path) -> pd.DataFrame:
    return pd.DataFrame(json.loads((project / "data/08_reporting/quick_thoughts/metrics.json").read_text()))


@pytest.mark.slow
def test_every_variant_and_task_is_recorded(project: Path) -> None:
    table = records(project)
    assert set(table) == {"system", "variant", "task", "split", "metric", "value", "seed"}
    assert set(table["system"]) == {"quick_thoughts"} and set(table["seed"]) == {0}
    assert set(table["variant"]) == VARIANTS
    assert not table.duplicated(["variant", "task", "split", "metric", "seed"]).any()
    probes = table[table["split"] == "senteval"]
    for variant in VARIANTS:
        part = probes[probes["variant"] == variant].groupby("task")["metric"].agg(set).to_dict()
        assert part == PROBES
    similar = table[(table["split"] == "all") & (table["task"] != "analogies")]
    assert set(similar["variant"]) == VARIANTS - {"ensemble"} and set(similar["task"]) == SIMILARITY
    assert len(similar) == len(VARIANTS - {"ensemble"}) * len(SIMILARITY) * 6
    shares = table["metric"].isin(["accuracy", "f1", "accuracy_excluding"])
    assert table.loc[shares, "value"].between(0, 1).all()
    assert table.loc[table["metric"].str.startswith(("pearson", "spearman")), "value"].between(-1, 1).all()
    assert (table.loc[table["metric"] == "mse", "value"] >= 0).all()
    analogies = table[table["task"] == "analogies"]
    assert set(analogies["variant"]) == {"combine", "skip_thought"}
    assert set(analogies["metric"]) == {"accuracy", "accuracy_excluding"}


@pytest.mark.slow
def test_models_have_the_words_and_vectors_that_they_are_said_to_have(project: Path) -> None:
    words = project / "data/04_feature/words"
    assert trained_words(words) == load_tokenizer(words)[1].vocab_size <= 500
    vectors = np.load(words / VECTORS_FILE)
    assert vectors.shape == (trained_words(words), 12) and (vectors != 0).any(axis=1).mean() > 0.9
    for name in RUNS:
        folder = project / f"data/06_models/quick_thoughts/pretrained/{name}/seed-0"
        encoders = load_sentence_encoders(folder)
        assert encoders.size == (8 if name == "skip_thought" else 16)
        assert [one.name for one in snapshots(folder)] == ([] if name == "random" else ["00000002", "00000004"])
    fixed = load_sentence_encoders(project / "data/06_models/quick_thoughts/pretrained/fixed/seed-0")
    np.testing.assert_array_equal(fixed.encoders[0].words.weight.detach().numpy(), vectors)


@pytest.mark.slow
def test_the_report_shows_tables_neighbours_and_curves(project: Path) -> None:
    folder = project / "data/08_reporting/quick_thoughts/report"
    page = (folder / "report.md").read_text()
    assert "90.8" in page  # the published accuracy of combine-QT on TREC
    found = json.loads((project / "data/07_model_output/quick_thoughts/search_results.json").read_text())
    assert [row["model"] for row in found["neighbours"]] == ["combine"] * 4 + ["skip_thought"] * 4
    for row in found["neighbours"]:
        assert row["query"] in page and row["neighbour"] in page and row["query"] != row["neighbour"]
    assert "CR is not here" in page
    over_time = json.loads((project / "data/07_model_output/quick_thoughts/quality_over_time.json").read_text())
    assert {(row["run"], row["step"], row["task"]) for row in over_time} == {("uni", 2, "trec"), ("uni", 4, "trec")}
    pictures = list(folder.glob("*.png"))
    assert pictures and all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    counts = json.loads((project / "data/08_reporting/quick_thoughts/examples.json").read_text())
    table = pd.read_parquet(project / "data/05_model_input/quick_thoughts/examples")
    assert counts["sentences"] == len(table) and counts["documents"] == table["document"].nunique()
    assert not list((project / "data").rglob("*.unfinished"))


@pytest.mark.slow
def test_what_stands_on_files_needs_no_spark_and_gives_the_same(
    project: Path, make_project: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_project()
    shutil.copytree(project / "data", folder / "data")
    for part in ("06_models", "07_model_output", "08_reporting/quick_thoughts/metrics.json"):
        place = folder / "data" / part
        place.unlink() if place.is_file() else shutil.rmtree(place)
    monkeypatch.setattr("contexture.corpus.session.start_spark", lambda _: pytest.fail("training started Spark"))
    run(folder, TINY, pipeline_names=["quick_thoughts"], tags=["pretrain", "evaluate", "report"])
    assert records(folder).to_dict("records") == records(project).to_dict("records")


@pytest.mark.slow
def test_words_may_be_expanded_and_seeds_more_than_one(project: Path) -> None:
    """After the run before: one seed more, ensembles with what has no seed, words beyond the trained ones."""
    before = records(project)
    glove = project / "vectors.txt"
    tokenizer = load_tokenizer(project / "data/04_feature/words")[0]
    known = [word for word in tokenizer.get_vocab() if word.isalpha()]
    draw = np.random.default_rng(0)
    lines = [
        f"{word} " + " ".join(f"{x:.3f}" for x in draw.normal(size=12)) for word in [*known, "harbour", "Lighthouse"]
    ]
    glove.write_text("\n".join(lines) + "\n")
    evaluation = SYSTEM["evaluation"] | {"expansion": True, "ensemble": ["bow", "word_average"]}
    params = TINY | {
        "words": TINY["words"] | {"vectors": str(glove)},
        "quick_thoughts": SYSTEM | {"evaluation": evaluation, "seeds": 2},
    }
    run(project, params, pipeline_names=["quick_thoughts"], from_nodes=["make_words"])
    words = project / "data/04_feature/words"
    assert load_tokenizer(words)[1].vocab_size == trained_words(words) + 2
    place = project / "data/07_model_output/quick_thoughts/vectors/tasks/expanded/uni/seed-1"
    assert len(load_sentence_encoders(place).encoders[0].words.weight) == trained_words(words) + 2
    table = records(project)
    assert set(table["variant"]) == set(before["variant"])
    assert set(table.loc[table["variant"] == "ensemble", "seed"]) == {0, 1}
    assert set(table.loc[table["variant"] == "word_average", "seed"]) == {0}
