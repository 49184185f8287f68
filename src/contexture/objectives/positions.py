"""Where in the table of positions the words of a sequence begin (Cross-Thought, section 4.2)."""

from collections.abc import Sequence
from typing import Any, Literal

import torch

from contexture.encoders.base import Encoder
from contexture.encoders.layout import row_lengths
from contexture.objectives.base import StreamBatch


class Positions:
    """Moves the words of sequences to drawn positions, so that the whole table is trained; special tokens stay."""

    def __init__(self, starts: Literal["each", "one", "fixed"], encoder: Encoder) -> None:
        """Settings as in `SequenceMaskingConfig.starts`."""
        network: Any = encoder.document
        self.starts = starts
        if starts != "fixed":
            self.leaders = network.leaders
            self.positions = network.model.config.max_position_embeddings - encoder.specials.first_position

    def move(self, chunks: Sequence[StreamBatch], generator: torch.Generator) -> list[StreamBatch]:
        """The chunks of a batch with other `position_ids` (B, T)."""
        if self.starts == "fixed":
            return list(chunks)
        device = chunks[0]["input_ids"].device
        single = torch.rand(1, generator=generator, device=device)
        widest = max(chunk["input_ids"].shape[1] for chunk in chunks)
        moved: list[StreamBatch] = []
        for chunk in chunks:
            lengths, width = row_lengths(chunk), chunk["input_ids"].shape[1]
            each = self.starts == "each"
            draw = torch.rand(len(lengths), generator=generator, device=device) if each else single
            room = self.positions - (lengths if each else lengths.new_full((1,), widest))
            shift = (draw * (room + 1)).long().clamp_max(room)[:, None]
            words = torch.arange(width, device=device) >= self.leaders
            position_ids = chunk["position_ids"] + shift * (chunk["attention_mask"].bool() & words)
            moved.append({**chunk, "position_ids": position_ids})
        return moved
