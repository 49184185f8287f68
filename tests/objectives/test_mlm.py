"""Masking statistics and the loss of masked language modelling."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, BertForMaskedLM

from contexture.encoders.transformer import TransformerEncoder
from contexture.objectives.config import MlmConfig
from contexture.objectives.mlm import IGNORED, MaskedLanguageModel, mask_tokens
from contexture.vocabulary.tokenizers import SpecialTokens

VOCABULARY, MASK = 200, 4
SPECIAL = torch.zeros(VOCABULARY, dtype=torch.bool)
SPECIAL[:5] = True


def test_shares_are_those_of_bert() -> None:
    """15% chosen; of those 80% masked, 10% replaced, 10% kept: all within four standard deviations."""
    ids = torch.randint(5, VOCABULARY, (500, 400), generator=torch.Generator().manual_seed(0))
    corrupted, targets = mask_tokens(ids, SPECIAL, MASK, MlmConfig(), torch.Generator().manual_seed(1))
    chosen = targets != IGNORED
    n = chosen.sum().item()
    masked = ((corrupted == MASK) & chosen).sum().item() / n
    kept = ((corrupted == ids) & chosen).sum().item() / n

    def near(share: float, expected: float, count: int) -> bool:
        return abs(share - expected) < 4 * (expected * (1 - expected) / count) ** 0.5

    assert near(n / ids.numel(), 0.15, ids.numel())
    assert near(masked, 0.8, n)
    assert near(kept, 0.1 + 0.1 / (VOCABULARY - 5), n)  # a random token may be the token itself
    replacements = corrupted[chosen & (corrupted != MASK) & (corrupted != ids)]
    counts = torch.bincount(replacements, minlength=VOCABULARY)
    assert counts[:5].sum() == 0
    expected = len(replacements) / (VOCABULARY - 5)
    chi_square = ((counts[5:] - expected) ** 2 / expected).sum().item()
    assert chi_square < VOCABULARY - 5 + 4 * (2 * (VOCABULARY - 5)) ** 0.5


@given(st.integers(0, 2**31), st.floats(0.05, 0.95))
def test_what_is_not_chosen_stays_and_special_tokens_are_never_chosen(seed: int, probability: float) -> None:
    ids = torch.randint(0, VOCABULARY, (4, 30), generator=torch.Generator().manual_seed(seed))
    config = MlmConfig(probability=probability)
    corrupted, targets = mask_tokens(ids, SPECIAL, MASK, config, torch.Generator().manual_seed(seed))
    chosen = targets != IGNORED
    assert torch.equal(corrupted[~chosen], ids[~chosen])
    assert torch.equal(targets[chosen], ids[chosen])
    assert not (chosen & SPECIAL[ids]).any()
    again, _ = mask_tokens(ids, SPECIAL, MASK, config, torch.Generator().manual_seed(seed))
    assert torch.equal(corrupted, again)


def test_loss_is_that_of_the_whole_model_and_only_masked_positions_get_logits() -> None:
    """Against Hugging Face's own masked-language-model loss, which computes the logits of all positions."""
    torch.manual_seed(0)
    model = BertForMaskedLM(
        BertConfig(vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    ).eval()
    encoder = TransformerEncoder(model)
    objective = MaskedLanguageModel(MlmConfig(probability=0.4), encoder, SpecialTokens(1, 2, 0, MASK, 3, 30))
    ids = torch.randint(5, 30, (3, 8))
    batch = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "position_ids": torch.arange(8).expand(3, -1),
        "token_type_ids": torch.zeros_like(ids),
    }
    batch = objective.corrupt(batch, torch.Generator().manual_seed(3))
    targets = batch.pop("mlm_targets")
    seen: list[int] = []
    with torch.no_grad():
        reference = model(**batch, labels=targets).loss
        hook = model.cls.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].shape[0]))
        loss = objective(encoder, encoder(batch), batch | {"mlm_targets": targets}).value
        nothing = objective(encoder, encoder(batch), batch | {"mlm_targets": torch.full_like(ids, IGNORED)}).value
        hook.remove()
    assert loss.item() == pytest.approx(reference.item(), rel=1e-5)
    assert seen == [(targets != IGNORED).sum().item(), 0]
    assert nothing.item() == 0


def test_shares_that_exceed_the_whole_are_refused() -> None:
    with pytest.raises(ValueError, match="together at most 1"):
        MlmConfig(mask_share=0.9, random_share=0.2)
