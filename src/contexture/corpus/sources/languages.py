"""Assign languages, detected from their first texts, to files that do not declare one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from contexture.corpus.errors import SourceError
from contexture.corpus.sources.protocol import SourceFile

#: Value of `corpus.lang` to detect the language.
AUTO = "auto"
#: The code of an unknown language.
UNKNOWN = "und"
#: Languages with a smaller share of a file's passages are taken for errors of the detection.
_MIN_SHARE = 0.05


def set_languages(files: Sequence[tuple[SourceFile, Counter[str]]]) -> list[SourceFile]:
    """Return the files of a source; a `lang` of AUTO becomes the most frequent language of the file's passages.

    A file without detected passages gets the most frequent language of the others, or stays AUTO if there is none.
    """
    total = sum((passages for _, passages in files), Counter[str]())
    return [
        replace(file, lang=most_frequent(passages or total)) if file.lang == AUTO and total else file
        for file, passages in files
    ]


def set_remaining_languages(files: Sequence[SourceFile]) -> list[SourceFile]:
    """Return the files; those that are still AUTO get the language of most others, except for WET files.

    Raises SourceError if no other file's language is known.
    """
    known = Counter(file.lang for file in files if file.lang not in (AUTO, UNKNOWN))
    undetected = [file for file in files if file.lang == AUTO and file.source != "wet"]
    if undetected and not known:
        raise SourceError(
            f"{undetected[0].path}: its language could not be detected. Name its code, such as en: --lang en in "
            "contexture adapt, corpus.lang in the configuration."
        )
    return [replace(file, lang=most_frequent(known)) if file in undetected else file for file in files]


def most_frequent(counts: Counter[str]) -> str:
    """Return the most frequent language; for ties, the first code."""
    return min(counts, key=lambda lang: (-counts[lang], lang))


def list_frequent_languages(counts: Counter[str]) -> tuple[str, ...]:
    """Return the languages with at least 5% of a file's passages; empty unless there are several."""
    langs = [lang for lang, count in sorted(counts.items()) if count >= _MIN_SHARE * counts.total()]
    return tuple(langs) if len(langs) > 1 else ()
