"""What variants are called: one way on every page, and at the end of a run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from kedro.config import OmegaConfigLoader

from contexture.paths import encoder_dir, pretrained_dir
from contexture.pipelines.parameters import RunParameters
from contexture.pipelines.report.assemble import cost, labels
from contexture.pipelines.system import resolve_all
from contexture.settings import CONFIG_LOADER_ARGS
from contexture.systems.resolved import ResolvedSystem
from contexture.training.pretrain import SUMMARY
from tests.pipelines.conftest import PROJECT


@pytest.fixture(scope="module")
def systems() -> dict[str, ResolvedSystem]:
    """Those of conf/base."""
    loader = OmegaConfigLoader(str(PROJECT / "conf"), env="base", **CONFIG_LOADER_ARGS)
    return resolve_all(RunParameters().check(loader))


def test_no_row_of_any_page_and_no_curve_is_called_as_its_key_alone(systems: dict[str, ResolvedSystem]) -> None:
    for name, system in systems.items():
        config, names = system.config, labels(replace(system, included={}))
        curves = {run for run, recipe in config.pretrain.runs.items() if recipe.schedule}
        assert {*config.all_variants, *curves} <= set(names), name
        assert not [label for label in names.values() if "_" in label.replace("IE_k", "").replace("AE_k", "")], name


def test_the_league_calls_its_guests_as_their_own_pages_do(systems: dict[str, ResolvedSystem]) -> None:
    names = labels(systems["league"])
    assert names["mspp: mspp_ie"] == f"{labels(systems['mspp'])['mspp_ie']} (mspp)"
    assert names["quick_thoughts: bow"] == "BoW-QT (quick_thoughts)"
    assert names["two_tower: mlm"] == "MLM (two_tower)" and names["mlm"] == "MLM"
    everywhere = [labels(system) for system in systems.values()]
    for name in ("bm25", "word_average", "word_overlap", "file_order", "random_order"):
        assert len({one[name] for one in everywhere}) == 1


def test_a_variant_called_as_an_included_system_has_its_own_cost(
    systems: dict[str, ResolvedSystem], tmp_path: Path
) -> None:
    summary = {"steps": 7, "tokens": 70, "seconds": 0.5, "flops": 1e3, "parameters": 11}
    encoder = encoder_dir(pretrained_dir(tmp_path / "league"), "quick_thoughts", 0)
    encoder.mkdir(parents=True)
    (encoder / SUMMARY).write_text(json.dumps(summary))
    league = systems["league"]
    assert "quick_thoughts" in league.included and league.config.run_names("quick_thoughts") == ["quick_thoughts"]
    assert cost(league, tmp_path / "league", "quick_thoughts", 0, "a text") == {"training_text": "a text"} | summary
