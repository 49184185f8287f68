"""The stage `export`: the best encoder on held-out documents becomes the search encoder."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard
from pydantic import ValidationError

from contexture.pipelines.export.nodes import export
from contexture.pipelines.export.pipeline import create_pipeline
from contexture.pipelines.named import name_group
from contexture.systems.resolved import ResolvedSystem
from tests.training.toys import PRETRAIN, STREAMS, make_system, schedule, transformer


def record(variant: str, value: float, data: str = "headings", **changes: Any) -> dict[str, Any]:
    return {"variant": variant, "seed": 0, "data": data, "metric": "ndcg_at_10", "value": value} | changes


MEANS = {"bm25": 0.25, "a": 0.5, "a+bm25": 0.625, "b": 0.125, "b+bm25": 0.375}
RECORDS = [
    *(record(variant, value) for variant, value in MEANS.items()),
    record("bm25", 0.5, "questions"),
    record("a", 0.75, "questions"),
    record("a", 0.99, seed=1),
    record("a", 0.98, metric="recall_at_10"),
]


def write_results(folder: Path, means: Mapping[str, float] | None, take: str = "bm25") -> Path:
    folder.mkdir()
    advice = {"means": means, "encoder": "whatever is best", "take": take}
    details = {} if means is None else {"advice": advice, "weights": dict.fromkeys(("a", "b", "hub"), 0.3)}
    (folder / "details.json").write_text(json.dumps(details))
    (folder / "records.json").write_text(json.dumps([] if means is None else RECORDS))
    return folder


def write_encoders(pretrained: Path, *runs: str) -> dict[str, Path]:
    for run in runs:
        for seed in (0, 1):
            folder = pretrained / run / f"seed-{seed}"
            (folder / "vocabulary").mkdir(parents=True)
            (folder / "vocabulary/words.json").write_text(f"words of {run}, {seed}")
            (folder / "README.md").write_text(f"---\nlanguage:\n- en\nlicense: mit\n---\n\n# {run}, {seed}\n", "utf-8")
    return {run: pretrained / run for run in runs}


@pytest.mark.parametrize(
    ("means", "take", "best", "method"),
    [
        ({"bm25": 0.9, "a": 0.5, "a+bm25": 0.6, "b": 0.1, "b+bm25": 0.7}, "bm25", "b", "bm25"),
        ({"bm25": 0.1, "a": 0.8, "a+bm25": 0.6, "b": 0.1, "b+bm25": 0.7}, "a", "a", "vectors"),
        # Published encoders are measured, but not exported.
        (
            {"bm25": 0.1, "hub": 0.9, "hub+bm25": 0.9, "a": 0.2, "a+bm25": 0.1, "b": 0.1, "b+bm25": 0.3},
            "hub",
            "b",
            "hybrid",
        ),
        (None, "", "a", "bm25"),
    ],
)
def test_the_best_run_of_the_first_seed_is_copied(
    means: dict[str, float] | None, take: str, best: str, method: str, tmp_path: Path
) -> None:
    runs = write_encoders(tmp_path / "pretrained", "a", "b")
    results, output = write_results(tmp_path / "results", means, take), tmp_path / "exported"
    exported, defaults = export("held_out", 0, results, output, **name_group("encoders", runs))
    assert exported == output and defaults == {"method": method, "weight": 0.3 if means else 0.5}
    assert (output / "vocabulary/words.json").read_text() == f"words of {best}, 0"
    card = ModelCard.load(output / "README.md")
    assert f"# {best}, 0\n" in card.text and ("## Results" in card.text) == (means is not None)
    assert (card.data.language, card.data.license) == (["en"], "mit")
    values = {(result.dataset_type, result.metric_type): result.metric_value for result in card.data.eval_results or []}
    expected = {"held-out-headings": MEANS[best]} | ({"held-out-questions": 0.75} if best == "a" else {})
    assert values == ({(name, "ndcg_at_10"): value for name, value in expected.items()} if means else {})
    assert card.data.model_name == f"{best}, 0" if means else card.data.eval_results is None
    assert "## Results" not in (runs["a"] / "seed-0/README.md").read_text("utf-8")


def test_an_older_encoder_is_replaced(tmp_path: Path) -> None:
    runs, results = write_encoders(tmp_path / "pretrained", "a"), write_results(tmp_path / "results", None)
    output = tmp_path / "exported"
    output.mkdir()
    (output / "of another.txt").touch()
    export("held_out", 1, results, output, **name_group("encoders", runs))
    assert sorted(file.name for file in output.iterdir()) == ["README.md", "vocabulary"]
    assert (output / "vocabulary/words.json").read_text() == "words of a, 1"


def system(**settings: Any) -> ResolvedSystem:
    runs = {name: schedule(mlm=1) for name in ("a", "b")}
    config = make_system(
        lengths={"query": 8, "document": 16},
        encoders={"transformer": transformer()},
        streams={name: STREAMS[name] for name in ("passages", "pairs")},
        pretrain=PRETRAIN | {"runs": runs, "optimizer": {"learning_rate": 1e-3}},
        **settings,
    )
    return ResolvedSystem("own", config)


def test_the_stage_is_empty_unless_the_best_encoder_searches() -> None:
    assert not create_pipeline(system(tasks={"held_out": {}}, search="a")).nodes
    more = {"hub": {"model": "some/model"}, "both": {"runs": ["a", "b"]}}
    (node,) = create_pipeline(system(tasks={"held_out": {}}, search="best", published_models=more)).nodes
    inputs = [name.removeprefix("own.") for name in node.inputs]
    assert inputs == ["held_out-results", "params:own.exported_dir", "a-pretrained", "b-pretrained"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs the task held_out; add it to the system"),
        ({"tasks": {"held_out": {}}, "variants": {"both": {"runs": ["a", "b"]}}}, "best needs a variant in held_out"),
    ],
)
def test_the_best_encoder_needs_a_task_that_chooses_it(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        system(search="best", **settings)
