"""The language of files that do not say theirs, by the texts that they start with."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from contexture.corpus.errors import SourceError
from contexture.corpus.sources.protocol import SourceFile

#: What `corpus.lang` says where the language is to be found.
AUTO = "auto"
#: The code of an unknown language.
UNKNOWN = "und"
#: Of files whose documents may be of several languages: a smaller share of the passages is taken for mistakes.
_MIN_SHARE = 0.05


def set_languages(files: Sequence[tuple[SourceFile, Counter[str]]]) -> list[SourceFile]:
    """The files of a source; those whose `lang` is AUTO get the language of most of their passages.

    A file without passages in a certain language gets that of most others; if no file has any, they stay AUTO.
    """
    total = sum((passages for _, passages in files), Counter[str]())
    return [
        replace(file, lang=most_frequent(passages or total)) if file.lang == AUTO and total else file
        for file, passages in files
    ]


def set_remaining_languages(files: Sequence[SourceFile]) -> list[SourceFile]:
    """The files that are still AUTO with the language of most others; WET's pages get theirs when they are read.

    Raises SourceError if no other file's language is known.
    """
    known = Counter(file.lang for file in files if file.lang not in (AUTO, UNKNOWN))
    unsettled = [file for file in files if file.lang == AUTO and file.source != "wet"]
    if unsettled and not known:
        raise SourceError(
            f"{unsettled[0].path}: its text does not tell its language. Set corpus.lang to its code, such as en."
        )
    return [replace(file, lang=most_frequent(known)) if file in unsettled else file for file in files]


def most_frequent(counts: Counter[str]) -> str:
    """The most frequent language, the first by its code among equals."""
    return min(counts, key=lambda lang: (-counts[lang], lang))


def several(counts: Counter[str]) -> tuple[str, ...]:
    """The languages of a file's documents; empty where it is of one."""
    langs = [lang for lang, count in sorted(counts.items()) if count >= _MIN_SHARE * counts.total()]
    return tuple(langs) if len(langs) > 1 else ()
