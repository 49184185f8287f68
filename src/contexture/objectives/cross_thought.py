"""Cross-Thought: recover masked words with the help of other sequences' vectors (Wang et al., 2020, section 3.2)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from contexture.encoders.base import Encoder
from contexture.encoders.cross import new_layer
from contexture.encoders.first_states import BERT_LIKE, attend
from contexture.encoders.layout import row_lengths
from contexture.objectives.attended import attended_sequences
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.config import CrossThoughtConfig
from contexture.objectives.devices import mean_of_all
from contexture.objectives.masking import IGNORED, Masking


class CrossThought(Objective):
    """Cross-entropy of the masked tokens, from one more Transformer layer over [C; H] (equations 8 and 9).

    Reads the states of the sequences of some samples. Those of the special tokens go through the encoder's layers
    across sequences; what comes out stands in their place for the last layer, where masked positions alone ask.
    """

    def __init__(self, config: CrossThoughtConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        network: Any = encoder.document
        model = network.model.config
        if model.model_type not in BERT_LIKE:
            raise ValueError(
                f"cross_thought has a last layer like those of {sorted(BERT_LIKE)}, not of {model.model_type}"
            )
        self.config, self.masking = config, Masking(config, encoder)
        self.leaders, self.positions = network.leaders, model.max_position_embeddings - encoder.specials.first_position
        self.last: Any = new_layer(network.base.encoder.layer[-1], encoder.config.scales_weights)
        attention = self.last.attention
        idle = [attention.self.query, attention.output, self.last.intermediate, self.last.output]
        asking = 6.0 * sum(p.numel() for module in idle for p in module.parameters())
        read = 6.0 * sum(p.numel() for one in (attention.self.key, attention.self.value) for p in one.parameters())
        self.per_token = read + config.probability * asking + self.masking.per_token
        self.per_pair = 12.0 * config.probability * model.hidden_size
        assert encoder.cross is not None
        self.across = encoder.cross.flops

    def corrupt(self, batch: StreamBatch, generator: torch.Generator) -> StreamBatch:
        """Mask every sequence, let its words begin where they are drawn to, and add `targets` (B, T) to its chunk."""
        texts = batch["sequences"]
        chunks = texts["chunks"]
        one = torch.rand(1, generator=generator, device=chunks[0]["input_ids"].device)
        widest = max(chunk["input_ids"].shape[1] for chunk in chunks)
        changed = [self._corrupted(chunk, one, widest, generator) for chunk in chunks]
        return {**batch, "sequences": {**texts, "chunks": changed}}

    def _corrupted(
        self, chunk: Mapping[str, Tensor], one: Tensor, widest: int, generator: torch.Generator
    ) -> dict[str, Tensor]:
        ids, targets = self.masking(chunk["input_ids"], generator)
        changed = {**chunk, "input_ids": ids, "targets": targets}
        if self.config.starts == "fixed":
            return changed
        lengths = row_lengths(chunk)
        drawn = one if self.config.starts == "one" else torch.rand(len(ids), generator=generator, device=ids.device)
        room = self.positions - (lengths if self.config.starts == "each" else lengths.new_full((1,), widest))
        shift = (drawn * (room + 1)).long().clamp_max(room)[:, None]
        words = torch.arange(ids.shape[1], device=ids.device) >= self.leaders
        there = chunk["attention_mask"].bool() & words
        changed["position_ids"] = chunk["position_ids"] + shift * there
        return changed

    def flops(self, batch: StreamBatch) -> Tensor:
        """Those of the layers across sequences, of the last layer, and of the logits of masked tokens."""
        lengths = torch.cat([row_lengths(chunk) for chunk in batch["sequences"]["chunks"]]).double()
        own = self.per_token * lengths.sum() + self.per_pair * lengths.square().sum()
        found: Tensor = self.across(batch["present"].sum(dim=1)) + own
        return found

    def shown(self, encoder: Encoder, batches: Iterable[StreamBatch]) -> dict[str, Any]:
        """See `attended_sequences`."""
        return attended_sequences(encoder, batches)

    def forward(self, encoder: Encoder, states: list[Tensor], batch: StreamBatch) -> Loss:
        """Mean over the masked tokens; also, now and then, what share is guessed, and how much of it others bring.

        `cross_gain` is the share of masked tokens guessed rightly less that where every sequence sees itself alone.
        """
        assert encoder.cross is not None
        chunks, rows = batch["sequences"]["chunks"], batch["sequences"]["rows"]
        grid, present, documents = batch["grid"], batch["present"], batch["documents"]
        own = torch.cat([state[:, : self.leaders].flatten(1) for state in states])[rows]
        placed = own.new_zeros(present.numel(), own.shape[1]).index_copy(0, grid, own).view(*present.shape, -1)

        def guessed(numbers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            read = encoder.cross(placed, present, numbers).flatten(0, 1)[grid][rows.argsort()]  # type: ignore[misc]
            return self._guessed(encoder, read, states, chunks)

        loss, right, count = guessed(documents)
        metrics = {}
        if self.watched:
            with torch.no_grad(), torch.random.fork_rng([own.device] if own.is_cuda else []):
                alone = torch.arange(present.shape[1], device=present.device).expand_as(present)
                _, without, _ = guessed(alone)
            metrics = {"accuracy": right / count.clamp_min(1), "cross_gain": (right - without) / count.clamp_min(1)}
        return Loss(mean_of_all(loss, count), metrics)

    def _guessed(
        self, encoder: Encoder, read: Tensor, states: Sequence[Tensor], chunks: Sequence[Mapping[str, Tensor]]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Sum of −log p over all masked tokens, how many are guessed rightly, and how many there are."""
        losses, rights = [], []
        for state, chunk, mine in zip(states, chunks, torch.split(read, [len(state) for state in states]), strict=True):
            told = (encoder, mine, state, chunk["attention_mask"], chunk["targets"])
            again = encoder.recompute and torch.is_grad_enabled()
            loss, right = checkpoint(self._of_chunk, *told, use_reentrant=False) if again else self._of_chunk(*told)
            losses.append(loss)
            rights.append(right)
        count = sum((chunk["targets"] != IGNORED).sum() for chunk in chunks)
        return torch.stack(losses).sum(), torch.stack(rights).sum(), torch.as_tensor(count)

    def _of_chunk(
        self, encoder: Encoder, read: Tensor, states: Tensor, mask: Tensor, targets: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The same of one chunk: `read` (B, N·H) stands in the place of the special tokens of `states` (B, T, H)."""
        merged = torch.cat([read.view(len(read), self.leaders, -1).to(states.dtype), states[:, self.leaders :]], dim=1)
        chosen, places = masked_places(targets)
        asking = merged.gather(1, places[:, :, None].expand(-1, -1, merged.shape[-1]))
        attended = attend(self.last.attention, asking, merged, mask)[chosen]
        logits = encoder.token_logits(self.last.feed_forward_chunk(attended)).float()
        truth = targets.gather(1, places)[chosen]
        return nn.functional.cross_entropy(logits, truth, reduction="sum"), (logits.argmax(-1) == truth).sum()


def masked_places(targets: Tensor) -> tuple[Tensor, Tensor]:
    """Targets (B, T) → which of Q places are taken (B, Q), and the positions there (B, Q), masked ones first.

    Q is the largest number of masked tokens of a row, 1 at least.
    """
    masked = targets != IGNORED
    counts = masked.sum(dim=1)
    most = max(1, int(counts.max()))
    places = masked.int().argsort(dim=1, descending=True, stable=True)[:, :most]
    return torch.arange(most, device=targets.device) < counts[:, None], places
