"""Text of several languages for one vocabulary, in which small languages have a larger share (CMLM, section 4)."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from pathlib import Path

from contexture.vocabulary.tokenizers import ReiterableTexts, paragraph_texts

#: Folders of a language's paragraphs begin with this.
PARTITION_PREFIX = "lang="


def repetition_factors(amounts: Mapping[str, int], exponent: float) -> dict[str, float]:
    """How often the text of each language is repeated, so that amounts are in proportion to amount ^ exponent.

    The sum of all amounts stays: without repetition, a language of a few stray texts would leave next to nothing of
    the others.
    """
    weights = {language: amount**exponent for language, amount in amounts.items()}
    scale = sum(amounts.values()) / sum(weights.values())
    return {language: scale * weights[language] / amounts[language] for language in amounts}


def resample_texts(folder: Path, exponent: float) -> Iterable[str]:
    """The paragraphs of a folder with a part for each language, repeated by `repetition_factors` of its bytes.

    A text is repeated 2.3 times as twice or three times, by its hash. The texts can be read any number of times.
    Raises FileNotFoundError if there are none.
    """
    parts = list(folder.glob(f"{PARTITION_PREFIX}*"))
    if exponent == 1 or len(parts) < 2:
        return paragraph_texts(folder)
    texts = {part.name.removeprefix(PARTITION_PREFIX): paragraph_texts(part) for part in parts}
    amounts = {language: sum(len(text.encode()) for text in texts[language]) for language in texts}
    factors = repetition_factors({language: amount for language, amount in amounts.items() if amount}, exponent)

    def repeat_texts() -> Iterator[str]:
        for language in sorted(factors):
            for text in texts[language]:
                yield from repeat(text, int(factors[language] + zlib.crc32(text.encode()) / 2**32))

    return ReiterableTexts(repeat_texts)
