"""First components of the vectors of each language's corpus sentences, for tasks that compare languages."""

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
#: Under which `VectorStore` keeps the vectors of corpus sentences.
PURPOSE = "corpus"


def list_corpus_languages(paragraphs_dir: Path) -> set[str]:
    """The languages of the table of paragraphs."""
    return {folder.name.removeprefix(PARTITION) for folder in paragraphs_dir.glob(f"{PARTITION}*")}


def match_languages(languages: Iterable[str], corpus: Iterable[str]) -> dict[str, str]:
    """Those of a task's languages that the corpus has: the task's code → the corpus's code."""
    codes = {two_letters(lang): lang for lang in corpus}
    return {lang: codes[two_letters(lang)] for lang in sorted(set(languages)) if two_letters(lang) in codes}


def draw_corpus_sentences(paragraphs_dir: Path, lang: str, count: int) -> list[str]:
    """At most `count` different sentences of a language, drawn by a hash of their texts."""
    texts = set(paragraph_texts(paragraphs_dir / f"{PARTITION}{lang}", "sentences"))
    return sorted(heapq.nsmallest(count, texts, key=lambda text: (zlib.crc32(text.encode()), text)))


def draw_all_corpus_sentences(paragraphs_dir: Path, count: int) -> dict[str, list[str]]:
    """`draw_corpus_sentences` of all languages."""
    return {
        lang: draw_corpus_sentences(paragraphs_dir, lang, count)
        for lang in sorted(list_corpus_languages(paragraphs_dir))
    }


def compute_components(
    encoders: Sequence[str], languages: Mapping[str, str], sentences: Mapping[str, Sequence[str]], vectors_dir: Path
) -> dict[str, Array]:
    """Language → first component of the vectors of its sentences.

    `languages` come from `match_languages`, `sentences` are those of all languages of the corpus; their vectors are kept in
    `vectors_dir`, whatever `languages` are.
    """
    all_texts = sorted({text for texts in sentences.values() for text in texts})
    if not languages or not all_texts:
        return {}
    lookup = VectorStore(vectors_dir)(encoders, all_texts, PURPOSE)
    return {lang: first_component(lookup(sentences[code])) for lang, code in languages.items()}


def subtract_component(lookup: Lookup, component: Array | None) -> Lookup:
    """Subtract a component, if any, from all vectors."""
    if component is None:
        return lookup
    return lambda texts: removed(np.asarray(lookup(texts)), component)
