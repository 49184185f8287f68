"""Left-to-right language modelling compared with transformers, and the context of a token."""

import math

import pytest
import torch
from transformers import BertConfig, BertLMHeadModel

from contexture.encoders.base import Encoder
from contexture.encoders.config import Lengths, TransformerConfig
from contexture.encoders.layout import text_layout
from contexture.objectives.lm import LanguageModel
from contexture.objectives.settings import LmConfig, MlmConfig
from tests.encoders.toys import build, sentences, subwords
from tests.objectives.losses import set_single_logit

LENGTHS = Lengths(query=12, document=12)
TEXTS = [[20, 21, 22, 23], [30, 31], [24, 25, 26, 27, 28, 29, 30]]


def make_encoder() -> Encoder:
    return build("transformer_last", vocabulary=subwords(), lengths=LENGTHS, head=True)


def test_loss_is_that_of_a_decoder_of_transformers() -> None:
    encoder = make_encoder()
    batch = text_layout(sentences(*TEXTS), encoder.specials, 12)
    loss = LanguageModel(LmConfig(), encoder)(encoder, encoder.transformer.states(batch), batch).value
    config: BertConfig = encoder.document.model.config
    peer = BertLMHeadModel(config).eval()
    peer.load_state_dict(encoder.document.model.state_dict(), strict=False)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    theirs = peer(batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
    assert loss.item() == pytest.approx(theirs.item(), rel=1e-5)


def test_a_case_by_hand() -> None:
    """All logits are 0 except log 3 for [SEP], which has 3 of V + 2 parts of the probability."""
    encoder = make_encoder()
    parts = math.log(set_single_logit(encoder, encoder.vocabulary.tokens.sep, math.log(3)) + 2)
    batch = text_layout(sentences([20, 21]), encoder.specials, 12)
    loss = LanguageModel(LmConfig(), encoder)(encoder, encoder.transformer.states(batch), batch).value
    assert loss.item() == pytest.approx((2 * parts + parts - math.log(3)) / 3, rel=1e-5)


def test_states_depend_on_previous_tokens_and_the_last_is_the_vector() -> None:
    encoder = make_encoder()
    first, other = (text_layout(sentences(words), encoder.specials, 12) for words in ([20, 21, 22], [20, 21, 40]))
    states = [encoder.transformer.states(batch)[0] for batch in (first, other)]
    assert torch.equal(states[0][:3], states[1][:3]) and not torch.allclose(states[0][3:], states[1][3:])
    vectors = encoder(encoder.batch(sentences(*TEXTS), "document", 40), "document")
    batch = text_layout(sentences(*TEXTS), encoder.specials, 12)
    last = batch["attention_mask"].sum(dim=1) - 1
    torch.testing.assert_close(vectors, encoder.transformer.states(batch)[torch.arange(3), last])


def test_unsuitable_encoders_raise_an_error() -> None:
    with pytest.raises(ValueError, match="predicts the next token, which the encoder reads"):
        LmConfig().check(TransformerConfig(), LENGTHS)
    with pytest.raises(ValueError, match="predicts tokens from both sides"):
        MlmConfig().check(TransformerConfig(pooling="last"), LENGTHS)
