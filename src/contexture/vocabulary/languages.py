"""Resampling of the text of several languages, with a larger share for small languages (CMLM, section 4)."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from pathlib import Path

from contexture.vocabulary.tokenizers import ReiterableTexts, paragraph_texts

#: Prefix of the folders of a language's paragraphs.
PARTITION_PREFIX = "lang="


def repetition_factors(amounts: Mapping[str, int], exponent: float) -> dict[str, float]:
    """Return how often to repeat each language's text, so that amounts are in proportion to amount ^ exponent.

    The total amount stays the same. Without repetition, a language with very little text would reduce the others to
    almost nothing.
    """
    weights = {language: amount**exponent for language, amount in amounts.items()}
    scale = sum(amounts.values()) / sum(weights.values())
    return {language: scale * weights[language] / amounts[language] for language in amounts}


def resample_texts(folder: Path, exponent: float) -> Iterable[str]:
    """Return the texts of a folder with one subfolder per language, repeated by `repetition_factors`.

    A factor of 2.3 repeats a text two or three times, by its hash. Amounts are bytes. The result can be iterated
    repeatedly. Raises FileNotFoundError if there are no texts.
    """
    parts = list(folder.glob(f"{PARTITION_PREFIX}*"))
    if exponent == 1 or len(parts) < 2:
        return paragraph_texts(folder)
    texts = {part.name.removeprefix(PARTITION_PREFIX): paragraph_texts(part) for part in parts}
    amounts = {language: sum(len(text.encode()) for text in texts[language]) for language in texts}
    factors = repetition_factors({language: amount for language, amount in amounts.items() if amount}, exponent)

    def repeat_texts() -> Iterator[str]:
        """Yield the texts of all languages, each as often as its language's factor says."""
        for language in sorted(factors):
            for text in texts[language]:
                yield from repeat(text, int(factors[language] + zlib.crc32(text.encode()) / 2**32))

    return ReiterableTexts(repeat_texts)
