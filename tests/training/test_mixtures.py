"""Mixtures of objectives on several streams."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from contexture.encoders.layout import row_lengths
from contexture.streams.base import MixedBatches
from contexture.systems.config import SystemConfig
from contexture.systems.launch import training_files
from contexture.training.curves import read_curves
from contexture.training.module import ScheduledObjectives
from contexture.training.prepare import PreparedRun, prepare
from tests.training.runs import Training, assert_same
from tests.training.toys import make_mixed_system, schedule, two_towers

#: Two streams: joint inputs, whose rows are independent, and pairs, which are negatives of one another.
JOINT_AND_PAIRS = {"mlm": 1.0, "mspp": 1.0, "in_batch_negatives": 0.5}
#: Two streams of texts that are not split.
TEXTS = {"quick_thoughts": 1.0, "in_batch_negatives": 0.25}
MIXTURES = {"joint_and_pairs": JOINT_AND_PAIRS, "texts": TEXTS}


def system(dropout: float = 0.0, **pretrain: Any) -> SystemConfig:
    """Return runs of each mixture and of each of its objectives; MSPP reads uncorrupted input."""
    runs = {}
    for name, weights in MIXTURES.items():
        single = {f"{name}_{objective}": {objective: weight} for objective, weight in weights.items()}
        for run, chosen in ({name: weights} | single).items():
            objectives = {"mspp": {"masked_input": False}} if "mspp" in chosen else {}
            runs[run] = schedule(6, **chosen) | {"objectives": objectives}
    return make_mixed_system(runs, dropout, **pretrain)


Losses = tuple[list[Tensor], dict[str, Tensor], dict[str, Tensor]]


@pytest.fixture
def compute_losses(examples: Path, tokenizer: Path) -> Callable[..., Losses]:
    """Return a function: run → losses of the passes of a step, gradients, and curves, with equal initial weights."""

    def take_step(run: str, **pretrain: Any) -> Losses:
        config = system(**pretrain).pretraining(run)
        prepared: PreparedRun = prepare(config, 0, training_files(system(), examples, tokenizer, None))
        for name, objective in prepared.objectives.items():
            torch.manual_seed(len(name))
            for parameter in objective.parameters():
                torch.nn.init.normal_(parameter)
        module = ScheduledObjectives(
            prepared.encoder, prepared.objectives, prepared.streams, config.stream_by_objective,
            config.recipe.get_weights, 6, config.settings.optimizer, 7,
        )  # fmt: skip
        module._trainer = SimpleNamespace(accumulate_grad_batches=prepared.passes, global_step=0, global_rank=0)
        module._fabric = None
        module.log = lambda *_, **__: None  # type: ignore[method-assign]
        batches = MixedBatches(lambda _: prepared.streams, range(6), prepared.passes)
        losses = [module.training_step(batches[index], index) for index in range(prepared.passes)]
        for loss in losses:
            (loss / prepared.passes).backward()  # as Lightning does
        gradients = {  # a model that predicts no tokens has one level less
            name.replace("model.bert.", "model."): torch.zeros_like(p) if p.grad is None else p.grad
            for name, p in module.named_parameters()
        }
        return [loss.detach() for loss in losses], gradients, module.latest_losses

    return take_step


@pytest.mark.parametrize("micro_batch_size", [None, 4])
@pytest.mark.parametrize("mixture", sorted(MIXTURES))
def test_the_loss_of_a_mixture_is_the_weighted_sum_of_its_losses(
    mixture: str, micro_batch_size: int | None, compute_losses: Callable[..., Losses]
) -> None:
    """So is its gradient, in one pass and in several, the first of which has the unsplit streams."""
    whole, gradients, curves = compute_losses(mixture, micro_batch_size=micro_batch_size)
    passes = 3 if micro_batch_size and mixture == "joint_and_pairs" else 1
    assert len(whole) == passes
    single = {
        name: compute_losses(f"{mixture}_{name}", micro_batch_size=micro_batch_size) for name in MIXTURES[mixture]
    }
    mean = torch.stack(whole).sum() / passes
    parts = torch.stack([torch.stack(losses).mean() for losses, _, _ in single.values()])
    torch.testing.assert_close(mean, parts.sum())
    for name, gradient in gradients.items():
        terms = [by_name[name] for _, by_name, _ in single.values() if name in by_name]
        torch.testing.assert_close(gradient, torch.stack(terms).sum(0), atol=1e-6, rtol=1e-4)
    total = sum(weight * curves[f"train/{name}"] for name, weight in MIXTURES[mixture].items())
    torch.testing.assert_close(curves["train/loss"], torch.as_tensor(total))


def test_weights_of_a_mixture_do_not_depend_on_its_passes(training: Training) -> None:
    """Each pass has equally many candidates of MSPP; the first has all pairs."""
    runs = {"run": schedule(4, mspp=1, in_batch_negatives=0.5)}
    whole, split = (
        training.train(make_mixed_system(runs, micro_batch_size=size), "run", f"size-{size}") for size in (12, 4)
    )
    assert_same(whole, split, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["ict", "bfs", "wlp"])
def test_a_task_of_pairs_is_an_objective(name: str, training: Training) -> None:
    runs = {
        "named": schedule(3, **{name: 1}),
        "spelled_out": schedule(3, in_batch_negatives=1) | {"streams": {"pairs": {"tasks": [name]}}},
    }
    config = make_mixed_system(runs)
    named, spelled_out = (training.train(config, run) for run in runs)
    assert_same(named, spelled_out)
    assert read_curves(training.folder / "named")[f"train/{name}"].between(0, 30).all()


def test_tasks_of_pairs_have_separate_batches_in_a_mixture(training: Training) -> None:
    sizes = {"joint": 4, "ict": 6, "bfs": 8}
    run = {"schedule": [{"steps": 2, "mlm": 1, "ict": 0.5, "bfs": 0.25}], "batch_size": sizes}
    config = make_mixed_system({"run": run})
    pretraining = config.pretraining("run")
    assert pretraining.recipe.schedule[0].weights == {"mlm": 1, "ict": 0.5, "bfs": 0.25}
    assert {name: pretraining.settings.batch_sizes("run", pretraining.streams)[name] for name in sizes} == sizes
    assert pretraining.stream_names == ["joint", "ict", "bfs"]
    assert [pretraining.streams[name].selected_tasks for name in ("ict", "bfs")] == [["ict"], ["bfs"]]
    training.train(config, "run")
    assert {"train/mlm", "train/ict", "train/bfs"} <= set(read_curves(training.folder / "run"))


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ({"steps": 2, "mml": 1}, "unknown objective or key of a stage 'mml'; did you mean 'mlm'"),
        ({"step": 2, "mlm": 1}, "unknown objective or key of a stage 'step'; did you mean 'steps'"),
        ({"steps": 2, "mlm": 0}, r"weights\.mlm\s+Input should be greater than 0"),
        ({"steps": 2, "weights": {"mlm": 1}, "ict": 1}, r"ict\s+Unexpected keyword argument"),
        ({"steps": 2, "weights": {"mml": 1}}, r"weights\n.*unknown objective 'mml'; did you mean 'mlm'"),
        ({"steps": 2}, r"weights\s+Field required"),
        ({"mlm": 1}, r"runs\.run\.schedule\n.*a stage needs steps or a budget"),
    ],
)
def test_invalid_stages(stage: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make_mixed_system({"run": {"schedule": [stage]}})


def test_pairs_that_are_not_drawn_fail() -> None:
    towers = two_towers(runs={"run": schedule(1, ict=1)})
    values = towers.to_dict() | {"streams": {"pairs": {"sampling": {"tasks": ["bfs"]}}}}
    with pytest.raises(
        ValidationError, match=r"tasks: no pairs of \['ict'\] are sampled; sampling\.tasks is \['bfs'\]"
    ):
        TypeAdapter(SystemConfig).validate_python(values)
    with pytest.raises(ValidationError, match=r"ict reads pairs; the streams are \['passages'\]"):
        TypeAdapter(SystemConfig).validate_python(values | {"streams": {"passages": {}}})


@pytest.mark.parametrize(
    ("mixture", "micro_batch_size"), [("joint_and_pairs", 4), pytest.param("texts", None, marks=pytest.mark.slow)]
)
def test_a_mixture_killed_at_any_step_resumes_bit_for_bit(
    mixture: str, micro_batch_size: int | None, training: Training
) -> None:
    """With dropout, in the first pass of a step or in a later one."""
    config = system(0.1, micro_batch_size=micro_batch_size)
    expected = training.train(config, mixture, "whole")
    for step, part in [(1, 0), (5, 2), (3, 1)] if micro_batch_size else [(1, 0), (4, 0)]:
        folder = training.folder / f"killed-{step}-{part}"
        training.kill(config, mixture, folder.name, step, part)
        assert not folder.exists()
        assert_same(training.train(config, mixture, folder.name), expected)
        assert read_curves(folder)["step"].tolist() == list(range(1, 7))


def test_stages_change_the_mixture(training: Training) -> None:
    """A stream is read only in stages that use it; a run killed between stages resumes."""
    stages = [{"steps": 3, "weights": {"mlm": 1}}, {"steps": 3, "weights": JOINT_AND_PAIRS}]
    config = make_mixed_system({"run": {"schedule": stages}}, 0.1, micro_batch_size=6, checkpoint_every=3)
    expected = training.train(config, "run", "whole")
    curves = read_curves(training.folder / "whole")
    assert curves["train/in_batch_negatives"].notna().tolist() == [False] * 3 + [True] * 3
    assert curves["train/mlm"].notna().all()
    training.kill(config, "run", "killed", 4)
    assert_same(training.train(config, "run", "killed"), expected)


def test_loader_processes_do_not_change_the_weights(training: Training) -> None:
    assert_same(*(training.train(system(loader_workers=n), "joint_and_pairs", str(n)) for n in (0, 2)))


@pytest.mark.slow
@pytest.mark.parametrize(("mixture", "micro_batch_size"), [("pairs", None), ("pairs", 3), ("texts", None)])
def test_two_processes_give_the_weights_of_one(mixture: str, micro_batch_size: int | None, training: Training) -> None:
    """Each device has equally many rows; pairs and sentences have the negatives of both devices."""
    weights = TEXTS if mixture == "texts" else {"mspp": 1, "in_batch_negatives": 0.5}
    runs, options = {"run": schedule(4, **weights)}, {"micro_batch_size": micro_batch_size}
    trained = [training.train(make_mixed_system(runs, devices=n, **options), "run", str(n)) for n in (1, 2)]
    assert_same(*trained, atol=1e-5, rtol=1e-4)


def test_only_tsdae_reads_sentences_with_deleted_words(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = {"simcse": 1.0, "tsdae": 0.5}
    mixture = make_mixed_system({"run": schedule(6, **weights)}, dropout=0.1)
    config = mixture.pretraining("run")
    prepared = prepare(config, 0, training_files(mixture, training.examples, training.vocabulary, None))
    module = ScheduledObjectives(
        prepared.encoder, prepared.objectives, prepared.streams, config.stream_by_objective,
        config.recipe.get_weights, 6, config.settings.optimizer, 7,
    )  # fmt: skip
    batch, tokens = prepared.streams["sentences"].batch(0, 0), dict[str, int]()
    for name, objective in prepared.objectives.items():
        forward = objective.forward

        def measure(encoder: Any, states: Any, read: Any, name: str = name, forward: Any = forward) -> Any:
            tokens[name] = int(row_lengths(read["texts"]).sum())
            return forward(encoder, states, read)

        monkeypatch.setattr(objective, "forward", measure)
    module.losses({"sentences": batch}, torch.Generator().manual_seed(0), weights)
    assert tokens["tsdae"] < tokens["simcse"] == int(row_lengths(batch["texts"]).sum())


def test_a_mixture_of_which_one_objective_has_nothing_to_read_is_an_error(training: Training, tmp_path: Path) -> None:
    """Nothing at all is trained only if no objective has anything to read."""
    examples = tmp_path / "examples"
    shutil.copytree(training.examples, examples)
    for file in (examples / "pairs" / "wlp").glob("*.parquet"):
        pq.write_table(pq.read_table(file).slice(0, 0), file)
    runs = {"mixed": schedule(3, mlm=1, ict=1, wlp=1), "alone": schedule(3, wlp=1), "pooled": schedule(3, mlm=1)}
    config, files = (
        make_mixed_system(runs),
        training_files(make_mixed_system(runs), examples, training.vocabulary, None),
    )
    with pytest.raises(ValueError, match=r"run mixed: nothing to read for wlp.*leave them out of the run's schedule"):
        prepare(config.pretraining("mixed"), 0, files)
    assert not prepare(config.pretraining("alone"), 0, files).objectives
    assert prepare(config.pretraining("pooled"), 0, files).objectives
