"""Pair classification as a task, from the files to the records."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from contexture.demo.sentence_tasks import inference_files
from contexture.tasks.base import Contestant, Results
from contexture.tasks.pairs import evaluation
from contexture.tasks.pairs.config import PairsConfig
from contexture.tasks.pairs.evaluation import evaluate_pairs, measure_baselines, overlap
from contexture.tasks.pairs.task import PairsTask
from tests.tasks.pairs import toys

TASK = PairsTask()
SETTINGS = toys.settings(steps=40)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sets, an encoder, and a model that was fine-tuned on one of them."""
    folder = tmp_path_factory.mktemp("project")
    toys.write_data(folder / "data", toys=toys.rows(), mnli=toys.rows(("matched", "mismatched")))
    toys.new_encoder(folder / "encoder", toys.vocabulary(folder / "words"), toys.BAG)
    (folder / "tuned" / "toys").mkdir(parents=True)
    TASK.finetune(SETTINGS, "toys", contestants(folder)[0], folder / "data", folder / "tuned" / "toys")
    return folder


def contestants(project: Path) -> list[Contestant]:
    encoder = str(project / "encoder")
    return [
        Contestant("bag", 0, (encoder,), project / "tuned"),
        Contestant("bag", 1, (encoder,)),
        Contestant("twice", 0, (encoder, encoder)),
    ]


@pytest.fixture(scope="module")
def results(project: Path) -> Results:
    return TASK.evaluate(SETTINGS, contestants(project), project / "data", project / "vectors")


def test_every_contestant_set_and_protocol_is_recorded(results: Results) -> None:
    table = pd.DataFrame(results.records)
    assert list(table) == ["variant", "seed", "task", "data", "protocol", "split", "metric", "value"]
    assert set(table["task"]) == {"pairs"} and set(table["metric"]) == {"accuracy"} and set(table["split"]) == {"test"}
    assert table["value"].between(0, 1).all() and json.loads(json.dumps(results.records)) == results.records
    keys = ["variant", "seed", "data", "protocol"]
    baselines = [(name, seed) for name in ("majority", "word_overlap") for seed in (0, 1)]
    everyone = [("bag", 0), ("bag", 1), ("twice", 0), *baselines]
    assert sorted(table[keys].itertuples(index=False, name=None)) == sorted(
        [
            *((*who, data, "frozen") for who in everyone for data in ("toys", "mnli_matched", "mnli_mismatched")),
            ("bag", 0, "toys", "finetuned"),
        ]
    )


def test_frozen_vectors_tell_more_than_chance_and_words_tell_all(results: Results) -> None:
    table = pd.DataFrame(results.records).query("data == 'toys' and seed == 0")
    values = table.set_index(["variant", "protocol"])["value"]
    assert values["majority", "frozen"] == 0.5 and values["word_overlap", "frozen"] == 1
    assert values["bag", "frozen"] > 0.7 and values["twice", "frozen"] > 0.7 and values["bag", "finetuned"] > 0.8


def test_an_encoder_embeds_each_sentence_once(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contexture.encoders.base import Encoder

    asked: list[str] = []
    embed = Encoder.embed

    def watched(self: Encoder, texts: Any, role: Any = None) -> Any:
        asked.extend(texts)
        return embed(self, texts, role)

    monkeypatch.setattr(Encoder, "embed", watched)
    files = {"toys": project / "data" / "toys.parquet"}
    one, other = (evaluate_pairs(contestants(project)[:2], files, None, tmp_path) for _ in range(2))
    rows = toys.rows()
    assert sorted(asked) == sorted({*rows["first"], *rows["second"]})  # for two seeds and two evaluations
    assert one == other


@pytest.mark.parametrize(("features", "width"), [("vectors", 4 * 32), ("cross", 2 * 32)])
def test_frozen_vectors_are_classified_by_the_configured_features(
    features: str, width: int, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths: dict[str, int] = {}

    def record_width(inputs: Any, labels: Any, classes: int) -> Any:
        widths[features] = max(widths.get(features, 0), inputs["train"].shape[1])
        return {"test": np.zeros(60, np.int64)}

    config = toys.TRANSFORMER | {"embedding_size": None, "pooling": "cls", "cross": {"tokens": 2}}
    start = toys.new_encoder(tmp_path / "start", toys.vocabulary(tmp_path / "words"), config)
    toys.write_data(tmp_path / "data", toys=toys.rows())
    monkeypatch.setattr(evaluation, "classify", record_width)
    encoders = [Contestant("ct", 0, (str(start),))]
    results = TASK.evaluate(toys.settings(features=features), encoders, tmp_path / "data", tmp_path / "vectors")
    assert widths == {features: width}
    assert results.facts == {"notes": [evaluation.FEATURE_NOTES[features]]}


def test_fewer_training_rows_are_learned_from(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, int]] = []

    def watched(features: Any, labels: Any, classes: int) -> Any:
        seen.append({part: len(rows) for part, rows in features.items()})
        return {"test": np.zeros(60, np.int64)}

    monkeypatch.setattr(evaluation, "classify", watched)
    evaluate_pairs(contestants(project)[:1], {"toys": project / "data" / "toys.parquet"}, 50, tmp_path)
    assert seen == [{"train": 50, "dev": 40, "test": 60}] * 2


def test_the_most_frequent_label_is_that_of_the_training_rows(tmp_path: Path) -> None:
    rows = toys.rows()
    labels = rows["label"].mask(rows["part"].eq("train") & (rows.index % 3 == 0), "same")
    rows.assign(label=labels.where(rows["part"].ne("test") | (rows.index % 4 > 0), "other")).to_parquet(tmp_path / "a")
    found = measure_baselines(tmp_path / "a", None)
    assert found["majority"] == {"": 0.5}  # "same", though as many test rows or more are "other"


def test_words_in_common_as_shares() -> None:
    rows = pd.DataFrame({"first": ["A b c d.", "x", "!"], "second": ["b, e a", "x X", "y"]})
    assert overlap(rows) == pytest.approx(np.array([[1 / 2, 2 / 3, 2 / 5], [1, 1, 1], [0, 0, 0]]))


def test_vectors_that_are_not_finite_are_named(project: Path, tmp_path: Path) -> None:
    words = toys.vocabulary(tmp_path / "words")
    encoder = toys.new_encoder(tmp_path / "encoder", words, toys.BAG)
    from contexture.encoders.files import load_encoder, save_encoder

    broken = load_encoder(encoder)
    next(broken.parameters()).data.fill_(float("nan"))
    save_encoder(broken, encoder)
    files = {"toys": project / "data" / "toys.parquet"}
    with pytest.raises(ValueError, match="finite"):
        evaluate_pairs([Contestant("broken", 0, (str(encoder),))], files, None, tmp_path / "vectors")


def test_options_are_the_sets_that_are_named(project: Path) -> None:
    assert TASK.options(SETTINGS, None) == ["toys"] and TASK.options(toys.settings(finetune=[]), "ie_k") == []
    TASK.check(toys.settings(finetune=["toys", "qqp"]), project / "data")  # qqp is missing, which the page says
    with pytest.raises(ValueError, match=r"pairs\.finetune: no set is called snli; pairs\.input has \['toys',"):
        TASK.check(toys.settings(finetune=["snli"]), project / "data")


def test_the_made_up_set_is_read(tmp_path: Path) -> None:
    (tmp_path / "demo/pairs").mkdir(parents=True)
    for name, lines in inference_files(0):
        (tmp_path / "demo/pairs" / name).write_text("\n".join(lines))
    TASK.read(PairsConfig(), tmp_path / "demo", tmp_path / "data")
    report = json.loads((tmp_path / "data/task.json").read_text())
    assert report == {
        "name": "demo", "counts": {"demo": {"train": 1200, "dev": 300, "test": 300}}, "missing": {}, "sets": ["demo"]
    }  # fmt: skip
    assert len(pd.read_parquet(tmp_path / "data/demo.parquet")) == 1800


def test_missing_sets_are_named_and_the_way_a_set_is_split_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [f"Sentence {number // 2}.\tOther {number}.\t{number % 2}" for number in range(200)]
    (tmp_path / "test.txt").write_text("\n".join([*lines, "A\tB\t-"]))
    source = PairsConfig(input={"scitail": str(tmp_path / "test.txt"), "snli": str(tmp_path / "none")})
    TASK.read(source, tmp_path, tmp_path / "data")
    report = json.loads((tmp_path / "data/task.json").read_text())
    assert report["sets"] == ["scitail"] and "none" in report["missing"]["snli"] and "Give the folder" in caplog.text
    counts = report["counts"]["scitail"]
    assert counts["without_label"] == 1 and "20% of all rows" in counts["parts"]
    assert counts["train"] + counts["dev"] + counts["test"] == 200
    assert not (tmp_path / "data/snli.parquet").exists()


def test_files_in_another_format_end_the_run(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a\tb\n")
    with pytest.raises(ValueError, match=r"train\.tsv, line 1: 2 columns"):
        TASK.read(PairsConfig(input={"snli": str(tmp_path)}), tmp_path, tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"finetune": ["a", "a"]}, "twice"),
        ({"finetune": ["../a"]}, "pattern"),
        ({"dropout": 1.0}, "less than 1"),
        ({"features": "both"}, "'vectors' or 'cross'"),
    ],
)
def test_impossible_settings_are_named(bad: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        toys.settings(**bad)


def test_the_paper_s_fine_tuning_is_the_default() -> None:
    from contexture.tasks.pairs.config import PairSettings

    settings = PairSettings()
    assert (settings.batch_size, settings.steps, settings.dropout) == (32, 123_873, 0.1)
    assert settings.features == "vectors"  # conf/paper and conf/released_code set cross
    assert (settings.optimizer.learning_rate, settings.optimizer.warmup_steps) == (1e-5, 7_432)
