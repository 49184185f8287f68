"""Encoders from scratch and continued from published weights."""

from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, RobertaConfig, RobertaForMaskedLM

from contexture.encoders.config import EncoderConfig, LayoutConfig
from contexture.encoders.transformer import build_encoder, load_encoder, save_encoder
from contexture.vocabulary.tokenizers import SpecialTokens, VocabularyConfig, load_tokenizer, train_tokenizer

LAYOUT = LayoutConfig(candidates=2, sentence_tokens=8)
SMALL = {"vocab_size": 400, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}


@pytest.fixture
def tokens(tmp_path: Path) -> SpecialTokens:
    train_tokenizer(["some words to read"] * 3, VocabularyConfig(kind="bpe", size=300), tmp_path / "bpe")
    return load_tokenizer(tmp_path / "bpe")[1]


def inputs(first_position: int) -> dict[str, torch.Tensor]:
    ids = torch.randint(5, 250, (2, 8))
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "position_ids": torch.arange(8).expand(2, -1) + first_position,
        "token_type_ids": torch.arange(8).expand(2, -1) // 3,
    }


def test_from_scratch_has_a_position_for_every_slot_and_a_type_for_every_sentence(tokens: SpecialTokens) -> None:
    encoder = build_encoder(
        EncoderConfig(hidden_size=8, heads=2, intermediate_size=8), LAYOUT.width, LAYOUT.candidates + 1, tokens
    )
    assert (encoder.config.max_position_embeddings, encoder.config.type_vocab_size) == (24, 3)
    assert encoder.specials(tokens).first_position == 0


@pytest.mark.parametrize(
    ("model", "first_position", "separators"),
    [
        (RobertaForMaskedLM(RobertaConfig(**SMALL, max_position_embeddings=26, type_vocab_size=1)), 2, 2),
        (BertForMaskedLM(BertConfig(**SMALL, max_position_embeddings=24, type_vocab_size=2)), 0, 1),
    ],
)
def test_published_weights_compute_at_first_what_they_did_before(
    model: RobertaForMaskedLM, first_position: int, separators: int, tokens: SpecialTokens, tmp_path: Path
) -> None:
    model.save_pretrained(tmp_path / "published")
    encoder = build_encoder(
        EncoderConfig(init_from=str(tmp_path / "published"), dropout=0), LAYOUT.width, LAYOUT.candidates + 1, tokens
    ).eval()
    specials = encoder.specials(tokens)
    assert (specials.first_position, specials.pair_separators) == (first_position, separators)
    batch = inputs(first_position)
    one_type = batch | {"token_type_ids": torch.zeros_like(batch["input_ids"])}
    with torch.no_grad():
        before = model.eval()(**one_type, output_hidden_states=True).hidden_states[-1]
        torch.testing.assert_close(encoder(one_type), before)
        if model.config.model_type == "roberta":  # all its types are copies of its only one
            torch.testing.assert_close(encoder(batch), before)
        torch.testing.assert_close(encoder.token_logits(before[0]), model(**one_type).logits[0])

    save_encoder(encoder, tmp_path / "bpe", tmp_path / "saved")
    with torch.no_grad():
        torch.testing.assert_close(load_encoder(tmp_path / "saved").eval()(batch), encoder(batch))


def test_a_vocabulary_of_other_weights_is_refused(tokens: SpecialTokens, tmp_path: Path) -> None:
    small = SMALL | {"vocab_size": 100}
    BertForMaskedLM(BertConfig(**small, max_position_embeddings=24)).save_pretrained(tmp_path / "published")
    with pytest.raises(ValueError, match=r"set vocabulary\.published"):
        build_encoder(EncoderConfig(init_from=str(tmp_path / "published")), LAYOUT.width, LAYOUT.candidates + 1, tokens)
    with pytest.raises(ValueError, match="must divide"):
        EncoderConfig(hidden_size=10, heads=3)


def test_a_new_encoder_starts_scaled_to_its_width_and_matching_like_with_like(tokens: SpecialTokens) -> None:
    torch.manual_seed(0)
    encoder = build_encoder(
        EncoderConfig(hidden_size=64, heads=2, intermediate_size=256), LAYOUT.width, LAYOUT.candidates + 1, tokens
    )
    layer = encoder.model.bert.encoder.layer[0]
    assert torch.equal(layer.attention.self.query.weight, layer.attention.self.key.weight)
    assert layer.intermediate.dense.weight.std().item() == pytest.approx(64**-0.5, rel=0.05)
    assert layer.output.dense.weight.std().item() == pytest.approx(256**-0.5, rel=0.05)
    decoder, words = encoder.model.cls.predictions.decoder.weight, encoder.model.bert.embeddings.word_embeddings.weight
    assert decoder is words and words.std().item() == pytest.approx(0.05, rel=0.05)
