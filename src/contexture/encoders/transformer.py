"""Transformer encoders of Hugging Face's layout, from scratch or from published weights."""

from pathlib import Path
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

from contexture.encoders.config import EncoderConfig
from contexture.encoders.layout import Batch, Specials
from contexture.vocabulary.tokenizers import SpecialTokens, copy_tokenizer

#: Families whose position table starts behind the padding index and whose pairs have two separators.
ROBERTA_LIKE = {"roberta", "xlm-roberta", "camembert"}


class TransformerEncoder(nn.Module):
    """A masked-language model taken apart: hidden states first, logits only where they are asked for."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model: Any = model

    @property
    def config(self) -> Any:
        """The Hugging Face configuration of the model."""
        return self.model.config

    def forward(self, batch: Batch) -> Tensor:
        """Batch of `encoders.layout` → hidden states (B, T, H)."""
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "position_ids", "token_type_ids")}
        states: Tensor = self.model.base_model(**inputs).last_hidden_state
        return states

    def token_logits(self, states: Tensor) -> Tensor:
        """States (N, H) of the positions that count → logits (N, V)."""
        head = self.model.lm_head if hasattr(self.model, "lm_head") else self.model.cls
        logits: Tensor = head(states)
        return logits

    def specials(self, tokens: SpecialTokens) -> Specials:
        """How this family places special tokens and positions."""
        return specials_of(self.config, tokens)

    def flops(self, lengths: Tensor) -> Tensor:
        """Forward and backward FLOPs of the layers for rows of `lengths` (B,) tokens."""
        return layer_flops(self.model.base_model, lengths)


def specials_of(config: Any, tokens: SpecialTokens) -> Specials:
    """How the family of a Hugging Face configuration places special tokens and positions."""
    roberta = config.model_type in ROBERTA_LIKE
    return Specials(
        cls=tokens.cls,
        sep=tokens.sep,
        pad=tokens.pad,
        first_position=config.pad_token_id + 1 if roberta else 0,
        pair_separators=2 if roberta else 1,
    )


def layer_flops(model: Any, lengths: Tensor) -> Tensor:
    """Forward and backward FLOPs of a model's Transformer layers for rows of `lengths` (B,) real tokens.

    6 per parameter and token, and 12·H per layer for each pair of tokens in attention. Embeddings and logits are left
    out, so the figure is a lower bound of the work done.
    """
    lengths = lengths.double()
    parameters = sum(p.numel() for p in model.encoder.parameters())
    attention = 12 * model.config.num_hidden_layers * model.config.hidden_size
    flops: Tensor = 6 * parameters * lengths.sum() + attention * lengths.square().sum()
    return flops


def scratch_config(encoder: EncoderConfig, positions: int, types: int, tokens: SpecialTokens) -> BertConfig:
    """A BERT of the configured sizes with so many positions and token types."""
    return BertConfig(
        vocab_size=tokens.vocab_size,
        hidden_size=encoder.hidden_size,
        num_hidden_layers=encoder.layers,
        num_attention_heads=encoder.heads,
        intermediate_size=encoder.intermediate_size,
        hidden_dropout_prob=encoder.dropout,
        attention_probs_dropout_prob=encoder.dropout,
        max_position_embeddings=positions,
        type_vocab_size=types,
        pad_token_id=tokens.pad,
    )


def build_encoder(encoder: EncoderConfig, positions: int, types: int, tokens: SpecialTokens) -> TransformerEncoder:
    """A new encoder with so many positions and token types, from scratch or continued from `init_from`.

    Raises ValueError where the published model cannot take the vocabulary or the positions.
    """
    if encoder.init_from is None:
        model = BertForMaskedLM(scratch_config(encoder, positions, types, tokens))
        initialise_for_width(model)
        return TransformerEncoder(model)
    config = AutoConfig.from_pretrained(encoder.init_from)
    check_fits(config, positions, tokens, encoder.init_from)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = encoder.dropout
    model = AutoModelForMaskedLM.from_pretrained(encoder.init_from, config=config)
    resize_token_types(model, types)
    return TransformerEncoder(model)


def initialise_for_width(model: Any) -> None:
    """Draw the weights anew so that a narrow model, trained for little time, learns to compare sentences at all.

    BERT's 0.02 is made for a width of 768: in a narrow model it leaves what attention brings from other tokens at a few
    percent of a state. Hence 1/√(inputs) in the layers, and words further apart than positions and types. Queries and
    keys start equal, so that attention begins by matching like with like: which sentences share their words is a
    product of both sides, whose gradient vanishes at a start where neither is known. With BERT's own initialisation
    a two-layer model stayed at chance on MSPP for as long as it was tried; docs/mspp.md has the figures.
    """
    for layer in model.modules():
        if isinstance(layer, nn.Linear) and layer is not model.cls.predictions.decoder:
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5)
    nn.init.normal_(model.bert.embeddings.word_embeddings.weight, std=0.05)
    with torch.no_grad():
        for block in model.bert.encoder.layer:
            block.attention.self.key.weight.copy_(block.attention.self.query.weight)


def start_from_frequencies(encoder: TransformerEncoder, ids: npt.NDArray[np.int64]) -> None:
    """Set the bias of a new language-model head to the log-frequencies of the tokens in `ids`.

    So training does not spend its first hundreds of steps on learning how often each word occurs.
    """
    counts = np.bincount(ids, minlength=encoder.config.vocab_size) + 1.0
    with torch.no_grad():
        encoder.model.cls.predictions.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())))


def check_fits(config: PreTrainedConfig, positions: int, tokens: SpecialTokens, name: str) -> None:
    """Raise ValueError, naming the numbers, where a published model is too small for the data."""
    offset = config.pad_token_id + 1 if config.model_type in ROBERTA_LIKE else 0
    needed = offset + positions
    if needed > config.max_position_embeddings:
        raise ValueError(
            f"{name} has {config.max_position_embeddings} positions, the layout needs {needed}: "
            "lower the tokens in layout, or its candidates"
        )
    if tokens.vocab_size > config.vocab_size:
        raise ValueError(
            f"{name} knows {config.vocab_size} tokens, the vocabulary has {tokens.vocab_size}: "
            f"set vocabulary.published to {name}, the tokenizer that belongs to these weights"
        )


def resize_token_types(model: Any, types: int) -> None:
    """Grow the token-type table to `types` rows.

    New rows start as copies of row 0, the type that every token of published weights had, so that the model computes
    at first what it did before; training sets them apart.
    """
    embeddings = model.base_model.embeddings
    old = embeddings.token_type_embeddings
    if old.num_embeddings < types:
        new = nn.Embedding(types, old.embedding_dim, device=old.weight.device, dtype=old.weight.dtype)
        with torch.no_grad():
            new.weight.copy_(old.weight[:1].expand(types, -1))
            new.weight[: old.num_embeddings] = old.weight
        embeddings.token_type_embeddings = new
        model.config.type_vocab_size = types


def load_encoder(folder: Path) -> TransformerEncoder:
    """An encoder that `save_encoder` wrote."""
    return TransformerEncoder(AutoModelForMaskedLM.from_pretrained(folder, local_files_only=True))


def save_encoder(encoder: TransformerEncoder, tokenizer: Path, folder: Path) -> None:
    """Write weights (safetensors), configuration and the tokenizer in Hugging Face's layout."""
    encoder.model.save_pretrained(folder)
    copy_tokenizer(tokenizer, folder)
