"""Embeddings of untrained words (Kiros et al., 2015, section 2.2, as used by Quick-Thoughts)."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.config import GruConfig, TransformerConfig
from contexture.encoders.network import make_embedding


def expand_embeddings(trained: Tensor, vectors: NDArray[np.float32], unknown: int) -> Tensor:
    """Return embeddings (V, E): the `trained` ones (N, E), then those of untrained words, mapped from `vectors` (V, W).

    The linear map, without bias, has the least squared error over trained words with a vector. Rows of `vectors` are
    ids; a row of zeros means no vector. Trained words keep their embeddings; untrained words without a vector get that
    of the word `unknown`.

    Raises ValueError if fewer trained words have a vector than a vector has numbers, if there are fewer vectors than
    trained words, or if the unknown word is not trained.
    """
    known = len(trained)
    if len(vectors) < known or not 0 <= unknown < known:
        raise ValueError(
            f"{known} trained words, {len(vectors)} rows of word vectors, unknown word {unknown}: "
            "embeddings and vectors must be of one vocabulary"
        )
    has_vector: NDArray[np.bool_] = (vectors != 0).any(axis=1)
    shared = np.flatnonzero(has_vector[:known])
    if len(shared) < vectors.shape[1]:
        raise ValueError(
            f"only {len(shared)} trained words have a word vector, at least {vectors.shape[1]} are needed: "
            "give a file of vectors in the corpus's language and spelling"
        )
    embeddings = trained.detach().double().cpu().numpy()
    mapping = np.linalg.lstsq(vectors[shared].astype(np.float64), embeddings[shared], rcond=None)[0]
    more = vectors[known:] @ mapping.astype(np.float32)
    more[~has_vector[known:]] = embeddings[unknown]
    return torch.cat([trained.detach(), torch.from_numpy(more).to(trained)])


def expand_words(encoder: Encoder, vectors: NDArray[np.float32]) -> None:
    """Add embeddings of the vocabulary's untrained words to an encoder, in place; fixed embeddings stay unchanged.

    Raises ValueError as `expand_embeddings`, and for Transformers, whose words scale with their positions.
    """
    if isinstance(encoder.config, TransformerConfig):
        raise ValueError("vocabulary expansion needs a gru or a bag of words; a Transformer cannot be expanded")
    if isinstance(encoder.config, GruConfig) and encoder.config.words == "fixed":
        return
    for network in encoder.networks.values():
        network.words = make_embedding(expand_embeddings(network.words.weight, vectors, encoder.vocabulary.tokens.unk))
        if (weights := network.token_weights) is not None:  # untrained words are as rare as the rarest
            more = len(network.words.weight) - len(weights)
            network.token_weights = torch.cat([weights, weights.max().expand(more)])
