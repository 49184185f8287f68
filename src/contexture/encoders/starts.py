"""How the embeddings of a new network start: from vectors that the corpus gave, with the weights that it gave."""

import numpy as np
import torch
from torch import Tensor

from contexture.encoders.network import Network
from contexture.vocabulary.vocabulary import Vocabulary


def start_from_vectors(network: Network, vocabulary: Vocabulary) -> None:
    """Put the vocabulary's vectors in the place of new embeddings, as large as those on average.

    Of vectors longer than the embeddings the first entries are taken, which matter most where they were made from the
    corpus; where they are shorter, the other entries stay new. A token without a vector keeps its new embedding, and
    entries that are 0 in all of these stay so.

    Raises ValueError, naming the file, where the vocabulary has no vectors.
    """
    table = network.words.weight
    width = int(table.any(dim=0).sum())
    vectors = torch.from_numpy(np.array(vocabulary.vectors[: len(table), :width]))
    there = (vectors != 0).any(dim=1)
    with torch.no_grad():
        scale = table[:, :width].square().mean().sqrt() / vectors[there].square().mean().sqrt()
        table[: len(vectors), : vectors.shape[1]][there] = vectors[there] * scale


def weigh_tokens(weights: Tensor, vocabulary: Vocabulary) -> None:
    """Put the inverse document frequencies of the tokens into `weights`; ValueError where the vocabulary has none.

    A published table may have rows that no token has, which keep what they count.
    """
    idf = torch.from_numpy(vocabulary.idf[: len(weights)])
    weights[: len(idf)] = idf
