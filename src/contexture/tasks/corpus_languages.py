"""What the corpus has in common in each of its languages, as vectors see it, for tasks that compare languages."""

import heapq
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from contexture.metrics.language_components import first_component, removed
from contexture.tasks.sentences.vectors import Array, Lookup, VectorStore
from contexture.text.language_codes import two_letters
from contexture.vocabulary.languages import PARTITION
from contexture.vocabulary.tokenizers import paragraph_texts

#: How vectors are compared: as they are, and less the first component of their language (PCR; CMLM, section 5.2).
PROTOCOLS = FROZEN, PCR = ("frozen", "pcr")
#: What vectors are for by which a language's first component is found.
PURPOSE = "corpus"


def corpus_languages(paragraphs: Path) -> set[str]:
    """The languages of the table of paragraphs."""
    return {place.name.removeprefix(PARTITION) for place in paragraphs.glob(f"{PARTITION}*")}


def known(languages: Iterable[str], corpus: Iterable[str]) -> dict[str, str]:
    """Of these languages, by the codes that a task has for them, those that are among the corpus's, and its codes."""
    there = {two_letters(lang): lang for lang in corpus}
    return {lang: there[two_letters(lang)] for lang in sorted(set(languages)) if two_letters(lang) in there}


def corpus_sentences(paragraphs: Path, lang: str, count: int) -> list[str]:
    """So many different sentences of a language at most, drawn by a hash of their texts."""
    texts = set(paragraph_texts(paragraphs / f"{PARTITION}{lang}", "sentences"))
    return sorted(heapq.nsmallest(count, texts, key=lambda text: (zlib.crc32(text.encode()), text)))


def every_languages_sentences(paragraphs: Path, count: int) -> dict[str, list[str]]:
    """`corpus_sentences` of all languages: read once, for all encoders."""
    return {lang: corpus_sentences(paragraphs, lang, count) for lang in sorted(corpus_languages(paragraphs))}


def components(
    encoders: Sequence[str], languages: Mapping[str, str], sentences: Mapping[str, Sequence[str]], place: Path
) -> dict[str, Array]:
    """Language → first component of the vectors of its sentences.

    `languages` are as `known` has them, `sentences` those of every language of the corpus; their vectors are kept in
    `place`, the same whichever languages are asked for.
    """
    every = sorted({text for some in sentences.values() for text in some})
    if not languages or not every:
        return {}
    lookup = VectorStore(place)(encoders, every, PURPOSE)
    return {lang: first_component(lookup(sentences[code])) for lang, code in languages.items()}


def without(lookup: Lookup, component: Array | None) -> Lookup:
    """Vectors less a component; as they are for none."""
    if component is None:
        return lookup
    return lambda texts: removed(np.asarray(lookup(texts)), component)
