"""The loop of fine-tuning, on a task that can be computed: vectors of an encoder of three numbers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import BagOfWordsConfig, Lengths
from contexture.objectives.base import Loss, Objective
from contexture.objectives.base_config import ObjectiveConfig
from contexture.training.config import OptimizerConfig
from contexture.training.curves import read_curves
from contexture.training.finetune import Best, finetune
from contexture.vocabulary.vocabulary import Vocabulary


class Towards(Objective):
    """The squared distance of a weight of its own from the target of the batch."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(ObjectiveConfig(), encoder)
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, encoder: Encoder, states: Tensor, batch: Mapping[str, Any]) -> Loss:
        return Loss((self.weight - states).square().mean() + encoder.document.words.weight.sum() * batch["share"])


class Steps:
    """Batches that tell the step, and what of it was read."""

    def __init__(self, target: float = 1.0, share: float = 0.0) -> None:
        self.target, self.share, self.read = target, share, list[int]()

    def batch(self, step: int) -> dict[str, Tensor]:
        self.read.append(step)
        mask = torch.ones(1, 1, dtype=torch.long)
        texts = {"chunks": [{"input_ids": mask, "attention_mask": mask}], "rows": torch.zeros(1, dtype=torch.long)}
        return {"target": torch.tensor(self.target), "share": torch.tensor(self.share), "texts": texts}  # type: ignore[dict-item]

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Any:
        return batch["target"]


@pytest.fixture
def encoder(tokenizer: Path) -> Encoder:
    torch.manual_seed(0)
    return build_encoder(
        BagOfWordsConfig(kind="bag_of_words", embedding_size=3), Lengths(8, 8), Vocabulary.load(tokenizer)
    )


def tune(
    encoder: Encoder,
    values: list[float],
    folder: Path,
    better: Literal["higher", "lower"] = "higher",
    steps: int = 40,
    every: int = 4,
    patience: int = 3,
    stream: Steps | None = None,
    from_start: bool = False,
) -> tuple[Best, Towards, list[float]]:
    """Looks give these values, one after the other; also what the objective's weight was at each."""
    objective, told, seen = Towards(encoder), iter(values), list[float]()

    def measure() -> float:
        seen.append(float(objective.weight.detach()))
        return next(told)

    best = finetune(
        encoder,
        objective,
        stream or Steps(),
        steps=steps,
        evaluate_every=every,
        patience=patience,
        measure=measure,
        better=better,
        metric="dev/value",
        from_start=from_start,
        optimizer=OptimizerConfig(learning_rate=1e-2, schedule="constant"),
        precision="fp32",
        folder=folder,
        seed=0,
        label="toward",
    )
    return best, objective, seen


@pytest.mark.parametrize(
    ("better", "values", "best"),
    [
        ("higher", [0.1, 0.5, 0.3, 0.2, 0.6, 0.1, 0.1, 0.1, 0.9], (0.6, 20)),
        ("lower", [5.0, 4.0, 4.0, 4.5, 6.0, 1.0], (4.0, 8)),
        ("lower", [3.0, float("nan"), 2.0, float("inf"), float("nan"), float("nan"), 1.0], (2.0, 12)),
        ("higher", [-1.0, -2.0, -3.0, -4.0, 0.0], (-1.0, 4)),
    ],
)
def test_the_best_weights_are_kept_and_patience_has_an_end(
    better: Literal["higher", "lower"], values: list[float], best: tuple[float, int], encoder: Encoder, tmp_path: Path
) -> None:
    """Three looks without a better value are enough; what comes behind them is never measured."""
    found, objective, seen = tune(encoder, values, tmp_path, better)
    assert (found.value, found.step) == best
    assert len(seen) == best[1] // 4 + 3
    assert seen == sorted(seen) and len(set(seen)) == len(seen)
    assert float(objective.weight.detach()) == seen[best[1] // 4 - 1]
    curves = read_curves(tmp_path)
    assert curves["dev/value"].dropna().tolist() == [value for value in values[: len(seen)] if value == value]
    assert curves["train/toward"].notna().any()


@pytest.mark.parametrize(
    ("values", "best"),
    [([0.5, 0.4, 0.3, 0.2, 0.1, 0.9], (0.5, 0)), ([0.5, 0.1, 0.2, 0.3, 0.4, 0.6, 0.1, 0.1, 0.1, 0.9], (0.6, 20))],
)
def test_the_weights_that_training_starts_from_are_kept_where_none_is_better(
    values: list[float], best: tuple[float, int], encoder: Encoder, tmp_path: Path
) -> None:
    """Patience counts from the best that training gave: it may need some steps to come back to where it began."""
    found, objective, seen = tune(encoder, values, tmp_path, from_start=True)
    assert (found.value, found.step) == best
    assert seen[0] == 0 and len(seen) == len(values) - 1
    assert float(objective.weight.detach()) == seen[best[1] // 4]
    assert read_curves(tmp_path)["dev/value"].dropna().tolist() == values[: len(seen)]


def test_the_last_step_is_looked_at(encoder: Encoder, tmp_path: Path) -> None:
    stream = Steps()
    found, _, seen = tune(encoder, [1.0, 2.0, 3.0], tmp_path, steps=10, stream=stream)
    assert len(seen) == 3 and (found.value, found.step) == (3.0, 10)
    assert sorted(set(stream.read)) == list(range(10))


def test_the_encoder_has_the_best_weights_too(encoder: Encoder, tmp_path: Path) -> None:
    before = encoder.document.words.weight.detach().clone()
    best, _, _ = tune(encoder, [9.0, 1.0, 1.0, 1.0], tmp_path, stream=Steps(share=1.0))
    moved = before - encoder.document.words.weight.detach()
    assert best.step == 4
    torch.testing.assert_close(
        moved, torch.full_like(moved, 4e-2), rtol=0.05, atol=1e-3
    )  # four steps of Adam, not sixteen


@pytest.mark.parametrize("values", [[float("nan")] * 20, [float("inf")] * 20, [float("-inf")] * 20])
@pytest.mark.parametrize("start", [[], [1.0]])
def test_what_was_never_finite_is_refused(
    start: list[float], values: list[float], encoder: Encoder, tmp_path: Path
) -> None:
    """A start that is a number hides no training that is none."""
    with pytest.raises(ValueError, match="toward: the loss was never finite"):
        tune(encoder, start + values, tmp_path, from_start=bool(start))


def test_a_seed_gives_the_same_weights(encoder: Encoder, tmp_path: Path) -> None:
    _, one, _ = tune(encoder, [1.0, 2.0], tmp_path / "1", steps=8)
    _, two, _ = tune(encoder, [1.0, 2.0], tmp_path / "2", steps=8)
    assert torch.equal(one.weight, two.weight)
