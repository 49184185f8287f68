"""`kedro run` of a system that derives harder examples, and its settings that cannot be used."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from kedro.pipeline import Pipeline

from contexture.config_errors import ConfigurationError
from contexture.pipelines.derive.pipeline import create_pipeline
from contexture.systems.resolved import ResolvedSystem
from contexture.training.pretrain import read_summary
from tests.derive.toys import save_cross_encoder, save_query_writer
from tests.environments import check_changed, checked
from tests.pipelines.conftest import MakeProject, read, records, run, run_without_spark
from tests.systems.adapt.test_pipeline import write_pages
from tests.training.toys import write_tokenizer

HARD = {"encoder": "static", "schedule": [{"steps": 5, "weights": {"in_batch_negatives": 1, "margin_distillation": 1}}]}
HARD["objectives"] = {"in_batch_negatives": {"stream": "hard_pairs"}}


def make_settings(**derive: Any) -> dict[str, Any]:
    """Return settings of adapt that derive examples."""
    return {
        "streams": {"hard_pairs": {}},
        "pretrain": {"runs": {"hard": HARD}},
        "derive": {"encoder": "static_none", "margins": {"model": "owner/name"}} | derive,
    }


@pytest.mark.parametrize(
    ("derive", "message"),
    [
        ({"encoder": "static"}, r"derive\.encoder: static is trained after this stage; name a run without schedule"),
        ({"margins": {}}, r"derive\.margins\.model: the run hard distills margins, and no model computes them"),
        ({"negatives": {"counts": 3}}, r"derive\.negatives\.counts: no such parameter; did you mean 'count'"),
        ({"negatives": {"max_score_share": 1.5}}, r"derive\.negatives\.max_score_share"),
    ],
)
def test_settings_that_cannot_be_used(derive: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_changed({"adapt": make_settings(**derive)})


def test_derived_examples_need_their_streams() -> None:
    settings = make_settings()
    with pytest.raises(ConfigurationError, match=r"adapt\.derive: the stream hard_pairs reads derived examples"):
        check_changed({"adapt": settings | {"derive": None}})
    settings["streams"] = {"hard_pairs": None}
    settings["pretrain"] = {}
    with pytest.raises(ConfigurationError, match=r"adapt\.derive: it needs the streams pairs and hard_pairs"):
        check_changed({"adapt": settings})


@pytest.mark.parametrize("key", ["encoder", "queries.model", "margins.model"])
def test_missing_models_stop_the_run_at_its_start(key: str) -> None:
    part, _, name = key.partition(".")
    parameters = check_changed({"adapt": make_settings(**{part: {name: "/none"} if name else "/none"})})
    with pytest.raises(ConfigurationError, match=rf"adapt\.derive\.{key}: /none: there is no such folder; give"):
        parameters.check_systems(["adapt"])


def test_the_stage_is_left_out_by_default(pipelines: dict[str, Pipeline]) -> None:
    for system in checked("base").systems.values():
        assert system.derive is None
    assert not [node for pipeline in pipelines.values() for node in pipeline.nodes if "derive" in node.tags]
    parameters = check_changed({"adapt": make_settings(queries={"model": "a"})})
    nodes = create_pipeline(ResolvedSystem("adapt", parameters.systems["adapt"])).nodes
    assert [node.short_name for node in nodes] == ["write_questions", "mine_negatives", "score_margins"]
    selected = check_changed({"adapt": make_settings() | {"select": ["hard"]}}).systems["adapt"]
    assert set(selected.pretrain.runs) == {"hard", "static_none"} and set(selected.all_variants) == {"hard"}


@pytest.mark.slow
def test_a_run_derives_examples_and_trains_on_them(make_project: MakeProject, tmp_path: Path) -> None:
    project, vocabulary = make_project(), write_tokenizer(tmp_path / "vocabulary")
    write_pages(tmp_path / "pages")
    settings = make_settings(
        negatives={"pairs": 60, "max_score_share": 1.0},
        queries={"model": str(save_query_writer(tmp_path / "t5", vocabulary)), "per_passage": 2, "passages": 20},
        margins={"model": str(save_cross_encoder(tmp_path / "bert", vocabulary))},
    )
    settings["pretrain"]["runs"]["static"] = {"schedule": [{"steps": 5, "weights": {"in_batch_negatives": 1}}]}
    settings["streams"] |= {"pairs": {"sampling": {"held_out": 0.3}}}
    params = {
        "corpus": {"input": str(tmp_path / "pages")},
        "cleaning": {"duplicate_documents": None, "duplicate_paragraphs": None, "filters": {"repetition": None}},
        "adapt": settings,
    }
    run(project, params, env="adapt", pipeline_names=["adapt"])
    assert {"hard", "hard+bm25", "static", "static_none"} <= set(records(project, "adapt")["variant"])
    counts = read(project, "08_reporting/adapt/examples-hard_pairs.json")
    assert counts["pairs_by_task"]["queries"] > 0 and counts["pairs"] == sum(counts["pairs_by_task"].values())
    assert 0 < counts["mean_query_tokens"] < 48 and counts["pairs_with_too_few_negatives"] >= 0
    folder = project / "data/05_model_input/adapt/hard_pairs"
    held_out = pq.read_table(project / "data/05_model_input/adapt/passages").to_pandas()
    held_out = set(held_out[held_out["held_out"]]["passage_id"])
    for task, count in counts["pairs_by_task"].items():
        rows = pq.read_table(folder / task).to_pylist()
        assert len(rows) == count
        for row in rows:
            assert len(row["margins"]) == len(row["negative_documents"]) == 2
            assert not held_out & {row["document"], *row["negative_documents"]}
    models = project / "data/06_models/adapt/pretrained"
    assert read_summary(models / "hard/seed-0")["steps"] == 5
    assert not list((project / "data").rglob("*.unfinished"))

    def modified(*parts: str) -> list[float]:
        return [(path / "identity.json").stat().st_mtime for path in map(Path, parts)]

    kept = [str(models / f"{name}/seed-0") for name in ("static", "static_none")]
    derived = [str(models / "hard/seed-0"), str(folder)]
    first = modified(*kept, *derived)
    again = {"env": "adapt", "pipeline_names": ["adapt"], "tags": ["derive", "pretrain"]}
    run_without_spark(project, params, **again)
    assert modified(*kept, *derived) == first
    # Another cross-encoder with equally many numbers.
    save_cross_encoder(tmp_path / "bert", vocabulary, seed=1)
    run_without_spark(project, params, **again)
    after = modified(*kept, *derived)
    assert after[:2] == first[:2] and all(new > old for new, old in zip(after[2:], first[2:], strict=True))
