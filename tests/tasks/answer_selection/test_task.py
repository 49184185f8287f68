"""Answer selection as a task, from the files to the records."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from contexture.demo import DemoConfig, write_demo_world
from contexture.metrics.ranking import METRICS
from contexture.tasks.answer_selection import evaluation
from contexture.tasks.answer_selection.config import AnswersConfig
from contexture.tasks.answer_selection.evaluation import cosines, evaluate_answers
from contexture.tasks.answer_selection.files import clean, read_wikiqa
from contexture.tasks.answer_selection.protocols import top_k_by
from contexture.tasks.answer_selection.task import AnswerSelectionTask
from contexture.tasks.base import Contestant, Results
from tests.tasks.answer_selection import toys

TASK = AnswerSelectionTask()
SETTINGS = toys.settings(epochs=1)
BASELINES = {"random_order", "file_order", "word_overlap"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, an encoder, and what was fine-tuned of it."""
    folder = tmp_path_factory.mktemp("project")
    data = toys.write_data(folder / "data")
    toys.new_encoder(folder / "encoder")
    for contestant in contestants(folder):
        for option in TASK.options(SETTINGS, contestant.head):
            assert contestant.finetuned is not None
            place = contestant.finetuned / option
            place.mkdir(parents=True)
            TASK.finetune(SETTINGS, option, contestant, data, place)
    return folder


def contestants(project: Path) -> list[Contestant]:
    """Joint models of two seeds, a pairwise one of one of them, and one that is frozen alone."""
    start = (str(project / "encoder"),)
    named = [("joint", 0, "ae_k"), ("joint", 1, "ae_k"), ("pairwise", 1, "ie_1")]
    tuned = [Contestant(name, seed, start, project / f"{name}-{seed}", head) for name, seed, head in named]
    return [*tuned, Contestant("alone", 0, start * 2)]


@pytest.fixture(scope="module")
def results(project: Path) -> Results:
    return TASK.evaluate(SETTINGS, contestants(project), project / "data", project / "vectors")


def test_options() -> None:
    assert TASK.options(SETTINGS, "ie_k") == ["model"]
    assert TASK.options(SETTINGS, None) == []


def test_documents_are_those_of_dev_and_test_questions(tmp_path: Path) -> None:
    answers = toys.answers().assign(title=lambda table: "About " + table["question_id"])
    answers.to_parquet(tmp_path / "answers.parquet")
    found = TASK.documents(tmp_path)
    assert found is not None
    rows = zip(answers["split"], answers["title"], answers["candidate"], strict=True)
    assert [*found[["title", "text"]].itertuples(index=False, name=None)] == [
        (title, text) for split, title, text in rows if split in ("dev", "test")
    ]
    assert TASK.documents(tmp_path / "missing") is None


def test_every_contestant_protocol_split_and_metric_is_recorded(results: Results) -> None:
    table = pd.DataFrame(results.records)
    assert set(table) == {"variant", "seed", "task", "data", "protocol", "split", "metric", "value"}
    assert set(table["task"]) == {"answer_selection"} and set(table["data"]) == {"toys"}
    assert not table.duplicated(["variant", "seed", "protocol", "split", "metric"]).any()
    assert table["value"].between(0, 1).all()
    assert json.loads(json.dumps(results.records)) == results.records
    cells = table.groupby(["variant", "seed", "protocol"])
    assert all(set(part["split"]) == {"dev", "test"} and set(part["metric"]) == set(METRICS) for _, part in cells)
    assert set(cells.groups) == {
        ("joint", 0, "frozen"), ("joint", 0, "grouped"),
        ("joint", 1, "frozen"), ("joint", 1, "grouped"), ("joint", 1, "reranked"),
        ("pairwise", 1, "frozen"), ("pairwise", 1, "grouped"),
        ("alone", 0, "frozen"),
        *((name, seed, "frozen") for name in BASELINES for seed in (0, 1)),
    }  # fmt: skip


def test_records_are_the_means_of_the_questions_and_scores_are_kept(results: Results) -> None:
    scores, questions = results.tables["scores"], results.tables["questions"]
    assert list(scores) == [
        "variant", "seed", "split", "protocol", "question_id", "candidate_id", "label", "score"
    ]  # fmt: skip
    keys = ["variant", "seed", "split", "protocol"]
    assert (scores.groupby(keys)["question_id"].nunique() == 8).all()
    for record in results.records:
        chosen = questions[(questions[keys] == [record[key] for key in keys]).all(axis=1)]
        assert record["value"] == pytest.approx(chosen[record["metric"]].mean())


def test_who_starts_alike_is_alike_when_frozen(results: Results) -> None:
    values = {(r["variant"], r["seed"], r["split"], r["metric"]): r["value"] for r in results.records
              if r["protocol"] == "frozen"}  # fmt: skip
    for split in ("dev", "test"):
        for metric in METRICS:
            assert (
                len({values[key] for key in values if key[0] in {"joint", "pairwise"} and key[2:] == (split, metric)})
                == 1
            )
            assert len({values["file_order", seed, split, metric] for seed in (0, 1)}) == 1
    assert any(
        values["random_order", 0, split, "map"] != values["random_order", 1, split, "map"] for split in ("dev", "test")
    )


def test_the_words_of_the_question_give_the_answer_away(results: Results) -> None:
    values = {(r["variant"], r["split"], r["metric"]): r["value"] for r in results.records if r["seed"] == 0}
    assert values["word_overlap", "test", "p_at_1"] == 1


def test_reranking_takes_the_pairwise_scores_of_the_same_seed(results: Results) -> None:
    """Its first k are the pairwise model's."""
    scores = results.tables["scores"]
    test = scores[(scores["seed"] == 1) & (scores["split"] == "test")]
    pairwise = test[(test["variant"] == "pairwise") & (test["protocol"] == "grouped")].reset_index(drop=True)
    reranked = test[(test["variant"] == "joint") & (test["protocol"] == "reranked")].reset_index(drop=True)
    assert pairwise["candidate_id"].tolist() == reranked["candidate_id"].tolist()
    tops = [
        [set(table["candidate_id"].iloc[rows]) for rows in top_k_by(table, toys.K)] for table in (pairwise, reranked)
    ]
    assert tops[0] == tops[1]


class Lengths:
    """Vectors that tell the roles apart."""

    name, dimension, identity = "lengths", 2, {"lengths": 1}

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], Any]] = []

    def embed(self, texts: Sequence[Any], role: Any = None) -> Any:
        self.asked.append((list(texts), role))
        if role == "query":
            return np.array([[2.0, 0.0]] * len(texts), np.float32)
        return np.array([[text.count("a"), text.count("b")] for text in texts], np.float32)


def test_frozen_scores_are_cosines_of_query_and_document() -> None:
    answers = pd.DataFrame({"question": ["q", "q", "q", "r"], "candidate": ["aaab", "b", "", "aaab"]})
    model = Lengths()
    assert cosines(model, answers) == pytest.approx([3 / np.sqrt(10), 0, 0, 3 / np.sqrt(10)])
    assert model.asked == [(["q", "r"], "query"), (["aaab", "b", ""], "document")]  # each text once


def test_encoders_that_several_share_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[tuple[str, ...]] = []

    def load(names: tuple[str, ...]) -> Lengths:
        loaded.append(names)
        return Lengths()

    monkeypatch.setattr(evaluation, "load_models", load)
    given = [Contestant("a", 0, ("x",)), Contestant("b", 1, ("x",)), Contestant("c", 0, ("x", "y"))]
    found = evaluate_answers(given, toys.answers(), "toys")
    assert loaded == [("x",), ("x", "y")]
    assert {record["variant"] for record in found.records} == {"a", "b", "c", *BASELINES}


def test_a_split_without_questions_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "load_models", lambda names: Lengths())
    answers = toys.answers()
    found = evaluate_answers([Contestant("a", 0, ("x",))], answers[answers["split"] != "dev"], "toys")
    assert {record["split"] for record in found.records} == {"test"}
    assert evaluate_answers([Contestant("a", 0, ("x",))], answers[answers["split"] == "train"], "toys") == Results()
    assert evaluate_answers([], answers, "toys") == Results()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    write_demo_world(DemoConfig(pages=25, novels=1), folder)
    return folder


@pytest.mark.parametrize("given", ["demo", "folder"])
def test_questions_of_the_demo_and_of_a_folder(given: str, demo: Path, tmp_path: Path) -> None:
    source = AnswersConfig() if given == "demo" else AnswersConfig(input=str(demo))
    TASK.read(source, demo if given == "demo" else Path("elsewhere"), tmp_path / "data")
    report = json.loads((tmp_path / "data" / "task.json").read_text())
    answers = pd.read_parquet(tmp_path / "data" / "answers.parquet")
    pd.testing.assert_frame_equal(answers, clean(read_wikiqa(demo)))
    assert (report["name"], report["missing"]) == ("demo" if given == "demo" else "wikiqa", {})
    test = answers[answers["split"] == "test"]
    assert report["counts"]["test_questions"] == test["question_id"].nunique() > 0
    assert report["counts"]["test_candidates"] == len(test)
    assert len(report["files"]) == 3 and all(len(digest) == 64 for digest in report["files"].values())


def test_missing_questions_are_named_and_nothing_is_measured(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = tmp_path / "data"
    place.mkdir()
    (place / "answers.parquet").write_text("of an earlier run")
    TASK.read(AnswersConfig(input=str(tmp_path / "none")), tmp_path, place)
    report = json.loads((place / "task.json").read_text())
    assert report["counts"] == {} and "none" in report["missing"]["wikiqa"] and "Download" in caplog.text
    assert [file.name for file in place.iterdir()] == ["task.json"]
    (tmp_path / "model").mkdir()
    TASK.finetune(SETTINGS, "model", Contestant("a", 0, ("b",), head="ie_1"), place, tmp_path / "model")
    assert not list((tmp_path / "model").iterdir())
    assert TASK.evaluate(SETTINGS, [Contestant("a", 0, ("b",))], place, tmp_path / "vectors") == Results()


def test_files_in_another_format_end_the_run(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        (tmp_path / f"WikiQA-{split}.tsv").write_text("Question\tAnswer\n")
    with pytest.raises(ValueError, match=r"WikiQA-train\.tsv, line 1: no column"):
        TASK.read(AnswersConfig(input=str(tmp_path)), tmp_path, tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("bad", "said"),
    [({"epoch": 3}, "epoch"), ({"epochs": 0}, "greater than 0"), ({"layout": {"candidates": 0}}, "candidates")],
)
def test_impossible_settings_are_named(bad: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        toys.settings(**bad)
