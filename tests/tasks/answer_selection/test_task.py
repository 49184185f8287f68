"""Answer selection from files to records."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from contexture.demo import DemoConfig, write_demo_world
from contexture.metrics.ranking import METRICS
from contexture.tasks.answer_selection import bi_encoder, evaluation
from contexture.tasks.answer_selection.config import AnswersConfig
from contexture.tasks.answer_selection.evaluation import evaluate_answers, score_by_cosine
from contexture.tasks.answer_selection.protocols import select_top_k
from contexture.tasks.answer_selection.task import AnswerSelectionTask
from contexture.tasks.base import EvaluatedEncoder, Results
from tests.tasks.answer_selection import toys

TASK = AnswerSelectionTask()
SETTINGS = toys.settings(epochs=1)
BASELINES = {"random_order", "file_order", "word_overlap"}
RUN = ["variant", "seed", "split", "protocol"]


def make_encoders(folder: Path) -> list[EvaluatedEncoder]:
    return toys.make_encoders(folder, ("joint", 0, "ae_k"), ("joint", 1, "ae_k"), ("pairwise", 1, "ie_1"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    toys.make_encoder(folder / "encoder")
    toys.tune_all(TASK, SETTINGS, make_encoders(folder), toys.write_data(folder / "data"))
    return folder


@pytest.fixture(scope="module")
def results(project: Path) -> Results:
    settings = replace(SETTINGS, latency_rounds=2)
    return TASK.evaluate(settings, make_encoders(project), project / "data", project / "vectors")


def test_options() -> None:
    several = toys.settings(finetune=["large", "toys"], transfer={"toys": "large"})
    assert TASK.list_options(SETTINGS, "ie_k") == ["toys"] and TASK.list_options(SETTINGS, None) == []
    assert TASK.list_options(several, "ie_k") == ["large", "toys", "toys_after_large"]
    assert [several.get_start_option(option) for option in several.options] == [None, None, "large"]


def test_settings_can_differ_by_set() -> None:
    optimizer = {"learning_rate": 2e-3, "warmup_steps": 2, "weight_decay": 0.5}
    large_settings = {"batch_size": 512, "epochs": 6, "optimizer": {"learning_rate": 1e-5}}
    several = toys.settings(
        finetune=["large", "toys"], transfer={"toys": "large"}, optimizer=optimizer, sets={"large": large_settings}
    )
    large, small = several.get_option_settings("large"), several.get_option_settings("toys")
    assert (large.batch_size, large.epochs, large.patience) == (512, 6, small.patience)
    assert (small.batch_size, small.epochs, small.optimizer.learning_rate) == (8, 3, 2e-3)
    optimizers = large.optimizer
    assert (optimizers.learning_rate, optimizers.warmup_steps, optimizers.weight_decay) == (1e-5, 2, 0.5)
    assert several.get_option_settings("toys_after_large") == small


def test_identity_depends_on_the_settings_of_one_set(tmp_path: Path) -> None:
    """Other sets and latency measurement do not invalidate a model."""
    first = toys.settings(finetune=["toys"])
    second = toys.settings(finetune=["large", "toys"], sets={"large": {"epochs": 6}}, latency_rounds=3)
    assert first.identity("toys") == second.identity("toys") != second.identity("large")
    assert (
        second.get_data_dir("toys", tmp_path) == second.get_data_dir("toys_after_large", tmp_path) == tmp_path / "toys"
    )


def test_documents_are_of_dev_and_test(tmp_path: Path) -> None:
    answers = toys.make_answers().assign(title=lambda table: "About " + table["question_id"])
    toys.write_set(tmp_path / "toys", answers)
    toys.write_report(tmp_path, "toys")
    documents = TASK.load_documents(tmp_path)
    assert documents is not None
    held_out = answers[answers["split"] != "train"]
    assert documents[["title", "text"]].to_numpy().tolist() == held_out[["title", "candidate"]].to_numpy().tolist()
    toys.write_report(tmp_path)
    assert TASK.load_documents(tmp_path) is None


def test_records_cover_encoders_protocols_splits_and_metrics(results: Results) -> None:
    table = pd.DataFrame(results.records)
    assert set(table) == {*RUN, "task", "data", "metric", "value", "examples"}
    assert set(table["task"]) == {"answer_selection"} and set(table["data"]) == {"toys"}
    assert not table.duplicated([*RUN, "metric"]).any() and table["value"].between(0, 1).all()
    assert json.loads(json.dumps(results.records)) == results.records
    questions = results.tables["questions-toys"].groupby([*RUN])["question_id"].nunique()
    assert table.groupby([*RUN])["examples"].agg(["min", "max"]).eq(questions, axis=0).all(axis=None)
    cells = table.groupby(["variant", "seed", "protocol"])
    assert all(set(part["split"]) == {"dev", "test"} and set(part["metric"]) == set(METRICS) for _, part in cells)
    assert set(cells.groups) == {
        ("joint", 0, "frozen"), ("joint", 0, "grouped"),
        ("joint", 1, "frozen"), ("joint", 1, "grouped"), ("joint", 1, "reranked"),
        ("pairwise", 1, "frozen"), ("pairwise", 1, "grouped"),
        ("alone", 0, "frozen"),
        *((name, seed, "frozen") for name in BASELINES for seed in (0, 1)),
    }  # fmt: skip


def test_records_are_means_over_questions(results: Results) -> None:
    scores, questions = results.tables["scores-toys"], results.tables["questions-toys"]
    assert list(scores) == [*RUN, "question_id", "candidate_id", "label", "score"]
    assert (scores.groupby(RUN)["question_id"].nunique() == 8).all()
    for record in results.records:
        chosen = questions[(questions[RUN] == [record[key] for key in RUN]).all(axis=1)]
        assert record["value"] == pytest.approx(chosen[record["metric"]].mean())


def test_frozen_values(results: Results) -> None:
    """Variants of one encoder score alike; word overlap finds all answers."""
    table = pd.DataFrame(results.records).query("protocol == 'frozen'")
    alike = table[table["variant"].isin(["joint", "pairwise", "file_order"])]
    alike = alike.assign(encoder=alike["variant"] == "file_order")
    assert (alike.groupby(["encoder", "split", "metric"])["value"].nunique() == 1).all()
    drawn = table.query("variant == 'random_order' and metric == 'map'").groupby("split")["value"].nunique()
    assert drawn.max() == 2
    overlap = table.query("variant == 'word_overlap' and metric == 'p_at_1' and split == 'test'")
    assert set(overlap["value"]) == {1}


def test_reranking_uses_pairwise_scores_of_the_same_seed(results: Results) -> None:
    scores = results.tables["scores-toys"].query("seed == 1 and split == 'test'")
    runs = [("pairwise", "grouped"), ("joint", "reranked")]
    pairwise, reranked = (
        scores[(scores["variant"] == variant) & (scores["protocol"] == protocol)] for variant, protocol in runs
    )
    assert pairwise["candidate_id"].tolist() == reranked["candidate_id"].tolist()
    tops = [
        [set(table["candidate_id"].iloc[rows]) for rows in select_top_k(table, toys.K)]
        for table in (pairwise, reranked)
    ]
    assert tops[0] == tops[1]


class Lengths:
    name, dimension, identity = "lengths", 2, {"lengths": 1}

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], Any]] = []

    def embed(self, texts: Sequence[Any], role: Any = None) -> Any:
        self.calls.append((list(texts), role))
        if role == "query":
            return np.array([[2.0, 0.0]] * len(texts), np.float32)
        return np.array([[text.count("a"), text.count("b")] for text in texts], np.float32)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Replace all encoders by `Lengths`; return the names that are loaded."""
    names = list[tuple[str, ...]]()
    monkeypatch.setattr(evaluation, "load_models", lambda encoders: names.append(encoders) or Lengths())
    return names


def test_frozen_scores_are_cosines_of_query_and_document() -> None:
    answers = pd.DataFrame({"question": ["q", "q", "q", "r"], "candidate": ["aaab", "b", "", "aaab"]})
    model = Lengths()
    assert score_by_cosine(model, answers) == pytest.approx([3 / np.sqrt(10), 0, 0, 3 / np.sqrt(10)])
    assert model.calls == [(["q", "r"], "query"), (["aaab", "b", ""], "document")]  # each text once


def test_shared_encoders_are_loaded_once(loaded: list[tuple[str, ...]], tmp_path: Path) -> None:
    several = [EvaluatedEncoder("a", 0, ("x",)), EvaluatedEncoder("b", 1, ("x",)), EvaluatedEncoder("c", 0, ("x", "y"))]
    results = evaluate_answers(several, toys.write_set(tmp_path / "toys", toys.make_answers()))
    assert loaded == [("x",), ("x", "y")]
    assert {record["variant"] for record in results.records} == {"a", "b", "c", *BASELINES}


@pytest.mark.usefixtures("loaded")
def test_empty_splits_are_skipped(tmp_path: Path) -> None:
    answers, frozen = toys.make_answers(), [EvaluatedEncoder("a", 0, ("x",))]
    part = toys.write_set(tmp_path / "part", answers[answers["split"] != "dev"])
    assert {record["split"] for record in evaluate_answers(frozen, part).records} == {"test"}
    empty = toys.write_set(tmp_path / "none", answers[answers["split"] == "train"])
    assert evaluate_answers(frozen, empty) == evaluate_answers([], part) == Results()


@pytest.mark.usefixtures("loaded")
def test_large_sets_do_not_save_scores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Embedding in blocks gives the same records."""
    folder = toys.write_set(tmp_path / "toys", toys.make_answers())
    small = evaluate_answers([EvaluatedEncoder("a", 0, ("x",))], folder)
    monkeypatch.setattr(evaluation, "MAX_SCORED_ROWS", 10)
    monkeypatch.setattr(bi_encoder, "EMBEDDED_ROWS", 7)
    large = evaluate_answers([EvaluatedEncoder("a", 0, ("x",))], folder)
    assert large.records == small.records and large.details == small.details
    assert set(small.tables) == {"scores", "questions"} and set(large.tables) == {"questions"}


def test_questions_of_the_demo_and_of_folders(tmp_path: Path) -> None:
    demo = tmp_path / "demo"
    write_demo_world(DemoConfig(pages=25, novels=1), demo)
    TASK.prepare_data(AnswersConfig(), demo, tmp_path / "1")
    report = json.loads((tmp_path / "1/task.json").read_text())
    assert (report["name"], report["missing"], list(report["counts"])) == ("demo", {}, ["demo"])
    test = pd.read_parquet(tmp_path / "1/demo/test.parquet")
    assert report["counts"]["demo"]["test_questions"] == test["question_id"].nunique() > 0
    assert report["counts"]["demo"]["test_candidates"] == len(test)
    assert len(report["files"]) == 3 and all(len(digest) == 64 for digest in report["files"].values())
    TASK.prepare_data(AnswersConfig(input={"one": str(demo), "two": str(demo)}), Path("elsewhere"), tmp_path / "2")
    report = json.loads((tmp_path / "2/task.json").read_text())
    assert report["name"] == "one, two" and list(report["counts"]) == ["one", "two"]
    for name in ("one", "two"):
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / f"2/{name}/test.parquet"), test)


def test_invalid_set_names_raise() -> None:
    with pytest.raises(ValueError, match=r"name the set in a/b, such as answer_selection\.input\.wikiqa=a/b"):
        AnswersConfig(input="a/b")
    for name in ("WikiQA", "a/b", "a_after_b", "_a"):
        with pytest.raises(ValueError, match=f"invalid set name {name}; use small letters"):
            AnswersConfig(input={name: "x"})


def test_unknown_sets_in_settings_raise(tmp_path: Path) -> None:
    toys.write_report(tmp_path, "toys")
    TASK.check_settings(toys.settings(sets={"toys": {"epochs": 2}, "asnq": {"epochs": 6}}), tmp_path)
    with pytest.raises(ValueError, match=r"finetune: unknown set other; answer_selection\.input has \['toys'\]"):
        TASK.check_settings(toys.settings(finetune=["toys", "other"]), tmp_path)
    with pytest.raises(ValueError, match=r"answer_selection.sets: unknown set tosy; answer_selection.input has "):
        TASK.check_settings(toys.settings(sets={"tosy": {"epochs": 2}}), tmp_path)


def test_unknown_formats_raise(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        (tmp_path / f"WikiQA-{split}.tsv").write_text("Question\tAnswer\n")
    with pytest.raises(ValueError, match=r"WikiQA-train\.tsv, line 1: no column"):
        TASK.prepare_data(AnswersConfig(input={"wikiqa": str(tmp_path)}), tmp_path, tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"epoch": 3}, "epoch"),
        ({"epochs": 0}, "greater than 0"),
        ({"layout": {"candidates": 0}}, "candidates"),
        ({"sets": {"large": {"epoch": 3}}}, r"sets\.large\.epoch"),
        ({"finetune": ["toys", "toys"]}, "listed twice"),
        ({"sets": {"large": {"optimizer": {"warmup": 3}}}}, r"sets\.large\.optimizer\.warmup"),
        ({"transfer": {"toys": "large"}}, r"transfer\.toys: large: must be two different sets of finetune, \['toys'\]"),
    ],
)
def test_invalid_settings_raise_with_key(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        toys.settings(**bad)


def test_transferred_models_have_their_own_protocols(project: Path, tmp_path: Path) -> None:
    """Re-ranking uses the pairwise model that was transferred, too."""
    data = toys.write_data(tmp_path / "data")
    toys.write_set(data / "large", toys.make_answers())
    toys.write_report(data, "large", "toys")
    settings = toys.settings(epochs=1, finetune=["large", "toys"], transfer={"toys": "large"})
    of_seed = [encoder for encoder in make_encoders(project) if encoder.seed == 1]
    tuned = [replace(encoder, finetuned_dir=tmp_path / encoder.variant) for encoder in of_seed]
    toys.tune_all(TASK, settings, tuned, data)
    table = pd.DataFrame(TASK.evaluate(settings, tuned, data, tmp_path / "vectors").records)
    table = table[table["variant"].isin(["joint", "pairwise"])]
    assert set(table.groupby(["data", "protocol"]).groups) == {
        *((name, protocol) for name in ("large", "toys") for protocol in ("frozen", "grouped", "reranked")),
        ("toys", "grouped_after_large"), ("toys", "reranked_after_large"),
    }  # fmt: skip


def test_no_latency_without_fine_tuned_models(project: Path) -> None:
    frozen = [replace(encoder, finetuned_dir=None) for encoder in make_encoders(project)]
    settings = replace(SETTINGS, latency_rounds=1)
    assert TASK.evaluate(settings, frozen, project / "data", project / "vectors").details["latency"] == {}


def test_latency_is_measured_per_head(project: Path, results: Results) -> None:
    answers = pd.read_parquet(project / "data/toys/test.parquet")
    joint, pairwise = results.details["latency"]["toys"]
    assert (joint["head"], pairwise["head"]) == ("ae_k", "ie_1")
    assert pairwise["passes"] == len(answers) > joint["passes"] >= answers["question_id"].nunique()
    assert joint["tokens"] < pairwise["tokens"]  # a question is read with k candidates at once
    assert joint["parameters"] > pairwise["parameters"]  # a head on two states, and more token types
    assert joint["seconds"] > 0 < pairwise["seconds"] and joint["rounds"] == 2


def test_rescued_questions_are_only_answered_jointly(results: Results) -> None:
    rescued, scores = results.details["rescued"]["toys"], results.tables["scores-toys"]
    tested = scores.query("split == 'test' and seed == 1")  # the only seed of both
    first = {
        run: rows.sort_values(["score", "label"], ascending=[True, False]).groupby("question_id")["label"].last()
        for run, rows in tested.groupby(["variant", "protocol"])
    }
    count = first[rescued["variant"], "reranked"].gt(first["pairwise", "grouped"]).sum()
    assert rescued["count"] == count and len(rescued["questions"]) == min(3, count)
