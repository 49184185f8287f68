"""Nodes of the stage `vocabulary`."""

from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame

from contexture.folders import work_folder
from contexture.streams.tokens import read_sentence_blocks, tokenize_paragraphs
from contexture.vocabulary.languages import resample_texts
from contexture.vocabulary.tokenizers import (
    VocabularyConfig,
    copy_tokenizer,
    load_tokenizer,
    paragraph_texts,
    train_tokenizer,
)
from contexture.vocabulary.vocabulary import corpus_idf, save_idf
from contexture.vocabulary.word_vectors import align_vectors, read_word_vectors
from contexture.vocabulary.words import (
    VECTORS_FILE,
    WordsConfig,
    add_words,
    copy_words,
    count_trained_words,
    train_words,
)


def make_tokenizer(config: VocabularyConfig, paragraphs: Path, place: Path) -> Path:
    """Train a tokenizer on the paragraphs, or take a published one."""
    with work_folder(place) as work:
        train_tokenizer(resample_texts(paragraphs, config.smoothing), config, work)
    return place


def tokenize(paragraphs: DataFrame, tokenizer: Path) -> DataFrame:
    """Every sentence of the corpus as token ids, once for all systems."""
    return tokenize_paragraphs(paragraphs, tokenizer)


def make_words(config: WordsConfig, paragraphs: Path, place: Path) -> Path:
    """The most frequent words of the paragraphs; behind them the other words of the file of word vectors, if any."""
    with work_folder(place) as work:
        train_words(paragraph_texts(paragraphs), config, work)
        if config.vectors is not None:
            add_words(work, read_word_vectors(Path(config.vectors), config.vectors_limit).words, work)
    return place


def make_subword_statistics(
    config: VocabularyConfig, vectors: bool, tokenizer: Path, documents: Path, place: Path
) -> Path:
    """The subwords with how rare each is and, if `vectors`, a vector each, made from the corpus."""
    from contexture.vocabulary.cooccurrence import corpus_vectors

    _, tokens = load_tokenizer(tokenizer)
    with work_folder(place) as work:
        copy_tokenizer(tokenizer, work)
        if vectors:
            made = corpus_vectors(read_sentence_blocks(documents), tokens.vocab_size, config.vector_size)
            np.save(work / VECTORS_FILE, made, allow_pickle=False)
        save_idf(work, corpus_idf(read_sentence_blocks(documents), tokens.vocab_size))
    return place


def make_word_vectors(config: WordsConfig, word_list: Path, documents: Path, place: Path) -> Path:
    """The words with a vector each, from the file of word vectors or made from the corpus."""
    from contexture.vocabulary.cooccurrence import corpus_vectors

    tokenizer, tokens = load_tokenizer(word_list)
    if config.vectors is not None:
        vectors = align_vectors(
            read_word_vectors(Path(config.vectors), config.vectors_limit), tokenizer.get_vocab(), tokens.vocab_size
        )
    else:
        vectors = corpus_vectors(read_sentence_blocks(documents), count_trained_words(word_list), config.vector_size)
    with work_folder(place) as work:
        copy_words(word_list, work)
        np.save(work / VECTORS_FILE, vectors, allow_pickle=False)
        save_idf(work, corpus_idf(read_sentence_blocks(documents), tokens.vocab_size))
    return place
