"""The states of the first tokens equal those of the whole model."""

import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertModel, PreTrainedModel, RobertaConfig, RobertaModel

from contexture.encoders.first_states import first_states, skipped_flops

SIZES = {
    "vocab_size": 60,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 20,
}


def build_model(family: str, attention: str = "sdpa") -> PreTrainedModel:
    torch.manual_seed(0)
    model = (
        BertModel(BertConfig(**SIZES), add_pooling_layer=False)
        if family == "bert"
        else RobertaModel(RobertaConfig(**SIZES, type_vocab_size=2), add_pooling_layer=False)
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.set_attn_implementation(attention)
    return model.eval()


def inputs() -> dict[str, Tensor]:
    ids = torch.randint(3, 60, (3, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(9) < torch.tensor([[9], [4], [1]])
    positions = torch.arange(2, 11).expand(3, 9)
    return {"input_ids": ids, "attention_mask": mask.long(), "position_ids": positions, "token_type_ids": ids % 2}


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize(("family", "count"), [("bert", 1), ("bert", 3), ("roberta", 1)])
def test_states_and_gradients_equal_those_of_the_whole_model(family: str, count: int, attention: str) -> None:
    whole, partial = build_model(family, attention), build_model(family, attention)
    expected, states = whole(**inputs()).last_hidden_state[:, :count], first_states(partial, count, **inputs())
    torch.testing.assert_close(states, expected, atol=1e-5, rtol=1e-5)
    expected.pow(3).sum().backward()
    states.pow(3).sum().backward()
    for (name, left), right in zip(whole.named_parameters(), partial.parameters(), strict=True):
        torch.testing.assert_close(right.grad, left.grad, atol=1e-3, rtol=1e-4, msg=lambda text, n=name: f"{n}: {text}")


def test_dropout_is_applied() -> None:
    model = build_model("bert").train()
    torch.manual_seed(0)
    assert not torch.allclose(first_states(model, 1, **inputs()), first_states(model, 1, **inputs()))


def test_skipped_flops_by_hand() -> None:
    """One row of 3 tokens: query and output H² + H, H·I + I, I·H + H, two norms of 2H; two tokens idle."""
    parameters = 2 * (16 * 16 + 16) + (16 * 32 + 32) + (32 * 16 + 16) + 2 * 32
    assert float(skipped_flops(build_model("bert"), 1, torch.tensor([3]))) == 6 * parameters * 2 + 12 * 16 * (9 - 3)
