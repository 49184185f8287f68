"""Embeddings for words that the training never saw (Kiros et al., 2015, section 2.2, as Quick-Thoughts uses it)."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.config import GruConfig, TransformerConfig
from contexture.encoders.network import make_embedding


def expand_embeddings(trained: Tensor, vectors: NDArray[np.float32], unknown: int) -> Tensor:
    """Extend trained embeddings (N, E) to all words with `vectors` (V, W), by a linear map between them → (V, E).

    The map, without a bias, has the least squared error over the words that have both. Trained words keep their
    embeddings; words with neither get that of the word `unknown`. Row = id, zeros for a word without a vector.

    Raises ValueError for fewer shared words than a vector has numbers (the map would be arbitrary), fewer vectors than
    trained words, or an unknown word that is not trained.
    """
    known = len(trained)
    if len(vectors) < known or not 0 <= unknown < known:
        raise ValueError(
            f"{known} trained words, {len(vectors)} rows of word vectors, unknown word {unknown}: "
            "give the embeddings and the vectors of one vocabulary"
        )
    has_vector: NDArray[np.bool_] = (vectors != 0).any(axis=1)
    shared = np.flatnonzero(has_vector[:known])
    if len(shared) < vectors.shape[1]:
        raise ValueError(
            f"only {len(shared)} trained words have one of the word vectors, of {vectors.shape[1]} numbers: "
            "at least as many are needed; give a file of vectors in the corpus's language and spelling"
        )
    embeddings = trained.detach().double().cpu().numpy()
    mapping = np.linalg.lstsq(vectors[shared].astype(np.float64), embeddings[shared], rcond=None)[0]
    more = vectors[known:] @ mapping.astype(np.float32)
    more[~has_vector[known:]] = embeddings[unknown]
    return torch.cat([trained.detach(), torch.from_numpy(more).to(trained)])


def expand_words(encoder: Encoder, vectors: NDArray[np.float32]) -> None:
    """Give an encoder, in place, embeddings for all words that have a vector; fixed words stay unchanged.

    Raises ValueError as `expand_embeddings` does, and for Transformers, whose words scale with their positions.
    """
    if isinstance(encoder.config, TransformerConfig):
        raise ValueError("vocabulary expansion is for a gru or a bag of words: a Transformer's words are left alone")
    if isinstance(encoder.config, GruConfig) and encoder.config.words == "fixed":
        return
    for network in encoder.networks.values():
        network.words = make_embedding(expand_embeddings(network.words.weight, vectors, encoder.vocabulary.tokens.unk))
        if (weights := network.token_weights) is not None:  # a word that was not trained is as rare as the rarest
            more = len(network.words.weight) - len(weights)
            network.token_weights = torch.cat([weights, weights.max().expand(more)])
