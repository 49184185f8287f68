"""Train the parameters of a Splitter on texts with NLTK's PunktTrainer (Kiss & Strunk 2006).

Training starts from the abbreviations of the package. It keeps abbreviations that are frequent within sentences, and
common words that are mostly in lower case.
"""

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from contexture.text.punkt import NUMBER, has_abbreviation_form, nltk_language_variables
from contexture.text.sentences import SentenceParameters, load_parameters

SAMPLE_CHARS = 4_000_000
_MIN_ABBREVIATION_COUNT = 5  # of an abbreviation with its stop
_MIN_INSIDE_SHARE = 0.2  # of these, followed by a word that shows that the sentence continues
_MAX_BARE_RATIO = 0.3  # occurrences without stop, relative to those with it
_MIN_COMMON_COUNT = 5  # of a common word in lower case
_MAX_CAPITAL_SHARE = 0.1  # of a common word's occurrences within sentences
_MIN_START_COUNT = 2  # of a common word at the start of sentences; also at least as many as capitals elsewhere
_MIN_AFTER_NUMBER_COUNT = 5  # of a word after a number with a stop


def train_parameters(texts: Iterable[str], lang: str, characters: int = SAMPLE_CHARS) -> SentenceParameters:
    """Return a language's parameters of sentence splitting, learned from paragraphs, with the package's lists.

    Reads whole texts of just over `characters`, drawn by their hashes: order and partitions do not matter. Raises
    ValueError without text.
    """
    seed = load_parameters(lang)
    trainer = _make_trainer(seed)
    sample = _sample_texts(texts, characters)
    if not any(text.strip() for text in sample):
        raise ValueError(f"no text in the language {lang!r} to train sentence splitting on: add texts to corpus.input")
    trainer.train("\n\n".join(sample), finalize=True)
    return {
        "sentence_ends": seed["sentence_ends"],
        "abbreviations": sorted({*seed["abbreviations"], *trainer.abbreviations()}),
        "common_words": sorted({*seed["common_words"], *trainer.common_words()}),
        "after_numbers": sorted({*seed["after_numbers"], *trainer.after_numbers()}),
    }


def _sample_texts(texts: Iterable[str], characters: int) -> list[str]:
    """Return the texts with the smallest hashes, `characters` in total, in the order of their hashes."""
    heap: list[tuple[int, str]] = []  # the largest hash first
    total = 0
    for text in texts:
        heapq.heappush(heap, (-int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()), text))
        total += len(text)
        while total - len(heap[0][1]) >= characters:
            total -= len(heapq.heappop(heap)[1])
    return [text for _, text in sorted(heap, reverse=True)]


def _make_trainer(seed: SentenceParameters) -> Any:
    """Return NLTK's trainer, extended to keep the seed's abbreviations and to count words."""
    from nltk.tokenize.punkt import PunktTrainer

    class Trainer(PunktTrainer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(lang_vars=nltk_language_variables(seed["sentence_ends"]))
            self._params.abbrev_types.update(seed["abbreviations"])
            self.lower: Counter[str] = Counter()  # in lower case
            self.upper: Counter[str] = Counter()  # with a capital, within sentences
            self.starts: Counter[str] = Counter()  # with a capital, at the start of sentences
            self.inside: Counter[str] = Counter()  # with a stop, within sentences
            self.numbered: Counter[str] = Counter()  # with a capital, after a number with a stop

        def _reclassify_abbrev_types(self, types: Iterable[str]) -> Iterator[tuple[str, float, bool]]:
            """Yield NLTK's changes to its list of abbreviations, without removals of the seed's."""
            known = seed["abbreviations"]
            for word, score, is_new in super()._reclassify_abbrev_types(types):
                if is_new or word not in known:
                    yield word, score, is_new

        def _get_orthography_data(self, tokens: Iterable[Any]) -> None:
            """Count words in lower case, with capitals and with stops, after NLTK has collected its data."""
            tokens = list(tokens)
            super()._get_orthography_data(tokens)
            previous = None
            for token in tokens:
                word = token.type_no_sentperiod
                if token.first_lower:
                    self.lower[word] += 1
                if previous is None or token.parastart or token.linestart:
                    pass
                elif not (previous.sentbreak or previous.abbr or previous.ellipsis):
                    self.upper[word] += token.first_upper and previous.is_non_punct is not None
                elif previous.sentbreak and token.first_upper:
                    self.starts[word] += not previous.is_number
                    self.numbered[word] += previous.type_no_period == NUMBER
                if previous is not None and previous.period_final and not token.first_upper:
                    self.inside[previous.type_no_period] += token.is_non_punct is not None or token.tok == ","
                previous = token

        def abbreviations(self) -> Iterator[str]:
            """Yield the learned abbreviations, which are frequent within sentences and mostly have a stop."""
            for word in self._params.abbrev_types:
                count, bare = self._type_fdist[word + "."], self._type_fdist[word]
                often = count >= _MIN_ABBREVIATION_COUNT and ("." in word or bare <= _MAX_BARE_RATIO * count)
                if has_abbreviation_form(word) and often and self.inside[word] >= _MIN_INSIDE_SHARE * count:
                    yield word

        def common_words(self) -> Iterator[str]:
            """Yield words that are mostly in lower case and often start sentences."""
            for word, count in self.lower.items():
                upper, starts = self.upper[word], self.starts[word]
                often = count >= _MIN_COMMON_COUNT and starts >= max(_MIN_START_COUNT, upper)
                if often and upper <= _MAX_CAPITAL_SHARE * (upper + count) and len(word) > 1 and word.isalpha():
                    yield word

        def after_numbers(self) -> Iterator[str]:
            """Yield words that often follow a number with a stop ("5. März")."""
            for first, word in self._params.collocations:
                if first == NUMBER and word.isalpha() and self.numbered[word] >= _MIN_AFTER_NUMBER_COUNT:
                    yield word

    return Trainer()
