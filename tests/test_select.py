"""Selection of variants, runs and included variants in a user's environment."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from kedro.config import OmegaConfigLoader

from contexture.config import Parameters, check_parameters
from contexture.config_errors import ConfigurationError
from contexture.pipelines.system import create_included_pipeline, create_pipeline, resolve_all
from contexture.settings import CONFIG_LOADER_ARGS
from contexture.systems.config import SystemConfig
from tests.environments import CONF, check_changed, checked


def load_environment(folder: Path, changes: dict[str, Any], **runtime: Any) -> Parameters:
    """Load conf/base with an environment of these changes, merged by Kedro."""
    (folder / "base").symlink_to(CONF / "base")
    (folder / "mine").mkdir()
    (folder / "mine/parameters.yml").write_text(yaml.safe_dump(changes))
    loader = OmegaConfigLoader(str(folder), env="mine", runtime_params=runtime, **CONFIG_LOADER_ARGS)
    return check_parameters(loader["parameters"], [folder / "mine", folder / "base"], runtime)


def change_base(changes: dict[str, Any]) -> dict[str, SystemConfig]:
    return check_changed(changes).systems


def test_only_selected_variants_stay() -> None:
    whole = checked("base").systems["league"]
    league = change_base({"league": {"select": ["simcse", "untrained"]}})["league"]
    assert list(league.all_variants) == ["simcse", "untrained"] and set(league.pretrain.runs) == {"simcse", "untrained"}
    assert whole.include and not league.include
    assert league.pretraining("simcse").recipe == whole.pretraining("simcse").recipe


def test_only_selected_variants_stay_included() -> None:
    systems = change_base({"mspp": {"select": ["joint_ie"]}})
    assert list(systems["mspp"].all_variants) == ["joint_ie"] and systems["league"].include["mspp"] == ["joint_ie"]
    assert "mspp" not in change_base({"mspp": {"select": ["base_ie"]}})["league"].include


def test_a_run_that_is_no_variant_is_selected_with_the_runs_that_it_continues() -> None:
    mspp = change_base({"mspp": {"select": ["mlm"]}})["mspp"]
    assert "mlm" not in checked("base").systems["mspp"].all_variants
    assert list(mspp.all_variants) == ["mlm"] and set(mspp.pretrain.runs) == {"base", "mlm"}
    assert mspp.run_names("mlm") == ["mlm"] and mspp.all_variants["mlm"].head == mspp.head


def test_a_run_is_selected_without_the_one_that_searches() -> None:
    towers = change_base({"two_tower": {"select": ["ict"]}})["two_tower"]
    assert set(towers.pretrain.runs) == {"ict"} and towers.search is None
    assert change_base({"two_tower": {"select": ["static_ict"]}})["two_tower"].search == "static_ict"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"league": {"select": ["none"]}}, r"league\.select: unknown variant or run 'none'; known: .*cmlm, "),
        ({"league": {"select": []}}, r"league\.select: List should have at least 1 item"),
        ({"league": {"only": ["mlm"]}}, r"league\.only: renamed to select"),
        ({"league": {"include": {"mspp": ["none"]}}}, r"league\.include\.mspp: unknown variant 'none'; known: "),
        (
            {"quick_thoughts": {"published_models": {"minilm": {"model": "all-MiniLM-L6-v2"}}}}
            | {"league": {"include": {"quick_thoughts": ["minilm"]}}},
            r"league\.include\.quick_thoughts: \['minilm'\] are published models: name them in league\.publi",
        ),
    ],
)
def test_wrong_names_are_reported_with_their_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        change_base(changes)


def test_a_system_without_included_variants_is_not_trained() -> None:
    changed = check_changed({"league": {"include": {"mspp": []}}})
    league = changed.systems["league"]
    assert set(league.include) == {"cmlm", "cross_thought", "quick_thoughts", "two_tower"}
    system = resolve_all(changed)["league"]
    nodes = (create_pipeline(system, changed) + create_included_pipeline(system, changed)).nodes
    assert "mspp" not in {node.namespace for node in nodes} and "cmlm.gather_encoders" in {node.name for node in nodes}


def test_null_empties_a_mapping_of_the_base(tmp_path: Path) -> None:
    changes = {
        "league": {"include": None},
        "mspp": {"variants": None, "tasks": None},
        "quick_thoughts": {"pretrain": {"runs": None}, "variants": None, "tasks": None},
        "demo_systems": None,
    }
    loaded = load_environment(tmp_path, changes)
    assert loaded.systems["league"].include == {} and loaded.demo_systems == {}
    mspp = loaded.systems["mspp"]
    assert list(mspp.all_variants) == list(mspp.pretrain.runs) and mspp.tasks == {}
    assert loaded.systems["quick_thoughts"].pretrain.runs == {}


def test_null_removes_an_entry_of_the_base(tmp_path: Path) -> None:
    changes = {
        "league": {"include": {"mspp": None}, "pretrain": {"runs": {"simcse": None}}, "tasks": {"retrieval": None}},
        "demo_systems": {"league": None, "quick_thoughts": {"changes": {"tasks": {"sentences": None}}}},
    }
    loaded, base = load_environment(tmp_path, changes), checked("base")
    league, whole = loaded.systems["league"], base.systems["league"]
    assert list(league.include) == [name for name in whole.include if name != "mspp"]
    assert set(league.all_variants) == set(whole.all_variants) - {"simcse"}
    assert set(league.tasks) == set(whole.tasks) - {"retrieval"}
    assert set(loaded.demo_systems) == set(base.demo_systems) - {"league"}
    assert loaded.select_demo().systems["quick_thoughts"].tasks == {} and loaded.systems["quick_thoughts"].tasks


def test_null_on_the_command_line_empties_a_mapping(tmp_path: Path) -> None:
    loaded = load_environment(tmp_path, {"league": {"include": {"mspp": ["mspp_ie"]}}}, league={"include": None})
    assert loaded.systems["league"].include == {}
