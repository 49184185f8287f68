"""Transformer encoders as in Hugging Face, from scratch or from published weights."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    PreTrainedConfig,
    PreTrainedModel,
)

from contexture.encoders.config import TableSizes, TransformerConfig
from contexture.encoders.cross import BERT_STD, CrossLayers
from contexture.encoders.dropout import replace_dropout
from contexture.encoders.first_states import BERT_LIKE, ROBERTA_LIKE, first_states, skipped_flops
from contexture.encoders.layout import Batch, SpecialTokenFormat, group_by_length
from contexture.encoders.network import Network, Projections, pool
from contexture.encoders.packed import MAX_PLAIN_TOKENS, packed_states
from contexture.encoders.quiet import quiet_loading
from contexture.packages import encoder_path
from contexture.vocabulary.tokenizers import SpecialTokens

#: Standard deviation of words in narrow models; positions and types have 1/8 of the width.
NARROW_WORD_STD, POSITION_DIVISOR = 0.05, 8


class Transformer(Network):
    """Hidden states, vectors of texts, and logits of a model with or without a masked-language-model head."""

    has_special_tokens = True

    def __init__(self, model: PreTrainedModel, config: TransformerConfig, tokens: SpecialTokens) -> None:
        super().__init__(tokens)
        replace_dropout(model)
        self.model: Any = model
        # Fused if the model supports it. Others (MPNet) misread its mask.
        self.attention = model.config._attn_implementation
        self.pooling = config.pooling
        hidden = model.config.hidden_size
        #: Number of special tokens before a text whose states are its vector; `extra` are those after [CLS].
        self.num_leading, self.extra = 1, extra_special_tokens(config, tokens)
        self.cross: CrossLayers | None = None
        if config.cross is not None:
            self.num_leading = config.cross.tokens
            self.cross = CrossLayers(config.cross, self.base, config.has_scaled_init)
        self.size = config.embedding_size or hidden * self.num_leading
        if config.has_token_weights:
            self.token_weights = torch.ones(len(self.words.weight))
        self.projection: nn.Linear | None = None
        if config.embedding_size is not None:
            self.projection = nn.Linear(hidden, config.embedding_size)
            std = BERT_STD if config.initialization == "bert" else hidden**-0.5
            nn.init.normal_(self.projection.weight, std=std)
            nn.init.zeros_(self.projection.bias)
        self.projections = Projections(config.projections, hidden) if config.projections is not None else None

    @property
    def base(self) -> Any:
        """The Hugging Face model without its language-model head."""
        return self.model.base_model

    @property
    def has_head(self) -> bool:
        """Whether the model has a head that predicts tokens."""
        return self.base is not self.model

    @property
    def words(self) -> nn.Embedding:  # type: ignore[override]
        """The embeddings of the model's tokens."""
        embeddings: nn.Embedding = self.base.get_input_embeddings()
        return embeddings

    def forward(self, batch: Batch) -> Tensor:
        """Return vectors (B, D) of the texts of a `text_layout` batch."""
        return self.vectors([batch])

    def vectors(self, batches: Sequence[Batch]) -> Tensor:
        """Return vectors (B, D) of several batches: pooled states, or projections of them if the encoder has some."""
        pooled = self.pooled_states(batches)
        if self.projections is not None:
            return torch.mean(self.projections(pooled), dim=1)
        vectors: Tensor = pooled if self.projection is None else self.projection(pooled)
        return vectors

    def pooled_states(self, batches: Sequence[Batch]) -> Tensor:
        """Return pooled states (B, H) of the texts of several batches, before any projection."""
        inputs = zip(self._embed_words(batches), batches, strict=True)
        return torch.cat([self._pool_batch(part, batch) for part, batch in inputs])

    def _pool_batch(self, inputs: Batch, batch: Batch) -> Tensor:
        """Return pooled states (B, H) of a batch and its model `inputs`; unused states are skipped if possible."""
        if self.reads_first_only:
            return first_states(self._choose_attention(inputs), self.num_leading, **inputs).flatten(1)
        return self.pool_states(self._choose_attention(inputs)(**inputs).last_hidden_state, batch)

    def token_states(self, batches: Sequence[Batch]) -> list[Tensor]:
        """Return the hidden states (B, T, H) of all tokens of each batch; those of padding are undefined."""
        return [self._choose_attention(part)(**part).last_hidden_state for part in self._embed_words(batches)]

    def pool_states(self, states: Tensor, batch: Batch) -> Tensor:
        """Pool hidden states (B, T, H) of a batch into one state per text: (B, H), or (B, N·H) for N special tokens."""
        if self.num_leading > 1:
            return states[:, : self.num_leading].flatten(1)
        weights = batch["attention_mask"]
        if self.token_weights is not None:
            weights = weights * self.token_weights[self.replace_unknown(batch["input_ids"])]
        return pool(states, weights, self.pooling)

    def _embed_words(self, batches: Sequence[Batch]) -> list[Batch]:
        """Return the model's inputs for each batch, with embeddings of words instead of ids.

        All words are looked up at once, because the gradient of each look-up is a whole table.
        """
        shapes = [batch["input_ids"].shape for batch in batches]
        words = self.words(torch.cat([self.replace_unknown(batch["input_ids"]).flatten() for batch in batches]))
        parts = zip(batches, words.split([shape.numel() for shape in shapes]), shapes, strict=True)
        return [_inputs_besides_words(batch) | {"inputs_embeds": part.view(*shape, -1)} for batch, part, shape in parts]

    def states(self, batch: Batch, prefix: Tensor | None = None) -> Tensor:
        """Return hidden states (B, T, H) of a batch of `encoders.layout`; those of padding are undefined.

        Tokens also attend to `prefix` (B, N, H), which has no positions and types and whose states are not returned.
        With `read` (B, T) in the batch, only states of these tokens are needed; the others are undefined. Padding is
        not computed on a CPU, see `packed_states`; otherwise rows of similar length are computed together. `lengths`
        in the batch avoid waiting for a GPU.
        """
        ids = self.replace_unknown(batch["input_ids"])
        inputs = _inputs_besides_words(batch) | {"input_ids": ids}
        rows, width = ids.shape
        if "lengths" in batch:
            lengths = np.asarray(batch["lengths"])
        else:
            ends = torch.arange(1, width + 1, device=ids.device)
            lengths = (inputs["attention_mask"] * ends).amax(dim=1).cpu().numpy()
        if self._can_pack(inputs, lengths, prefix):
            return packed_states(self.base, inputs, lengths, batch.get("read"))
        chunks = group_by_length(lengths, rows * width)
        order = torch.from_numpy(np.concatenate(chunks))
        order = (order.pin_memory() if ids.is_cuda else order).to(ids.device, non_blocking=True)
        parts = []
        for chunk, chunk_rows in zip(chunks, torch.split(order, [len(chunk) for chunk in chunks]), strict=True):
            longest = int(lengths[chunk].max())
            part = {name: values[chunk_rows, :longest] for name, values in inputs.items()}
            if prefix is not None and prefix.shape[1]:
                part = self._prepend_prefix(prefix[chunk_rows], **part)
            states = self._choose_attention(part)(**part).last_hidden_state[:, -longest:]
            parts.append(nn.functional.pad(states, (0, 0, 0, width - longest)))
        return torch.cat(parts)[order.argsort()]

    def _can_pack(self, inputs: Batch, lengths: npt.NDArray[np.int64], prefix: Tensor | None) -> bool:
        """Return whether `packed_states` can compute a batch: on a CPU, without a prefix and gaps in the rows."""
        config, mask = self.model.config, inputs["attention_mask"]
        if mask.device.type != "cpu" or config.model_type not in BERT_LIKE or config.is_decoder:
            return False
        return (prefix is None or not prefix.shape[1]) and int(mask.sum()) == lengths.sum()

    def _prepend_prefix(
        self, prefix: Tensor, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, token_type_ids: Tensor
    ) -> Batch:
        """Return inputs with a prefix (B, N, H) before the words.

        The position and type embeddings that the library will add to the prefix are subtracted from it.
        """
        embeddings, size = self.base.embeddings, prefix.shape[1]
        positions, types = position_ids[:, :1].expand(-1, size), token_type_ids[:, :1].expand(-1, size)
        added = embeddings.position_embeddings(positions) + embeddings.token_type_embeddings(types)
        return {
            "inputs_embeds": torch.cat([prefix - added, self.words(input_ids)], dim=1),
            "attention_mask": nn.functional.pad(attention_mask, (size, 0), value=1),
            "position_ids": torch.cat([positions, position_ids], dim=1),
            "token_type_ids": torch.cat([types, token_type_ids], dim=1),
        }

    def token_logits(self, states: Tensor) -> Tensor:
        """Return the language-model head's logits (N, V) for states (N, H)."""
        logits: Tensor = (self.model.lm_head if hasattr(self.model, "lm_head") else self.model.cls)(states)
        return logits

    @property
    def reads_first_only(self) -> bool:
        """Whether vectors need only the leading special tokens' states of the last layer."""
        return self.pooling == "cls" and self.model.config.model_type in BERT_LIKE

    @property
    def specials(self) -> SpecialTokenFormat:
        """The special tokens' ids, and how this model family arranges them and positions in its input."""
        roberta = self.model.config.model_type in ROBERTA_LIKE
        return replace(
            super().specials,
            first_position=self.model.config.pad_token_id + 1 if roberta else 0,
            pair_separators=2 if roberta else 1,
            extra=self.extra,
        )

    def flops(self, lengths: Tensor) -> Tensor:
        """Return the total forward and backward FLOPs of the layers for vectors of texts of `lengths` (B,) tokens."""
        flops = self.layer_flops(lengths)
        return flops - skipped_flops(self.base, self.num_leading, lengths) if self.reads_first_only else flops

    def layer_flops(self, lengths: Tensor) -> Tensor:
        """Return the total forward and backward FLOPs (a scalar) of the layers for rows of `lengths` (B,) real tokens.

        6 per parameter and token, and 12·H per layer for each pair of tokens in attention; a lower bound, without
        embeddings and logits.
        """
        lengths = lengths.double()
        parameters = sum(p.numel() for p in self.base.encoder.parameters())
        attention = 12 * self.base.config.num_hidden_layers * self.base.config.hidden_size
        flops: Tensor = 6 * parameters * lengths.sum() + attention * lengths.square().sum()
        return flops

    def resize_tables(self, positions: int, types: int) -> None:
        """Grow the tables to this number of positions and of token types, which joint inputs need."""
        resize_token_types(self.model, types)
        resize_positions(self.model, self.specials.first_position, positions)

    def _choose_attention(self, batch: Batch) -> Any:
        """Set the faster attention for rows of this length and return the model without a head."""
        mask = batch["attention_mask"]
        plain = mask.device.type == "cpu" and torch.is_autocast_enabled("cpu") and mask.shape[1] <= MAX_PLAIN_TOKENS
        self.model.config._attn_implementation = "eager" if plain else self.attention
        return self.base


def _inputs_besides_words(batch: Batch) -> Batch:
    """Return a batch's attention mask, positions and token types, the model's inputs besides words."""
    return {name: batch[name] for name in ("attention_mask", "position_ids", "token_type_ids")}


def extra_special_tokens(config: TransformerConfig, tokens: SpecialTokens) -> tuple[int, ...]:
    """Return the ids of the special tokens between [CLS] and a text: after all subwords, or [CLS] again."""
    if config.cross is None:
        return ()
    further = config.cross.tokens - 1
    if config.cross.embeddings == "one":
        return (tokens.cls,) * further
    return tuple(range(tokens.vocab_size, tokens.vocab_size + further))


def build_transformer(
    config: TransformerConfig, table_sizes: TableSizes, words: int, tokens: SpecialTokens, head: bool
) -> Transformer:
    """Return a Transformer network with new weights or those of `init_from`.

    Raises ValueError if the published model is too small.
    """
    rows = max((words - 1, *extra_special_tokens(config, tokens))) + 1
    if rows > words < tokens.vocab_size:
        raise ValueError("cross needs a vocabulary of subwords, because its special tokens follow all subwords")
    if config.init_from is None:
        model: Any = BertForMaskedLM(
            BertConfig(
                vocab_size=rows,
                hidden_size=config.hidden_size,
                num_hidden_layers=config.layers,
                num_attention_heads=config.heads,
                intermediate_size=config.intermediate_size,
                hidden_dropout_prob=config.dropout,
                attention_probs_dropout_prob=config.dropout,
                max_position_embeddings=table_sizes.positions,
                type_vocab_size=table_sizes.types,
                pad_token_id=tokens.pad,
                initializer_range=BERT_STD,
                is_decoder=config.is_causal,
            )
        )
        if config.initialization != "bert":
            init_for_width(model, config.pooling)
        if config.initialization == "static":
            zero_layers(model)
    else:
        weights = encoder_path(config.init_from)
        published = AutoConfig.from_pretrained(weights)
        check_fits(published, table_sizes.positions, tokens, config.init_from)
        published.hidden_dropout_prob = published.attention_probs_dropout_prob = config.dropout
        published.is_decoder = config.is_causal
        with quiet_loading():
            model = AutoModelForMaskedLM.from_pretrained(weights, config=published, use_safetensors=True)
            if rows > model.config.vocab_size:
                model.resize_token_embeddings(rows)
        resize_token_types(model, table_sizes.types)
    return Transformer(model if head else model.base_model, config, tokens)


def init_for_width(model: Any, pooling: str) -> None:
    """Draw new weights, in place, with which a narrow model learns to compare sentences in little training.

    - Layers: standard deviation 1/√(inputs). With BERT's 0.02, for a width of 768, attention contributes a few percent.
    - Queries equal keys, so that equal words attend to one another; otherwise the gradient of their product vanishes.
      If one token's state is pooled, they are drawn separately, because equal ones let the token attend to itself.
    - Positions and types have the last eighth of the width, words the rest. The first layer's queries and keys ignore
      that eighth, so that words match at any position.

    With BERT's weights a two-layer model stayed at chance on MSPP; with equal queries and keys Cross-Thought did.
    """
    width = max(1, model.config.hidden_size // POSITION_DIVISOR)
    embeddings, first = model.bert.embeddings, model.bert.encoder.layer[0].attention.self
    for layer in model.modules():
        if isinstance(layer, nn.Linear) and layer is not model.cls.predictions.decoder:
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5)
    nn.init.normal_(embeddings.word_embeddings.weight, std=NARROW_WORD_STD)
    nn.init.normal_(embeddings.token_type_embeddings.weight, std=NARROW_WORD_STD)
    with torch.no_grad():
        embeddings.word_embeddings.weight[:, -width:] = 0
        for table in (embeddings.position_embeddings, embeddings.token_type_embeddings):
            table.weight[:, :-width] = 0
        first.query.weight[:, -width:] = 0
        for block in model.bert.encoder.layer if pooling not in ("cls", "last") else ():
            block.attention.self.key.weight.copy_(block.attention.self.query.weight)


def zero_layers(model: Any) -> None:
    """Set the output weights of all layers to zero, so that texts start as means of embeddings."""
    for block in model.bert.encoder.layer:
        nn.init.zeros_(block.attention.output.dense.weight)
        nn.init.zeros_(block.output.dense.weight)


def init_head_bias(network: Transformer, ids: npt.NDArray[np.int64]) -> None:
    """Set the bias of a language-model head to log-frequencies of the tokens `ids`; this saves hundreds of steps."""
    size = network.words.num_embeddings
    counts = np.bincount(ids[ids < size], minlength=size) + 1.0
    with torch.no_grad():
        network.model.cls.predictions.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())))


def check_fits(config: PreTrainedConfig, positions: int, tokens: SpecialTokens, name: str) -> None:
    """Raise ValueError if a published model has fewer positions or tokens than needed."""
    offset = config.pad_token_id + 1 if config.model_type in ROBERTA_LIKE else 0
    needed = offset + positions
    if needed > config.max_position_embeddings:
        raise ValueError(
            f"{name} has {config.max_position_embeddings} positions, this system needs {needed}: lower its lengths, "
            "streams.joint.sentence_tokens, or positions of streams.sequence_samples and streams.short_sequences"
        )
    if tokens.vocab_size > config.vocab_size:
        raise ValueError(
            f"{name} has {config.vocab_size} tokens, the vocabulary {tokens.vocab_size}: "
            f"set vocabulary.published to {name} to use its tokenizer"
        )


def resize_token_types(model: Any, types: int) -> None:
    """Grow the token-type table to `types` rows; new rows are copies of row 0, the type of all published tokens."""
    rows = torch.arange(types)
    rows[model.base_model.embeddings.token_type_embeddings.num_embeddings :] = 0
    _grow_table(model, "token_type_embeddings", "type_vocab_size", rows)


def resize_positions(model: Any, first: int, positions: int) -> None:
    """Grow the table of positions, which start at row `first`, by repeating them (Longformer, section 5)."""
    known = model.base_model.embeddings.position_embeddings.num_embeddings - first
    rows = torch.arange(first + positions)
    rows[first:] = first + (rows[first:] - first) % known
    _grow_table(model, "position_embeddings", "max_position_embeddings", rows)


def _grow_table(model: Any, table: str, setting: str, rows: Tensor) -> None:
    """Replace the embeddings `table` by its given `rows`, and update the config's `setting`, unless it is as long."""
    old = getattr(model.base_model.embeddings, table)
    if old.num_embeddings < len(rows):
        new = nn.Embedding(len(rows), old.embedding_dim, old.padding_idx)
        new.weight = nn.Parameter(old.weight.detach()[rows.to(old.weight.device)])
        setattr(model.base_model.embeddings, table, new)
        setattr(model.config, setting, len(rows))
