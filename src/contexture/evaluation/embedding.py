"""Texts → vectors, by a tower that was trained."""

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from contexture.encoders.layout import Sentences, Specials
from contexture.training.pairs import text_chunks

#: Tokens, padding included, of one forward pass: few enough for the caches of a CPU, enough to fill a GPU.
TOKENS_AT_ONCE = {"cpu": 2048, "cuda": 65536}


@torch.inference_mode()
def embed(tower: nn.Module, texts: Sentences, specials: Specials, limit: int) -> npt.NDArray[np.float32]:
    """Vectors (B, D) of texts, each cut to `limit` tokens; texts of like length are computed together."""
    device = next(tower.parameters()).device
    chunks, rows = text_chunks(texts, specials, limit, TOKENS_AT_ONCE[device.type])
    training = tower.training
    tower.eval()
    found = [tower({name: tensor.to(device) for name, tensor in chunk.items()}).float().cpu() for chunk in chunks]
    tower.train(training)
    vectors: npt.NDArray[np.float32] = torch.cat(found)[rows].numpy()
    return vectors
