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
from contexture.objectives.config import QuickThoughtsConfig
from contexture.pipeline_registry import SYSTEMS
from contexture.settings import CONFIG_LOADER_ARGS
from contexture.systems.quick_thoughts.config import QuickThoughtsSystem
from contexture.systems.two_tower.config import TwoTowerSystem
from contexture.training.config import MsppSystem
from contexture.training.systems import AnySystem, System

CONF = Path(__file__).resolve().parents[1] / "conf"


def parameters(environment: str) -> dict[str, Any]:
    arguments: dict[str, Any] = CONFIG_LOADER_ARGS
    loader = OmegaConfigLoader(str(CONF), env=environment, **arguments)
    return dict(loader["parameters"])


ENVIRONMENTS = sorted(path.name for path in CONF.iterdir() if path.is_dir() and path.name != "local")


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_configuration_is_right_and_names_what_the_pipeline_runs(environment: str) -> None:
    checked = check_parameters(parameters(environment), [CONF / environment, CONF / "base"], {})
    check_systems(checked)
    assert set(checked.mspp.pretrain.runs) == set(SYSTEMS["mspp"].runs)
    assert set(checked.mspp.finetune.variants) == set(SYSTEMS["mspp"].variants)
    for variant, run in SYSTEMS["mspp"].variants.items():
        head = checked.mspp.finetune.variants[variant].head
        own = checked.mspp.pretrain.runs[run].objectives.get("mspp", {}).get("head", head)
        assert own == head, f"{variant} is fine-tuned with another head than its encoder was trained with"


def test_presets_of_paper_and_released_code() -> None:
    from contexture.systems.mspp.document import RELEASED_CODE, MsppSampling

    rules = ("positives", "hard_negatives", "easy_negatives", "positive_rule", "hard_rule", "candidate_sentences")
    for environment, preset, positions, style in (
        ("paper", MsppSampling(), "slots", "linear"),
        ("released_code", RELEASED_CODE, "tokens", "released"),
    ):
        mspp = check_parameters(parameters(environment), [CONF / "base"], {}).mspp
        assert [getattr(mspp.sampling, rule) for rule in rules] == [getattr(preset, rule) for rule in rules]
        assert mspp.layout.positions == positions
        assert mspp.finetune.head_style == style


def test_presets_of_quick_thoughts_of_paper_and_released_code() -> None:
    """Section 3 and 4.3 of the paper, and where the released code parts from them."""
    for environment, self_score, context, boundaries, clip, unit_vectors, expansion in (
        ("paper", "excluded", "sum", "documents", "all", False, False),
        ("released_code", "zero", "mean", "cross", "each", True, True),
    ):
        config = check_parameters(parameters(environment), [CONF / "base"], {}).quick_thoughts
        runs = [run for run in config.pretrain.runs.values() if run.steps and not run.generates]
        assert len(runs) == 4
        for run in runs:
            objective = QuickThoughtsConfig(**run.objectives.get("quick_thoughts", {}))
            assert (objective.window, objective.self_score, objective.context) == (1, self_score, context)
        assert config.layout.boundaries == boundaries
        optimizer = config.pretrain.optimizer
        assert (optimizer.clip, optimizer.clip_norm, optimizer.schedule) == (clip, 5.0, "constant")
        assert optimizer.weight_decay == 0
        assert (config.evaluation.unit_vectors, config.evaluation.expansion) == (unit_vectors, expansion)
        assert config.evaluation.protocol == "skip_thoughts"


def test_quick_thoughts_of_the_paper_has_its_batches_and_rate() -> None:
    values = parameters("paper")
    checked = check_parameters(values, [CONF / "base"], {})
    config = checked.quick_thoughts
    assert {run: config.batch_size(run) for run in ("uni", "bi", "bow", "fixed")} == {
        "uni": 400, "bi": 400, "bow": 1500, "fixed": 400
    }  # fmt: skip
    assert config.pretrain.optimizer.learning_rate == 5e-4 and config.layout.sentence_words == 50
    assert checked.words.size == 50_000 and not checked.words.lowercase
    # One epoch each.
    assert {config.batch_size(name) * run.steps for name, run in config.pretrain.runs.items() if run.steps} == {
        45_000_000
    }


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


def stage(**weights: float) -> dict[str, Any]:
    return {"steps": 5, "weights": weights}


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
        ({"two_tower": {"pretrain": {"batch_sise": 8}}}, "two_tower.pretrain.batch_sise: no such parameter"),
        ({"two_tower": {"finetune": {"shares": [100]}}}, "two_tower.finetune.shares.0: Input should be less than 100"),
        ({"two_tower": {"encoders": {"transformer": {"encoder": {"heads": 3}}}}}, "heads (3) must divide"),
        (
            {"two_tower": {"encoders": {"bow_mlp": {"encoder": {"heads": 2}}}}},
            "two_tower.encoders.bow_mlp.bag_of_words.encoder: no such parameter",
        ),
        ({"two_tower": {"pretrain": {"runs": {"ict": {"pairs": ["itc"]}}}}}, "two_tower.pretrain.runs.ict.pairs.0"),
        ({"two_tower": {"pretrain": {"runs": {"ict": {"pairs": []}}}}}, "two_tower.pretrain.runs.ict.pairs"),
        ({"two_tower": {"pretrain": {"runs": {"ict": {"mixture": "equal"}}}}}, "'uniform' or 'pooled'"),
        (
            {"two_tower": {"pretrain": {"runs": {"ict": {"schedule": [stage(mlm=1, in_batch_negatives=1)]}}}}},
            "by mlm or by in_batch_negatives, alone",
        ),
        (
            {"two_tower": {"pretrain": {"runs": {"ict": {"schedule": [stage(mlm=1), stage(in_batch_negatives=1)]}}}}},
            "by mlm or by in_batch_negatives, alone",
        ),
        ({"two_tower": {"evaluation": {"indexes": [{"kind": "lsh"}]}}}, "two_tower.evaluation.indexes.0.kind"),
        ({"words": {"size": 5}}, "words.size: Input should be greater than or equal to 10 (is 5)"),
        ({"sentence_tasks": {"row_counts": "some"}}, "sentence_tasks.row_counts"),
        ({"quick_thoughts": {"layout": {"boundaries": "pages"}}}, "quick_thoughts.layout.boundaries"),
        ({"quick_thoughts": {"evaluation": {"protocol": "mteb"}}}, "quick_thoughts.evaluation.protocol"),
        (
            {"quick_thoughts": {"evaluation": {"over_time": {"tasks": ["mr", "sst3"]}}}},
            "no task of classification is called ['sst3']; there are ['cr', 'mpqa', 'mr', 'mrpc', ",
        ),
        ({"quick_thoughts": {"evaluation": {"over_time": {"tasks": []}}}}, "over_time has runs but no tasks"),
        ({"quick_thoughts": {"encoders": {"bi": {"embedding_size": 65}}}}, "it must be even"),
        (
            {"quick_thoughts": {"encoders": {"bow": {"word_size": 8}}}},
            "quick_thoughts.encoders.bow.bag_of_words.word_size: no such parameter",
        ),
        (
            {
                "quick_thoughts": {
                    "pretrain": {"runs": {"uni": {"objectives": {"quick_thoughts": {"self_score": "1"}}}}}
                }
            },
            "self_score",
        ),
        (
            {
                "quick_thoughts": {
                    "pretrain": {"runs": {"uni": {"schedule": [stage(quick_thoughts=1, skip_thought=1)]}}}
                }
            },
            "by quick_thoughts or by skip_thought, alone",
        ),
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
        (
            {"two_tower": {"sampling": {"query_tokens": 32}}},
            r"sampling\.query_tokens is 32, layout\.query_tokens is 64: they must be equal",
        ),
        (
            {"two_tower": {"layout": {"document_tokens": 48}}},
            r"sampling\.document_tokens is \d+, layout\.document_tokens is 48: they must be equal",
        ),
        (
            {"two_tower": {"pretrain": {"runs": {"ict": {"encoder": "bert"}}}}},
            r"run ict: no encoder 'bert'; there are \['bow_mlp', 'transformer'\]",
        ),
        (
            {"two_tower": {"pretrain": {"runs": {"mlm": {"encoder": "bow_mlp"}}}}},
            "run mlm: mlm trains a Transformer, bow_mlp is none",
        ),
        (
            {"two_tower": {"ablation": {"rows": [{"layers": 2, "run": "cbow", "embedding_size": 32}]}}},
            "ablation: no run 'cbow'; there are",
        ),
        (
            {"quick_thoughts": {"pretrain": {"runs": {"uni": {"encoder": "gru"}}}}},
            r"run uni: no encoder 'gru'; there are \['bi', 'bow', 'fixed', 'uni'\]",
        ),
        (
            {"quick_thoughts": {"evaluation": {"over_time": {"runs": ["unit"]}}}},
            r"evaluation\.over_time: no run 'unit'; there are \['bi', 'bow', 'fixed', 'random', 'skip_thought', ",
        ),
        (
            {
                "quick_thoughts": {
                    "evaluation": {"expansion": True},
                    "encoders": {"t": {"kind": "transformer", "encoder": {}}},
                }
            },
            "evaluation.expansion is for a gru or a bag_of_words; encoder t is neither",
        ),
        (
            {"quick_thoughts": {"pretrain": {"snapshots": 0}}},
            r"evaluation\.over_time needs pretrain\.snapshots: 1 or more",
        ),
        (
            {"two_tower": {"encoders": {"transformer": {"encoder": {"init_from": "roberta-base"}}}}},
            r"two_tower\.encoders\.transformer\.encoder\.init_from is roberta-base.*vocabulary\.published",
        ),
    ],
)
def test_values_that_do_not_fit_together(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_parameters(merged(parameters("base"), changes), [CONF / "base"], changes)


def test_processes_are_told_what_training_knows() -> None:
    checked = check_parameters(parameters("base"), [CONF / "base"], {})
    systems: list[tuple[System, type[System]]] = [
        (checked.mspp, MsppSystem),
        (checked.quick_thoughts, QuickThoughtsSystem),
        (checked.two_tower, TwoTowerSystem),
    ]
    for config, kind in systems:
        told = json.loads(json.dumps(config.training()))
        found: System = TypeAdapter(AnySystem).validate_python(told)
        assert type(found) is kind and found.pretrain == config.pretrain
        assert getattr(found, "finetune", None) == getattr(config, "finetune", None)


def test_runs_that_no_pipeline_has() -> None:
    for system in ("mspp", "quick_thoughts", "two_tower"):
        run: dict[str, Any] = {"schedule": [stage(mlm=1)]}
        if system == "quick_thoughts":
            run = {"schedule": [stage(quick_thoughts=1)], "encoder": "uni"}
        values = merged(parameters("base"), {system: {"pretrain": {"runs": {"mspp_ei": run}}}})
        with pytest.raises(ConfigurationError, match=rf"{system}\.pretrain\.runs has .*mspp_ei"):
            check_systems(check_parameters(values, [CONF / "base"], {}))


@pytest.mark.parametrize("key", ["ensemble", "neighbours.variants"])
def test_variants_that_nobody_measures(key: str) -> None:
    for unknown in ("unit", "fixed"):  # `fixed` is a run, whose vectors are a part of mc
        nested: Any = {"ensemble": ["uni", unknown]} if key == "ensemble" else {"neighbours": {"variants": [unknown]}}
        values = merged(parameters("base"), {"quick_thoughts": {"evaluation": nested}})
        with pytest.raises(ConfigurationError, match=rf"quick_thoughts\.evaluation\.{key} has \['{unknown}'\]; there"):
            check_systems(check_parameters(values, [CONF / "base"], {}))
    known: Any = {"ensemble": ["uni", "word_average"], "neighbours": {"variants": ["combine", "word_average"]}}
    values = merged(parameters("base"), {"quick_thoughts": {"evaluation": known}})
    check_systems(check_parameters(values, [CONF / "base"], {}))
