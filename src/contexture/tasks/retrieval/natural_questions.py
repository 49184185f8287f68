"""Read Natural Questions (Kwiatkowski et al., 2019) in the original or the simplified format."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from contexture.tasks.retrieval.reqa import ReqaPassage, ReqaQuestion
from contexture.tasks.retrieval.reqa_files import find_files, get_field, iter_lines, parse_json
from contexture.text.characters import unescape

_REMEDY = (
    "Download Natural Questions (https://ai.google.com/research/NaturalQuestions/download) and set input to "
    "its *.jsonl.gz files or their folder, such as v1.0/train, or to your own files in that format."
)
_LAYOUT = (
    "a line must be an object with question_text, annotations [{long_answer, short_answers}] and either document_html, "
    "document_tokens and document_title or, simplified, document_text and document_url"
)

#: Position of a token in the document, its text, and whether it follows the previous one without a space.
_Token = tuple[int, str, bool]

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_SPACE = re.compile(r"\s")
# The simplified format separates all tokens by spaces; these take no space before or after them.
_NO_SPACE_BEFORE = re.compile(r"[.,;:?!%)\]}]+|''|'[a-z]{1,2}|n't")
_NO_SPACE_AFTER = frozenset({"(", "[", "{", "``", "$"})


def read_natural_questions(source: Path | Sequence[Path]) -> Iterator[ReqaPassage]:
    """Yield passages with their question from files, or from a folder of `*.jsonl` and `*.jsonl.gz`, line by line.

    An annotation counts if it has exactly one short answer inside a long answer that is a paragraph (`<P>`). The
    passage is the paragraph without markup. This selects the paper's 74,097 train questions: answers with several
    parts, yes or no, tables and lists are skipped. Dev questions have up to five annotations, maybe of several
    paragraphs.

    Raises:
        BenchmarkMissing: a file is missing, or the folder contains none.
        ValueError: a file is damaged or has another layout.
    """
    for path in find_files("Natural Questions", source, ".jsonl", _REMEDY):
        for number, line in iter_lines(path):
            if line.strip():
                yield from _read_passages(parse_json(path, line, number), f"{path}, line {number}")


def _read_passages(record: Any, position: str) -> Iterator[ReqaPassage]:
    """Yield the paragraphs of a record that answer its question, each with the question and its answers."""
    annotations = [
        (get_field(annotation, "long_answer", dict, position, _LAYOUT), short_answers[0])
        for annotation in get_field(record, "annotations", list, position, _LAYOUT)
        if len(short_answers := get_field(annotation, "short_answers", list, position, _LAYOUT)) == 1
    ]
    if not annotations:
        return
    document = (
        _SimplifiedDocument(record, position) if "document_text" in record else _OriginalDocument(record, position)
    )
    answers: dict[tuple[int, int], list[int]] = {}
    for long_answer, short_answer in annotations:
        first, last = document.span(long_answer)
        start, end = document.span(short_answer)
        if 0 <= first <= start < end <= last and document.is_paragraph(first):
            answers.setdefault((first, last), []).append(start)
    question = get_field(record, "question_text", str, position, _LAYOUT)
    for (first, last), answer_starts in answers.items():
        text, numbers, offsets = _join_tokens(document.tokens(first, last))
        starts = (bisect_left(numbers, start) for start in answer_starts)
        characters = tuple(offsets[i] for i in starts if i < len(offsets))
        yield ReqaPassage(document.title(), text, (ReqaQuestion(question, characters),))


def _join_tokens(tokens: list[_Token]) -> tuple[str, list[int], list[int]]:
    """Return the text of tokens, their numbers in the document, and the character offset of each in the text."""
    text, offsets = "", []
    for _, token, is_joined in tokens:
        text += "" if is_joined or not text else " "
        offsets.append(len(text))
        text += unescape(token)
    return text, [number for number, _, _ in tokens], offsets


class _OriginalDocument:
    """A document as HTML and as tokens with byte offsets."""

    def __init__(self, record: dict[str, Any], position: str) -> None:
        self._record, self._position = record, position
        self._tokens = get_field(record, "document_tokens", list, position, _LAYOUT)

    def title(self) -> str:
        """Return the title of the document."""
        return get_field(self._record, "document_title", str, self._position, _LAYOUT)

    def span(self, answer: dict[str, Any]) -> tuple[int, int]:
        """Return first and last token (exclusive) of an answer; (-1, -1) for none."""
        if get_field({"start_token": -1} | answer, "start_token", int, self._position, _LAYOUT) >= 0:
            return answer["start_token"], get_field(answer, "end_token", int, self._position, _LAYOUT)
        if get_field({"start_byte": -1} | answer, "start_byte", int, self._position, _LAYOUT) < 0:
            return -1, -1
        first, last = (
            bisect_left(self._tokens, get_field(answer, key, int, self._position, _LAYOUT), key=self._start_byte)
            for key in ("start_byte", "end_byte")
        )
        return first, last

    def is_paragraph(self, first: int) -> bool:
        """Return whether the token number `first` opens a paragraph."""
        return first < len(self._tokens) and bool(self._tokens[first].get("token") == "<P>")

    def tokens(self, first: int, last: int) -> list[_Token]:
        """Return the tokens of a span without markup; white space outside of tags separates two tokens."""
        page = get_field(self._record, "document_html", str, self._position, _LAYOUT).encode()
        kept = [(i, token) for i, token in enumerate(self._tokens[first:last], first) if not token.get("html_token")]
        texts = [(i, get_field(token, "token", str, self._position, _LAYOUT)) for i, token in kept]
        gaps = [
            page[get_field(left, "end_byte", int, self._position, _LAYOUT) : self._start_byte(right)].decode(
                "utf-8", "replace"
            )
            for (_, left), (_, right) in pairwise(kept)
        ]
        is_joined = [True, *(_SPACE.search(_TAG.sub("", text)) is None for text in gaps)]
        return [(i, text, follows) for (i, text), follows in zip(texts, is_joined, strict=False)]

    def _start_byte(self, token: Any) -> int:
        """Return the byte offset of a token in the HTML."""
        return get_field(token, "start_byte", int, self._position, _LAYOUT)


class _SimplifiedDocument:
    """A document as text with spaces between tokens and markup."""

    def __init__(self, record: dict[str, Any], position: str) -> None:
        self._record, self._position = record, position
        self._words = get_field(record, "document_text", str, position, _LAYOUT).split(" ")

    def title(self) -> str:
        """Return the title of the document."""
        query = urlsplit(get_field(self._record, "document_url", str, self._position, _LAYOUT)).query
        return parse_qs(query).get("title", [""])[0].replace("_", " ")

    def span(self, answer: dict[str, Any]) -> tuple[int, int]:
        """Return first and last token (exclusive) of an answer; (-1, -1) for none."""
        first, last = (get_field(answer, key, int, self._position, _LAYOUT) for key in ("start_token", "end_token"))
        return first, last

    def is_paragraph(self, first: int) -> bool:
        """Return whether the token number `first` opens a paragraph."""
        return first < len(self._words) and self._words[first] == "<P>"

    def tokens(self, first: int, last: int) -> list[_Token]:
        """Return the tokens of a span without markup; punctuation is marked as following without a space."""
        kept = [(i, word) for i, word in enumerate(self._words[first:last], first) if not _TAG.fullmatch(word)]
        previous = ["", *(word for _, word in kept)]
        return [
            (i, word, left in _NO_SPACE_AFTER or _NO_SPACE_BEFORE.fullmatch(word) is not None)
            for left, (i, word) in zip(previous, kept, strict=False)
        ]
