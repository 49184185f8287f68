"""The stage `adopt`: the encoder that held-out documents speak for becomes the one that searches."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from contexture.pipelines.adopt import create_pipeline
from contexture.pipelines.adopt.nodes import adopt
from contexture.pipelines.named import name_group
from contexture.systems.resolved import ResolvedSystem
from tests.training.toys import PRETRAIN, STREAMS, configured, schedule, transformer


def record(variant: str, value: float, data: str = "headings", **others: Any) -> dict[str, Any]:
    return {"variant": variant, "seed": 0, "data": data, "metric": "ndcg_at_10", "value": value} | others


RECORDS = [
    record("bm25", 0.25),
    record("a", 0.5),
    record("a+bm25", 0.625),
    record("b", 0.125),
    record("b+bm25", 0.375),
    record("bm25", 0.5, "questions"),
    record("a", 0.75, "questions"),
    record("a", 0.99, seed=1),
    record("a", 0.98, metric="recall_at_10"),
]


def measured(place: Path, means: Mapping[str, float] | None) -> Path:
    place.mkdir()
    details = {} if means is None else {"advice": {"means": means, "encoder": "whatever is best"}}
    (place / "details.json").write_text(json.dumps(details))
    (place / "records.json").write_text(json.dumps([] if means is None else RECORDS))
    return place


def trained(place: Path, *runs: str) -> dict[str, Path]:
    for run in runs:
        for seed in (0, 1):
            folder = place / run / f"seed-{seed}"
            (folder / "vocabulary").mkdir(parents=True)
            (folder / "vocabulary/words.json").write_text(f"words of {run}, {seed}")
            (folder / "README.md").write_text(f"# {run}, {seed}\n")
    return {run: place / run for run in runs}


@pytest.mark.parametrize(
    ("means", "best"),
    [
        ({"bm25": 0.9, "a": 0.5, "a+bm25": 0.6, "b": 0.1, "b+bm25": 0.7}, "b"),
        ({"bm25": 0.1, "a": 0.8, "a+bm25": 0.6, "b": 0.1, "b+bm25": 0.7}, "a"),
        # What was published is measured beside, and no run of ours.
        ({"bm25": 0.1, "hub": 0.9, "hub+bm25": 0.9, "a": 0.2, "a+bm25": 0.1, "b": 0.1, "b+bm25": 0.3}, "b"),
        (None, "a"),
    ],
)
def test_the_best_run_of_the_first_seed_is_copied(means: dict[str, float] | None, best: str, tmp_path: Path) -> None:
    runs = trained(tmp_path / "pretrained", "a", "b")
    place = tmp_path / "adopted"
    assert adopt("held_out", measured(tmp_path / "results", means), place, **name_group("encoders", runs)) == place
    assert (place / "vocabulary/words.json").read_text() == f"words of {best}, 0"
    card = (place / "README.md").read_text()
    assert card.startswith(f"# {best}, 0\n") and ("## What it finds" in card) == (means is not None)
    assert (runs["a"] / "seed-0/README.md").read_text() == "# a, 0\n"


def test_what_was_adopted_before_is_replaced(tmp_path: Path) -> None:
    runs, results, place = (
        trained(tmp_path / "pretrained", "a"),
        measured(tmp_path / "results", None),
        tmp_path / "adopted",
    )
    place.mkdir()
    (place / "of another.txt").touch()
    adopt("held_out", results, place, **name_group("encoders", runs))
    assert sorted(file.name for file in place.iterdir()) == ["README.md", "vocabulary"]


def system(**others: Any) -> ResolvedSystem:
    runs = {name: schedule(mlm=1) for name in ("a", "b")}
    config = configured(
        lengths={"query": 8, "document": 16},
        encoders={"transformer": transformer()},
        streams={name: STREAMS[name] for name in ("passages", "pairs")},
        pretrain=PRETRAIN | {"runs": runs, "optimizer": {"learning_rate": 1e-3}},
        **others,
    )
    return ResolvedSystem("own", config)


def test_there_is_something_to_adopt_only_where_the_best_searches() -> None:
    assert not create_pipeline(system(tasks={"held_out": {}}, search="a")).nodes
    more = {"hub": {"model": "some/model"}, "both": {"runs": ["a", "b"]}}
    (node,) = create_pipeline(system(tasks={"held_out": {}}, search="best", more_variants=more)).nodes
    assert [name.removeprefix("own.") for name in node.inputs] == [
        "held_out-results",
        "params:own.adopted_place",
        "a-pretrained",
        "b-pretrained",
    ]


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({}, "needs the task held_out; add it to the system"),
        ({"tasks": {"held_out": {}}, "variants": {"both": {"runs": ["a", "b"]}}}, "best needs a variant in held_out"),
    ],
)
def test_the_best_must_be_there_to_be_found(others: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        system(search="best", **others)
