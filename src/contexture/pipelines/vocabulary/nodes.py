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


def make_tokenizer(config: VocabularyConfig, paragraphs: Path, output_dir: Path) -> Path:
    """Write a tokenizer to `output_dir`: trained on the paragraphs, or a copy of a published one."""
    with work_folder(output_dir) as work:
        train_tokenizer(resample_texts(paragraphs, config.smoothing), config, work)
    return output_dir


def tokenize(paragraphs: DataFrame, tokenizer: Path) -> DataFrame:
    """Return a table with a row per document, with its sentences as token ids."""
    return tokenize_paragraphs(paragraphs, tokenizer)


def make_words(config: WordsConfig, paragraphs: Path, output_dir: Path) -> Path:
    """Write a word list: the most frequent words of the paragraphs, then those of the file of word vectors, if any."""
    with work_folder(output_dir) as work:
        train_words(paragraph_texts(paragraphs), config, work)
        if config.vectors is not None:
            add_words(work, read_word_vectors(Path(config.vectors), config.vectors_limit).words, work)
    return output_dir


def make_subword_statistics(
    config: VocabularyConfig, vectors: bool, tokenizer: Path, documents: Path, output_dir: Path
) -> Path:
    """Write the tokenizer with the IDF of its subwords and, if `vectors`, their vectors made from the corpus."""
    from contexture.vocabulary.cooccurrence import corpus_vectors

    _, tokens = load_tokenizer(tokenizer)
    with work_folder(output_dir) as work:
        copy_tokenizer(tokenizer, work)
        if vectors:
            table = corpus_vectors(read_sentence_blocks(documents), tokens.vocab_size, config.vector_size)
            np.save(work / VECTORS_FILE, table, allow_pickle=False)
        save_idf(work, corpus_idf(read_sentence_blocks(documents), tokens.vocab_size))
    return output_dir


def make_word_vectors(config: WordsConfig, word_list: Path, documents: Path, output_dir: Path) -> Path:
    """Write the words with their IDF and vectors, from the file of word vectors or made from the corpus."""
    from contexture.vocabulary.cooccurrence import corpus_vectors

    tokenizer, tokens = load_tokenizer(word_list)
    if config.vectors is not None:
        published = read_word_vectors(Path(config.vectors), config.vectors_limit)
        vectors = align_vectors(published, tokenizer.get_vocab(), tokens.vocab_size)
    else:
        vectors = corpus_vectors(read_sentence_blocks(documents), count_trained_words(word_list), config.vector_size)
    with work_folder(output_dir) as work:
        copy_words(word_list, work)
        np.save(work / VECTORS_FILE, vectors, allow_pickle=False)
        save_idf(work, corpus_idf(read_sentence_blocks(documents), tokens.vocab_size))
    return output_dir
