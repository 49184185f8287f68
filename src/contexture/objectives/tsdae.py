"""TSDAE (Wang, Reimers and Gurevych, 2021): reconstruct a sentence from the vector of its remaining words."""

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Batch, row_lengths
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.decoder import TransformerDecoder
from contexture.objectives.settings import TsdaeConfig


class Tsdae(Objective):
    """Reads vectors (B, D) of documents with deleted tokens, and `words` (B, T), the original sentences.

    The decoder is one Transformer layer over the encoder's embeddings and positions of its own that attends to the
    vector. Logits are products with the same embeddings. (The paper's decoder is as deep as the encoder and shares all
    its weights.)
    """

    def __init__(self, config: TsdaeConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        network, tokens = encoder.document, encoder.vocabulary.tokens
        self.deletion, self.start, self.encoder_flops = config.deletion, tokens.cls, encoder.text_flops
        self.kept = {tokens.cls, tokens.sep, tokens.pad, *encoder.specials.extra}
        self.decoder = TransformerDecoder(network.words, network.size, 1, config.heads, encoder.lengths.document)

    def corrupt(self, batch: StreamBatch, generator: torch.Generator) -> StreamBatch:
        """Return the batch with random tokens of `texts` deleted, except special ones. Each text keeps at least one."""
        chunks = [delete_tokens(chunk, self.deletion, self.kept, generator) for chunk in batch["texts"]["chunks"]]
        return {**batch, "texts": {**batch["texts"], "chunks": chunks}}

    def flops(self, batch: StreamBatch) -> Tensor:
        """Return forward and backward FLOPs of the decoder and its logits, less what the encoder saves by deletion."""
        lengths = row_lengths(batch["texts"])
        deletable = torch.cat([_count_other_tokens(chunk, self.kept) for chunk in batch["texts"]["chunks"]])
        # One token stays if all are drawn, which happens to n tokens with probability deletion^n.
        deleted = self.deletion * deletable - (deletable > 0) * self.deletion**deletable
        saved = self.encoder_flops(lengths) - self.encoder_flops(lengths - deleted)
        return self.decoder.per_word * torch.sum(batch["words"]["attention_mask"]) - saved

    def forward(self, encoder: Encoder, states: dict[str, Tensor], batch: StreamBatch) -> Loss:
        """Return the mean −log p of the original sentences' tokens, given the previous tokens and the vector."""
        lengths = batch["words"]["attention_mask"].sum(dim=1)
        targets = encoder.document.replace_unknown(batch["words"]["input_ids"])
        inputs = nn.functional.pad(targets[:, :-1], (1, 0), value=self.start)
        return Loss(self.decoder(encoder.document.words, inputs, states["document"], targets, lengths))


def _count_other_tokens(batch: Batch, kept: set[int]) -> Tensor:
    """Return the number (B,) of tokens of each row whose ids are not in `kept`."""
    return torch.sum(batch["attention_mask"].bool() & ~_has_id(batch, kept), dim=1)


def delete_tokens(batch: Batch, share: float, kept: set[int], generator: torch.Generator) -> Batch:
    """Return the batch without a random share of its tokens, cut to its longest row.

    `kept` ids stay, and at least one other token per row.
    """
    ids, mask = batch["input_ids"], batch["attention_mask"].bool()
    fixed = _has_id(batch, kept) & mask
    draw = torch.rand(ids.shape, generator=generator, device=ids.device).masked_fill(~mask | fixed, -1.0)
    survivors = torch.zeros_like(mask).scatter(1, draw.argmax(dim=1, keepdim=True), True)
    stays = mask & (fixed | survivors | (draw >= share))
    order = torch.argsort(~stays, dim=1, stable=True)
    left_over = {**batch, "input_ids": ids.gather(1, order), "attention_mask": stays.gather(1, order).long()}
    width = int(stays.sum(dim=1).max())
    return {name: table[:, :width] for name, table in left_over.items()}


def _has_id(batch: Batch, ids: set[int]) -> Tensor:
    """Return whether each token (B, T) has one of the ids."""
    return torch.isin(batch["input_ids"], torch.tensor(sorted(ids), device=batch["input_ids"].device))
