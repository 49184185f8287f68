"""The language of files that do not say theirs, by the texts that they start with."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from contexture.corpus.errors import SourceError
from contexture.corpus.sources.protocol import SourceFile

#: What `corpus.lang` says where the language is to be found.
AUTO = "auto"
#: The code of a language that nobody knows.
UNKNOWN = "und"
#: Of files whose documents may be of several languages: a smaller share of the passages is taken for mistakes.
_LEAST = 0.05


def settle(files: Sequence[SourceFile], found: Sequence[Counter[str]]) -> list[SourceFile]:
    """The files whose `lang` is AUTO with the language that was found for most passages; the others as they are.

    A file of which nothing is certain has the language of most of the others; where nothing is of any, they stay AUTO.

    Args:
        files: of one source.
        found: for each, by language, its passages that are in it for certain (`text.languages.languages_of`).
    """
    every = sum(found, Counter[str]())
    settled = []
    for file, passages in zip(files, found, strict=True):
        if file.lang != AUTO:
            settled.append(file)
            continue
        counts = passages or every
        settled.append(replace(file, lang=most(counts)) if counts else file)
    return settled


def settle_rest(files: Sequence[SourceFile]) -> list[SourceFile]:
    """The files that are still AUTO with the language of most others, of whichever source.

    Those of WET stay as they are: each page's language is found when it is read.

    Raises:
        SourceError: no other file's language is known.
    """
    known = Counter(file.lang for file in files if file.lang not in (AUTO, UNKNOWN))
    open_ones = [file for file in files if file.lang == AUTO and file.source != "wet"]
    if open_ones and not known:
        raise SourceError(
            f"{open_ones[0].path}: its text does not tell its language. Set corpus.lang to its code, such as en."
        )
    return [replace(file, lang=most(known)) if file in open_ones else file for file in files]


def most(found: Counter[str]) -> str:
    """The most frequent language, the first by its code among equals."""
    return min(found, key=lambda lang: (-found[lang], lang))


def several(found: Counter[str]) -> tuple[str, ...]:
    """The languages of a file's documents; empty where it is of one."""
    there = [lang for lang, count in sorted(found.items()) if count >= _LEAST * found.total()]
    return tuple(there) if len(there) > 1 else ()
