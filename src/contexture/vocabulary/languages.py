"""Text of several languages for one vocabulary, in which small languages have a larger share (CMLM, section 4)."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from contexture.vocabulary.tokenizers import paragraph_texts

#: Folders of a language's paragraphs begin with this.
PARTITION = "lang="


def times_taken(amounts: Mapping[str, int], exponent: float) -> dict[str, float]:
    """How often what there is of each language is taken, so that languages are to each other as amount ^ exponent.

    All together are as many as before: were nothing repeated, a language of a few stray texts would leave next to
    nothing of the others.
    """
    weights = {language: amount**exponent for language, amount in amounts.items()}
    scale = sum(amounts.values()) / sum(weights.values())
    return {language: scale * weights[language] / amounts[language] for language in amounts}


def smoothed_texts(folder: Path, exponent: float) -> Iterable[str]:
    """The paragraphs of a folder with a part for each language, each as often as `times_taken` says of its bytes.

    What is to be taken 2.3 times is taken twice, or three times, as a hash of the text tells. They can be read any
    number of times. Raises FileNotFoundError where there are none.
    """
    if exponent == 1:
        return paragraph_texts(folder)
    texts = {place.name.removeprefix(PARTITION): paragraph_texts(place) for place in folder.glob(f"{PARTITION}*")}
    if len(texts) < 2:
        return paragraph_texts(folder)
    amounts = {language: sum(len(text.encode()) for text in found) for language, found in texts.items()}
    times = times_taken({language: amount for language, amount in amounts.items() if amount}, exponent)
    return _Taken({language: texts[language] for language in sorted(times)}, times)


@dataclass(frozen=True)
class _Taken:
    """The texts of each language, so many times."""

    texts: Mapping[str, Iterable[str]]
    times: Mapping[str, float]

    def __iter__(self) -> Iterator[str]:
        for language, texts in self.texts.items():
            for text in texts:
                yield from repeat(text, int(self.times[language] + zlib.crc32(text.encode()) / 2**32))
