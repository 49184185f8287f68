"""Quick-Thoughts over contiguous sentences, and Skip-Thought over the same ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from contexture.encoders.layout import Sentences, select
from contexture.encoders.sentence_encoder_files import save_sentence_encoders
from contexture.encoders.sentence_encoders import SentenceBatch, SentenceEncoders, build_sentence_encoders
from contexture.objectives.base import Objective
from contexture.systems.quick_thoughts.config import QuickThoughtsSystem
from contexture.systems.two_tower.batches import parts_of
from contexture.training.data import OrderedRows, StepBatches
from contexture.training.prepare import Prepared
from contexture.training.snapshots import Snapshots, save_totals
from contexture.vocabulary.tokenizers import SpecialTokens
from contexture.vocabulary.words import load_word_vectors, trained_words

COLUMNS = ["document", "position", "tokens"]


class ContiguousBatches(StepBatches):
    """Runs of sentences in the order of the corpus; each rank has a run of its own within that of the step."""

    def __init__(
        self, rows: OrderedRows, encoders: SentenceEncoders, tokens: SpecialTokens, *, tokens_at_once: int, **steps: Any
    ) -> None:
        super().__init__(rows, **steps)
        self.encoders, self.tokens, self.tokens_at_once = encoders, tokens, tokens_at_once

    def batch(self, table: pa.Table, place: int) -> SentenceBatch:  # type: ignore[override]
        """See `SentenceBatch`."""
        size = len(table) // self.ranks
        mine = np.arange(place * size, (place + 1) * size)
        documents, positions = self._places(table)
        sentences: Sentences = select(parts_of(table, "tokens"), mine)
        return self.encoders.batch(sentences, self.tokens, self.tokens_at_once) | {
            "document_numbers": documents,
            "positions": positions,
            "first": torch.tensor(place * size),
        }

    def _places(self, table: pa.Table) -> tuple[torch.Tensor, torch.Tensor]:
        """The document of each sentence, as a number, and its place there; one document if boundaries do not count."""
        if self.encoders.layout.boundaries == "cross":
            return torch.zeros(len(table), dtype=torch.int64), torch.arange(len(table))
        documents = pa.chunked_array(table["document"]).combine_chunks().dictionary_encode().indices.to_numpy()
        positions = table["position"].to_numpy()
        return torch.from_numpy(documents.astype(np.int64)), torch.from_numpy(positions.astype(np.int64))


def prepare_quick_thoughts(
    config: QuickThoughtsSystem,
    run: str,
    seed: int,
    examples: Path,
    tokenizer: Path,
    tokens: SpecialTokens,
    start: Path | None,
) -> Prepared:
    """New encoders and batches of contiguous sentences; the order of the corpus is the same for every seed.

    Raises ValueError where the corpus has fewer sentences than a batch, or where another run's encoders are to be
    continued, which this system does not do.
    """
    if start is not None:
        raise ValueError(f"{start}: runs of quick_thoughts start from new weights; leave --start out")
    recipe, pretrain = config.pretrain.runs[run], config.pretrain
    rows = OrderedRows(examples, COLUMNS)
    batch_size = config.batch_size(run)
    if rows.rows < batch_size:
        raise ValueError(
            f"{examples}: {rows.rows} sentences are fewer than a batch of {batch_size}: give more text, or a smaller "
            "pretrain.batch_size"
        )
    trained = trained_words(tokenizer)
    encoder = config.encoders[recipe.encoder]
    encoders = build_sentence_encoders(
        encoder,
        config.layout,
        tokens,
        trained,
        load_word_vectors(tokenizer) if encoder.kind == "gru" and encoder.words == "fixed" else None,
        pair=not recipe.generates,
    )

    def batches(steps: range, rank: int) -> ContiguousBatches:
        return ContiguousBatches(
            rows,
            encoders,
            tokens,
            batch_size=batch_size,
            tokens_at_once=pretrain.tokens_at_once,
            steps=steps,
            rank=rank,
            ranks=pretrain.devices,
        )

    def save(folder: Path) -> None:
        save_sentence_encoders(encoders, tokenizer, folder)

    def save_trained(objectives: dict[str, Objective], folder: Path) -> None:
        save(folder)
        parameters = [p for module in (encoders, *objectives.values()) for p in module.parameters()]
        save_totals(folder, sum(p.numel() for p in parameters if p.requires_grad))

    return Prepared(
        encoders,
        batches,
        save_trained,
        callbacks=lambda folder: [Snapshots(folder, recipe.steps, pretrain.snapshots, save)],
    )
