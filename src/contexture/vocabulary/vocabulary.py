"""A vocabulary of subwords or words, loaded from its folder, with inverse document frequencies."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from contexture.vocabulary.tokenizers import SpecialTokens, copy_tokenizer, load_tokenizer
from contexture.vocabulary.words import WORDS_FILE, copy_words, count_trained_words, load_word_vectors, map_table

IDF_FILE = "idf.npy"
Ids = NDArray[np.integer]


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer, its special tokens, and the number of its trained ids."""

    folder: Path
    tokenizer: Tokenizer
    tokens: SpecialTokens
    #: Ids below this have trained embeddings: all subwords, or the trained words.
    trained: int

    @classmethod
    def load(cls, folder: Path) -> "Vocabulary":
        """Load the vocabulary in a folder that the vocabulary stage wrote, or in the folder of an encoder.

        Raises FileNotFoundError or ValueError, naming the file, if one is missing or damaged.
        """
        tokenizer, tokens = load_tokenizer(folder)
        trained = count_trained_words(folder) if (folder / WORDS_FILE).exists() else tokens.vocab_size
        return cls(folder, tokenizer, tokens, trained)

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """Vectors of the words, (V, W). Raises ValueError if the folder has none."""
        return load_word_vectors(self.folder)

    @cached_property
    def idf(self) -> NDArray[np.float32]:
        """Inverse document frequencies of the tokens, (V,). Raises ValueError if the folder has none."""
        return np.array(map_table(self.folder / IDF_FILE, 1))

    def copy(self, folder: Path) -> None:
        """Copy the tokenizer's files, without vectors and document frequencies, into another folder."""
        folder.mkdir(parents=True, exist_ok=True)
        if not folder.samefile(self.folder):
            (copy_words if (self.folder / WORDS_FILE).exists() else copy_tokenizer)(self.folder, folder)


def corpus_idf(blocks: Iterable[tuple[Ids, Ids]], tokens: int) -> NDArray[np.float32]:
    """Return inverse document frequencies log((N + 1) / (n + 1)), (V,), of tokens that are in n of N sentences.

    Args:
        blocks: token ids of consecutive sentences, and the sentences' lengths.
        tokens: V, greater than all ids.
    """
    counts, num_sentences = np.zeros(tokens, np.int64), 0
    for ids, lengths in blocks:
        sentences = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
        counts += np.bincount(np.unique(sentences * tokens + ids) % tokens, minlength=tokens)
        num_sentences += len(lengths)
    return np.log((num_sentences + 1) / (counts + 1)).astype(np.float32)


def save_idf(folder: Path, idf: NDArray[np.float32]) -> None:
    """Write the inverse document frequencies of a vocabulary's tokens into its folder. Special tokens get 0."""
    _, tokens = load_tokenizer(folder)
    idf[[tokens.cls, tokens.sep, tokens.pad, tokens.mask]] = 0
    np.save(folder / IDF_FILE, idf, allow_pickle=False)
