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

#: What vectors are for by which a language's first component is found.
PURPOSE = "corpus"


def corpus_languages(paragraphs: Path) -> set[str]:
    """The languages of the table of paragraphs."""
    return {place.name.removeprefix(PARTITION) for place in paragraphs.glob(f"{PARTITION}*")}


def known(languages: Iterable[str], paragraphs: Path) -> dict[str, str]:
    """Of these languages, by the codes that a task has for them, those that the corpus has text of, and its codes."""
    there = {two_letters(lang): lang for lang in corpus_languages(paragraphs)}
    return {lang: there[two_letters(lang)] for lang in sorted(set(languages)) if two_letters(lang) in there}


def corpus_sentences(paragraphs: Path, lang: str, count: int) -> list[str]:
    """So many different sentences of a language at most, drawn by a hash of their texts."""
    texts = set(paragraph_texts(paragraphs / f"{PARTITION}{lang}", "sentences"))
    return sorted(heapq.nsmallest(count, texts, key=lambda text: (zlib.crc32(text.encode()), text)))


def components(
    encoders: Sequence[str], languages: Mapping[str, str], paragraphs: Path, count: int, place: Path
) -> dict[str, Array]:
    """Language → first component of the vectors of its sentences; `languages` as `known` has them."""
    texts = {lang: corpus_sentences(paragraphs, code, count) for lang, code in languages.items()}
    every = sorted({text for some in texts.values() for text in some})
    if not every:
        return {}
    # A set of languages has vectors of its own.
    lookup = VectorStore(place)(encoders, every, "-".join([PURPOSE, *languages.values()]))
    return {lang: first_component(lookup(some)) for lang, some in texts.items()}


def without(lookup: Lookup, component: Array | None) -> Lookup:
    """Vectors less a component; as they are for none."""
    if component is None:
        return lookup
    return lambda texts: removed(np.asarray(lookup(texts)), component)
