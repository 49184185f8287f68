"""Masking statistics and the loss of masked language modelling."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contexture.encoders.config import TableSizes, TransformerConfig
from contexture.encoders.layout import text_layout
from contexture.objectives.base import mark_read_positions
from contexture.objectives.lm import LanguageModel
from contexture.objectives.masking import IGNORED_TARGET, mask_tokens
from contexture.objectives.mlm import MaskedLanguageModel
from contexture.objectives.settings import LmConfig, MlmConfig
from tests.encoders.toys import TOKENS, TRAINED, build, sentences, subwords

VOCABULARY, MASK = 200, 4
SPECIAL = torch.zeros(VOCABULARY, dtype=torch.bool)
SPECIAL[:5] = True


def test_shares_are_those_of_bert() -> None:
    """15% chosen; 80% of these masked, 10% replaced, 10% kept, all within four standard deviations."""
    ids = torch.randint(5, VOCABULARY, (500, 400), generator=torch.Generator().manual_seed(0))
    corrupted, targets = mask_tokens(ids, SPECIAL, MASK, 0.15, torch.Generator().manual_seed(1))
    chosen = targets != IGNORED_TARGET
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
def test_unchosen_and_special_tokens_do_not_change(seed: int, probability: float) -> None:
    ids = torch.randint(0, VOCABULARY, (4, 30), generator=torch.Generator().manual_seed(seed))
    corrupted, targets = mask_tokens(ids, SPECIAL, MASK, probability, torch.Generator().manual_seed(seed))
    chosen = targets != IGNORED_TARGET
    assert torch.equal(corrupted[~chosen], ids[~chosen])
    assert torch.equal(targets[chosen], ids[chosen])
    assert not (chosen & SPECIAL[ids]).any()
    again, _ = mask_tokens(ids, SPECIAL, MASK, probability, torch.Generator().manual_seed(seed))
    assert torch.equal(corrupted, again)


def test_loss_is_that_of_the_whole_model_and_only_masked_positions_get_logits() -> None:
    """Compares with transformers, which computes the logits of all positions."""
    encoder = build("transformer_mean", head=True, vocabulary=subwords())
    model = encoder.document.model
    objective = MaskedLanguageModel(MlmConfig(probability=0.4), encoder)
    ids = torch.randint(5, subwords().tokens.vocab_size, (3, 8), generator=torch.Generator().manual_seed(0))
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
        loss, nothing = (
            objective(encoder, encoder.transformer.states(batch), batch | {"mlm_targets": labels}).value
            for labels in (targets, torch.full_like(ids, IGNORED_TARGET))
        )
        hook.remove()
    assert loss.item() == pytest.approx(reference.item(), rel=1e-5)
    assert seen == [(targets != IGNORED_TARGET).sum().item(), 0]
    assert nothing.item() == 0


def test_padding_and_untrained_words_are_never_predicted() -> None:
    """Untrained words are read as unknown words and have no logit."""
    encoder = build("transformer_mean", head=True)
    objective = MaskedLanguageModel(MlmConfig(probability=0.9), encoder)
    texts = sentences([5, TRAINED, 6, TRAINED + 4], [7, TOKENS.unk], [TRAINED + 1])
    batch = text_layout(texts, encoder.specials, 10)
    for seed in range(9):
        corrupted = objective.corrupt(batch, torch.Generator().manual_seed(seed))
        chosen = corrupted["mlm_targets"] != IGNORED_TARGET
        assert set(batch["input_ids"][chosen].tolist()) <= {5, 6, 7}
        assert torch.equal(corrupted["input_ids"][~chosen], batch["input_ids"][~chosen])
        assert torch.isfinite(objective(encoder, encoder.transformer.states(corrupted), corrupted).value)
    assert corrupted["attention_mask"] is batch["attention_mask"]


def test_flops_of_the_logits_of_as_many_tokens_as_are_masked() -> None:
    encoder = build("transformer_mean", head=True, vocabulary=subwords())
    batch = text_layout(sentences([20, 21], [22]), encoder.specials, 10)
    objective = MaskedLanguageModel(MlmConfig(probability=0.5), encoder)
    per_masked = 6 * 8 * (8 + subwords().tokens.vocab_size)
    assert float(objective.flops(batch)) == pytest.approx(0.5 * 7 * per_masked)
    maskable = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
    maskable[0, 1:3] = True
    assert float(objective.flops({**batch, "maskable": maskable})) == pytest.approx(0.5 * 2 * per_masked)


@given(st.lists(st.lists(st.integers(0, 6), min_size=6, max_size=6), min_size=1, max_size=4), st.integers(0, 99))
def test_only_eligible_tokens_are_masked_and_repeated_ones_together(rows: list[list[int]], seed: int) -> None:
    """Ids 20 … 26; even ones are eligible."""
    ids = torch.tensor(rows) + 20
    generator = torch.Generator().manual_seed(seed)
    corrupted, targets = mask_tokens(ids, SPECIAL, MASK, 0.5, generator, eligible=ids % 2 == 0)
    for row, changed, target in zip(ids.tolist(), corrupted.tolist(), targets.tolist(), strict=True):
        for token in set(row):
            masked = {target[i] != IGNORED_TARGET for i, other in enumerate(row) if other == token}
            replacements = {changed[i] for i, other in enumerate(row) if other == token}
            assert len(masked) == 1 and len(replacements) == 1
            assert token % 2 == 0 or masked == {False}
            assert masked == {True} or replacements == {token}


def test_probability_is_the_share_of_masked_eligible_tokens() -> None:
    ids = torch.arange(20, 60).expand(500, 40)
    eligible = torch.arange(40).expand(500, 40) < 10
    special = torch.zeros(100, dtype=torch.bool)
    _, targets = mask_tokens(ids, special, MASK, 0.3, torch.Generator().manual_seed(0), eligible)
    assert float((targets != IGNORED_TARGET).float().sum()) == pytest.approx(0.3 * 5000, rel=0.1)


@pytest.mark.parametrize(
    ("kind", "settings", "pooling"),
    [(MaskedLanguageModel, MlmConfig, "mean"), (LanguageModel, LmConfig, "last")],
)
def test_words_begin_at_random_positions(kind: Any, settings: Any, pooling: Any) -> None:
    encoder = build(
        TransformerConfig(hidden_size=8, layers=1, heads=2, pooling=pooling),
        vocabulary=subwords(),
        table_sizes=TableSizes(40),
        head=True,
    )
    batch = text_layout(sentences(*[[20, 21, 22]] * 200), encoder.specials, 12)
    begins = {}
    for starts in ("fixed", "one", "each"):
        objective = kind(settings(starts=starts), encoder)
        positions = objective.corrupt(batch, torch.Generator().manual_seed(0))["position_ids"]
        assert (positions[:, 0] == 0).all() and (positions[:, 2:] - positions[:, 1:-1] == 1).all()
        begins[starts] = set(positions[:, 1].tolist())
    assert begins["fixed"] == {1} and len(begins["one"]) == 1
    assert len(begins["each"]) > 20 and begins["each"] <= set(range(1, 40 - 3))


def test_moved_words_require_short_sequences() -> None:
    assert MlmConfig(starts="each").readable_streams == ("short_sequences",)
    assert "passages" in MlmConfig().readable_streams


def test_only_states_of_masked_tokens_are_read() -> None:
    encoder = build("transformer_mean", head=True, vocabulary=subwords())
    objective = MaskedLanguageModel(MlmConfig(probability=0.4), encoder)
    batch = text_layout(sentences([5, 6, 7], [8, 9]), encoder.specials, 10)
    corrupted = objective.corrupt(batch, torch.Generator().manual_seed(0))
    read = objective.read_positions(corrupted)
    assert 0 < read.sum() < batch["attention_mask"].sum()
    states = torch.randn(*read.shape, 8)
    expected = objective(encoder, states, corrupted).value
    assert torch.equal(objective(encoder, torch.where(read[..., None], states, 1e9), corrupted).value, expected)
    # The states of both objectives are marked; an objective that reads all leaves no mark.
    assert torch.equal(mark_read_positions(corrupted, [objective, objective])["read"], read)
    everything = LanguageModel(LmConfig(), encoder)
    assert "read" not in mark_read_positions(corrupted, [objective, everything])
