"""Fact verification from files to records."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter, ValidationError

from contexture.demo import DemoConfig, write_demo_world
from contexture.encoders.files import load_encoder
from contexture.tasks.base import EvaluatedEncoder, Results
from contexture.tasks.fact_verification import evaluation
from contexture.tasks.fact_verification.config import JOINT, PAIRWISE, FactVerificationSettings, VerificationConfig
from contexture.tasks.fact_verification.evaluation import average_evidence, measure_baselines
from contexture.tasks.fact_verification.model import load_verifier
from contexture.tasks.fact_verification.task import FactVerificationTask
from tests.tasks.answer_selection.toys import make_encoder, make_encoders, tune_all
from tests.tasks.fact_verification import toys
from tests.tasks.fact_verification.test_files import TEXTS, put
from tests.tasks.pairs import toys as pair_toys

TASK = FactVerificationTask()
SETTINGS = toys.settings(epochs=1, heads=["max_pool", "ie_1", "ae_1"])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    make_encoder(folder / "encoder")
    tune_all(TASK, SETTINGS, make_variants(folder), toys.write_data(folder / "data"))
    return folder


def make_variants(folder: Path) -> list[EvaluatedEncoder]:
    return make_encoders(folder, ("joint", 0, "ae_k"), ("pairwise", 1, "ie_1"))


@pytest.fixture(scope="module")
def results(project: Path) -> Results:
    return TASK.evaluate(SETTINGS, make_variants(project), project / "data", project / "vectors")


def test_options() -> None:
    assert TASK.list_options(toys.settings(), "ie_1") == ["max_pool", "weighted_sum"]
    assert TASK.list_options(toys.settings(), "ae_k") == TASK.list_options(toys.settings(), "ie_k") == ["ie_1", "ae_1"]
    assert TASK.list_options(SETTINGS, "ie_1") == ["max_pool"] and TASK.list_options(SETTINGS, None) == []


def test_records_cover_encoders_protocols_and_splits(results: Results) -> None:
    table = pd.DataFrame(results.records)
    assert list(table) == ["variant", "seed", "task", "data", "protocol", "split", "metric", "value", "examples"]
    assert set(table["task"]) == {"fact_verification"} and set(table["data"]) == {"toys"}
    assert set(table["metric"]) == {"accuracy"} and json.loads(json.dumps(results.records)) == results.records
    predictions = table.groupby(["variant", "seed", "protocol"])["split"].agg(list).to_dict()
    frozen = [("joint", 0), ("pairwise", 1), ("alone", 0)]
    runs = [(*who, protocol) for who in frozen for protocol in ("frozen", "claim_only")]
    runs += [("joint", 0, "ie_1"), ("joint", 0, "ae_1"), ("pairwise", 1, "max_pool")]
    runs += [(name, seed, "frozen") for name in ("majority", "word_overlap") for seed in (0, 1)]
    assert predictions == {run: ["dev", "test"] for run in runs}


def test_models_of_an_earlier_run_are_not_measured(results: Results, project: Path) -> None:
    fewer = toys.settings(epochs=1, heads=["max_pool", "ae_1"])
    encoders = make_variants(project)
    encoders[1] = replace(encoders[1], head="ae_k")  # its max_pool is of the head that it had before
    again = TASK.evaluate(fewer, encoders, project / "data", project / "vectors")
    protocols = {(record["variant"], record["protocol"]) for record in again.records}
    assert ("pairwise", "max_pool") in {(record["variant"], record["protocol"]) for record in results.records}
    assert {name for name in protocols if name[1] in JOINT + PAIRWISE} == {("joint", "ae_1")}


def test_records_are_accuracies_of_judgements(results: Results) -> None:
    run = ["variant", "seed", "protocol", "split"]
    judgements = results.tables["judgements"].merge(
        toys.make_claims()[["split", "claim_id", "label"]], on=["split", "claim_id"]
    )
    right = (judgements["given"] == judgements["label_y"]).groupby([judgements[key] for key in run])
    assert {tuple(record[key] for key in run): record["value"] for record in results.records} == right.mean().to_dict()
    sizes = toys.make_claims().groupby("split").size()
    assert all(record["examples"] == sizes[record["split"]] for record in results.records)
    assert all(count == sizes[split] for (*_, split), count in right.size().items())


def test_examples_are_right_or_wrong(results: Results) -> None:
    [examples] = results.details["examples"]
    assert examples["variant"] in ("joint", "pairwise") and examples["protocol"] in ("ie_1", "ae_1", "max_pool")
    assert all(row["predicted"] == row["right"] for row in examples["answered"])
    assert (
        all(row["predicted"] != row["right"] for row in examples["missed"])
        and examples["answered"] + examples["missed"]
    )


def test_widths_of_frozen_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[u, v, |u−v|, u∗v] of claim and mean evidence, and u."""
    widths = []

    def record_width(inputs: Any, labels: Any, classes: int) -> Any:
        widths.append(inputs["train"].shape[1])
        return {}

    config = pair_toys.TRANSFORMER | {"embedding_size": None, "pooling": "cls", "cross": {"tokens": 2}}
    start = pair_toys.new_encoder(tmp_path / "start", pair_toys.vocabulary(tmp_path / "words"), config)
    toys.write_data(tmp_path / "data")
    monkeypatch.setattr(evaluation, "classify", record_width)
    evaluation.measure_frozen([str(start)], tmp_path / "data" / "claims.parquet", tmp_path / "vectors")
    assert widths == [4 * 32, 32]


def test_baselines(tmp_path: Path) -> None:
    rows = toys.make_claims().query("label != 'REFUTES'").reset_index(drop=True)
    toys.write_data(tmp_path / "data", rows.drop(rows.index[rows["split"].eq("train") & (rows.index % 2 == 0)][:5]))
    predictions = measure_baselines(tmp_path / "data" / "claims.parquet")
    test = rows[rows["split"] == "test"]
    truth = test["label"].map({"SUPPORTS": 0, "NOT ENOUGH INFO": 1}).to_numpy()
    deciding = np.array([row.claim in row.evidence for row in test.itertuples()])
    assert (predictions["word_overlap"]["test"][deciding] == truth[deciding]).all()
    train = pd.read_parquet(tmp_path / "data" / "claims.parquet").query("split == 'train'")["label"].value_counts()
    assert set(predictions["majority"]["test"]) == {0 if train["SUPPORTS"] >= train["NOT ENOUGH INFO"] else 1}


def test_evidence_vectors_are_averaged() -> None:
    vectors = {"a": [1.0, 0.0], "b": [3.0, 2.0], "c": [5.0, 5.0]}
    rows = pd.DataFrame({"evidence": [["a", "b"], ["c"], ["a", "b", "b"]]})
    predictions = average_evidence(rows, lambda texts: np.array([vectors[text] for text in texts], np.float32))
    assert predictions.numpy() == pytest.approx(np.array([[2, 1], [5, 5], [7 / 3, 4 / 3]]), abs=1e-6)


def test_the_demo_is_read(tmp_path: Path) -> None:
    counts = write_demo_world(DemoConfig(pages=25, novels=1), tmp_path / "demo")
    TASK.prepare_data(VerificationConfig(), tmp_path / "demo", tmp_path / "data")
    report = json.loads((tmp_path / "data" / "task.json").read_text())
    assert report["name"] == "demo" and not report["missing"] and len(report["files"]) == 3
    for split in ("train", "dev", "test"):
        of_split = report["counts"][split]
        assert of_split["claims"] == counts[f"{split}_claims"] - of_split["also_in_a_later_split"]
    documents = TASK.load_documents(tmp_path / "data")
    claims = pd.read_parquet(tmp_path / "data" / "claims.parquet").query("split != 'train'")
    assert documents is not None and documents["text"].tolist() == claims["evidence"].explode().tolist()
    assert documents["title"].iloc[0] == claims["pages"].iloc[0][0]


def test_custom_files_are_read(tmp_path: Path) -> None:
    files = {
        "dev": str(put(tmp_path / "b.jsonl", TEXTS | {"claim": "c"})),
        "train": str(put(tmp_path / "a.jsonl", TEXTS, TEXTS | {"claim": "b", "label": "SUPPORTS"})),
    }
    source = TypeAdapter(VerificationConfig).validate_python({"input": files | {"test": None}})
    TASK.prepare_data(source, tmp_path, tmp_path / "own")
    report = json.loads((tmp_path / "own" / "task.json").read_text())
    assert report["name"] == "fever" and report["counts"]["labels"] == "SUPPORTS and REFUTES only"
    assert list(report["files"]) == [files["train"], files["dev"]]
    for missing in ("train", "dev"):
        with pytest.raises(ValueError, match=f"no file for {missing}; set fact_verification.input.{missing}"):
            VerificationConfig(input={"train": "a", "dev": "b"} | {missing: None})


def test_too_much_evidence_raises(project: Path) -> None:
    TASK.check_settings(SETTINGS, project / "data")
    TASK.check_settings(toys.settings(layout=None), project / "data")
    with pytest.raises(ValueError, match=r"up to 2 sentences .* has room for 1: set fact_verification\.evidence=1"):
        TASK.check_settings(toys.settings(layout={"candidates": 1, "sentence_tokens": 16}), project / "data")


def test_identity_ignores_other_heads() -> None:
    first, second = toys.settings(heads=["ie_1"]), toys.settings(heads=["ie_1", "ae_1"])
    assert first.identity("ie_1") == second.identity("ie_1") != toys.settings(epochs=9).identity("ie_1")


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"heads": []}, "at least 1"), ({"heads": ["ie_1", "ie_1"]}, "listed twice"), ({"head": "ie_1"}, "head")],
)
def test_invalid_settings_raise(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TypeAdapter(FactVerificationSettings).validate_python(settings)


def test_frozen_features_are_of_claim_and_mean_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[u, v, |u−v|, u∗v], and u alone."""
    seen: list[Any] = []
    monkeypatch.setattr(evaluation, "classify", lambda inputs, *_: seen.append(inputs) or {})
    start = pair_toys.new_encoder(tmp_path / "start", pair_toys.vocabulary(tmp_path / "words"), pair_toys.TRANSFORMER)
    toys.write_data(tmp_path / "data")
    evaluation.measure_frozen([str(start)], tmp_path / "data" / "claims.parquet", tmp_path / "vectors")
    both, claim_only = seen
    encoder = load_encoder(start)
    for split in ("train", "dev", "test"):
        rows = toys.make_claims().query("split == @split")
        for row, (claim, evidence) in enumerate(zip(rows["claim"], rows["evidence"], strict=True)):
            u, v = encoder.embed([claim])[0], encoder.embed(evidence).mean(axis=0)
            np.testing.assert_allclose(both[split][row], [*u, *v, *abs(u - v), *(u * v)], atol=1e-5)
            np.testing.assert_allclose(claim_only[split][row], u, atol=1e-5)


def test_fine_tuned_models_give_their_most_probable_label(project: Path, results: Results) -> None:
    judgements = results.tables["judgements"].query("protocol == 'max_pool' and split == 'test'").set_index("claim_id")
    model = load_verifier(project / "pairwise-1" / "max_pool")
    for row in toys.make_claims().query("split == 'test'").itertuples():
        judged = model.judge(row.claim, row.evidence)
        assert judgements["given"][row.claim_id] == max(judged, key=judged.__getitem__)
