"""Budgets are converted to steps, the same on all devices and in resumed runs."""

import time
from dataclasses import replace
from typing import Any

import pytest
import torch

from contexture.encoders.layout import row_lengths
from contexture.streams.joint.batches import Joint
from contexture.systems.launch import training_files
from contexture.training import budget
from contexture.training.curves import read_curves
from contexture.training.prepare import PreparedRun, prepare
from contexture.training.pretrain import pretrain, read_summary
from contexture.training.rest import REST_SECONDS, REST_SHARE, RestOfRun
from tests.training.runs import Training, assert_same
from tests.training.toys import make_mixed_system

MIXTURE = {"mlm": 1, "mspp": 1, "in_batch_negatives": 0.5}


def stage(unit: str, amount: float, **weights: float) -> dict[str, Any]:
    return {"weights": weights or MIXTURE, "budget": {"unit": unit, "amount": amount}}


def configure(stages: list[dict[str, Any]], **pretrain: Any) -> Any:
    return make_mixed_system({"run": {"schedule": stages}}, **pretrain)


def prepare_run(config: Any, training: Training) -> PreparedRun:
    return prepare(config.pretraining("run"), 0, training_files(config, training.examples, training.vocabulary, None))


def resolve_steps(config: Any, training: Training, name: str, rest: RestOfRun | None = None) -> list[int | None]:
    folder = training.folder / name
    folder.mkdir(parents=True, exist_ok=True)
    recipe, _ = budget.resolve_budgets(config.pretraining("run"), prepare_run(config, training), folder, rest=rest)
    return [stage.steps for stage in recipe.schedule]


def count_tokens(training: Training) -> float:
    """Return the mean number of tokens of eight steps, special tokens included."""
    streams = prepare_run(configure([stage("tokens", 1)]), training).streams
    joint = [streams["joint"].batch(step, 0)["attention_mask"].sum() for step in range(8)]
    pairs = [
        sum(chunk["attention_mask"].sum() for role in ("query", "document") for chunk in batch[role]["chunks"])
        for batch in (streams["pairs"].batch(step, 0) for step in range(8))
    ]
    return float(sum(joint) + sum(pairs)) / 8


def count_flops(training: Training) -> float:
    """Return the mean FLOPs of eight steps.

    6 per parameter of the layers and token, attention 12·H·n², the head of MLM, 6·D per score of a pair.
    """
    prepared = prepare_run(configure([stage("flops", 1)]), training)
    encoder = prepared.encoder
    layers = sum(p.numel() for name, p in encoder.named_parameters() if ".encoder.layer." in name)
    total = 0.0
    for step in range(8):
        joint, pairs = prepared.streams["joint"].batch(step, 0), prepared.streams["pairs"].batch(step, 0)
        lengths = torch.cat([row_lengths(joint), row_lengths(pairs["query"]), row_lengths(pairs["document"])]).double()
        total += float(6 * layers * lengths.sum() + 12 * 16 * lengths.square().sum())
        total += 6 * 0.15 * 16 * (16 + encoder.vocabulary.tokens.vocab_size) * float(row_lengths(joint).sum())
        total += 6 * 12**2 * 8
    return total / 8


@pytest.mark.parametrize("passes", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(("unit", "by_hand"), [("tokens", count_tokens), ("flops", count_flops)])
def test_steps_for_budgets_of_tokens_and_flops(unit: str, by_hand: Any, passes: int, training: Training) -> None:
    step = by_hand(training)
    for amount, steps in ((10 * step, 10), (2.4 * step, 2), (0.01 * step, 1)):
        config = configure([stage(unit, amount)], micro_batch_size=12 // passes)
        for name in ("1", "2"):
            assert resolve_steps(config, training, f"{steps}-{name}") == [steps]


def test_the_recorded_cost_equals_the_budget(training: Training) -> None:
    for unit, step in (("tokens", count_tokens(training)), ("flops", count_flops(training))):
        training.train(configure([stage(unit, 8 * step)]), "run", unit)
        summary = read_summary(training.folder / unit)
        assert summary["steps"] == 8 and summary[unit] == pytest.approx(8 * step)


def test_a_pass_over_clean_input_costs_twice(training: Training) -> None:
    steps = list[Any]()
    for masked in (True, False):
        run = {"schedule": [stage("flops", 1e8, mlm=1, mspp=1)], "objectives": {"mspp": {"masked_input": masked}}}
        steps += resolve_steps(make_mixed_system({"run": run}), training, str(masked))
    assert 0.4 < steps[1] / steps[0] < 0.7  # the head of MLM costs once


def test_stages_have_steps_a_budget_or_the_systems_budget(training: Training) -> None:
    step = count_tokens(training)
    stages = [{"weights": MIXTURE}, stage("tokens", 5 * step), {"weights": {"mlm": 1}, "steps": 7}]
    config = configure(stages, budget={"unit": "tokens", "amount": 3 * step})
    assert resolve_steps(config, training, "run") == [3, 5, 7]
    with pytest.raises(
        ValueError, match=r"runs.run.schedule\n.*a stage needs steps or a budget, because pretrain\.budget is"
    ):
        configure(stages)


def test_a_later_stage_is_measured_from_its_own_first_step(training: Training) -> None:
    single_rows = {"batch_size": 1, "micro_batch_size": 1}
    streams = prepare_run(configure([stage("tokens", 1, mlm=1)], **single_rows), training).streams
    tokens = [int(row_lengths(streams["joint"].batch(step, 0)).sum()) for step in range(120)]
    # The later stage has the budget of the shortest 20 steps: at the beginning, it would pay for fewer.
    amount, first = min((sum(tokens[n : n + 20]), n) for n in range(100))
    assert amount < sum(tokens[:19]) + tokens[19] / 2
    stages = [{"weights": {"mlm": 1}, "steps": first}, stage("tokens", amount, mlm=1)]
    assert resolve_steps(configure(stages, **single_rows), training, "run") == [first, 20]


def test_seconds_give_at_least_one_step(training: Training) -> None:
    (least,) = resolve_steps(configure([stage("seconds", 1e-9)]), training, "least")
    (more,) = resolve_steps(configure([stage("seconds", 10_000)]), training, "more")
    assert least == 1 and more is not None and more > 10
    stages = [stage("seconds", 1e-9, mspp=1), stage("seconds", 1e-9, in_batch_negatives=1)]
    assert resolve_steps(configure(stages, micro_batch_size=4), training, "whole") == [1, 1]


def test_a_shared_stream_is_timed_as_it_is_trained(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    """MLM and MSPP read one encoding of each batch."""
    encode, encoded = Joint.encode, list[None]()
    monkeypatch.setattr(Joint, "encode", lambda *batch: (encoded.append(None), encode(*batch))[1])
    resolve_steps(configure([stage("seconds", 1, mlm=1, mspp=1)]), training, "run")
    assert len(encoded) == budget.NUM_TRIAL_STEPS


def test_minutes_leave_time_for_the_rest_of_the_run(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    config, seconds_per_step, tokens = configure([stage("minutes", 30)]), 2.0, 10_000
    monkeypatch.setattr(budget, "_measure_seconds", lambda *_: 8 * seconds_per_step)
    monkeypatch.setattr(budget.time, "time", lambda: 1_000.0)
    rest = RestOfRun(started=700.0, trainings=2, tokens=tokens, seconds_before=250.0)
    to_embed = tokens * seconds_per_step / 3 / count_tokens(training)
    expected = (30 * 60 - 300 - to_embed - REST_SECONDS - REST_SHARE * 250) / 2 / seconds_per_step
    assert resolve_steps(config, training, "minutes", rest) == [round(expected)]
    late = RestOfRun(started=-9_000.0, trainings=1, tokens=tokens, seconds_before=250.0)
    assert resolve_steps(config, training, "late", late) == [1]
    with pytest.raises(ValueError, match="a budget in minutes needs kedro run on one device: set seconds instead"):
        resolve_steps(config, training, "alone")


def test_slow_steps_end_the_training_when_its_time_is_up(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    rest = RestOfRun(started=time.time() + REST_SECONDS, trainings=1, tokens=0, seconds_before=0.0)
    monkeypatch.setattr(budget, "_measure_seconds", lambda *_: 8 * 1e-5)
    config = configure([stage("minutes", 1 / 60)])
    (planned,) = resolve_steps(config, training, "planned", rest)
    files = replace(training_files(config, training.examples, training.vocabulary, None), rest=rest)
    (training.folder / "run").mkdir()
    started = time.monotonic()
    pretrain(config.pretraining("run"), 0, files, training.folder / "run")
    steps = read_summary(training.folder / "run")["steps"]
    assert planned and planned > 50_000 and 1 <= steps < planned
    assert read_curves(training.folder / "run")["step"].tolist() == list(range(1, steps + 1))
    assert time.monotonic() - started < 30


def test_measuring_seconds_does_not_change_the_weights(training: Training) -> None:
    first = training.train(configure([stage("seconds", 1e-09)], dropout=0.1), "run", "seconds")
    second = training.train(configure([{"steps": 1, "weights": MIXTURE}], dropout=0.1), "run", "steps")
    assert_same(first, second)


def test_a_resumed_run_keeps_its_number_of_steps(monkeypatch: pytest.MonkeyPatch, training: Training) -> None:
    """Even if the machine has become slower."""
    config, tried = configure([stage("seconds", 5)]), iter((8 * 1.0, 8 * 100.0))
    monkeypatch.setattr(budget, "_measure_seconds", lambda *_: next(tried))
    training.kill(config, "run", "run", 3)
    training.train(config, "run")
    assert read_curves(training.folder / "run")["step"].tolist() == [1, 2, 3, 4, 5]


def test_a_step_without_cost_fails(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "measure_cost", lambda *_: (torch.tensor(0.0), torch.tensor(0.0)))
    with pytest.raises(ValueError, match=r"a step of \['tsdae'\] costs no tokens: set steps"):
        resolve_steps(configure([stage("tokens", 100, tsdae=1)]), training, "run")


@pytest.mark.parametrize("steps", [20, 300])
def test_the_budget_is_kept_if_later_steps_cost_more(
    steps: int, training: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cost(step: int) -> float:
        return 1 + step / 50

    monkeypatch.setattr(budget, "_list_batches", lambda streams, passes, steps, ranks: list(steps))
    monkeypatch.setattr(budget, "measure_cost", lambda step, *_: (torch.tensor(cost(step)),) * 2)
    amount = sum(cost(step) for step in range(steps))
    (count,) = resolve_steps(configure([stage("flops", amount)]), training, "run")
    assert count is not None and sum(cost(step) for step in range(count)) == pytest.approx(amount, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["tokens", "seconds"])
def test_all_devices_take_the_same_steps(unit: str, training: Training) -> None:
    """Even if their rows have different lengths and their clocks differ."""
    amount = 4 * count_tokens(training) if unit == "tokens" else 1e-9
    steps = {}
    for devices in (1, 2):
        training.launch(configure([stage(unit, amount)], devices=devices), "run", str(devices))
        steps[devices] = read_summary(training.folder / str(devices))["steps"]
    assert steps == ({1: 4, 2: 4} if unit == "tokens" else {1: 1, 2: 1})


@pytest.mark.parametrize("weights", [{"in_batch_negatives": 1}, {"bitext": 1}, {"simcse": 1}, {"quick_thoughts": 1}])
def test_steps_for_flops_do_not_depend_on_the_number_of_devices(weights: dict[str, float], training: Training) -> None:
    """Each device compares its rows with those of all devices."""
    run = {"schedule": [stage("flops", 1, **weights)]}

    def step_flops(devices: int) -> float:
        config = make_mixed_system({"run": run}, dropout=0.1, devices=devices).pretraining("run")
        prepared = prepare(
            config,
            0,
            training_files(configure([stage("flops", 1, **weights)]), training.examples, training.vocabulary, None),
        )
        total = 0.0
        for batch in budget._list_batches(prepared.stages[0], prepared.passes, [0], devices):
            total += float(budget.measure_cost(batch, weights, config.stream_by_objective, prepared)[1])
        return total

    assert step_flops(2) == pytest.approx(step_flops(1))


@pytest.mark.parametrize("weights", [{"quick_thoughts": 1}, {"in_batch_negatives": 1}])
def test_one_process_measures_the_time_of_several_devices(weights: dict[str, float], training: Training) -> None:
    """In the precision in which they train."""
    config = configure([stage("seconds", 1, **weights)], devices=2, precision="auto")
    assert min(filter(None, resolve_steps(config, training, "run"))) >= 1
    assert (training.folder / "run" / "precision.json").exists()
