"""Answer ranking as a task: fine-tuning, and from files to records."""

import json
import logging
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from contexture.commands.main import main
from contexture.encoders.files import load_encoder
from contexture.tasks.base import EvaluatedEncoder, Results
from contexture.tasks.ranking.data import Questions, read_split, read_texts
from contexture.tasks.ranking.evaluation import choose_score, make_score_function
from contexture.tasks.ranking.finetune import RankingDevSet
from contexture.tasks.ranking.task import AnswerRankingTask
from tests.tasks.ranking import toys
from tests.tasks.ranking.test_files import HOTPOT
from tests.training.toys import OPTIMIZER, PRETRAIN, make_system, transformer

TASK = AnswerRankingTask()
SETTINGS = toys.settings()
METRICS = {"recall_at_1", "recall_at_20", "mrr"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sets, two encoders, and their models fine-tuned on one set."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "hotpot.json").write_text(json.dumps([HOTPOT]), encoding="utf-8")
    sets = {
        "mine": {"format": "squad", "files": str(toys.squad(folder / "all.json"))},
        "hotpot": {"format": "hotpotqa", "files": {"test": str(folder / "hotpot.json")}},
        "gone": {"format": "wikiqa", "files": str(folder / "none")},
    }
    toys.read(folder / "data", sets)
    words = toys.vocabulary(folder / "words")
    for encoder, config in zip(make_encoders(folder), (toys.CROSS, toys.BAG), strict=False):
        toys.new_encoder(folder / encoder.variant, words, config)
        output = folder / "tuned" / encoder.variant / "mine"
        output.mkdir(parents=True)
        TASK.finetune(SETTINGS, "mine", encoder, folder / "data", output)
    return folder


def make_encoders(project: Path) -> list[EvaluatedEncoder]:
    tuned = [EvaluatedEncoder(name, 0, (str(project / name),), project / "tuned" / name) for name in ("cross", "bag")]
    return [*tuned, EvaluatedEncoder("both", 1, (str(project / "cross"), str(project / "bag")))]


@pytest.fixture(scope="module")
def results(project: Path) -> Results:
    return TASK.evaluate(
        toys.settings(scores={"bag": "alpha"}), make_encoders(project), project / "data", project / "vectors"
    )


@pytest.fixture(scope="module")
def questions(project: Path) -> Questions:
    return read_split(project / "data/mine", "test")


@pytest.fixture(scope="module")
def texts(project: Path) -> list[str]:
    return read_texts(project / "data/mine")


def get_value(
    results: Results, variant: str, protocol: str = "frozen", metric: str = "mrr", data: str = "mine"
) -> float:
    key = {"variant": variant, "protocol": protocol, "metric": metric, "data": data, "seed": int(variant == "both")}
    (record,) = [record for record in results.records if key.items() <= record.items()]
    return float(record["value"])


def test_every_variant_set_protocol_and_metric_is_recorded(results: Results) -> None:
    table = pd.DataFrame(results.records)
    assert set(table["task"]) == {"ranking"} and set(table["split"]) == {"test"}
    assert table["value"].between(0, 1).all() and json.loads(json.dumps(results.records)) == results.records
    cells = table.groupby(["data", "variant", "seed", "protocol"])["metric"].agg(set)
    assert set(map(frozenset, cells)) == {frozenset(METRICS)}
    encoders = [("cross", 0), ("bag", 0), ("both", 1)]
    rows = [
        *((*run, protocol) for run in encoders for protocol in ("frozen", "by_cosine", "by_dot")),
        ("cross", 0, "by_attention"),
        *product(("bm25", "random_order"), (0, 1), ("frozen",)),
    ]
    assert set(cells.index) == {
        *((data, *row) for data in ("mine", "hotpot") for row in rows),
        *(("mine", name, 0, "finetuned") for name in ("cross", "bag")),
    }


@pytest.mark.parametrize("variant", ["cross", "bag"])
def test_fine_tuning_learns_from_questions(variant: str, project: Path, questions: Questions, texts: list[str]) -> None:
    """The right candidates of test questions become more probable."""
    held_out = RankingDevSet(questions, texts, 7, 0)
    start, tuned = (held_out.loss(load_encoder(project / part)) for part in (variant, f"tuned/{variant}/mine"))
    assert tuned < start - 0.2


def test_fine_tuned_attention_ranks_better_and_baselines_need_no_training(results: Results) -> None:
    assert get_value(results, "cross", "finetuned") > get_value(results, "cross") + 0.2
    assert get_value(results, "bm25") == 1  # the words of the question are the paragraph's
    assert get_value(results, "random_order") < 0.4
    assert get_value(results, "bm25", metric="recall_at_20", data="hotpot") == 1  # both of two, among three
    assert get_value(results, "bm25", metric="recall_at_1", data="hotpot") <= 0.5


def test_scores_and_fallbacks_are_noted(results: Results, project: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert results.details["scores"] == {
        "frozen": {"cross": "attention", "bag": "cosine", "both": "cosine"},
        "finetuned": {"cross": "attention", "bag": "inner product"},
    }
    fallback = "bag has no cross-sequence layers: its score is the cosine instead of attention"
    assert results.details["notes"] == [
        "mine: questions are split by a hash of their ids: 80 % train, 10 % dev, 10 % test",
        "mine: the candidates of a question are the first 1,000 of all texts that BM25 finds",
        fallback,
    ]
    settings = toys.settings(scores={"bag": "alpha"})
    with caplog.at_level(logging.WARNING):
        TASK.evaluate(settings, make_encoders(project)[1:2], project / "data", project / "vectors")
    assert fallback in caplog.text


def test_scores_name_variants() -> None:
    with pytest.raises(ValueError, match=r"scores\n.*unknown variant 'bga'; did you mean 'bag'"):
        toys.settings(scores={"bga": "dot"}).check_variants(["bag"])
    assert toys.settings(scores={"bag": "dot", "b": "dot"}).restrict_variants(["b"]).scores == {"b": "dot"}


def test_ranks_match_scores_by_loops(results: Results, project: Path, questions: Questions, texts: list[str]) -> None:
    """Attention to the question's candidates, cosines and inner products; the default is one of them."""
    table = results.tables["ranks"].query("data == 'mine' and seed == 0").set_index(["variant", "question_id"])
    for variant, default in (("cross", "by_attention"), ("bag", "by_cosine")):
        model = load_encoder(project / variant)
        ranks = {name: part["rank"].loc[variant] for name, part in table.groupby("protocol") if variant in part.index}
        assert ranks["frozen"].to_dict() == ranks[default].to_dict()
        for number, name in enumerate(questions.ids):
            rows = questions.candidates[number]
            query = model.embed([questions.texts[number]], "query")
            candidates = model.embed([texts[row] for row in rows], "document")
            products = candidates.astype(np.float64) @ query[0].astype(np.float64)
            lengths = np.linalg.norm(candidates, axis=1) * np.linalg.norm(query)
            scores = {"by_dot": products, "by_cosine": products / lengths}
            if model.cross is not None:
                with torch.inference_mode():
                    pair = map(torch.from_numpy, (query, candidates))
                    scores["by_attention"] = model.cross.log_attention(*pair).exp()[0].numpy()
                assert scores["by_attention"].sum() == pytest.approx(1, abs=1e-5)
            for protocol, values in scores.items():
                right = np.isin(rows, questions.right[number])
                low, high = ((values[~right] > values[right].max() + margin).sum() for margin in (1e-5, -1e-5))
                assert low + 1 <= ranks[protocol][name] <= high + 1
    assert get_value(results, "cross", "by_attention") == get_value(results, "cross", "frozen")
    assert get_value(results, "cross", "by_attention") != get_value(results, "cross", "by_dot")


def test_inner_products_on_request(project: Path) -> None:
    model = load_encoder(project / "cross")
    assert choose_score(model, "cross", False, toys.settings(scores={"cross": "dot"})) == ("dot", "")
    query, candidates = np.array([2.0, 1.0], np.float32), np.array([[1.0, 1.0], [4.0, 0.0]], np.float32)
    assert make_score_function(model, "dot")(query, candidates).tolist() == [3, 8]
    assert make_score_function(model, "cosine")(query, candidates).tolist() == pytest.approx([3 / 10**0.5, 2 / 5**0.5])


def test_examples_show_the_score_of_each_text(results: Results) -> None:
    mine, hotpot = results.details["examples"]
    assert (mine["protocol"], hotpot["protocol"]) == ("finetuned", "frozen")
    rows = mine["answered"] + mine["missed"]
    assert rows and all(len(row["question"].split()) == 4 for row in rows)
    score = "attention" if mine["variant"] == "cross" else "inner product"
    assert all(f"({score} " in row["predicted"] and f"({score} " in row["right"] for row in rows)


def test_confidence_agrees_with_the_records(results: Results, questions: Questions) -> None:
    """Means over questions equal the records; with 20 paragraphs, chance is 1 of 20."""
    blocks = results.details["confidence"]["mine"]
    assert list(blocks) == ["frozen", "by_attention", "by_cosine", "by_dot", "finetuned"]
    for protocol, variant in (("frozen", "cross"), ("by_dot", "bag"), ("finetuned", "bag"), ("frozen", "bm25")):
        for metric in METRICS:
            mean, low, high = blocks[protocol]["variants"][variant]["means"][metric]
            assert mean == pytest.approx(get_value(results, variant, protocol, metric)) and low <= mean <= high
    chance = np.mean([1 / len(rows) for rows in questions.candidates])
    assert blocks["frozen"]["chance"]["recall_at_1"] == pytest.approx(chance)
    assert blocks["frozen"]["variants"]["bm25"]["over_chance"]["mrr"][1] > 0
    assert blocks["finetuned"]["variants"]["cross"]["over_bm25"]["mrr"][2] <= 0  # BM25 is always right
    assert json.loads(json.dumps(blocks)) == blocks


def test_vectors_are_kept(project: Path, results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates are embedded once."""
    sizes: list[int] = []
    embed = type(load_encoder(project / "cross")).embed

    def counted(self: Any, texts: Any, role: Any = None) -> Any:
        sizes.append(len(texts))
        return embed(self, texts, role)

    monkeypatch.setattr("contexture.encoders.base.Encoder.embed", counted)
    again = TASK.evaluate(SETTINGS, make_encoders(project)[:1], project / "data", project / "vectors")
    counts = [len(read_split(project / "data" / name, "test")) for name in ("mine", "hotpot")]
    assert sorted(sizes) == sorted([1, counts[0], 1, counts[0], 1, counts[1]])
    of_cross = [[row for row in records if row["variant"] == "cross"] for records in (again.records, results.records)]
    assert of_cross[0] == of_cross[1]


def test_changed_questions_are_fine_tuned_on_again(project: Path, tmp_path: Path) -> None:
    """Also if the number of questions is unchanged."""
    config = make_system(
        lengths={"query": 12, "document": 24},
        encoders={"transformer": transformer()},
        streams={},
        pretrain=PRETRAIN | {"optimizer": OPTIMIZER, "runs": {"none": {"schedule": []}}},
        tasks={"ranking": asdict(toys.settings(steps=2, evaluate_every=1))},
    )
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()))
    arguments = ["train", "finetune", "--variant", "none", "--task", "ranking", "--encoders", str(project / "bag")]
    for option, name in (("config", "config.json"), ("data", "data"), ("output", "model")):
        arguments += [f"--{option}", str(tmp_path / name)]

    toys.write_data(tmp_path / "data")
    main(arguments)
    kept = tmp_path / "model/kept"
    kept.touch()
    main(arguments)
    assert kept.exists()
    file = tmp_path / "data/mine/questions.parquet"
    table = pd.read_parquet(file)
    table["right"] = table["candidates"].map(lambda rows: rows[-1:])
    table.to_parquet(file)
    main(arguments)
    assert not kept.exists() and (tmp_path / "model/model.safetensors").exists()


def test_errors_name_sets_without_training_questions(project: Path) -> None:
    assert TASK.list_options(SETTINGS, None) == ["mine"]
    TASK.check_settings(toys.settings(finetune=["mine", "gone"]), project / "data")
    for name, message in (
        ("yours", r"unknown set yours; ranking.input has \['mine', 'hotpot', 'gone'\]"),
        ("hotpot", "hotpot has no train question with a right and a wrong candidate"),
    ):
        with pytest.raises(ValueError, match=message):
            TASK.check_settings(toys.settings(finetune=[name]), project / "data")
    with pytest.raises(ValueError, match="listed twice"):
        toys.settings(finetune=["mine", "mine"])


def test_a_set_without_test_questions_is_noted(project: Path, tmp_path: Path) -> None:
    files = {"train": str(toys.squad(tmp_path / "all.json", 40))}
    toys.read(tmp_path / "data", {"mine": {"format": "squad", "files": files}})
    results = TASK.evaluate(SETTINGS, make_encoders(project), tmp_path / "data", tmp_path / "vectors")
    assert results.records == []
    assert results.details["notes"][-1] == "mine: nothing is measured: no test question has candidates"
