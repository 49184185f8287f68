"""Candidates of frozen and fine-tuned encoders."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from contexture.encoders.files import load_encoder
from contexture.tasks.base import EvaluatedEncoder, Results
from contexture.tasks.finetuned import Step
from contexture.tasks.ranking.config import Pools, RankingConfig, RankingSet
from contexture.tasks.ranking.data import POOLS_FILE, PROTOCOLS, read_split, read_texts
from contexture.tasks.ranking.finetune import RankingExamples
from contexture.tasks.ranking.task import AnswerRankingTask
from tests.tasks.ranking import toys

TASK = AnswerRankingTask()
POOLS = {"frozen": 3, "finetuned": 8}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set with two pools, the same set with one pool, and a fine-tuned encoder."""
    folder = tmp_path_factory.mktemp("pools")
    file = {"format": "squad", "files": str(toys.squad(folder / "all.json"))}
    pools = {"mine": POOLS, "finetuned": 8, "frozen": 3}
    toys.read(folder / "data", {name: file | {"pool": pool} for name, pool in pools.items()})
    toys.new_encoder(folder / "bag", toys.vocabulary(folder / "words"), toys.BAG)
    (folder / "tuned/mine").mkdir(parents=True)
    encoder = EvaluatedEncoder("bag", 0, (str(folder / "bag"),), folder / "tuned")
    TASK.finetune(toys.settings(steps=4), "mine", encoder, folder / "data", folder / "tuned/mine")
    return folder


@pytest.fixture(scope="module")
def results(project: Path) -> Results:
    tuned = EvaluatedEncoder("bag", 0, (str(project / "bag"),), project / "tuned")
    return TASK.evaluate(toys.settings(), [tuned], project / "data", project / "vectors")


def test_one_number_sets_both_pools() -> None:
    assert RankingSet("wikiqa", "a").pools is None
    assert RankingSet("squad", "a").pools == Pools(1000, 1000)
    assert RankingSet("hotpotqa", "a", 7).pools == Pools(7, 7)
    sizes = {"frozen": 200, "finetuned": 1000}
    pools = TypeAdapter(RankingSet).validate_python({"format": "hotpotqa", "files": "a", "pool": sizes}).pools
    assert pools == Pools(frozen=200, finetuned=1000)
    assert (pools.largest, pools.smallest, pools.size("frozen"), pools.size("finetuned")) == (1000, 200, 200, 1000)


@pytest.mark.parametrize(
    ("pool", "message"),
    [({"frozen": 2}, "finetuned"), ({"frozen": 2, "finetuned": 0}, "greater than 0"), ({"dev": 2}, "dev")],
)
def test_errors_name_impossible_pools(pool: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TypeAdapter(RankingConfig).validate_python({"input": {"a": {"format": "squad", "files": "b", "pool": pool}}})


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_protocols_read_the_first_candidates_of_one_table(split: Any, project: Path) -> None:
    stored = pd.read_parquet(project / "data/mine/questions.parquet").set_index("question_id")["candidates"]
    for protocol in PROTOCOLS:
        questions = read_split(project / "data/mine", split, protocol)
        single = read_split(project / "data" / protocol, split)  # a set with only this pool
        assert questions.ids == single.ids
        for name, rows, expected in zip(questions.ids, questions.candidates, single.candidates, strict=True):
            assert rows.tolist() == expected.tolist() == stored[name].tolist()[: POOLS[protocol]]
    assert max(map(len, stored)) == POOLS["finetuned"]


def test_a_set_with_one_pool_has_no_further_file(project: Path) -> None:
    assert json.loads((project / "data/mine" / POOLS_FILE).read_text()) == POOLS
    folder = project / "data/finetuned"
    assert not (folder / POOLS_FILE).exists()
    frozen, stored = (read_split(folder, "test", protocol).candidates for protocol in ("frozen", None))
    assert [rows.tolist() for rows in frozen] == [rows.tolist() for rows in stored]


def test_notes_and_counts_name_both_pools(project: Path) -> None:
    report = json.loads((project / "data/task.json").read_text())
    assert (
        "mine: frozen encoders rank the first 3 of all texts that BM25 finds, fine-tuned encoders the first 8, from "
        "which their training draws wrong candidates"
    ) in report["notes"]
    stored = pd.read_parquet(project / "data/mine/questions.parquet").query("split == 'train'")
    for protocol, label in PROTOCOLS.items():
        pairs = zip(stored["right"], stored["candidates"], strict=True)
        lost = sum(len(set(right) - set(rows[: POOLS[protocol]])) for right, rows in pairs)
        name = f"right candidates of train questions that are not among theirs, {label}"
        assert report["counts"]["mine"].get(name, 0) == lost


def test_training_draws_from_the_finetuned_pool(project: Path) -> None:
    train, texts = read_split(project / "data/mine", "train", "finetuned"), read_texts(project / "data/mine")
    encoder, settings = load_encoder(project / "bag", head=False), toys.settings(negatives=POOLS["finetuned"])
    batch = RankingExamples(train, texts, encoder, settings).training_batch(Step(np.arange(16), 0, 0, 0, 1))
    assert batch["columns"].shape == (16, 8)  # a right candidate, and all wrong ones of the pool


def test_each_protocol_ranks_its_pool(results: Results, project: Path) -> None:
    """BM25's rank of a right candidate is its position in the pool."""
    ranks = results.tables["ranks"].query("data == 'mine'").set_index(["protocol", "variant", "question_id"])["rank"]
    for protocol in PROTOCOLS:
        assert set(ranks[protocol].index.get_level_values("variant")) == {"bag", "bm25", "random_order"}
        assert ranks[protocol].max() <= POOLS[protocol]
        questions = read_split(project / "data/mine", "test", protocol)
        for name, rows, right in zip(questions.ids, questions.candidates, questions.right, strict=True):
            matches = np.flatnonzero(np.isin(rows, right))
            assert all(
                (ranks[protocol, variant, name] > 0) == bool(len(matches)) for variant in ("random_order", "bag")
            )
            # Ties put the right candidate last.
            assert not len(matches) or ranks[protocol, "bm25", name] >= matches[0] + 1
    single = results.tables["ranks"].query("data == 'finetuned' and variant == 'bm25'")
    assert set(single["protocol"]) == {"frozen"}


def test_baselines_have_one_protocol_without_fine_tuning(project: Path, tmp_path: Path) -> None:
    frozen = EvaluatedEncoder("bag", 0, (str(project / "bag"),))
    results = TASK.evaluate(toys.settings(finetune=[]), [frozen], project / "data", tmp_path)
    assert {record["protocol"] for record in results.records if record["variant"] == "bm25"} == {"frozen"}
