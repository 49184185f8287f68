"""Conditional masked language modelling (CMLM; Yang et al., 2021, section 2)."""

from typing import Any

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.encoders.first_states import BERT_LIKE
from contexture.encoders.layout import row_lengths
from contexture.encoders.network import Projections
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.masking import IGNORED_TARGET, Masking, masked_logits, prediction_loss
from contexture.objectives.settings import CmlmConfig


class ConditionalMaskedLanguageModel(Objective):
    """Cross-entropy of a sequence's masked tokens, which attend to N projections of its neighbour's vector.

    Reads pooled states (B, H) of first sequences, and `second` of the batch. The projections precede the token
    embeddings and go through the same layer norm. They have no position or type embeddings, which the paper does not
    specify; their output states are dropped. An encoder whose vector is a mean of projections supplies them. With
    `skip`, a linear layer maps the state of a masked token and all projections, (N + 1)·H numbers, to H.
    """

    def __init__(self, config: CmlmConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        network: Any = encoder.document
        family = network.model.config.model_type
        if family not in BERT_LIKE:
            raise ValueError(f"cmlm supports {sorted(BERT_LIKE)}, not {family}; choose another encoder")
        self.masking, width, views = Masking(config.probability, encoder), encoder.hidden_size, config.projections
        # An encoder that averages projections owns and saves them.
        self.projections = None if encoder.transformer.projections is not None else Projections(views, width)
        self.join = nn.Linear((views + 1) * width, width) if config.skip else None
        self.views, self.layer_flops = views, encoder.transformer.layer_flops
        perceptrons = encoder.transformer.projections or self.projections
        assert perceptrons is not None
        self.per_row = 6.0 * sum(p.numel() for p in perceptrons.parameters())
        self.per_masked = self.masking.per_masked + (0 if self.join is None else 6.0 * self.join.weight.numel())

    def corrupt(self, batch: StreamBatch, generator: torch.Generator) -> StreamBatch:
        """Return the batch with masked second sequences, and `cmlm_targets` (B, T)."""
        ids, targets = self.masking(batch["second"], generator)
        return {**batch, "second": {**batch["second"], "input_ids": ids}, "cmlm_targets": targets}

    def flops(self, batch: StreamBatch) -> Tensor:
        """Return FLOPs of second sequences with their projections, and of projections, head and logits."""
        lengths = row_lengths(batch["second"])
        heads = self.per_row * len(lengths) + self.per_masked * self.masking.expected(batch["second"]).sum()
        return self.layer_flops(lengths + self.views) + heads

    def forward(self, encoder: Encoder, states: Tensor, batch: StreamBatch) -> Loss:
        """Return the mean cross-entropy of the masked tokens. If `is_logged`, also the metrics.

        `accuracy` is the share of correct predictions, `conditioning_gain` its difference to the accuracy with another
        sequence's vector.
        """
        logits, truth = self._predict(encoder, states, batch)
        metrics = {}
        if self.is_logged and len(states) > 1 and len(truth):
            accuracy = (logits.argmax(-1) == truth).float().mean()
            with torch.no_grad(), torch.random.fork_rng([states.device] if states.is_cuda else []):
                swapped_logits, _ = self._predict(encoder, states.roll(1, 0), batch)
            metrics = {
                "accuracy": accuracy,
                "conditioning_gain": accuracy - (swapped_logits.argmax(-1) == truth).float().mean(),
            }
        return Loss(prediction_loss(logits, truth), metrics)

    def _predict(self, encoder: Encoder, pooled: Tensor, batch: StreamBatch) -> tuple[Tensor, Tensor]:
        """Return logits (M, V) of the masked tokens, given their neighbours' vectors (B, H), and their ids."""
        targets, projections = batch["cmlm_targets"], encoder.transformer.projections or self.projections
        assert projections is not None
        views: Tensor = projections(pooled)
        states = encoder.transformer.states(batch["second"], views)
        if self.join is None:
            return masked_logits(encoder, states, targets)
        chosen = targets != IGNORED_TARGET
        conditions = views.flatten(1)[chosen.nonzero()[:, 0]]
        return encoder.transformer.token_logits(self.join(torch.cat([states[chosen], conditions], dim=1))), targets[
            chosen
        ]
