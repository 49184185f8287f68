"""The MSPP objective by hand."""

import math
from typing import Any

import pytest
import torch

from contexture.encoders.config import TransformerConfig
from contexture.objectives.mspp import MultiSentencesInParagraph
from contexture.objectives.settings import MsppConfig
from tests.encoders.toys import build

ENCODER = build(TransformerConfig(hidden_size=2, layers=1, heads=1, intermediate_size=2))


def test_loss_and_accuracy_by_hand() -> None:
    objective = MultiSentencesInParagraph(MsppConfig(head="ie_k"), ENCODER)
    objective.head.classifier.weight.data = torch.eye(2)
    objective.head.classifier.bias.data = torch.zeros(2)
    # Columns 0, 2 and 3 hold E_0, E_1 and E_2; the logits of a candidate are its state.
    states = torch.tensor([[[9.0, 9.0], [7.0, 7.0], [1.0, 2.0], [3.0, 0.0]]])
    batch = {"pooling": torch.eye(4)[[0, 2, 3]].unsqueeze(0), "labels": torch.tensor([[1, 1]])}
    loss = objective(ENCODER, states, batch)
    expected = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(3))) / 2
    assert loss.value.item() == pytest.approx(expected, abs=1e-6)
    assert loss.metrics["accuracy"].item() == 0.5


@pytest.mark.parametrize(("masked_input", "clean"), [(True, False), (False, True)])
def test_masked_input_decides_the_number_of_passes(masked_input: bool, clean: bool) -> None:
    objective = MultiSentencesInParagraph(MsppConfig(masked_input=masked_input), ENCODER)
    assert objective.needs_clean_input is clean


def test_empty_slots_are_ignored() -> None:
    objective = MultiSentencesInParagraph(MsppConfig(), ENCODER)
    states = torch.tensor([[[9.0, 9.0], [7.0, 7.0], [1.0, 2.0], [3.0, 0.0]]])
    batch = {"pooling": torch.eye(4)[[0, 2, 3]].unsqueeze(0), "labels": torch.tensor([[1, -100]])}
    without = {"pooling": batch["pooling"][:, :2], "labels": batch["labels"][:, :1]}
    loss, expected = (objective(ENCODER, states, slots) for slots in (batch, without))
    assert loss.value.item() == pytest.approx(expected.value.item())
    assert loss.metrics == expected.metrics
    nothing = objective(ENCODER, states, batch | {"labels": torch.tensor([[-100, -100]])})
    assert nothing.metrics["accuracy"].item() == 0


@pytest.mark.parametrize(("style", "count"), [("linear", 1), ("released", 2)])
@pytest.mark.parametrize(("head", "width"), [("ie_k", 2), ("ae_k", 4)])
def test_the_settings_choose_the_head(head: Any, width: int, style: Any, count: int) -> None:
    objective = MultiSentencesInParagraph(MsppConfig(head=head, style=style), ENCODER)
    layers = [module for module in objective.modules() if isinstance(module, torch.nn.Linear)]
    assert (len(layers), layers[0].in_features, layers[-1].out_features) == (count, width, 2)


def test_only_states_in_the_pooling_are_read() -> None:
    objective = MultiSentencesInParagraph(MsppConfig(), ENCODER)
    batch = {"pooling": torch.eye(4)[[0, 2, 3]].unsqueeze(0), "labels": torch.tensor([[1, 0]])}
    read = objective.read_positions(batch)
    assert read.tolist() == [[True, False, True, True]]
    states = torch.randn(1, 4, 2)
    expected = objective(ENCODER, states, batch).value
    assert torch.equal(objective(ENCODER, torch.where(read[..., None], states, 1e9), batch).value, expected)
