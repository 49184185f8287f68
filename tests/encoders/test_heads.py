"""Evidence heads by hand."""

import math
from typing import Any

import pytest
import torch

from contexture.encoders.config import LabelHeadKind
from contexture.encoders.heads import EvidenceHead, LabelHead, candidate_loss, sentence_states

# E_0, E_1, E_2 of one example, two wide.
STATES = torch.tensor([[[1.0, 2.0], [3.0, 5.0], [-1.0, 4.0]]])


@pytest.mark.parametrize(
    ("kind", "weight", "bias", "logits"),
    [
        ("ie_k", [[1.0, 0.0], [0.0, 2.0]], [0.5, 0.0], [[3.5, 10.0], [-0.5, 8.0]]),
        # [E_0; E_i]: first logit E_0[0] + E_i[1], second E_0[1] + E_i[0] + 1
        ("ae_k", [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]], [0.0, 1.0], [[6.0, 6.0], [5.0, 2.0]]),
        ("ie_1", [[1.0, 1.0], [2.0, 0.0]], [0.0, 0.0], [[3.0, 2.0]]),
    ],
)
def test_evidence_by_hand(kind: Any, weight: list[list[float]], bias: list[float], logits: list[list[float]]) -> None:
    head = EvidenceHead(kind, 2)
    head.classifier.weight.data, head.classifier.bias.data = torch.tensor(weight), torch.tensor(bias)
    assert head(STATES).tolist() == [logits]


@pytest.mark.parametrize(("kind", "width"), [("ie_k", 4), ("ae_k", 8), ("ie_1", 4)])
def test_the_released_style_has_a_dense_tanh_layer(kind: str, width: int) -> None:
    head = EvidenceHead(kind, 4, "released").eval()  # type: ignore[arg-type]
    _, dense, _, _, out = head.classifier
    features = {"ie_k": lambda e: e[:, 1:], "ie_1": lambda e: e[:, :1]}.get(
        kind, lambda e: torch.cat([e[:, :1].expand(-1, 2, -1), e[:, 1:]], -1)
    )
    states = torch.randn(2, 3, 4)
    assert dense.weight.shape == (4, width)
    torch.testing.assert_close(head(states), out(torch.tanh(dense(features(states)))))


def test_loss_by_hand_leaves_out_empty_slots() -> None:
    logits = torch.tensor([[[0.0, 0.0], [1.0, 3.0], [9.0, -9.0]]])
    labels = torch.tensor([[0, 1, -100]])
    # −log ½ and −log σ(2), over two candidates
    expected = (math.log(2) + math.log(1 + math.exp(-2))) / 2
    assert candidate_loss(logits, labels).item() == pytest.approx(expected, abs=1e-6)


def test_sentence_states_are_weighted_means() -> None:
    states = torch.arange(12.0).reshape(1, 4, 3)
    means = sentence_states(states, torch.tensor([[[0, 0, 1, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 0]]]))
    assert means.tolist() == [[[6, 7, 8], [1.5, 2.5, 3.5], [0, 0, 0]]]


PRESENT = torch.tensor([[True, True, False]])


@pytest.mark.parametrize(
    ("kind", "pooled"),
    [
        ("ie_1", [1.0, 2.0]),
        ("ae_1", [2.0, 3.5]),  # of E_0 and E_1; E_2 is absent
        ("max_pool", [3.0, 5.0]),
        # Scores E[0]: weights e and e³, as 1 to e².
        ("weighted_sum", [(1 + 3 * math.e**2) / (1 + math.e**2), (2 + 5 * math.e**2) / (1 + math.e**2)]),
    ],
)
def test_one_label_by_hand(kind: LabelHeadKind, pooled: list[float]) -> None:
    head = LabelHead(kind, 2, 3)
    if head.weight is not None:
        head.weight.weight.data = torch.tensor([[1.0, 0.0]])
    head.classifier.weight.data = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, -1.0]])
    head.classifier.bias.data = torch.tensor([0.0, 1.0, 0.0])
    x, y = pooled
    assert head.pooled_states(STATES, PRESENT)[0].tolist() == pytest.approx(pooled, abs=1e-6)
    assert head(STATES, PRESENT)[0].tolist() == pytest.approx([x, 2 * y + 1, x - y], abs=1e-5)
    absent = STATES.clone()
    absent[0, 2] = 1e6
    assert head.pooled_states(absent, PRESENT)[0].tolist() == pytest.approx(pooled, abs=1e-6)


def test_one_label_in_the_released_style() -> None:
    head = LabelHead("ae_1", 2, 3, "released").eval()
    _, dense, _, _, out = head.classifier
    torch.testing.assert_close(head(STATES, PRESENT), out(torch.tanh(dense(torch.tensor([[2.0, 3.5]])))))
