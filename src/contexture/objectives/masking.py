"""Masking of tokens, the loss of predicting them (BERT; Devlin et al., 2019, section 3.1), and moved positions."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.encoders.layout import row_lengths
from contexture.objectives.settings import Starts

#: Target of tokens that are not predicted.
IGNORED_TARGET = -100
#: Shares of predicted tokens that are replaced by [MASK] and by a random token; the others stay.
MASK_SHARE, RANDOM_SHARE = 0.8, 0.1


class Masking(nn.Module):
    """Masks a share of an encoder's tokens, except special ones."""

    def __init__(self, probability: float, encoder: Encoder) -> None:
        super().__init__()
        self.probability, tokens = probability, encoder.vocabulary.tokens
        self.mask_id = tokens.mask
        #: Forward and backward FLOPs of head and logits per masked token.
        self.per_masked = 6.0 * encoder.hidden_size * (encoder.hidden_size + tokens.vocab_size)
        trained = encoder.document.words.num_embeddings
        special = torch.zeros(max(tokens.vocab_size, trained), dtype=torch.bool)
        special[[tokens.cls, tokens.sep, tokens.pad, tokens.mask, tokens.unk]] = True
        special[trained:] = True  # untrained words have no logit
        special[tokens.vocab_size :] = True  # additional special tokens
        self.register_buffer("special", special, persistent=False)
        self.special: Tensor

    def forward(self, batch: Mapping[str, Tensor], generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return masked `input_ids` and targets (B, T) of a batch, limited to `maskable` tokens if present."""
        ids, eligible = batch["input_ids"], batch.get("maskable")
        return mask_tokens(ids, self.special, self.mask_id, self.probability, generator, eligible)

    def expected(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Return the expected number of masked tokens per row (B,), with special tokens counted as words."""
        eligible = batch["maskable"].sum(dim=1) if "maskable" in batch else row_lengths(batch)
        return self.probability * eligible


def mask_tokens(
    ids: Tensor,
    special: Tensor,
    mask_id: int,
    probability: float,
    generator: torch.Generator,
    eligible: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Mask ids (B, T) at random, except those in `special`, and return them with the targets to predict.

    Args:
        ids: (B, T).
        special: (V,), true for ids that are neither masked nor drawn as replacements.
        mask_id: id of [MASK].
        probability: of predicting a token.
        generator: makes all random choices.
        eligible: (B, T), tokens that may be masked; None: all. All occurrences of an eligible token in a row are masked
            together, so that it cannot be copied from the row.

    Returns:
        The corrupted ids and the targets, both (B, T). Targets are −100 where nothing is predicted.
    """
    draw = torch.rand((3, *ids.shape), generator=generator, device=ids.device)
    if eligible is not None:
        first = (ids[:, :, None] == ids[:, None, :]).int().argmax(dim=2)
        draw = draw.gather(2, first.expand_as(draw))
    chosen = (draw[0] < probability) & ~special[ids]
    if eligible is not None:
        chosen = chosen & eligible
    targets = ids.masked_fill(~chosen, IGNORED_TARGET)
    masked = chosen & (draw[1] < MASK_SHARE)
    replaced = chosen & ~masked & (draw[1] < MASK_SHARE + RANDOM_SHARE)
    ordinary = torch.nonzero(~special).squeeze(1)
    random_ids = ordinary[(draw[2] * len(ordinary)).long().clamp_(max=len(ordinary) - 1)]
    corrupted = torch.where(masked, mask_id, torch.where(replaced, random_ids, ids))
    return corrupted, targets


def masked_logits(encoder: Encoder, states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits (M, V) and ids (M,) of the masked tokens, from states (B, T, H) and targets (B, T)."""
    chosen = targets != IGNORED_TARGET
    return encoder.transformer.token_logits(states[chosen]), targets[chosen]


def prediction_loss(logits: Tensor, truth: Tensor) -> Tensor:
    """Return mean −log p over M tokens, from logits (M, V) and ids (M,); 0 without tokens."""
    total = nn.functional.cross_entropy(logits.float(), truth, reduction="sum")
    return total / max(1, len(truth))


class Positions:
    """Moves the words of sequences to random positions (Cross-Thought, section 4.2). Special tokens stay."""

    def __init__(self, starts: Starts, encoder: Encoder) -> None:
        network: Any = encoder.document
        self.starts = starts
        if starts != "fixed":
            self.num_leading = network.num_leading
            self.positions = network.model.config.max_position_embeddings - encoder.specials.first_position

    def move(self, chunks: Sequence[Mapping[str, Tensor]], generator: torch.Generator) -> list[Mapping[str, Tensor]]:
        """Return a batch's chunks with words moved to random positions, as `starts` says: new `position_ids` (B, T)."""
        if self.starts == "fixed":
            return list(chunks)
        device = chunks[0]["input_ids"].device
        shared_draw = torch.rand(1, generator=generator, device=device)
        widest = max(chunk["input_ids"].shape[1] for chunk in chunks)
        moved: list[Mapping[str, Tensor]] = []
        for chunk in chunks:
            lengths, width = row_lengths(chunk), chunk["input_ids"].shape[1]
            per_row = self.starts == "each"
            draw = torch.rand(len(lengths), generator=generator, device=device) if per_row else shared_draw
            room = self.positions - (lengths if per_row else lengths.new_full((1,), widest))
            shift = (draw * (room + 1)).long().clamp_max(room)[:, None]
            words = torch.arange(width, device=device) >= self.num_leading
            position_ids = chunk["position_ids"] + shift * (chunk["attention_mask"].bool() & words)
            moved.append({**chunk, "position_ids": position_ids})
        return moved
