"""Masked tokens and the loss of guessing them (BERT; Devlin et al., 2019, section 3.1)."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.encoders.layout import row_lengths
from contexture.objectives.masking_config import MaskingConfig

IGNORED = -100


class Masking(nn.Module):
    """Which tokens of an encoder's vocabulary are masked, and how."""

    def __init__(self, config: MaskingConfig, encoder: Encoder) -> None:
        super().__init__()
        self.config, tokens = config, encoder.vocabulary.tokens
        self.mask_id = tokens.mask
        #: FLOPs, forward and backward, of the head and the logits for each masked token.
        self.per_masked = 6.0 * encoder.hidden_size * (encoder.hidden_size + tokens.vocab_size)
        trained = encoder.document.words.num_embeddings
        special = torch.zeros(max(tokens.vocab_size, trained), dtype=torch.bool)
        special[[tokens.cls, tokens.sep, tokens.pad, tokens.mask, tokens.unk]] = True
        special[trained:] = True  # words that were not trained have no logit
        special[tokens.vocab_size :] = True  # further special tokens of the encoder
        self.register_buffer("special", special, persistent=False)
        self.special: Tensor

    def forward(self, batch: Mapping[str, Tensor], generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Mask `input_ids` of a batch of tokens, only those that are `maskable` if it says so: see `mask_tokens`."""
        ids, eligible = batch["input_ids"], batch.get("maskable")
        return mask_tokens(ids, self.special, self.mask_id, self.config, generator, eligible)

    def expected(self, batch: Mapping[str, Tensor]) -> Tensor:
        """How many tokens of each row (B,) are masked on average, special ones counted as if they were words."""
        eligible = batch["maskable"].sum(dim=1) if "maskable" in batch else row_lengths(batch)
        return self.config.probability * eligible


def mask_tokens(
    ids: Tensor,
    special: Tensor,
    mask_id: int,
    config: MaskingConfig,
    generator: torch.Generator,
    eligible: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Mask ids (B, T) at random, never the ids listed in `special`.

    Args:
        ids: (B, T).
        special: (V,), true for ids that are neither masked nor drawn as replacements.
        mask_id: of [MASK].
        config: shares.
        generator: of all random choices.
        eligible: (B, T), the only tokens that may be masked. An eligible token that a row repeats is masked, or not,
            wherever it stands in the row, so that it cannot be copied from there. None: all tokens, each for itself.

    Returns:
        The corrupted ids and the targets, both (B, T); targets are −100 where nothing is to be predicted.
    """
    draw = torch.rand((3, *ids.shape), generator=generator, device=ids.device)
    if eligible is not None:
        first = (ids[:, :, None] == ids[:, None, :]).int().argmax(dim=2)
        draw = draw.gather(2, first.expand_as(draw))
    chosen = (draw[0] < config.probability) & ~special[ids]
    if eligible is not None:
        chosen = chosen & eligible
    targets = ids.masked_fill(~chosen, IGNORED)
    masked = chosen & (draw[1] < config.mask_share)
    replaced = chosen & ~masked & (draw[1] < config.mask_share + config.random_share)
    ordinary = torch.nonzero(~special).squeeze(1)
    random_ids = ordinary[(draw[2] * len(ordinary)).long().clamp_(max=len(ordinary) - 1)]
    corrupted = torch.where(masked, mask_id, torch.where(replaced, random_ids, ids))
    return corrupted, targets


def guesses(encoder: Encoder, states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Logits (M, V) of the M tokens to be guessed, from states (B, T, H) and targets (B, T), and what they are (M,).

    Logits of other tokens are not computed.
    """
    chosen = targets != IGNORED
    return encoder.token_logits(states[chosen]), targets[chosen]


def guessing_loss(logits: Tensor, truth: Tensor) -> Tensor:
    """Mean of −log p over the masked tokens; 0 where none was masked. Logits (M, V), truth (M,)."""
    total = nn.functional.cross_entropy(logits.float(), truth, reduction="sum")
    return total / max(1, len(truth))
