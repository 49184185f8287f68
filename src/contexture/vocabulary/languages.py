"""Text of several languages for one vocabulary, in which small languages have a larger share (CMLM, section 4)."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from contexture.vocabulary.tokenizers import paragraph_texts

#: Folders of a language's paragraphs begin with this.
PARTITION = "lang="


def shares_kept(amounts: Mapping[str, int], exponent: float) -> dict[str, float]:
    """What share of each language's text is kept so that languages are to each other as amount ^ exponent.

    Nothing is repeated: of the language with the least text all is kept.
    """
    weights = {language: amount ** (exponent - 1) for language, amount in amounts.items()}
    return {language: weight / max(weights.values()) for language, weight in weights.items()}


def smoothed_texts(folder: Path, exponent: float) -> Iterable[str]:
    """The paragraphs of a folder with a part for each language, as many of each as `shares_kept` says of its bytes.

    Which ones are kept is told by a hash of the text. They can be read any number of times. Raises FileNotFoundError
    where there are none.
    """
    if exponent == 1:
        return paragraph_texts(folder)
    texts = {place.name.removeprefix(PARTITION): paragraph_texts(place) for place in folder.glob(f"{PARTITION}*")}
    if len(texts) < 2:
        return paragraph_texts(folder)
    amounts = {language: sum(len(text.encode()) for text in found) for language, found in texts.items()}
    kept = shares_kept({language: amount for language, amount in amounts.items() if amount}, exponent)
    return _Kept({language: texts[language] for language in sorted(kept)}, kept)


@dataclass(frozen=True)
class _Kept:
    """The texts of each language whose hash is below its share."""

    texts: Mapping[str, Iterable[str]]
    shares: Mapping[str, float]

    def __iter__(self) -> Iterator[str]:
        for language, texts in self.texts.items():
            most = self.shares[language] * 2**32
            yield from (text for text in texts if zlib.crc32(text.encode()) < most)
