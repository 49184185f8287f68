"""Texts → vectors, by a tower that was trained."""

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from contexture.encoders.layout import Sentences, Specials, text_chunks

#: Tokens, padding included, of one forward pass: what fits the caches of a CPU, and what keeps a GPU busy.
TOKENS_AT_ONCE, TOKENS_AT_ONCE_ON_CPU = 16384, 2048


@torch.inference_mode()
def embed(tower: nn.Module, texts: Sentences, specials: Specials, limit: int) -> npt.NDArray[np.float32]:
    """Vectors (B, D) of texts, each cut to `limit` tokens; texts of like length are computed together."""
    device = next(tower.parameters()).device
    tokens_at_once = TOKENS_AT_ONCE_ON_CPU if device.type == "cpu" else TOKENS_AT_ONCE
    chunks, rows = text_chunks(texts, specials, limit, tokens_at_once)
    training = tower.training
    tower.eval()
    found = [tower({name: tensor.to(device) for name, tensor in chunk.items()}).float().cpu() for chunk in chunks]
    tower.train(training)
    vectors: npt.NDArray[np.float32] = torch.cat(found)[rows].numpy()
    return vectors
