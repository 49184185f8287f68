"""Answer selection as a task, from the files to the records."""

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
from contexture.tasks.answer_selection import evaluation
from contexture.tasks.answer_selection.config import AnswersConfig, AnswerSelectionSettings
from contexture.tasks.answer_selection.evaluation import cosines, evaluate_answers
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


def write_report(folder: Path, sets: list[str]) -> None:
    (folder / "task.json").write_text(json.dumps({"counts": {name: {} for name in sets}, "missing": {}}))


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
    assert TASK.options(SETTINGS, "ie_k") == ["toys"]
    assert TASK.options(SETTINGS, None) == []
    several = toys.settings(finetune=["large", "toys"], transfer={"toys": "large"})
    assert TASK.options(several, "ie_k") == ["large", "toys", "toys_after_large"]
    assert [several.before(option) for option in several.options] == [None, None, "large"]


def test_sets_differ_in_how_models_are_fine_tuned_on_them() -> None:
    optimizer = {"learning_rate": 2e-3, "warmup_steps": 2, "weight_decay": 0.5}
    given = {"batch_size": 512, "epochs": 6, "optimizer": {"learning_rate": 1e-5}}
    several = toys.settings(
        finetune=["large", "toys"], transfer={"toys": "large"}, optimizer=optimizer, sets={"large": given}
    )
    large, small = several.of("large"), several.of("toys")
    assert (large.batch_size, large.epochs, large.patience) == (512, 6, small.patience)
    assert (small.batch_size, small.epochs, small.optimizer.learning_rate) == (8, 3, 2e-3)
    found = large.optimizer
    assert (found.learning_rate, found.warmup_steps, found.weight_decay) == (1e-5, 2, 0.5)
    assert several.of("toys_after_large") == small


def test_what_a_model_depends_on_is_its_own_set(tmp_path: Path) -> None:
    """So that it is kept when others come or go, or when time is measured."""
    first = toys.settings(finetune=["toys"])
    second = toys.settings(finetune=["large", "toys"], sets={"large": {"epochs": 6}}, latency_rounds=3)
    assert first.identity("toys") == second.identity("toys") != second.identity("large")
    assert second.data_of("toys", tmp_path) == second.data_of("toys_after_large", tmp_path) == tmp_path / "toys"


def test_documents_are_those_of_dev_and_test_questions(tmp_path: Path) -> None:
    answers = toys.answers().assign(title=lambda table: "About " + table["question_id"])
    toys.write_set(tmp_path / "toys", answers)
    write_report(tmp_path, ["toys"])
    found = TASK.documents(tmp_path)
    assert found is not None
    rows = zip(answers["split"], answers["title"], answers["candidate"], strict=True)
    assert [*found[["title", "text"]].itertuples(index=False, name=None)] == [
        (title, text) for split, title, text in rows if split in ("dev", "test")
    ]
    write_report(tmp_path, [])
    assert TASK.documents(tmp_path) is None


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
    scores, questions = results.tables["scores-toys"], results.tables["questions-toys"]
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
    scores = results.tables["scores-toys"]
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


def test_encoders_that_several_share_are_asked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded: list[tuple[str, ...]] = []

    def load(names: tuple[str, ...]) -> Lengths:
        loaded.append(names)
        return Lengths()

    monkeypatch.setattr(evaluation, "load_models", load)
    given = [Contestant("a", 0, ("x",)), Contestant("b", 1, ("x",)), Contestant("c", 0, ("x", "y"))]
    found = evaluate_answers(given, toys.write_set(tmp_path / "toys", toys.answers()))
    assert loaded == [("x",), ("x", "y")]
    assert {record["variant"] for record in found.records} == {"a", "b", "c", *BASELINES}


def test_a_split_without_questions_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(evaluation, "load_models", lambda names: Lengths())
    answers = toys.answers()
    given = [Contestant("a", 0, ("x",))]
    part = toys.write_set(tmp_path / "part", answers[answers["split"] != "dev"])
    assert {record["split"] for record in evaluate_answers(given, part).records} == {"test"}
    none = toys.write_set(tmp_path / "none", answers[answers["split"] == "train"])
    assert evaluate_answers(given, none) == Results()
    assert evaluate_answers([], part) == Results()


def test_of_a_large_set_questions_alone_are_kept_and_numbers_are_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Texts are embedded in parts."""
    monkeypatch.setattr(evaluation, "load_models", lambda names: Lengths())
    folder = toys.write_set(tmp_path / "toys", toys.answers())
    small = evaluate_answers([Contestant("a", 0, ("x",))], folder)
    monkeypatch.setattr(evaluation, "KEPT", 10)
    monkeypatch.setattr(evaluation, "ROWS_AT_ONCE", 7)
    large = evaluate_answers([Contestant("a", 0, ("x",))], folder)
    assert large.records == small.records and large.facts == small.facts
    assert set(small.tables) == {"scores", "questions"} and set(large.tables) == {"questions"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    write_demo_world(DemoConfig(pages=25, novels=1), folder)
    return folder


def test_questions_of_the_demo_and_of_folders(demo: Path, tmp_path: Path) -> None:
    TASK.read(AnswersConfig(), demo, tmp_path / "1")
    report = json.loads((tmp_path / "1/task.json").read_text())
    assert (report["name"], report["missing"], list(report["counts"])) == ("demo", {}, ["demo"])
    test = pd.read_parquet(tmp_path / "1/demo/test.parquet")
    assert report["counts"]["demo"]["test_questions"] == test["question_id"].nunique() > 0
    assert report["counts"]["demo"]["test_candidates"] == len(test)
    assert len(report["files"]) == 3 and all(len(digest) == 64 for digest in report["files"].values())
    TASK.read(AnswersConfig(input={"one": str(demo), "two": str(demo)}), Path("elsewhere"), tmp_path / "2")
    report = json.loads((tmp_path / "2/task.json").read_text())
    assert report["name"] == "one, two" and list(report["counts"]) == ["one", "two"]
    for name in ("one", "two"):
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / f"2/{name}/test.parquet"), test)


def test_a_folder_without_a_name_and_impossible_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"which set lies in a/b, such as answer_selection\.input\.wikiqa=a/b"):
        AnswersConfig(input="a/b")
    for name in ("WikiQA", "a/b", "a_after_b", "_a"):
        with pytest.raises(ValueError, match=f"small letters.* not {name}"):
            AnswersConfig(input={name: "x"})


def test_sets_that_are_not_there_are_named(tmp_path: Path) -> None:
    write_report(tmp_path, ["toys"])
    TASK.check(SETTINGS, tmp_path)
    with pytest.raises(ValueError, match=r"finetune: no set is called other; answer_selection\.input has \['toys'\]"):
        TASK.check(toys.settings(finetune=["toys", "other"]), tmp_path)


def test_a_set_that_is_told_how_is_one_that_there_is(tmp_path: Path) -> None:
    write_report(tmp_path, ["own"])
    task = AnswerSelectionTask()
    task.check(AnswerSelectionSettings(finetune=["own"], sets={"own": {"epochs": 2}, "asnq": {"epochs": 6}}), tmp_path)
    with pytest.raises(
        ValueError, match=r"answer_selection.sets: no set is called onw; answer_selection.input has \['own'\]"
    ):
        task.check(AnswerSelectionSettings(finetune=["own"], sets={"onw": {"epochs": 2}}), tmp_path)


def test_files_in_another_format_end_the_run(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        (tmp_path / f"WikiQA-{split}.tsv").write_text("Question\tAnswer\n")
    with pytest.raises(ValueError, match=r"WikiQA-train\.tsv, line 1: no column"):
        TASK.read(AnswersConfig(input={"wikiqa": str(tmp_path)}), tmp_path, tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"epoch": 3}, "epoch"),
        ({"epochs": 0}, "greater than 0"),
        ({"layout": {"candidates": 0}}, "candidates"),
        ({"sets": {"large": {"epoch": 3}}}, r"sets\.large\.epoch"),
        ({"finetune": ["toys", "toys"]}, "stands there twice"),
        ({"sets": {"large": {"optimizer": {"warmup": 3}}}}, r"sets\.large\.optimizer\.warmup"),
        ({"transfer": {"toys": "large"}}, r"transfer\.toys: large: two different sets of finetune, \['toys'\]"),
    ],
)
def test_impossible_settings_are_named(bad: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        toys.settings(**bad)


def test_models_that_learned_from_another_set_before_stand_beside_those_that_did_not(
    project: Path, tmp_path: Path
) -> None:
    """Each begins with the model of the other set, and has a protocol of its own; the pairwise one is of its kind."""
    data = toys.write_data(tmp_path / "data")
    toys.write_set(data / "large", toys.answers())
    write_report(data, ["large", "toys"])
    given = toys.settings(
        epochs=1, finetune=["large", "toys"], transfer={"toys": "large"}, sets={"large": {"epochs": 2}}
    )
    of_seed = [one for one in contestants(project) if one.seed == 1]
    own = [replace(one, finetuned=tmp_path / one.variant) for one in of_seed]
    for one in own:
        for option in given.options:
            before, folder = given.before(option), tmp_path / one.variant / option
            folder.mkdir(parents=True)
            start = one if before is None else replace(one, encoders=(str(tmp_path / one.variant / before),))
            TASK.finetune(given, option, start, data, folder)
    found = pd.DataFrame(TASK.evaluate(given, own, data, tmp_path / "vectors").records)
    table = found[found["variant"].isin(["joint", "pairwise"])]
    assert set(table.groupby(["data", "protocol"]).groups) == {
        *((name, protocol) for name in ("large", "toys") for protocol in ("frozen", "grouped", "reranked")),
        ("toys", "grouped_after_large"), ("toys", "reranked_after_large"),
    }  # fmt: skip


def test_where_nothing_is_fine_tuned_there_is_no_latency(project: Path) -> None:
    frozen = [replace(one, finetuned=None) for one in contestants(project)]
    asked = replace(SETTINGS, latency_rounds=1)
    assert TASK.evaluate(asked, frozen, project / "data", project / "vectors").facts["latency"] == {}


def test_latency_is_measured_of_a_model_of_each_head(project: Path) -> None:
    answers = pd.read_parquet(project / "data/toys/test.parquet")
    found = TASK.evaluate(
        replace(SETTINGS, latency_rounds=2), contestants(project), project / "data", project / "vectors"
    )
    joint, pairwise = found.facts["latency"]["toys"]
    assert (joint["head"], pairwise["head"]) == ("ae_k", "ie_1")
    assert pairwise["passes"] == len(answers) > joint["passes"] >= answers["question_id"].nunique()
    assert joint["tokens"] < pairwise["tokens"]  # a question is read with k candidates at once
    assert joint["parameters"] > pairwise["parameters"]  # a head on two states, and more token types
    assert joint["seconds"] > 0 < pairwise["seconds"] and joint["rounds"] == 2
    told, scores = found.facts["rescued"]["toys"], found.tables["scores-toys"]
    tested = scores[(scores["split"] == "test") & (scores["seed"] == 1)]  # the only one of both
    first = {
        run: rows.sort_values(["score", "label"], ascending=[True, False]).groupby("question_id")["label"].last()
        for run, rows in tested.groupby(["variant", "protocol"])
    }
    mended = first[told["variant"], "reranked"].gt(first["pairwise", "grouped"]).sum()
    assert told["count"] == mended and len(told["questions"]) == min(3, mended)
