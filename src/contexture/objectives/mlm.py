"""Masked language modelling (BERT; Devlin et al., 2019, section 3.1)."""

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.encoders.layout import row_lengths
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.config import MlmConfig

IGNORED = -100


def mask_tokens(
    ids: Tensor, special: Tensor, mask_id: int, config: MlmConfig, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Mask ids (B, T) at random, never the ids listed in `special`.

    `special` (V,) is true for ids that are neither masked nor drawn as replacements. Returns the corrupted ids and the
    targets, both (B, T); targets are −100 where nothing is to be predicted.
    """
    draw = torch.rand((3, *ids.shape), generator=generator, device=ids.device)
    chosen = (draw[0] < config.probability) & ~special[ids]
    targets = ids.masked_fill(~chosen, IGNORED)
    masked = chosen & (draw[1] < config.mask_share)
    replaced = chosen & ~masked & (draw[1] < config.mask_share + config.random_share)
    ordinary = torch.nonzero(~special).squeeze(1)
    random_ids = ordinary[(draw[2] * len(ordinary)).long().clamp_(max=len(ordinary) - 1)]
    corrupted = torch.where(masked, mask_id, torch.where(replaced, random_ids, ids))
    return corrupted, targets


class MaskedLanguageModel(Objective):
    """Cross-entropy of the masked tokens; logits are computed at those positions only."""

    def __init__(self, config: MlmConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config, tokens = config, encoder.vocabulary.tokens
        self.mask_id = tokens.mask
        self.per_token = 6.0 * config.probability * encoder.hidden_size * (encoder.hidden_size + tokens.vocab_size)
        special = torch.zeros(tokens.vocab_size, dtype=torch.bool)
        special[[tokens.cls, tokens.sep, tokens.pad, tokens.mask, tokens.unk]] = True
        special[encoder.document.words.num_embeddings :] = True  # words that were not trained have no logit
        self.register_buffer("special", special, persistent=False)
        self.special: Tensor

    def corrupt(self, batch: StreamBatch, generator: torch.Generator) -> StreamBatch:
        """Mask the input anew and add `mlm_targets` (B, T)."""
        ids, targets = mask_tokens(batch["input_ids"], self.special, self.mask_id, self.config, generator)
        return {**batch, "input_ids": ids, "mlm_targets": targets}

    def flops(self, batch: StreamBatch) -> Tensor:
        """Those of the head and the logits of as many tokens as are masked on average."""
        return self.per_token * row_lengths(batch).sum()

    def forward(self, encoder: Encoder, states: Tensor, batch: StreamBatch) -> Loss:
        """Mean over the masked tokens of the batch; 0 where none was masked."""
        chosen = batch["mlm_targets"] != IGNORED
        logits = encoder.token_logits(states[chosen])
        total = nn.functional.cross_entropy(logits.float(), batch["mlm_targets"][chosen], reduction="sum")
        return Loss(total / chosen.sum().clamp(min=1))
