"""Answer ranking as a task: fine-tuning, and from the files to the records."""

import json
import logging
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from contexture.commands.main import main
from contexture.encoders.files import load_encoder
from contexture.retrieval.vectors import unit
from contexture.tasks.base import Contestant, Results
from contexture.tasks.ranking.data import read_split, read_texts
from contexture.tasks.ranking.evaluation import score_of, scorer
from contexture.tasks.ranking.finetune import HeldOut
from contexture.tasks.ranking.task import AnswerRankingTask
from tests.tasks.ranking import toys
from tests.tasks.ranking.test_files import HOTPOT
from tests.training.toys import OPTIMIZER, PRETRAIN, configured, transformer

TASK = AnswerRankingTask()
SETTINGS = toys.settings()
METRICS = {"recall_at_1", "recall_at_20", "mrr"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sets, two encoders, and what was fine-tuned of each on one of the sets."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "hotpot.json").write_text(json.dumps([HOTPOT]), encoding="utf-8")
    sets = {
        "mine": {"format": "squad", "files": str(toys.squad(folder / "all.json"))},
        "hotpot": {"format": "hotpotqa", "files": {"test": str(folder / "hotpot.json")}},
        "gone": {"format": "wikiqa", "files": str(folder / "none")},
    }
    toys.read(folder / "data", sets)
    words = toys.vocabulary(folder / "words")
    for name, config in (("cross", toys.CROSS), ("bag", toys.BAG)):
        toys.new_encoder(folder / name, words, config)
    for contestant in contestants(folder)[:2]:
        assert contestant.finetuned is not None
        (contestant.finetuned / "mine").mkdir(parents=True)
        TASK.finetune(SETTINGS, "mine", contestant, folder / "data", contestant.finetuned / "mine")
    return folder


def contestants(project: Path) -> list[Contestant]:
    tuned = [Contestant(name, 0, (str(project / name),), project / "tuned" / name) for name in ("cross", "bag")]
    return [*tuned, Contestant("both", 1, (str(project / "cross"), str(project / "bag")))]


@pytest.fixture(scope="module")
def results(project: Path) -> Results:
    settings = replace(SETTINGS, scores={"bag": "alpha"})
    return TASK.evaluate(settings, contestants(project), project / "data", project / "vectors")


def value(results: Results, variant: str, protocol: str = "frozen", metric: str = "mrr", data: str = "mine") -> float:
    (found,) = [
        record["value"]
        for record in results.records
        if (record["variant"], record["protocol"], record["metric"], record["data"])
        == (variant, protocol, metric, data)
        and record["seed"] == (1 if variant == "both" else 0)
    ]
    return float(found)


def test_every_contestant_set_protocol_and_metric_is_recorded(results: Results) -> None:
    table = pd.DataFrame(results.records)
    assert set(table["task"]) == {"ranking"} and set(table["split"]) == {"test"}
    assert table["value"].between(0, 1).all() and json.loads(json.dumps(results.records)) == results.records
    cells = table.groupby(["data", "variant", "seed", "protocol"])["metric"].agg(set)
    assert set(map(frozenset, cells)) == {frozenset(METRICS)}
    frozen = {
        ("cross", 0),
        ("bag", 0),
        ("both", 1),
        *((name, seed) for name in ("bm25", "random_order") for seed in (0, 1)),
    }
    by_score = {
        *(("cross", 0, f"by_{score}") for score in ("attention", "cosine", "dot")),
        *((name, seed, f"by_{score}") for name, seed in (("bag", 0), ("both", 1)) for score in ("cosine", "dot")),
    }
    assert set(cells.index) == {
        *((data, *cell) for data in ("mine", "hotpot") for cell in by_score),
        *((data, *one, "frozen") for data in ("mine", "hotpot") for one in frozen),
        ("mine", "cross", 0, "finetuned"),
        ("mine", "bag", 0, "finetuned"),
    }


@pytest.mark.parametrize("variant", ["cross", "bag"])
def test_fine_tuning_learns_from_questions(variant: str, project: Path) -> None:
    """The right candidates of test questions, which were not trained on, become more probable."""
    test, texts = read_split(project / "data/mine", "test"), read_texts(project / "data/mine")
    held_out = HeldOut(test, texts, 7, 0)
    before, after = (held_out.loss(load_encoder(project / part)) for part in (variant, f"tuned/{variant}/mine"))
    assert after < before - 0.2


def test_fine_tuned_attention_ranks_better(results: Results) -> None:
    assert value(results, "cross", "finetuned") > value(results, "cross") + 0.2


def test_what_needs_no_training(results: Results) -> None:
    assert value(results, "bm25") == 1  # the words of the question are the paragraph's
    assert value(results, "random_order") < 0.4
    assert value(results, "bm25", metric="recall_at_20", data="hotpot") == 1  # both of two, among three
    assert value(results, "bm25", metric="recall_at_1", data="hotpot") <= 0.5


def test_scores_are_said_and_what_was_not_to_be_had(results: Results) -> None:
    assert results.facts["scores"] == {
        "frozen": {"cross": "attention", "bag": "cosine", "both": "cosine"},
        "finetuned": {"cross": "attention", "bag": "inner product"},
    }
    assert results.facts["notes"] == [
        "mine: questions are split by a hash of their ids: 80 % train, 10 % dev, 10 % test",
        "mine: the candidates of a question are the first 1,000 of all texts that BM25 finds",
        "bag has no cross-sequence layers: its score is the cosine instead of attention",
    ]


def test_the_fallback_is_logged(project: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one = contestants(project)[1]
    with caplog.at_level(logging.WARNING):
        TASK.evaluate(toys.settings(scores={"bag": "alpha"}), [one], project / "data", tmp_path)
    assert "bag has no cross-sequence layers: its score is the cosine" in caplog.text
    with pytest.raises(ValueError, match="scores: no variant is called bga; there are"):
        toys.settings(scores={"bga": "dot"}).check_variants(["bag"])
    assert toys.settings(scores={"bag": "dot", "b": "dot"}).restricted(["b"]).scores == {"b": "dot"}


def test_ranks_are_those_of_slow_scores(results: Results, project: Path) -> None:
    """Of each test question: attention to its own candidates alone, and cosines."""
    found, texts = read_split(project / "data/mine", "test"), read_texts(project / "data/mine")
    ranks = (
        results.tables["ranks"]
        .query("data == 'mine' and protocol == 'frozen' and seed == 0")
        .set_index(["variant", "question_id"])
    )
    cross, bag = (load_encoder(project / name) for name in ("cross", "bag"))
    assert cross.cross is not None
    for number, name in enumerate(found.ids):
        candidates = [texts[row] for row in found.candidates[number]]
        right = [text in [texts[row] for row in found.right[number]] for text in candidates]
        pair = [
            (model.embed([found.texts[number]], "query"), model.embed(candidates, "document")) for model in (cross, bag)
        ]
        with torch.inference_mode():
            alpha = cross.cross.attention(*map(torch.from_numpy, pair[0]))[0].numpy()
        assert alpha.sum() == pytest.approx(1, abs=1e-5)
        for variant, scores in (("cross", alpha), ("bag", unit(pair[1][1]) @ unit(pair[1][0])[0])):
            best = max(score for score, is_right in zip(scores, right, strict=True) if is_right)
            rank = ranks["rank"].loc[variant, name]
            assert (scores > best + 1e-6).sum() < rank <= (scores > best - 1e-6).sum() + 1


def test_each_score_of_a_frozen_encoder_is_that_of_all_candidates_at_a_time(results: Results, project: Path) -> None:
    """Cosines and inner products as matrix products; the default score is one of them."""
    questions, texts = read_split(project / "data/mine", "test"), read_texts(project / "data/mine")
    table = results.tables["ranks"].query("data == 'mine' and seed == 0").set_index(["variant", "question_id"])
    for variant, default in (("cross", "by_attention"), ("bag", "by_cosine")):
        model = load_encoder(project / variant)
        queries, documents = model.embed(questions.texts, "query"), model.embed(texts, "document")
        products = queries.astype(np.float64) @ documents.astype(np.float64).T
        lengths = np.outer(np.linalg.norm(queries, axis=1), np.linalg.norm(documents, axis=1))
        for protocol, scores in (("by_dot", products), ("by_cosine", products / lengths)):
            ranks = table[table["protocol"] == protocol]["rank"].loc[variant]
            for number, name in enumerate(questions.ids):
                values, right = scores[number], questions.right[number]
                others = np.setdiff1d(questions.candidates[number], right)
                best = values[right].max()
                low, high = ((values[others] > best + margin).sum() for margin in (1e-5, -1e-5))
                assert low + 1 <= ranks[name] <= high + 1
        same = table.loc[[variant]].reset_index(drop=True)
        left, right_part = (same[same["protocol"] == name]["rank"].tolist() for name in ("frozen", default))
        assert left == right_part
    assert value(results, "cross", "by_attention") == value(results, "cross", "frozen")
    assert value(results, "cross", "by_attention") != value(results, "cross", "by_dot")


def test_inner_products_on_request(project: Path) -> None:
    model = load_encoder(project / "cross")
    assert score_of(model, "cross", False, toys.settings(scores={"cross": "dot"})) == ("dot", "")
    query, candidates = np.array([2.0, 1.0], np.float32), np.array([[1.0, 1.0], [4.0, 0.0]], np.float32)
    assert scorer(model, "dot")(query, candidates).tolist() == [3, 8]
    assert scorer(model, "cosine")(query, candidates).tolist() == pytest.approx([3 / 10**0.5, 2 / 5**0.5])


def test_examples_show_attention_beside_the_text(results: Results, project: Path) -> None:
    shown = dict(zip(("mine", "hotpot"), results.facts["examples"], strict=True))
    assert shown["mine"]["protocol"] == "finetuned" and shown["hotpot"]["protocol"] == "frozen"
    rows = shown["mine"]["answered"] + shown["mine"]["missed"]
    assert rows and all(len(row["question"].split()) == 4 for row in rows)
    said = "attention" if shown["mine"]["variant"] == "cross" else "inner product"
    assert all(f"({said} " in row["found"] and f"({said} " in row["right"] for row in rows)


def test_confidence_agrees_with_the_records(results: Results, project: Path) -> None:
    """The means over questions are the recorded values; 20 paragraphs with one right: chance is 1 of 20."""
    blocks = results.facts["confidence"]["mine"]
    assert list(blocks) == ["frozen", "by_attention", "by_cosine", "by_dot", "finetuned"]
    for protocol, variant in (("frozen", "cross"), ("by_dot", "bag"), ("finetuned", "bag"), ("frozen", "bm25")):
        for metric in METRICS:
            mean, low, high = blocks[protocol]["variants"][variant]["means"][metric]
            assert mean == pytest.approx(value(results, variant, protocol, metric)) and low <= mean <= high
    candidates = [len(rows) for rows in read_split(project / "data/mine", "test").candidates]
    assert blocks["frozen"]["chance"]["recall_at_1"] == pytest.approx(np.mean([1 / count for count in candidates]))
    assert blocks["frozen"]["variants"]["bm25"]["over_chance"]["mrr"][1] > 0
    assert blocks["finetuned"]["variants"]["cross"]["over_bm25"]["mrr"][2] <= 0  # BM25 is always right
    assert json.loads(json.dumps(blocks)) == blocks


def test_vectors_are_kept(project: Path, results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates are not embedded again, each of them once before."""
    asked: list[int] = []
    embed = type(load_encoder(project / "cross")).embed

    def counted(self: Any, texts: Any, role: Any = None) -> Any:
        asked.append(len(texts))
        return embed(self, texts, role)

    monkeypatch.setattr("contexture.encoders.base.Encoder.embed", counted)
    again = TASK.evaluate(SETTINGS, contestants(project)[:1], project / "data", project / "vectors")
    questions = [len(read_split(project / "data" / name, "test")) for name in ("mine", "hotpot")]
    assert sorted(asked) == sorted([1, questions[0], 1, questions[0], 1, questions[1]])
    assert [one for one in again.records if one["variant"] == "cross"] == [
        one for one in results.records if one["variant"] == "cross"
    ]


def test_changed_questions_are_fine_tuned_on_again(project: Path, tmp_path: Path) -> None:
    """Also where as many are left, so that the counts are the same; they lie in a folder of their own."""
    config = configured(
        lengths={"query": 12, "document": 24},
        encoders={"transformer": transformer()},
        streams={},
        pretrain=PRETRAIN | {"optimizer": OPTIMIZER, "runs": {"none": {"schedule": []}}},
        tasks={"ranking": asdict(toys.settings(steps=2, evaluate_every=1))},
    )
    (tmp_path / "config.json").write_text(json.dumps(config.plain()))
    told = ["train", "finetune", "--config", str(tmp_path / "config.json"), "--variant", "none", "--task", "ranking"]
    told += ["--data", str(tmp_path / "data"), "--encoders", str(project / "bag"), "--output", str(tmp_path / "model")]

    def trained() -> int:
        main(told)
        return (tmp_path / "model/model.safetensors").stat().st_mtime_ns

    toys.write_data(tmp_path / "data")
    before = trained()
    assert trained() == before
    file = tmp_path / "data/mine/questions.parquet"
    table = pd.read_parquet(file)
    table["right"] = table["candidates"].map(lambda rows: rows[-1:])
    table.to_parquet(file)
    assert trained() != before


def test_what_cannot_be_fine_tuned_is_named(project: Path, tmp_path: Path) -> None:
    assert TASK.options(SETTINGS, None) == ["mine"]
    TASK.check(toys.settings(finetune=["mine", "gone"]), project / "data")
    with pytest.raises(ValueError, match=r"no set is called yours; ranking.input has \['mine', 'hotpot', 'gone'\]"):
        TASK.check(toys.settings(finetune=["yours"]), project / "data")
    with pytest.raises(ValueError, match="hotpot has no train question with a right and a wrong candidate"):
        TASK.check(toys.settings(finetune=["hotpot"]), project / "data")
    with pytest.raises(ValueError, match="one stands there twice"):
        toys.settings(finetune=["mine", "mine"])


def test_a_set_without_test_questions_is_said_not_to_be_measured(project: Path, tmp_path: Path) -> None:
    files = {"train": str(toys.squad(tmp_path / "all.json", 40))}
    toys.read(tmp_path / "data", {"mine": {"format": "squad", "files": files}})
    found = TASK.evaluate(SETTINGS, contestants(project), tmp_path / "data", tmp_path / "vectors")
    assert found.records == []
    assert found.facts["notes"][-1] == "mine: nothing is measured, as no test question has candidates"
