"""Which source reads each file of a folder, by the files' names, and which files are left out."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from contexture.corpus.config import SourceName
from contexture.corpus.sources.documentation import HTML, MARKDOWN
from contexture.corpus.sources.files import COMPRESSED, Found, suffix_of

#: Sources of many documents a file: what lies beside one may tell of it rather than belong to it.
DUMPS: tuple[SourceName, ...] = ("mediawiki", "wet", "json_lines")
_PAGES: tuple[SourceName, ...] = ("documentation", "books")

# As many kinds of files are told by their number.
_TOLD = 8
_NOTES_SUFFIXES = (".txt", ".md")
_NOTES = re.compile(
    r"(?:readme|licen[cs]e)(?:[-_.].*)?|notice|sources?|changelog|changes|copying|copyright|authors|contributors"
    r"|contributing|manifest|(?:.*[-_.])?(?:md5|sha\d+)sums?|.*-multistream-index\d*"
)


class Sorted(NamedTuple):
    """Files by the source that reads them, and the number of the others by what they are."""

    read: dict[SourceName, list[Found]]
    left_out: dict[str, int]


def sort_files(found: Sequence[Found], suffixes: Mapping[SourceName, Collection[str]]) -> Sorted:
    """Share files out to those sources whose suffixes are given, in their order.

    Left out are files of other kinds, counted by suffix, and of those that are known notes beside dumps, pages in HTML
    that lie in Markdown beside them, and empty texts where others are not.
    """
    read: dict[SourceName, list[Found]] = {
        name: [one for one in found if suffix_of(one.path, ends)] for name, ends in suffixes.items()
    }
    known = {one for files in read.values() for one in files}
    left_out = dict(Counter(_kind(one.path) for one in found if one not in known).most_common())
    dumps = {PurePath(one.path).parent for name in DUMPS for one in read.get(name, ())}
    written = {_stem(one.path, MARKDOWN) for one in known if suffix_of(one.path, MARKDOWN)}
    texts = any(one.bytes for one in known)
    reasons = {
        "notes beside dumps": {one for one in known if _is_note(one.path) and PurePath(one.path).parent in dumps},
        "in HTML and Markdown, the HTML": {one for one in known if _stem(one.path, HTML) in written},
        "empty": {one for name in _PAGES for one in read.get(name, ()) if texts and not one.bytes},
    }
    for reason, files in reasons.items():
        if files & known:
            left_out[reason] = len(files & known)
            known -= files
    kept = {name: [one for one in files if one in known] for name, files in read.items()}
    return Sorted({name: files for name, files in kept.items() if files}, left_out)


def told(left_out: Mapping[str, int]) -> str:
    """ "12 .png, 3 .pdf", of many kinds the first."""
    kinds = [f"{count:,} {kind}" for kind, count in left_out.items()]
    more = [f"{len(kinds) - _TOLD} more kinds"] if len(kinds) > _TOLD else []
    return ", ".join(kinds[:_TOLD] + more)


def _kind(path: str) -> str:
    """A file's suffix, with the one before it where it is compressed."""
    suffixes = PurePath(path.lower()).suffixes
    last = suffixes[-2:] if suffixes[-1:] and suffixes[-1] in COMPRESSED else suffixes[-1:]
    return "".join(last) or "without a suffix"


def _stem(path: str, suffixes: Collection[str]) -> str | None:
    """A path without whichever of the suffixes it has, or None."""
    suffix = suffix_of(path, suffixes)
    return None if suffix is None else path[: -len(suffix)]


def _is_note(path: str) -> bool:
    name = PurePath(path).name.lower()
    stem = _stem(name.removesuffix(suffix_of(name, COMPRESSED) or ""), _NOTES_SUFFIXES)
    return stem is not None and _NOTES.fullmatch(stem) is not None
