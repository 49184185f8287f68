"""Candidates of frozen and of fine-tuned encoders."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from contexture.encoders.files import load_encoder
from contexture.tasks.base import Contestant, Results
from contexture.tasks.finetuned import Step
from contexture.tasks.ranking.config import Pools, RankingConfig, RankingSet
from contexture.tasks.ranking.data import POOLS_FILE, PROTOCOLS, read_split, read_texts
from contexture.tasks.ranking.finetune import RankedQuestions
from contexture.tasks.ranking.task import AnswerRankingTask
from tests.tasks.ranking import toys

TASK = AnswerRankingTask()
FROZEN, FINETUNED = 3, 8


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set with two pools, the same set with one pool, and a fine-tuned encoder."""
    folder = tmp_path_factory.mktemp("pools")
    file = {"format": "squad", "files": str(toys.squad(folder / "all.json"))}
    sets = {
        "mine": file | {"pool": {"frozen": FROZEN, "finetuned": FINETUNED}},
        "large": file | {"pool": FINETUNED},
        "small": file | {"pool": FROZEN},
    }
    toys.read(folder / "data", sets)
    toys.new_encoder(folder / "bag", toys.vocabulary(folder / "words"), toys.BAG)
    (folder / "tuned/mine").mkdir(parents=True)
    encoder = Contestant("bag", 0, (str(folder / "bag"),), folder / "tuned")
    TASK.finetune(toys.settings(steps=4), "mine", encoder, folder / "data", folder / "tuned/mine")
    return folder


@pytest.fixture(scope="module")
def results(project: Path) -> Results:
    tuned = Contestant("bag", 0, (str(project / "bag"),), project / "tuned")
    return TASK.evaluate(toys.settings(), [tuned], project / "data", project / "vectors")


def test_one_number_is_for_both_protocols() -> None:
    assert RankingSet("wikiqa", "a").pools is None
    assert RankingSet("squad", "a").pools == Pools(1000, 1000)
    assert RankingSet("hotpotqa", "a", 7).pools == Pools(7, 7)
    pools = Pools(frozen=200, finetuned=1000)
    assert RankingSet("hotpotqa", "a", pools).pools == pools
    assert (pools.largest, pools.smallest, pools.size("frozen"), pools.size("finetuned")) == (1000, 200, 200, 1000)
    read = TypeAdapter(RankingSet).validate_python(
        {"format": "squad", "files": "a", "pool": {"frozen": 200, "finetuned": 1000}}
    )
    assert read.pool == pools


@pytest.mark.parametrize(
    ("pool", "message"),
    [({"frozen": 2}, "finetuned"), ({"frozen": 2, "finetuned": 0}, "greater than 0"), ({"dev": 2}, "dev")],
)
def test_impossible_pools_are_named(pool: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TypeAdapter(RankingConfig).validate_python({"input": {"a": {"format": "squad", "files": "b", "pool": pool}}})


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_protocols_read_the_first_candidates_of_one_table(split: Any, project: Path) -> None:
    stored = pd.read_parquet(project / "data/mine/questions.parquet").set_index("question_id")["candidates"]
    for protocol, pool, same in zip(PROTOCOLS, (FROZEN, FINETUNED), ("small", "large"), strict=True):
        questions = read_split(project / "data/mine", split, protocol)
        alone = read_split(project / "data" / same, split)
        assert questions.ids == alone.ids
        for name, rows, expected in zip(questions.ids, questions.candidates, alone.candidates, strict=True):
            assert rows.tolist() == expected.tolist() == stored[name].tolist()[:pool]
    assert max(map(len, stored)) == FINETUNED


def test_a_set_with_one_pool_has_no_further_file(project: Path) -> None:
    assert json.loads((project / "data/mine" / POOLS_FILE).read_text()) == {"frozen": FROZEN, "finetuned": FINETUNED}
    assert not (project / "data/large" / POOLS_FILE).exists()
    assert [rows.tolist() for rows in read_split(project / "data/large", "test", "frozen").candidates] == [
        rows.tolist() for rows in read_split(project / "data/large", "test").candidates
    ]


def test_notes_and_counts_name_both_pools(project: Path) -> None:
    report = json.loads((project / "data/task.json").read_text())
    assert (
        "mine: frozen encoders rank the first 3 of all texts that BM25 finds, fine-tuned encoders the first 8, from "
        "which their training draws wrong candidates"
    ) in report["notes"]
    stored = pd.read_parquet(project / "data/mine/questions.parquet").query("split == 'train'")
    counts = report["counts"]["mine"]
    for label, pool in (("frozen", FROZEN), ("fine-tuned", FINETUNED)):
        lost = sum(
            len(set(right) - set(rows[:pool]))
            for right, rows in zip(stored["right"], stored["candidates"], strict=True)
        )
        name = f"right candidates of train questions that are not among theirs, {label}"
        assert counts.get(name, 0) == lost


def test_training_draws_from_the_finetuned_pool(project: Path) -> None:
    train = read_split(project / "data/mine", "train", "finetuned")
    settings = toys.settings(negatives=FINETUNED)
    texts = read_texts(project / "data/mine")
    questions = RankedQuestions(train, texts, load_encoder(project / "bag", head=False), settings)
    columns = questions.training_batch(Step(np.arange(16), 0, 0, 0, 1))["columns"]
    assert columns.shape == (16, FINETUNED)  # a right candidate, and all wrong ones of the pool


def test_each_protocol_ranks_its_pool(results: Results, project: Path) -> None:
    """The first right candidate of BM25 is at its position in the order of the pool."""
    ranks = results.tables["ranks"].query("data == 'mine'").set_index(["protocol", "variant", "question_id"])["rank"]
    for protocol, pool in zip(PROTOCOLS, (FROZEN, FINETUNED), strict=True):
        assert set(ranks[protocol].index.get_level_values("variant")) == {"bag", "bm25", "random_order"}
        assert ranks[protocol].max() <= pool
        questions = read_split(project / "data/mine", "test", protocol)
        for name, rows, right in zip(questions.ids, questions.candidates, questions.right, strict=True):
            matches = np.flatnonzero(np.isin(rows, right))
            for variant in ("random_order", "bag"):
                assert (ranks[protocol, variant, name] > 0) == bool(len(matches))
            if len(matches):
                assert ranks[protocol, "bm25", name] >= matches[0] + 1  # ties put the right candidate last
    single = results.tables["ranks"].query("data == 'large' and variant == 'bm25'")
    assert set(single["protocol"]) == {"frozen"}


def test_baselines_have_one_protocol_without_fine_tuning(project: Path, tmp_path: Path) -> None:
    frozen = Contestant("bag", 0, (str(project / "bag"),))
    results = TASK.evaluate(replace(toys.settings(), finetune=[]), [frozen], project / "data", tmp_path)
    assert {record["protocol"] for record in results.records if record["variant"] == "bm25"} == {"frozen"}
