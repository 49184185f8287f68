"""Parameters are checked when a run starts; every fault is told with its file and key."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from kedro.config import OmegaConfigLoader
from pydantic import TypeAdapter

from contexture.config import ConfigurationError, check_parameters
from contexture.hooks import check_systems
from contexture.pipeline_registry import SYSTEMS
from contexture.settings import CONFIG_LOADER_ARGS
from contexture.training.config import MsppSystem

CONF = Path(__file__).resolve().parents[1] / "conf"


def parameters(environment: str) -> dict[str, Any]:
    loader = OmegaConfigLoader(str(CONF), env=environment, **CONFIG_LOADER_ARGS)
    return dict(loader["parameters"])


ENVIRONMENTS = sorted(path.name for path in CONF.iterdir() if path.is_dir() and path.name != "local")


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_configuration_is_right_and_names_what_the_pipeline_runs(environment: str) -> None:
    checked = check_parameters(parameters(environment), [CONF / environment, CONF / "base"], {})
    assert set(checked.mspp.pretrain.runs) == set(SYSTEMS["mspp"].runs)
    assert set(checked.mspp.finetune.variants) == set(SYSTEMS["mspp"].variants)
    for variant, run in SYSTEMS["mspp"].variants.items():
        head = checked.mspp.finetune.variants[variant].head
        own = checked.mspp.pretrain.runs[run].objectives.get("mspp", {}).get("head", head)
        assert own == head, f"{variant} is fine-tuned with another head than its encoder was trained with"


def test_presets_of_paper_and_released_code() -> None:
    from contexture.sampling.mspp_document import RELEASED_CODE, MsppSampling

    rules = ("positives", "hard_negatives", "easy_negatives", "positive_rule", "hard_rule", "candidate_sentences")
    for environment, preset, positions, style in (
        ("paper", MsppSampling(), "slots", "linear"),
        ("released_code", RELEASED_CODE, "tokens", "released"),
    ):
        mspp = check_parameters(parameters(environment), [CONF / "base"], {}).mspp
        assert [getattr(mspp.sampling, rule) for rule in rules] == [getattr(preset, rule) for rule in rules]
        assert mspp.layout.positions == positions
        assert mspp.finetune.head_style == style


def broken(change: dict[str, Any], tmp_path: Path) -> str:
    """What is said of the base configuration with one file changed."""
    values = parameters("base")
    for file, content in change.items():
        (tmp_path / "env" / "parameters").mkdir(parents=True, exist_ok=True)
        (tmp_path / "env" / "parameters" / file).write_text(yaml.safe_dump(content))
        for key, value in content.items():
            values[key] = merged(values[key], value) if key in values else value
    with pytest.raises(ConfigurationError) as raised:
        check_parameters(values, [tmp_path / "env", CONF / "base"], {})
    return str(raised.value)


def merged(old: Any, new: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return old | {key: merged(old.get(key), value) for key, value in new.items()}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"mspp": {"pretrain": {"batch_sise": 8}}}, "mspp.pretrain.batch_sise: no such parameter"),
        ({"mspp": {"pretrain": {"batch_size": 0}}}, "mspp.pretrain.batch_size: Input should be greater than 0 (is 0)"),
        ({"mspp": {"sampling": {"positives": 2}}}, "they must be equal"),
        ({"mspp": {"layout": {"positions": "slot"}}}, "mspp.layout.positions"),
        ({"mspp": {"encoder": {"heads": 3}}}, "heads (3) must divide hidden_size (64)"),
        ({"mspp": {"pretrain": {"runs": {"mlm": {"schedule": [{"steps": 5, "weights": {"mml": 1}}]}}}}}, "['mml']"),
        ({"vocabulary": {"kind": "unigram"}}, "vocabulary.kind"),
        ({"mspppp": {}}, "mspppp: no such parameter"),
    ],
)
def test_faults_name_file_and_key(content: dict[str, Any], said: str, tmp_path: Path) -> None:
    message = broken({"mine.yml": content}, tmp_path)
    assert said in message
    assert str(tmp_path / "env" / "parameters" / "mine.yml") in message


def test_a_fault_of_the_command_line_is_told_as_such() -> None:
    values = parameters("base")
    values["mspp"]["seeds"] = -1
    with pytest.raises(ConfigurationError, match=r"--params: mspp\.seeds: .*greater than 0 \(is -1\)"):
        check_parameters(values, [CONF / "base"], {"mspp": {"seeds": -1}})


def test_a_missing_key_points_to_the_file_around_it() -> None:
    values = parameters("base")
    del values["mspp"]["pretrain"]["batch_size"]
    with pytest.raises(ConfigurationError, match=r"mspp\.yml: mspp\.pretrain\.batch_size: missing"):
        check_parameters(values, [CONF / "base"], {})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mspp": {"encoder": {"init_from": "roberta-base"}}}, "vocabulary.published"),
        ({"cleaning": {"main_content": 0.5}}, "list_items"),
        ({"mspp": {"layout": {"sentence_tokens": 128}}}, "max_tokens"),
    ],
)
def test_values_that_do_not_fit_together(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_parameters(merged(parameters("base"), changes), [CONF / "base"], changes)


def test_processes_are_told_what_training_knows() -> None:
    config = check_parameters(parameters("base"), [CONF / "base"], {}).mspp
    told = json.loads(json.dumps(config.training()))
    assert TypeAdapter(MsppSystem).validate_python(told).pretrain == config.pretrain


def test_runs_that_no_pipeline_has() -> None:
    run = {"schedule": [{"steps": 9, "weights": {"mlm": 1}}]}
    values = merged(parameters("base"), {"mspp": {"pretrain": {"runs": {"mspp_ei": run}}}})
    with pytest.raises(ConfigurationError, match="mspp_ei"):
        check_systems(check_parameters(values, [CONF / "base"], {}))
