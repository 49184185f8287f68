"""States of some tokens alone: where nothing else is read, the last layer need not compute the others."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.masking_utils import create_bidirectional_mask

#: Families whose position table starts behind the padding index and whose pairs have two separators.
ROBERTA_LIKE = {"roberta", "xlm-roberta", "camembert"}
#: Families whose layers are made of the modules that `first_states` takes apart.
BERT_LIKE = {"bert", *ROBERTA_LIKE}


def first_states(model: Any, count: int, attention_mask: Tensor, **inputs: Tensor) -> Tensor:
    """`model(…).last_hidden_state[:, :count]`, (B, count, H), of a model among `BERT_LIKE`.

    In the last layer the first tokens alone ask, hence nearly five of six multiplications there are saved: all but
    those of keys and values. The result is the same up to rounding, and so is its gradient.
    """
    states: Tensor = model.embeddings(**inputs)
    mask = create_bidirectional_mask(config=model.config, inputs_embeds=states, attention_mask=attention_mask)
    *layers, last = model.encoder.layer
    for layer in layers:
        states = layer(states, mask)
    output: Tensor = last.feed_forward_chunk(attend(last.attention, states[:, :count], states, attention_mask))
    return output


def spared(model: Any, count: int, lengths: Tensor) -> Tensor:
    """Forward and backward FLOPs that `first_states` saves for rows of `lengths` (B,) tokens."""
    last, others = model.encoder.layer[-1], lengths.double() - count
    attention = last.attention
    idle = [attention.self.query, attention.output, last.intermediate, last.output]
    parameters = sum(p.numel() for module in idle for p in module.parameters())
    flops: Tensor = 6 * parameters * others.sum() + 12 * model.config.hidden_size * (others * lengths).sum()
    return flops


def attend(attention: Any, asking: Tensor, states: Tensor, mask: Tensor) -> Tensor:
    """What an attention block makes of some of the states, `asking` (B, Q, H), which attend to all (B, T, H).

    `mask` (B, T) tells which of these are there.
    """
    own = attention.self

    def heads(vectors: Tensor) -> Tensor:
        return vectors.view(*vectors.shape[:2], own.num_attention_heads, -1).transpose(1, 2)

    read = nn.functional.scaled_dot_product_attention(
        heads(own.query(asking)),
        heads(own.key(states)),
        heads(own.value(states)),
        attn_mask=mask[:, None, None, :].to(torch.bool),
        dropout_p=own.dropout.p if own.training else 0.0,
    )
    attended: Tensor = attention.output(read.transpose(1, 2).flatten(2), asking)
    return attended
