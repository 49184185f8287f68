"""Cross-Thought: recover masked words with other sequences' vectors (Wang et al., 2020, section 3.2)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from contexture.encoders.base import Encoder
from contexture.encoders.cross import CrossLayers, attention_mask, new_layer
from contexture.encoders.first_states import BERT_LIKE, attend
from contexture.encoders.layout import row_lengths
from contexture.objectives.attended import measure_attention
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.devices import global_mean
from contexture.objectives.masking import IGNORED_TARGET, Masking, Positions
from contexture.objectives.settings import CrossThoughtConfig


class CrossThought(Objective):
    """Cross-entropy of the masked tokens, from another Transformer layer over [C; H] (equations 8 and 9).

    Reads states of the sequences of a batch of samples. States of special tokens go through the encoder's layers across
    sequences; the output replaces them in the last layer, in which only masked positions are queries.
    """

    def __init__(self, config: CrossThoughtConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        network: Any = encoder.document
        model = network.model.config
        if model.model_type not in BERT_LIKE:
            raise ValueError(
                f"cross_thought supports {sorted(BERT_LIKE)}, not {model.model_type}; choose another encoder"
            )
        self.masking = Masking(config.probability, encoder)
        self.positions, self.num_leading = Positions(config.starts, encoder), network.num_leading
        assert encoder.cross is not None
        self.last: Any = new_layer(network.base.encoder.layer[-1], encoder.config.has_scaled_init, encoder.cross.start)
        attention = self.last.attention
        idle = [attention.self.query, attention.output, self.last.intermediate, self.last.output]
        asking = 6.0 * sum(p.numel() for module in idle for p in module.parameters())
        self.per_token = 6.0 * sum(
            p.numel() for module in (attention.self.key, attention.self.value) for p in module.parameters()
        )
        self.per_masked = asking + self.masking.per_masked
        self.per_pair = 12.0 * model.hidden_size
        self.cross_flops = encoder.cross.flops

    def corrupt(self, batch: StreamBatch, generator: torch.Generator) -> StreamBatch:
        """Return the batch with words of each sequence moved and masked, and `targets` (B, T) in each chunk."""
        texts = batch["sequences"]
        chunks = []
        for chunk in self.positions.move(texts["chunks"], generator):
            ids, targets = self.masking(chunk, generator)
            chunks.append({**chunk, "input_ids": ids, "targets": targets})
        return {**batch, "sequences": {**texts, "chunks": chunks}}

    def flops(self, batch: StreamBatch) -> Tensor:
        """Return FLOPs of layers across sequences, of the last layer, and of the logits of masked tokens."""
        chunks = batch["sequences"]["chunks"]
        lengths = torch.cat([row_lengths(chunk) for chunk in chunks]).double()
        masked = torch.cat([self.masking.expected(chunk) for chunk in chunks]).double()
        last = self.per_token * lengths.sum() + self.per_masked * masked.sum() + self.per_pair * (masked @ lengths)
        total: Tensor = self.cross_flops(batch["present"].sum(dim=1)) + last
        return total

    def inspect(self, encoder: Encoder, batches: Iterable[StreamBatch]) -> dict[str, Any]:
        """Return how much sequences attend to the ones that contain their masked words; see `measure_attention`."""
        return measure_attention(encoder, batches)

    def forward(self, encoder: Encoder, states: list[Tensor], batch: StreamBatch) -> Loss:
        """Return the mean cross-entropy of the masked tokens. If `is_logged`, also the metrics.

        - `accuracy`: share of correct predictions
        - `gain`: loss in nats per masked token without other sequences, minus the loss
        - `own_gain`: loss without other sequences, minus the loss with those of the same document only
        - `own_share`: share of attention to other sequences of the same document
        - `own_chance`: the same for uniform attention
        """
        assert encoder.cross is not None
        network: Any = encoder.document
        chunks, rows = batch["sequences"]["chunks"], batch["sequences"]["rows"]
        grid, present, documents = batch["grid"], batch["present"], batch["documents"]
        parts = zip(states, chunks, strict=True)
        vectors = torch.cat([network.pool_states(state, chunk) for state, chunk in parts])[rows]
        table = vectors.new_zeros(present.numel(), vectors.shape[1]).index_copy(0, grid, vectors)
        table = table.view(*present.shape, -1)

        def predict_within_groups(groups: Tensor, to_itself: bool) -> tuple[Tensor, Tensor, Tensor]:
            """Return loss, hits and count of `_predict_masked` if sequences attend within `groups`."""
            special_states = encoder.cross(table, present, groups, to_itself).flatten(0, 1)  # type: ignore[misc]
            return self._predict_masked(encoder, special_states[grid][rows.argsort()], states, chunks)

        to_itself: bool = batch["to_itself"]
        loss, hits, count = predict_within_groups(batch["groups"], to_itself)
        metrics = {}
        if self.is_logged:
            with torch.no_grad(), torch.random.fork_rng([vectors.device] if vectors.is_cuda else []):
                singletons = torch.arange(present.shape[1], device=present.device).expand_as(present)
                without, within = (
                    predict_within_groups(singletons, True)[0],
                    predict_within_groups(documents, to_itself)[0],
                )
                masked = count.clamp_min(1)
                gains = {"gain": (without - loss) / masked, "own_gain": (without - within) / masked}
                shares = document_shares(encoder.cross, table, present, documents, batch["groups"], to_itself)
            metrics = {"accuracy": hits / masked, **gains, **shares}
        return Loss(global_mean(loss, count), metrics)

    def _predict_masked(
        self, encoder: Encoder, special_states: Tensor, states: Sequence[Tensor], chunks: Sequence[Mapping[str, Tensor]]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the sum of −log p of all masked tokens, the number predicted correctly, and their number."""
        losses, all_hits = [], []
        for state, chunk, part in zip(
            states, chunks, torch.split(special_states, [len(state) for state in states]), strict=True
        ):
            args = (encoder, part, state, chunk["attention_mask"], chunk["targets"])
            recompute = encoder.recompute and torch.is_grad_enabled()
            loss, hits = (
                checkpoint(self._predict_chunk, *args, use_reentrant=False) if recompute else self._predict_chunk(*args)
            )
            losses.append(loss)
            all_hits.append(hits)
        count = sum((chunk["targets"] != IGNORED_TARGET).sum() for chunk in chunks)
        return torch.stack(losses).sum(), torch.stack(all_hits).sum(), torch.as_tensor(count)

    def _predict_chunk(
        self, encoder: Encoder, special_states: Tensor, states: Tensor, mask: Tensor, targets: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the sum of −log p of a chunk's masked tokens and the number of correct predictions.

        `special_states` (B, N·H) replace the first ones of `states` (B, T, H).
        """
        merged = torch.cat(
            [
                special_states.view(len(special_states), self.num_leading, -1).to(states.dtype),
                states[:, self.num_leading :],
            ],
            dim=1,
        )
        chosen, positions = masked_positions(targets)
        queries = merged.gather(1, positions[:, :, None].expand(-1, -1, merged.shape[-1]))
        attended = attend(self.last.attention, queries, merged, mask)[chosen]
        logits = encoder.transformer.token_logits(self.last.feed_forward_chunk(attended)).float()
        truth = targets.gather(1, positions)[chosen]
        return nn.functional.cross_entropy(logits, truth, reduction="sum"), (logits.argmax(-1) == truth).sum()


def document_shares(
    cross: CrossLayers, vectors: Tensor, present: Tensor, documents: Tensor, groups: Tensor, to_itself: bool
) -> dict[str, Tensor]:
    """Return the share of attention to other sequences of the same document, `own_share`, and if uniform, `own_chance`.

    Both are means over the sequences of B samples. For the arguments see `CrossLayers.forward`.
    """
    allowed = attention_mask(present, groups, to_itself)
    itself = torch.eye(present.shape[1], dtype=torch.bool, device=present.device)
    same = allowed & ~itself & (documents[:, :, None] == documents[:, None])
    weights = torch.stack(
        [cross.log_attention(sample, sample, mask).exp() for sample, mask in zip(vectors, allowed, strict=True)]
    )
    uniform = allowed / allowed.sum(dim=-1, keepdim=True)
    return {
        name: (values * same).sum(dim=-1)[present].mean()
        for name, values in (("own_share", weights), ("own_chance", uniform))
    }


def masked_positions(targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return a mask (B, Q) of used columns, and the positions (B, Q) of masked tokens in rows of targets (B, T).

    Q is the largest number of masked tokens in a row, at least 1.
    """
    masked = targets != IGNORED_TARGET
    counts = masked.sum(dim=1)
    width = max(1, int(counts.max()))
    positions = masked.int().argsort(dim=1, descending=True, stable=True)[:, :width]
    return torch.arange(width, device=targets.device) < counts[:, None], positions
