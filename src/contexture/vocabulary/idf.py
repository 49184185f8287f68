"""How rare each token is in the corpus: its inverse document frequency, where every sentence counts as a document."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contexture.vocabulary.tokenizers import load_tokenizer

IDF_FILE = "idf.npy"
Ids = NDArray[np.integer]


def corpus_idf(blocks: Iterable[tuple[Ids, Ids]], tokens: int) -> NDArray[np.float32]:
    """log((N + 1) / (n + 1)) of each token, (V,), which stands in n of N sentences.

    Args:
        blocks: ids of the tokens of some sentences, one after the other, and the sentences' lengths.
        tokens: V, above all ids.
    """
    counts, sentences = np.zeros(tokens, np.int64), 0
    for ids, lengths in blocks:
        places = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
        counts += np.bincount(np.unique(places * tokens + ids) % tokens, minlength=tokens)
        sentences += len(lengths)
    return np.log((sentences + 1) / (counts + 1)).astype(np.float32)


def save_idf(folder: Path, idf: NDArray[np.float32]) -> None:
    """Write the frequencies of a vocabulary's tokens beside it; special tokens count nothing."""
    _, tokens = load_tokenizer(folder)
    idf[[tokens.cls, tokens.sep, tokens.pad, tokens.mask]] = 0
    np.save(folder / IDF_FILE, idf, allow_pickle=False)


def load_idf(folder: Path) -> NDArray[np.float32]:
    """What `save_idf` wrote, (V,); ValueError, naming the file, where it is missing, damaged or of other tokens."""
    file = folder / IDF_FILE
    try:
        found: NDArray[np.float32] = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"{file} is missing or damaged ({error}); run the vocabulary stage") from error
    size = load_tokenizer(folder)[1].vocab_size
    if found.shape != (size,) or found.dtype != np.float32:
        raise ValueError(f"{file}: expected float32 ({size},), found {found.dtype} {found.shape}")
    return found
