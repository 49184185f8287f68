"""What variants are called: one way on every page, and at the end of a run."""

import pytest
from kedro.config import OmegaConfigLoader

from contexture.pipelines.parameters import check, current
from contexture.pipelines.report.nodes import labels
from contexture.pipelines.system import guests_of
from contexture.settings import CONFIG_LOADER_ARGS
from contexture.systems.config import SystemConfig
from tests.pipelines.conftest import PROJECT


@pytest.fixture(scope="module")
def systems() -> dict[str, SystemConfig]:
    """Those of conf/base."""
    check(OmegaConfigLoader(str(PROJECT / "conf"), env="base", **CONFIG_LOADER_ARGS))
    return current().systems


def test_no_row_of_any_page_and_no_curve_is_called_as_its_key_alone(systems: dict[str, SystemConfig]) -> None:
    for system, config in systems.items():
        names = labels(system, config, {})
        curves = {run for run, recipe in config.pretrain.runs.items() if recipe.schedule}
        assert {*config.measured, *curves} <= set(names), system
        assert not [name for name in names.values() if "_" in name.replace("IE_k", "").replace("AE_k", "")], system


def test_the_league_calls_its_guests_as_their_own_pages_do(systems: dict[str, SystemConfig]) -> None:
    names = labels("league", systems["league"], guests_of(systems["league"], current()))
    assert names["mspp: mspp_ie"] == f"{labels('mspp', systems['mspp'], {})['mspp_ie']} (mspp)"
    assert names["quick_thoughts: bow"] == "BoW-QT (quick_thoughts)"
    assert names["two_tower: mlm"] == "MLM (two_tower)" and names["mlm"] == "MLM"
    everywhere = [labels(system, config, {}) for system, config in systems.items()]
    for name in ("bm25", "word_average", "word_overlap", "file_order", "random_order"):
        assert len({one[name] for one in everywhere}) == 1
