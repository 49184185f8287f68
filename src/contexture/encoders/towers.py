"""The two towers: texts → vectors whose inner product says how well a document answers a query (section 2)."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import AutoModel

from contexture.encoders.config import BagOfWordsTowers, PairLayoutConfig, TowersConfig, TransformerTowers
from contexture.encoders.first_state import BERT_LIKE, first_state, spared
from contexture.encoders.layout import Batch, Specials
from contexture.encoders.transformer import build_encoder, layer_flops, specials_of
from contexture.vocabulary.tokenizers import SpecialTokens

#: `queries` and `documents`, each a list of batches of `text_layout` whose rows are of like length; `query_rows` and
#: `document_rows` (B,), where each row of the batch stands in them; `document_ids` (B,); `log_q` (B,).
PairBatch = Mapping[str, Any]


class TransformerTower(nn.Module):
    """A Transformer, its states pooled, and a linear layer (two-tower paper, section 4.1)."""

    def __init__(self, model: Any, pooling: str, embedding_size: int) -> None:
        super().__init__()
        self.model, self.pooling = model, pooling
        self.projection = nn.Linear(model.config.hidden_size, embedding_size)
        nn.init.normal_(self.projection.weight, std=model.config.hidden_size**-0.5)
        nn.init.zeros_(self.projection.bias)

    def forward(self, batch: Batch, words: Tensor | None = None) -> Tensor:
        """Batch of `text_layout` → vectors (B, D); `words` (B, T, H) are the embeddings of its tokens, if at hand."""
        inputs = {name: batch[name] for name in ("attention_mask", "position_ids", "token_type_ids")}
        inputs |= {"input_ids": batch["input_ids"]} if words is None else {"inputs_embeds": words}
        if self.reads_first_only:
            pooled = first_state(self.model, **inputs)
        else:
            pooled = pool(self.model(**inputs).last_hidden_state, batch["attention_mask"], self.pooling)
        vectors: Tensor = self.projection(pooled)
        return vectors

    @property
    def reads_first_only(self) -> bool:
        """Whether the last layer computes the first token alone."""
        return self.pooling == "cls" and self.model.config.model_type in BERT_LIKE

    def chunks(self, batches: Sequence[Batch]) -> Tensor:
        """Several batches → vectors (B, D). One look-up of all words: its gradient is as large as the vocabulary."""
        shapes = [batch["input_ids"].shape for batch in batches]
        tokens = torch.cat([batch["input_ids"].flatten() for batch in batches])
        words = self.model.get_input_embeddings()(tokens).split([shape.numel() for shape in shapes])
        parts = zip(batches, words, shapes, strict=True)
        return torch.cat([self(batch, part.view(*shape, -1)) for batch, part, shape in parts])

    def specials(self, tokens: SpecialTokens) -> Specials:
        """How this family places special tokens and positions."""
        return specials_of(self.model.config, tokens)

    def flops(self, lengths: Tensor) -> Tensor:
        """Forward and backward FLOPs of the layers for rows of `lengths` (B,) tokens."""
        flops = layer_flops(self.model, lengths)
        return flops - spared(self.model, lengths) if self.reads_first_only else flops


class BagOfWordsTower(nn.Module):
    """The mean of the tokens' embeddings through two tanh layers (two-tower paper, section 4.2)."""

    def __init__(self, config: BagOfWordsTowers, tokens: int) -> None:
        super().__init__()
        self.words = nn.Embedding(tokens, config.word_size)
        nn.init.normal_(self.words.weight, std=0.05)
        self.hidden = nn.Linear(config.word_size, config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.embedding_size)
        for layer in (self.hidden, self.output):
            # The mean of many small embeddings is small: without a gain all texts would start at one point.
            nn.init.xavier_normal_(layer.weight, gain=4.0 if layer is self.hidden else 1.0)

    def forward(self, batch: Batch) -> Tensor:
        """Batch of `text_layout` → vectors (B, D)."""
        mean = pool(self.words(batch["input_ids"]), batch["attention_mask"], "mean")
        return torch.tanh(self.output(torch.tanh(self.hidden(mean))))

    def specials(self, tokens: SpecialTokens) -> Specials:
        """As BERT's."""
        return Specials(cls=tokens.cls, sep=tokens.sep, pad=tokens.pad)

    def flops(self, lengths: Tensor) -> Tensor:
        """Forward and backward FLOPs of the two layers for rows of `lengths` (B,) tokens."""
        return torch.tensor(6.0 * len(lengths) * (self.hidden.weight.numel() + self.output.weight.numel()))


Tower = TransformerTower | BagOfWordsTower


class TwoTowers(nn.Module):
    """The tower of the queries and that of the documents, which may be one.

    With `recompute`, only one chunk of a batch is in memory at a time: its activations are thrown away and computed
    again in the backward pass (gradient caching). The gradient is the same, dropout included.
    """

    def __init__(self, query: Tower, document: Tower, config: TowersConfig, layout: PairLayoutConfig) -> None:
        super().__init__()
        self.query, self.document = query, document
        self.config, self.layout = config, layout
        self.recompute = False

    def forward(self, batch: PairBatch) -> Tensor:
        """Vectors (2, B, D): those of the queries, then those of the documents, in the order of the batch."""
        queries = self._embed(self.query, batch["queries"])[batch["query_rows"]]
        documents = self._embed(self.document, batch["documents"])[batch["document_rows"]]
        return torch.stack([queries, documents])

    def _embed(self, tower: Tower, chunks: Sequence[Batch]) -> Tensor:
        if self.recompute and torch.is_grad_enabled():
            return torch.cat([checkpoint(tower, chunk, use_reentrant=False) for chunk in chunks])
        if isinstance(tower, TransformerTower):
            return tower.chunks(chunks)
        return torch.cat([tower(chunk) for chunk in chunks])

    def specials(self, tokens: SpecialTokens) -> Specials:
        """How the towers place special tokens and positions."""
        return self.query.specials(tokens)

    def flops(self, lengths: Tensor) -> Tensor:
        """Forward and backward FLOPs for rows of `lengths` (B,) tokens, of either tower."""
        return self.query.flops(lengths)


def pool(states: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """States (B, T, H) and mask (B, T) → the first states, or the means over the tokens that are there, (B, H)."""
    if pooling == "cls":
        return states[:, 0]
    weights = mask.to(states.dtype)
    return torch.einsum("bth,bt->bh", states, weights) / weights.sum(dim=1, keepdim=True)


def build_towers(
    config: TowersConfig, layout: PairLayoutConfig, tokens: SpecialTokens, start: str | None = None
) -> TwoTowers:
    """New towers; Transformers continue from the weights in the folder `start`, where it is given."""
    query = _build(config, layout, tokens, start)
    document = query if config.shared else _build(config, layout, tokens, start)
    return TwoTowers(query, document, config, layout)


def _build(config: TowersConfig, layout: PairLayoutConfig, tokens: SpecialTokens, start: str | None) -> Tower:
    if not isinstance(config, TransformerTowers):
        return BagOfWordsTower(config, tokens.vocab_size)
    if start is not None:
        model = AutoModel.from_pretrained(start, add_pooling_layer=False, local_files_only=True)
    else:
        model = build_encoder(config.encoder, layout.longest, 1, tokens).model.base_model
    return TransformerTower(model, config.pooling, config.embedding_size)
