"""The MSPP objective by hand."""

import math

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from contexture.encoders.transformer import TransformerEncoder
from contexture.objectives.config import MsppConfig
from contexture.objectives.mspp import MultiSentencesInParagraph
from contexture.vocabulary.tokenizers import SpecialTokens

ENCODER = TransformerEncoder(
    BertForMaskedLM(
        BertConfig(vocab_size=9, hidden_size=2, num_hidden_layers=1, num_attention_heads=1, intermediate_size=2)
    )
)
TOKENS = SpecialTokens(cls=1, sep=2, pad=0, mask=4, unk=3, vocab_size=9)


def test_loss_and_accuracy_by_hand() -> None:
    objective = MultiSentencesInParagraph(MsppConfig(head="ie_k"), ENCODER, TOKENS)
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
def test_one_pass_or_two_is_an_option(masked_input: bool, clean: bool) -> None:
    objective = MultiSentencesInParagraph(MsppConfig(masked_input=masked_input), ENCODER, TOKENS)
    assert objective.wants_clean_input is clean
