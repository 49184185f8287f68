"""Objectives of several streams, mixed on one encoder."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from contexture.streams.base import MixedBatches
from contexture.systems.config import SystemConfig
from contexture.systems.launch import files_of
from contexture.training.curves import read_curves
from contexture.training.module import ScheduledObjectives
from contexture.training.prepare import Prepared, prepare
from tests.training.runs import Training, assert_same
from tests.training.toys import mixed, schedule

#: Two streams: joint inputs, whose rows are independent of one another, and pairs, negatives of one another.
JOINT_AND_PAIRS = {"mlm": 1.0, "mspp": 1.0, "in_batch_negatives": 0.5}
#: Two streams of texts, each of which stays whole.
TEXTS = {"quick_thoughts": 1.0, "in_batch_negatives": 0.25}
MIXTURES = {"joint_and_pairs": JOINT_AND_PAIRS, "texts": TEXTS}


def system(dropout: float = 0.0, **pretrain: Any) -> SystemConfig:
    """The mixtures, each with a run for each of its objectives alone; MSPP reads what MLM did not mask."""
    runs = {}
    for name, weights in MIXTURES.items():
        alone = {f"{name}_{one}": {one: weights[one]} for one in weights}
        for run, some in ({name: weights} | alone).items():
            runs[run] = schedule(6, **some)
            if "mspp" in some:
                runs[run]["objectives"] = {"mspp": {"masked_input": False}}
    return mixed(runs, dropout, **pretrain)


Losses = tuple[list[Tensor], dict[str, Tensor], dict[str, Tensor]]


@pytest.fixture
def losses_of(examples: Path, tokenizer: Path) -> Callable[..., Losses]:
    """Of one step of a run, with the same weights for all of them: the loss of each pass, gradients, and curves."""

    def taken(run: str, **pretrain: Any) -> Losses:
        told = system(**pretrain).pretraining(run)
        prepared: Prepared = prepare(told, 0, files_of(system(), examples, tokenizer, None))
        for name, objective in prepared.objectives.items():
            torch.manual_seed(len(name))
            for parameter in objective.parameters():
                torch.nn.init.normal_(parameter)
        stream_of = {name: told.recipe.stream_of(name, told.streams) for name in told.recipe.names}
        module = ScheduledObjectives(
            prepared.encoder, prepared.objectives, prepared.streams, stream_of, told.recipe.weights_at, 6,
            told.settings.optimizer, 7,
        )  # fmt: skip
        module._trainer = SimpleNamespace(accumulate_grad_batches=prepared.passes, global_step=0, global_rank=0)
        module._fabric = None
        module.log = lambda *_, **__: None  # type: ignore[method-assign]
        batches = MixedBatches(lambda _: prepared.streams, range(6), prepared.passes)
        found = []
        for index in range(prepared.passes):
            loss = module.training_step(batches[index], index)
            (loss / prepared.passes).backward()  # as Lightning does
            found.append(loss.detach())
        gradients = {  # a model that predicts no tokens has one level less
            name.replace("model.bert.", "model."): torch.zeros_like(parameter)
            if parameter.grad is None
            else parameter.grad
            for name, parameter in module.named_parameters()
        }
        return found, gradients, module.latest

    return taken


@pytest.mark.parametrize("micro_batch_size", [None, 4])
@pytest.mark.parametrize("mixture", sorted(MIXTURES))
def test_the_loss_of_a_mixture_is_the_weighted_sum_of_its_losses(
    mixture: str, micro_batch_size: int | None, losses_of: Callable[..., Losses]
) -> None:
    """And so is its gradient, in one pass and in several, of which the first has what stays whole."""
    whole, gradients, curves = losses_of(mixture, micro_batch_size=micro_batch_size)
    passes = 3 if micro_batch_size and mixture == "joint_and_pairs" else 1
    assert len(whole) == passes
    single = {name: losses_of(f"{mixture}_{name}", micro_batch_size=micro_batch_size) for name in MIXTURES[mixture]}
    mean = torch.stack(whole).sum() / passes
    parts = torch.stack([torch.stack(losses).mean() for losses, _, _ in single.values()])
    torch.testing.assert_close(mean, parts.sum())
    for name, gradient in gradients.items():
        own = [found[name] for _, found, _ in single.values() if name in found]
        torch.testing.assert_close(gradient, torch.stack(own).sum(0), atol=1e-6, rtol=1e-4)
    told = sum(weight * curves[f"train/{name}"] for name, weight in MIXTURES[mixture].items())
    torch.testing.assert_close(curves["train/loss"], torch.as_tensor(told))


@pytest.mark.parametrize(("mixture", "micro_batch_size"), [("joint_and_pairs", 4), ("texts", None)])
def test_a_mixture_killed_at_any_step_resumes_bit_for_bit(
    mixture: str, micro_batch_size: int | None, training: Training
) -> None:
    """With dropout; in the first pass of a step, or in a later one."""
    config = system(0.1, micro_batch_size=micro_batch_size)
    expected = training.train(config, mixture, "whole")
    places = [(1, 0), (4, 0), (5, 2), (3, 1)] if micro_batch_size else [(1, 0), (4, 0), (5, 0)]
    for step, part in places:
        folder = training.folder / f"killed-{step}-{part}"
        training.kill(config, mixture, folder.name, step, part)
        assert not folder.exists()
        assert_same(training.train(config, mixture, folder.name), expected)
        assert read_curves(folder)["step"].tolist() == list(range(1, 7))


def test_stages_change_the_mixture(training: Training) -> None:
    """A stream is read where a stage uses it; a run killed at the border resumes."""
    stages = [{"steps": 3, "weights": {"mlm": 1}}, {"steps": 3, "weights": JOINT_AND_PAIRS}]
    config = mixed({"run": {"schedule": stages}}, 0.1, micro_batch_size=6, checkpoint_every=3)
    expected = training.train(config, "run", "whole")
    curves = read_curves(training.folder / "whole")
    assert curves["train/in_batch_negatives"].notna().tolist() == [False] * 3 + [True] * 3
    assert curves["train/mlm"].notna().all()
    training.kill(config, "run", "killed", 4)
    assert_same(training.train(config, "run", "killed"), expected)


def test_processes_that_load_do_not_change_the_weights(training: Training) -> None:
    one, two = (training.train(system(loader_workers=workers), "joint_and_pairs", str(workers)) for workers in (0, 2))
    assert_same(one, two)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weights", "micro_batch_size"),
    [({"mspp": 1, "in_batch_negatives": 0.5}, None), ({"mspp": 1, "in_batch_negatives": 0.5}, 3), (TEXTS, None)],
)
def test_two_processes_give_what_one_gives(
    weights: dict[str, float], micro_batch_size: int | None, training: Training
) -> None:
    """Means over equally many rows on each device; pairs and sentences have the negatives of both."""
    runs = {"run": schedule(4, **weights)}
    one, two = (
        training.train(mixed(runs, devices=devices, micro_batch_size=micro_batch_size), "run", str(devices))
        for devices in (1, 2)
    )
    assert_same(one, two, atol=1e-5, rtol=1e-4)
