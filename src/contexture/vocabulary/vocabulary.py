"""A folder with a vocabulary of subwords or of words, opened."""

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from contexture.vocabulary.idf import load_idf
from contexture.vocabulary.tokenizers import SpecialTokens, copy_tokenizer, load_tokenizer
from contexture.vocabulary.words import WORDS_FILE, load_word_vectors, trained_words


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer, its special tokens, and how many of its ids have embeddings of their own."""

    folder: Path
    tokenizer: Tokenizer
    tokens: SpecialTokens
    #: Ids below this have embeddings: all subwords; of words, those that were trained.
    trained: int

    @classmethod
    def load(cls, folder: Path) -> "Vocabulary":
        """Open a folder that the vocabulary stage wrote, or that of an encoder.

        Raises FileNotFoundError or ValueError, naming the file, where one is missing or damaged.
        """
        tokenizer, tokens = load_tokenizer(folder)
        trained = trained_words(folder) if (folder / WORDS_FILE).exists() else tokens.vocab_size
        return cls(folder, tokenizer, tokens, trained)

    @cached_property
    def vectors(self) -> npt.NDArray[np.float32]:
        """Vectors of the words, (V, W); ValueError where the folder has none."""
        return load_word_vectors(self.folder)

    @cached_property
    def idf(self) -> npt.NDArray[np.float32]:
        """Inverse document frequencies of the tokens, (V,); ValueError where the folder has none."""
        return load_idf(self.folder)

    def copy(self, folder: Path) -> None:
        """Copy the vocabulary's files, word vectors left out, into a folder; its own already has them."""
        folder.mkdir(parents=True, exist_ok=True)
        if folder.samefile(self.folder):
            return
        copy_tokenizer(self.folder, folder)
        if (self.folder / WORDS_FILE).exists():
            shutil.copyfile(self.folder / WORDS_FILE, folder / WORDS_FILE)
