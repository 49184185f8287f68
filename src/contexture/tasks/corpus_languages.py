"""First components of the vectors of each language's corpus sentences, for tasks that compare languages."""

import heapq
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from contexture.metrics.language_components import first_component, remove_component
from contexture.tasks.sentences.vectors import Array, Lookup, VectorStore
from contexture.text.language_codes import two_letter_code
from contexture.vocabulary.languages import PARTITION_PREFIX
from contexture.vocabulary.tokenizers import paragraph_texts

#: How vectors are compared: as they are, and less the first component of their language (PCR; CMLM, section 5.2).
PROTOCOLS = FROZEN, PCR = ("frozen", "pcr")
#: Under which `VectorStore` keeps the vectors of corpus sentences.
PURPOSE = "corpus"


def corpus_languages(paragraphs: Path) -> set[str]:
    """The languages of the table of paragraphs."""
    return {folder.name.removeprefix(PARTITION_PREFIX) for folder in paragraphs.glob(f"{PARTITION_PREFIX}*")}


def known(languages: Iterable[str], corpus: Iterable[str]) -> dict[str, str]:
    """Those of a task's languages that the corpus has: the task's code → the corpus's code."""
    codes = {two_letter_code(lang): lang for lang in corpus}
    return {lang: codes[two_letter_code(lang)] for lang in sorted(set(languages)) if two_letter_code(lang) in codes}


def corpus_sentences(paragraphs: Path, lang: str, count: int) -> list[str]:
    """At most `count` different sentences of a language, drawn by a hash of their texts."""
    texts = set(paragraph_texts(paragraphs / f"{PARTITION_PREFIX}{lang}", "sentences"))
    return sorted(heapq.nsmallest(count, texts, key=lambda text: (zlib.crc32(text.encode()), text)))


def every_languages_sentences(paragraphs: Path, count: int) -> dict[str, list[str]]:
    """`corpus_sentences` of all languages."""
    return {lang: corpus_sentences(paragraphs, lang, count) for lang in sorted(corpus_languages(paragraphs))}


def components(
    encoders: Sequence[str], languages: Mapping[str, str], sentences: Mapping[str, Sequence[str]], place: Path
) -> dict[str, Array]:
    """Language → first component of the vectors of its sentences.

    `languages` come from `known`, `sentences` are those of all languages of the corpus; their vectors are kept in
    `place`, whatever `languages` are.
    """
    all_texts = sorted({text for texts in sentences.values() for text in texts})
    if not languages or not all_texts:
        return {}
    lookup = VectorStore(place)(encoders, all_texts, PURPOSE)
    return {lang: first_component(lookup(sentences[code])) for lang, code in languages.items()}


def without(lookup: Lookup, component: Array | None) -> Lookup:
    """Subtract a component, if any, from all vectors."""
    if component is None:
        return lookup
    return lambda texts: remove_component(np.asarray(lookup(texts)), component)
