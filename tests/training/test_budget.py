"""Budgets become steps: deterministic, as by hand, and the same on all devices and after a resumption."""

from typing import Any

import pytest
import torch

from contexture.encoders.layout import row_lengths
from contexture.systems.launch import training_files
from contexture.training import budget
from contexture.training.curves import read_curves
from contexture.training.prepare import Prepared, prepare
from contexture.training.pretrain import summary_of
from tests.training.runs import Training, assert_same
from tests.training.toys import mixed

MIXTURE = {"mlm": 1, "mspp": 1, "in_batch_negatives": 0.5}


def stage(unit: str, amount: float, **weights: float) -> dict[str, Any]:
    return {"weights": weights or MIXTURE, "budget": {"unit": unit, "amount": amount}}


def configure(stages: list[dict[str, Any]], **pretrain: Any) -> Any:
    return mixed({"run": {"schedule": stages}}, **pretrain)


def prepared_of(config: Any, training: Training) -> Prepared:
    return prepare(config.pretraining("run"), 0, training_files(config, training.examples, training.vocabulary, None))


def steps_of(config: Any, training: Training, name: str) -> list[int | None]:
    folder = training.folder / name
    folder.mkdir(parents=True, exist_ok=True)
    recipe = budget.resolved(config.pretraining("run"), prepared_of(config, training), folder)
    return [stage.steps for stage in recipe.schedule]


def tokens_by_hand(training: Training) -> float:
    """The mean over eight steps of what joint inputs and pairs hold, special tokens included."""
    streams = prepared_of(configure([stage("tokens", 1)]), training).streams
    joint = [streams["joint"].batch(step, 0)["attention_mask"].sum() for step in range(8)]
    pairs = [
        sum(chunk["attention_mask"].sum() for role in ("query", "document") for chunk in batch[role]["chunks"])
        for batch in (streams["pairs"].batch(step, 0) for step in range(8))
    ]
    return float(sum(joint) + sum(pairs)) / 8


def flops_by_hand(training: Training) -> float:
    """6 per parameter of the layers and token, attention 12·H·n², the head of MLM, 6·D per score of a pair."""
    prepared = prepared_of(configure([stage("flops", 1)]), training)
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


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize(("unit", "by_hand"), [("tokens", tokens_by_hand), ("flops", flops_by_hand)])
def test_tokens_and_flops_give_the_steps_that_they_pay_for(
    unit: str, by_hand: Any, passes: int, training: Training
) -> None:
    step = by_hand(training)
    for amount, steps in ((10 * step, 10), (2.4 * step, 2), (0.01 * step, 1)):
        config = configure([stage(unit, amount)], micro_batch_size=12 // passes)
        for name in ("1", "2"):
            assert steps_of(config, training, f"{steps}-{name}") == [steps]


def test_what_was_spent_is_what_was_paid(training: Training) -> None:
    """The curves count as the budget does."""
    for unit, step in (("tokens", tokens_by_hand(training)), ("flops", flops_by_hand(training))):
        training.train(configure([stage(unit, 8 * step)]), "run", unit)
        summary = summary_of(training.folder / unit)
        assert summary["steps"] == 8 and summary[unit] == pytest.approx(8 * step)


def test_a_pass_over_clean_input_costs_twice(training: Training) -> None:
    steps = list[Any]()
    for masked in (True, False):
        run = {"schedule": [stage("flops", 1e8, mlm=1, mspp=1)], "objectives": {"mspp": {"masked_input": masked}}}
        steps += steps_of(mixed({"run": run}), training, str(masked))
    assert 0.4 < steps[1] / steps[0] < 0.7  # the head of MLM costs once


def test_stages_have_steps_or_budgets_of_their_own_or_the_systems(training: Training) -> None:
    step = tokens_by_hand(training)
    stages = [{"weights": MIXTURE}, stage("tokens", 5 * step), {"weights": {"mlm": 1}, "steps": 7}]
    config = configure(stages, budget={"unit": "tokens", "amount": 3 * step})
    assert steps_of(config, training, "run") == [3, 5, 7]
    with pytest.raises(ValueError, match=r"runs\.run: a stage needs steps or a budget, where pretrain\.budget tells"):
        configure(stages)


def test_seconds_give_a_step_at_least_and_more_for_more(training: Training) -> None:
    (least,) = steps_of(configure([stage("seconds", 1e-9)]), training, "least")
    (more,) = steps_of(configure([stage("seconds", 20)]), training, "more")
    assert least == 1 and more is not None and more > 10
    stages = [stage("seconds", 1e-9, mspp=1), stage("seconds", 1e-9, in_batch_negatives=1)]
    assert steps_of(configure(stages, micro_batch_size=4), training, "whole") == [1, 1]


def test_measuring_leaves_the_weights_alone(training: Training) -> None:
    """Though passes are made to see how long they take."""
    first = training.train(configure([stage("seconds", 1e-09)], dropout=0.1), "run", "seconds")
    second = training.train(configure([{"steps": 1, "weights": MIXTURE}], dropout=0.1), "run", "steps")
    assert_same(first, second)


def test_a_resumed_run_takes_the_steps_that_it_began_with(monkeypatch: pytest.MonkeyPatch, training: Training) -> None:
    """Though the machine is a slower one now."""
    config, tried = configure([stage("seconds", 5)]), iter((8 * 1.0, 8 * 100.0))
    monkeypatch.setattr(budget, "_seconds", lambda *_: next(tried))
    training.kill(config, "run", "run", 3)
    training.train(config, "run")
    assert read_curves(training.folder / "run")["step"].tolist() == [1, 2, 3, 4, 5]


def test_what_costs_nothing_cannot_be_paid_for(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "cost", lambda *_: (torch.tensor(0.0), torch.tensor(0.0)))
    with pytest.raises(ValueError, match=r"a step of \['tsdae'\] costs no tokens: give it steps"):
        steps_of(configure([stage("tokens", 100, tsdae=1)]), training, "run")


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["tokens", "seconds"])
def test_all_devices_take_the_same_steps(unit: str, training: Training) -> None:
    """Though each has rows of other lengths, and a clock of its own."""
    amount = 4 * tokens_by_hand(training) if unit == "tokens" else 1e-9
    steps = {}
    for devices in (1, 2):
        training.launch(configure([stage(unit, amount)], devices=devices), "run", str(devices))
        steps[devices] = summary_of(training.folder / str(devices))["steps"]
    assert steps == ({1: 4, 2: 4} if unit == "tokens" else {1: 1, 2: 1})
