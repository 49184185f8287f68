"""Principal component removal by language (PCR), for tasks that compare languages."""

import heapq
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from contexture.metrics.language_components import first_component, remove_component
from contexture.tasks.sentences.vectors import Array, Lookup, VectorStore
from contexture.tasks.settings import TEST, PcrSentences
from contexture.text.language_codes import two_letter_code
from contexture.vocabulary.languages import PARTITION_PREFIX
from contexture.vocabulary.tokenizers import paragraph_texts

#: Frozen vectors, and vectors without the first component of their language (CMLM, section 5.2).
PROTOCOLS = FROZEN, PCR = ("frozen", "pcr")
#: Name of the corpus sentences in `VectorStore`.
PURPOSE = "corpus"


def list_corpus_languages(paragraphs_dir: Path) -> set[str]:
    """Return the codes of the languages in the table of paragraphs, by the names of its subfolders."""
    return {folder.name.removeprefix(PARTITION_PREFIX) for folder in paragraphs_dir.glob(f"{PARTITION_PREFIX}*")}


def match_languages(languages: Iterable[str], corpus: Iterable[str]) -> dict[str, str]:
    """Return language code of a task → code of the same language in the corpus, for languages that both have."""
    codes = {two_letter_code(lang): lang for lang in corpus}
    return {lang: codes[two_letter_code(lang)] for lang in sorted(set(languages)) if two_letter_code(lang) in codes}


def draw_corpus_sentences(paragraphs_dir: Path, lang: str, count: int) -> list[str]:
    """Return at most `count` distinct sentences of a language, drawn by a hash of their texts."""
    texts = set(paragraph_texts(paragraphs_dir / f"{PARTITION_PREFIX}{lang}", "sentences"))
    return sorted(heapq.nsmallest(count, texts, key=lambda text: (zlib.crc32(text.encode()), text)))


def draw_all_corpus_sentences(paragraphs_dir: Path, count: int) -> dict[str, list[str]]:
    """Return language → at most `count` sentences (`draw_corpus_sentences`), for all languages of the corpus."""
    return {
        lang: draw_corpus_sentences(paragraphs_dir, lang, count)
        for lang in sorted(list_corpus_languages(paragraphs_dir))
    }


@dataclass(frozen=True)
class PcrTexts:
    """The sentences that PCR is fitted on: those of the corpus, or those that a task evaluates, without their labels.

    Attributes:
        is_test: whether each component is fitted on the evaluated sentences of its language (CMLM, section 5.2).
        corpus: language of the corpus → sentences.
    """

    is_test: bool = False
    corpus: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def languages(self, evaluated: Iterable[str]) -> list[str]:
        """Return the sorted languages of a task, by its codes, that have sentences to fit a component on."""
        return sorted(set(evaluated)) if self.is_test else [*match_languages(evaluated, self.corpus)]

    def compute_components(
        self, encoders: Sequence[str], texts: Mapping[str, Sequence[str]], lookup: Lookup, vectors_dir: Path
    ) -> dict[str, Array]:
        """Return language → first principal component (D,) of the encoders' vectors, for `languages`.

        `texts` has the evaluated sentences of each language, and `lookup` their vectors. Vectors of corpus sentences
        are cached in `vectors_dir`.
        """
        if self.is_test:
            return {lang: first_component(lookup(texts[lang])) for lang in self.languages(texts)}
        languages = match_languages(texts, self.corpus)
        all_texts = sorted({text for sentences in self.corpus.values() for text in sentences})
        if not languages or not all_texts:
            return {}
        lookup = VectorStore(vectors_dir)(encoders, all_texts, PURPOSE)
        return {lang: first_component(lookup(self.corpus[code])) for lang, code in languages.items()}


def read_pcr_texts(sentences: PcrSentences, paragraphs_dir: Path) -> PcrTexts:
    """Return the sentences that a setting `pcr_sentences` names."""
    if sentences == TEST:
        return PcrTexts(is_test=True)
    return PcrTexts(corpus=draw_all_corpus_sentences(paragraphs_dir, sentences))


def subtract_component(lookup: Lookup, component: Array | None) -> Lookup:
    """Return a `Lookup` of the vectors of `lookup` without their projections on a component; None: `lookup` itself."""
    if component is None:
        return lookup
    return lambda texts: remove_component(np.asarray(lookup(texts)), component)
