"""Which source reads each file of a folder, by the files' names, and which files are left out."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath

from contexture.corpus.config import SourceName
from contexture.corpus.sources.documentation import HTML, MARKDOWN
from contexture.corpus.sources.files import COMPRESSED, Found, suffix_of, without_suffix

#: Sources of many documents a file: what lies beside one may tell of it rather than belong to it.
DUMPS: tuple[SourceName, ...] = ("mediawiki", "wet", "json_lines")
_PAGES: tuple[SourceName, ...] = ("documentation", "books")

_MAX_KINDS = 8
_NOTES_SUFFIXES = (".txt", ".md")
_NOTES = re.compile(
    r"(?:readme|licen[cs]e)(?:[-_.].*)?|notice|sources?|changelog|changes|copying|copyright|authors|contributors"
    r"|contributing|manifest|(?:.*[-_.])?(?:md5|sha\d+)sums?|.*-multistream-index\d*"
)


def sort_files(
    files: Sequence[Found], suffixes: Mapping[SourceName, Collection[str]]
) -> tuple[dict[SourceName, list[Found]], dict[str, int]]:
    """The files of each source, and the number of those left out, by reason.

    Left out are files of other kinds, notes beside dumps, HTML of pages that are there in Markdown, and empty texts
    beside others.
    """
    by_source: dict[SourceName, list[Found]] = {
        name: [file for file in files if suffix_of(file.path, ends)] for name, ends in suffixes.items()
    }
    known = {file for group in by_source.values() for file in group}
    left_out = dict(Counter(_kind(file.path) for file in files if file not in known).most_common())
    dumps = {PurePath(file.path).parent for name in DUMPS for file in by_source.get(name, ())}
    written = {without_suffix(file.path, MARKDOWN) for file in known} - {None}
    texts = any(file.bytes for file in known)
    reasons = {
        "notes beside dumps": {f for f in known if _is_note(f.path) and PurePath(f.path).parent in dumps},
        "in HTML and Markdown, the HTML": {file for file in known if without_suffix(file.path, HTML) in written},
        "empty": {file for name in _PAGES for file in by_source.get(name, ()) if texts and not file.bytes},
    }
    for reason, group in reasons.items():
        if group & known:
            left_out[reason] = len(group & known)
            known -= group
    kept = {name: [file for file in group if file in known] for name, group in by_source.items()}
    return {name: group for name, group in kept.items() if group}, left_out


def describe(left_out: Mapping[str, int]) -> str:
    """ "12 .png, 3 .pdf", of many kinds the first."""
    kinds = [f"{count:,} {kind}" for kind, count in left_out.items()]
    more = [f"{len(kinds) - _MAX_KINDS} more kinds"] if len(kinds) > _MAX_KINDS else []
    return ", ".join(kinds[:_MAX_KINDS] + more)


def _kind(path: str) -> str:
    """A file's suffix, with the one before it where it is compressed."""
    suffixes = PurePath(path.lower()).suffixes
    last = suffixes[-2:] if suffixes[-1:] and suffixes[-1] in COMPRESSED else suffixes[-1:]
    return "".join(last) or "without a suffix"


def _is_note(path: str) -> bool:
    name = PurePath(path).name.lower()
    stem = without_suffix(without_suffix(name, COMPRESSED) or name, _NOTES_SUFFIXES)
    return stem is not None and _NOTES.fullmatch(stem) is not None
