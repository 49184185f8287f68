"""Vocabularies of whole words, in folders like those of subword vocabularies.

Words follow the Penn Treebank's conventions as far as a pattern can ("do n't", "it 's"), so that raw text and the
tokenized text of older benchmarks give the same words. Ids are ordered: special tokens; the *trained* words, which are
the most frequent ones of the corpus; the other words of a file of word vectors, if any. A model with embeddings of
trained words only treats the last group as unknown.
"""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field
from pydantic.dataclasses import dataclass
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from contexture.strict import STRICT
from contexture.vocabulary.tokenizers import (
    MIN_FREQUENCY,
    SPECIALS,
    copy_tokenizer,
    load_tokenizer,
    tokenizer_config,
    write_tokenizer,
)

WORDS_FILE = "words.json"
VECTORS_FILE = "word_vectors.npy"

#: Alternatives in the order in which they are tried; anything else is white space.
_LETTERS = r"[\p{L}\p{N}_\p{M}]+"
_WORD = "|".join(
    [
        r"(?i:n't)\b",
        r"'(?i:s|re|ve|ll|d|m)\b",
        r"-(?i:[lr][rsc]b)-",  # brackets of tokenized treebanks
        r"(?:\p{L}\.){2,}",  # U.S.
        rf"\p{{N}}+(?:[.,:]\p{{N}}+)*(?:-?{_LETTERS})*",  # 3,000.5 and 12-year-old
        rf"{_LETTERS}(?=(?i:n't)\b)",  # do|n't
        rf"{_LETTERS}(?:-{_LETTERS})*",
        r"\.{2,}|-{2,}",
        r"[^\s]",
    ]
)
#: Replacements of quotation marks and apostrophes.
_QUOTES = {"’": "'", "‘": "'", "“": '"', "”": '"', "``": '"', "''": '"'}


@dataclass(config=STRICT, frozen=True)
class WordsConfig:
    """Settings of a vocabulary of words."""

    # Number of trained words, special tokens included.
    size: Annotated[int, Field(ge=10)] = 50_000
    lowercase: bool = False
    # GloVe or word2vec vectors (text or .bin, plain or .gz). null: vectors from the co-occurrences of words in the
    # corpus.
    vectors: str | None = None
    # Number of words to read from the file, which begins with the most frequent ones. null: all.
    vectors_limit: Annotated[int, Field(gt=0)] | None = None
    # Size of vectors made from the corpus.
    vector_size: Annotated[int, Field(gt=0)] = 300


def train_words(texts: Iterable[str], config: WordsConfig, folder: Path) -> None:
    """Write a tokenizer of the most frequent words of `texts` into `folder`.

    The result is a function of the words and their counts. Raises ValueError for texts without a frequent word.
    """
    tokenizer = _make_word_tokenizer(models.WordLevel(unk_token=SPECIALS["wordpiece"]["unk"]), config.lowercase)
    trainer = trainers.WordLevelTrainer(
        vocab_size=config.size,
        min_frequency=MIN_FREQUENCY,
        special_tokens=list(SPECIALS["wordpiece"].values()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    words = tokenizer.get_vocab()
    if len(words) == len(SPECIALS["wordpiece"]):
        raise ValueError(f"no word occurs {MIN_FREQUENCY} times in the corpus; add text")
    _write_words(words, len(words), config.lowercase, folder)


def add_words(source: Path, extra_words: Iterable[str], folder: Path) -> None:
    """Write the tokenizer in `source`, with extra words after its words, to `folder`."""
    tokenizer, _ = load_tokenizer(source)
    words = dict(tokenizer.get_vocab())
    trained = len(words)
    for word in extra_words:
        words.setdefault(word, len(words))
    _write_words(words, trained, _read_settings(source)["lowercase"], folder)


def copy_words(source: Path, folder: Path) -> None:
    """Copy the files of a word tokenizer, without vectors, into another folder."""
    copy_tokenizer(source, folder)
    shutil.copyfile(source / WORDS_FILE, folder / WORDS_FILE)


def count_trained_words(folder: Path) -> int:
    """Return the number of ids with trained embeddings; word vectors cover the others.

    Raises ValueError, naming the file, if the folder has no vocabulary of words.
    """
    return int(_read_settings(folder)["trained"])


def load_word_vectors(folder: Path) -> npt.NDArray[np.float32]:
    """Return the vectors (V, W) of a vocabulary of words by id, as a memory map; zeros for words without a vector.

    Raises ValueError, naming the file, if it is missing, damaged or of another vocabulary.
    """
    return map_table(folder / VECTORS_FILE, 2)


def map_table(file: Path, dimensions: int) -> npt.NDArray[np.float32]:
    """Return a table of a vocabulary's folder, (words, …), which stays on disk until it is read (memory map).

    Raises ValueError if the file is missing or damaged, or has another number of dimensions.
    """
    try:
        table: npt.NDArray[np.float32] = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"{file} is missing or damaged ({error}); run the vocabulary stage") from error
    if table.ndim != dimensions or table.dtype != np.float32:
        raise ValueError(f"{file}: expected float32 in {dimensions} dimensions, got {table.dtype} {table.shape}")
    num_words = load_tokenizer(file.parent)[1].vocab_size
    if len(table) != num_words:
        raise ValueError(f"{file}: {len(table)} rows for {num_words} words; run the vocabulary stage again")
    return table


def _read_settings(folder: Path) -> dict[str, Any]:
    """Return `trained` (the number of trained words) and `lowercase` of the vocabulary of words in a folder."""
    try:
        settings: dict[str, Any] = json.loads((folder / WORDS_FILE).read_text("utf-8"))
        return {"trained": int(settings["trained"]), "lowercase": bool(settings["lowercase"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / WORDS_FILE}: missing or damaged ({error}); run the vocabulary stage") from error


def _make_word_tokenizer(model: models.Model, lowercase: bool) -> Tokenizer:
    """Return a tokenizer with this model that splits texts into words after unifying quotation marks."""
    tokenizer = Tokenizer(model)
    steps = [normalizers.NFC(), *(normalizers.Replace(mark, plain) for mark, plain in _QUOTES.items())]
    # Older benchmarks also have "don 't" and "do n 't".
    steps.append(normalizers.Replace(Regex(r"(?<=\p{L})n\s?'t\b|(?<=\s)n\s?'t\b"), "n't"))
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Lowercase()] if lowercase else steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_WORD), behavior="removed", invert=True)
    return tokenizer


def _write_words(words: Mapping[str, int], trained: int, lowercase: bool, folder: Path) -> None:
    """Write a vocabulary of words into a folder: their tokenizer, and the settings `trained` and `lowercase`."""
    specials = SPECIALS["wordpiece"]
    tokenizer = _make_word_tokenizer(models.WordLevel(dict(words), unk_token=specials["unk"]), lowercase)
    tokenizer.add_special_tokens(list(specials.values()))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WORDS_FILE).write_text(json.dumps({"trained": trained, "lowercase": lowercase}), "utf-8")
    write_tokenizer(folder, tokenizer.to_str(), tokenizer_config("wordpiece"))
    load_tokenizer(folder)
