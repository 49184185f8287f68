"""Pair classification as a task, from files to records."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from contexture.demo.sentence_tasks import inference_files
from contexture.encoders.base import Encoder
from contexture.encoders.files import load_encoder, save_encoder
from contexture.tasks.base import EvaluatedEncoder, Results
from contexture.tasks.pairs import evaluation
from contexture.tasks.pairs.config import PairsConfig, PairSettings
from contexture.tasks.pairs.evaluation import evaluate_pairs, measure_baselines, word_overlap
from contexture.tasks.pairs.model import DROPOUT
from contexture.tasks.pairs.task import PairsTask
from tests.tasks.pairs import toys

TASK = PairsTask()
SETTINGS = toys.settings(steps=40)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sets, an encoder, and a model fine-tuned on one set."""
    folder = tmp_path_factory.mktemp("project")
    toys.write_data(folder / "data", toys=toys.rows(), mnli=toys.rows(("matched", "mismatched")))
    (folder / "tuned" / "toys").mkdir(parents=True)
    TASK.finetune(SETTINGS, "toys", toys.bag(folder)[0], folder / "data", folder / "tuned" / "toys")
    TASK.finetune(SETTINGS, "qqp", toys.bag(folder)[0], folder / "data", folder / "tuned" / "qqp")
    assert not (folder / "tuned" / "qqp").exists()  # a set that is missing
    return folder


def make_encoders(project: Path) -> list[EvaluatedEncoder]:
    tuned, bag = toys.bag(project, 0, 1)
    return [
        tuned,
        replace(bag, finetuned_dir=None),
        replace(tuned, variant="twice", models=bag.models * 2, finetuned_dir=None),
    ]


@pytest.fixture(scope="module")
def results(project: Path) -> Results:
    return TASK.evaluate(SETTINGS, make_encoders(project), project / "data", project / "vectors")


def test_every_encoder_set_and_protocol_is_recorded(results: Results, project: Path) -> None:
    table = pd.DataFrame(results.records)
    assert list(table) == ["variant", "seed", "task", "data", "protocol", "split", "metric", "value", "examples"]
    toys_rows, mnli_rows = (pd.read_parquet(project / "data" / f"{name}.parquet") for name in ("toys", "mnli"))
    tested = mnli_rows[mnli_rows["part"] == "test"]
    sizes = {f"mnli_{genres}": int((tested["genres"] == genres).sum()) for genres in ("matched", "mismatched")}
    sizes["toys"] = int((toys_rows["part"] == "test").sum())
    assert table.groupby("data")["examples"].agg(set).to_dict() == {name: {size} for name, size in sizes.items()}
    assert set(zip(table["task"], table["metric"], table["split"], strict=True)) == {("pairs", "accuracy", "test")}
    assert table["value"].between(0, 1).all() and json.loads(json.dumps(results.records)) == results.records
    baselines = [(name, seed) for name in ("majority", "word_overlap") for seed in (0, 1)]
    frozen = [("bag", 0), ("bag", 1), ("twice", 0), *baselines]
    rows = table[["variant", "seed", "data", "protocol"]].itertuples(index=False, name=None)
    assert sorted(rows) == sorted(
        [
            *((*key, data, "frozen") for key in frozen for data in ("toys", "mnli_matched", "mnli_mismatched")),
            ("bag", 0, "toys", "finetuned"),
        ]
    )


def test_models_of_an_earlier_run_are_not_measured(project: Path) -> None:
    frozen = TASK.evaluate(
        replace(SETTINGS, finetune=[]), make_encoders(project), project / "data", project / "vectors"
    )
    assert {record["protocol"] for record in frozen.records} == {"frozen"}


def test_frozen_encoders_are_above_chance(results: Results) -> None:
    table = pd.DataFrame(results.records).query("data == 'toys' and seed == 0")
    values = table.set_index(["variant", "protocol"])["value"]
    assert values["majority", "frozen"] == 0.5 and values["word_overlap", "frozen"] == 1
    assert values["bag", "frozen"] > 0.7 and values["twice", "frozen"] > 0.7 and values["bag", "finetuned"] > 0.8


def test_an_encoder_embeds_each_sentence_once(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded: list[str] = []
    embed = Encoder.embed

    def record_texts(self: Encoder, texts: Any, role: Any = None) -> Any:
        embedded.extend(texts)
        return embed(self, texts, role)

    monkeypatch.setattr(Encoder, "embed", record_texts)
    files = {"toys": project / "data" / "toys.parquet"}
    first, second = (evaluate_pairs(PairSettings(), make_encoders(project)[:2], files, tmp_path) for _ in range(2))
    rows = toys.rows()
    assert sorted(embedded) == sorted({*rows["first"], *rows["second"]})  # for two seeds and two evaluations
    assert first == second


@pytest.mark.parametrize(("features", "width"), [("vectors", 4 * 32), ("cross", 2 * 32)])
def test_the_configured_features_of_the_training_rows_are_classified(
    features: str, width: int, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes: list[dict[str, tuple[int, ...]]] = []

    def classify(inputs: Any, labels: Any, classes: int) -> Any:
        shapes.append({part: tuple(rows.shape) for part, rows in inputs.items()})
        return {"test": np.zeros(60, np.int64)}

    start = toys.new_encoder(tmp_path / "start", toys.vocabulary(tmp_path / "words"), toys.CROSS)
    toys.write_data(tmp_path / "data", toys=toys.rows())
    monkeypatch.setattr(evaluation, "classify", classify)
    settings = toys.settings(features=features, train_rows=50)
    results = TASK.evaluate(
        settings, [EvaluatedEncoder("ct", 0, (str(start),))], tmp_path / "data", tmp_path / "vectors"
    )
    sizes = {"train": 50, "dev": 40, "test": 60}
    overlaps = {part: (size, 3) for part, size in sizes.items()}
    assert shapes == [{part: (size, width) for part, size in sizes.items()}, overlaps]
    assert results.details == {"notes": [evaluation.FEATURE_NOTES[settings.features]]}


def test_majority_is_of_the_training_rows(tmp_path: Path) -> None:
    rows = toys.rows()
    labels = rows["label"].mask(rows["part"].eq("train") & (rows.index % 3 == 0), "same")
    rows.assign(label=labels.where(rows["part"].ne("test") | (rows.index % 4 > 0), "other")).to_parquet(tmp_path / "a")
    accuracies = measure_baselines(tmp_path / "a", None)
    assert accuracies["majority"] == {"": 0.5}  # "same", though as many test rows or more are "other"


def test_word_overlap_by_hand() -> None:
    rows = pd.DataFrame({"first": ["A b c d.", "x", "!"], "second": ["b, e a", "x X", "y"]})
    assert word_overlap(rows) == pytest.approx(np.array([[1 / 2, 2 / 3, 2 / 5], [1, 1, 1], [0, 0, 0]]))


def test_vectors_must_be_finite(project: Path, tmp_path: Path) -> None:
    encoders = toys.bag(tmp_path)
    folder = Path(encoders[0].models[0])
    broken = load_encoder(folder)
    next(broken.parameters()).data.fill_(float("nan"))
    save_encoder(broken, folder)
    with pytest.raises(ValueError, match="finite"):
        evaluate_pairs(SETTINGS, encoders, {"toys": project / "data" / "toys.parquet"}, tmp_path / "vectors")


def test_options_are_the_sets_of_the_settings(project: Path) -> None:
    assert TASK.list_options(SETTINGS, None) == ["toys"] and TASK.list_options(toys.settings(finetune=[]), "ie_k") == []
    TASK.check_settings(toys.settings(finetune=["toys", "qqp"]), project / "data")  # qqp is missing
    with pytest.raises(ValueError, match=r"pairs\.finetune: unknown set snli; pairs\.input has \['toys',"):
        TASK.check_settings(toys.settings(finetune=["snli"]), project / "data")


def test_the_demo_set_is_read(tmp_path: Path) -> None:
    (tmp_path / "demo/pairs").mkdir(parents=True)
    for name, lines in inference_files(0):
        (tmp_path / "demo/pairs" / name).write_text("\n".join(lines))
    counts = {"demo": {"train": 1200, "dev": 300, "test": 300}}
    report = toys.read_report(TASK, PairsConfig(), tmp_path / "demo", tmp_path / "data")
    assert report == {"name": "demo", "counts": counts, "missing": {}, "sets": ["demo"]}
    assert len(pd.read_parquet(tmp_path / "data/demo.parquet")) == 1800


def test_the_report_has_missing_sets_and_splits(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = [f"Sentence {number // 2}.\tOther {number}.\t{number % 2}" for number in range(200)]
    (tmp_path / "test.txt").write_text("\n".join([*lines, "A\tB\t-"]))
    source = PairsConfig(input={"scitail": str(tmp_path / "test.txt"), "snli": str(tmp_path / "none")})
    report = toys.read_report(TASK, source, tmp_path, tmp_path / "data")
    assert report["sets"] == ["scitail"] and "none" in report["missing"]["snli"] and "Name the folder" in caplog.text
    counts = report["counts"]["scitail"]
    assert counts["without_label"] == 1 and "20% of all rows" in counts["parts"] and counts["parts"] in caplog.text
    assert counts["train"] + counts["dev"] + counts["test"] == 200
    assert not (tmp_path / "data/snli.parquet").exists()


def test_files_in_another_format_raise(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a\tb\n")
    with pytest.raises(ValueError, match=r"train\.tsv, line 1: 2 columns"):
        TASK.prepare_data(PairsConfig(input={"snli": str(tmp_path)}), tmp_path, tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"finetune": ["a", "a"]}, "twice"),
        ({"finetune": ["../a"]}, "pattern"),
        ({"features": "both"}, "'vectors' or 'cross'"),
    ],
)
def test_errors_name_impossible_settings(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        toys.settings(**bad)


def test_the_paper_s_fine_tuning_is_the_default() -> None:
    settings = PairSettings()
    assert (settings.batch_size, settings.steps, DROPOUT) == (32, 123_873, 0.1)
    assert settings.features == "vectors"  # conf/paper and conf/released_code set cross
    assert (settings.optimizer.learning_rate, settings.optimizer.warmup_steps) == (1e-5, 7_432)
