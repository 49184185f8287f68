"""Labels of variants, the same on all pages and at the end of a run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from contexture.paths import encoder_dir, pretrained_dir
from contexture.pipelines.report.assemble import get_cost, get_labels
from contexture.pipelines.system import resolve_all
from contexture.systems.resolved import ResolvedSystem, resolve_ablation
from contexture.training.pretrain import SUMMARY_FILE
from tests.environments import checked


@pytest.fixture(scope="module")
def systems() -> dict[str, ResolvedSystem]:
    return resolve_all(checked("base"))


def test_all_rows_and_curves_have_labels(systems: dict[str, ResolvedSystem]) -> None:
    for name, system in systems.items():
        config, names = system.config, get_labels(replace(system, included={}))
        curves = {run for run, recipe in config.pretrain.runs.items() if recipe.schedule}
        assert {*config.all_variants, *curves} <= set(names), name
        assert not [label for label in names.values() if "_" in label.replace("IE_k", "").replace("AE_k", "")], name


def test_included_variants_have_the_labels_of_their_own_pages(systems: dict[str, ResolvedSystem]) -> None:
    names = get_labels(systems["league"])
    assert names["mspp: mspp_ie"] == get_labels(systems["mspp"])["mspp_ie"]  # it names the system
    assert names["quick_thoughts: bow"] == "BoW-QT (Quick-Thoughts)"
    assert names["two_tower: mlm"] == "MLM (two-tower retrieval)" and names["mlm"] == "MLM"
    assert len(set(names.values())) == len(names)
    all_labels = [get_labels(system) for system in systems.values()]
    for name in ("bm25", "word_average", "word_overlap", "file_order", "random_order"):
        assert len({labels[name] for labels in all_labels}) == 1


def test_runs_of_an_ablation_have_labels_with_their_sizes(systems: dict[str, ResolvedSystem]) -> None:
    names = get_labels(resolve_ablation(systems["two_tower"]))
    assert names["ict layers=1 embedding_size=32"] == "ICT, layers 1, embedding size 32"


def test_a_variant_named_like_an_included_system_has_its_own_cost(
    systems: dict[str, ResolvedSystem], tmp_path: Path
) -> None:
    summary = {"steps": 7, "tokens": 70, "seconds": 0.5, "flops": 1e3, "parameters": 11}
    encoder = encoder_dir(pretrained_dir(tmp_path / "league"), "quick_thoughts", 0)
    encoder.mkdir(parents=True)
    (encoder / SUMMARY_FILE).write_text(json.dumps(summary))
    league = systems["league"]
    assert "quick_thoughts" in league.included and league.config.run_names("quick_thoughts") == ["quick_thoughts"]
    assert get_cost(league, tmp_path / "league", "quick_thoughts", 0, "a text") == {"training_text": "a text"} | summary


def test_an_ensemble_costs_what_its_members_cost(systems: dict[str, ResolvedSystem], tmp_path: Path) -> None:
    system = systems["quick_thoughts"]
    members = system.config.task("sentences").ensemble
    runs = {run for member in members for run in system.config.run_names(member)}
    for number, run in enumerate(sorted(runs)):
        folder = encoder_dir(pretrained_dir(tmp_path), run, 0)
        folder.mkdir(parents=True)
        summary = {"steps": 10**number, "tokens": 70, "seconds": 0.5, "flops": 1e3, "parameters": 11}
        (folder / SUMMARY_FILE).write_text(json.dumps(summary))
    assert len(members) > 1
    cost = get_cost(system, tmp_path, "ensemble", 0, "a text")
    assert cost["steps"] == int("1" * len(runs)) and cost["parameters"] == 11 * len(runs)
    for name in ("bm25", f"{members[0]}+bm25"):
        assert get_cost(system, tmp_path, name, 0, "a text") == {}
