"""SQuAD v1.1 (Rajpurkar et al., 2016) as published, and as a plain list of contexts, questions and answers."""

import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from contexture.tasks.retrieval.reqa import Passage, Question
from contexture.tasks.retrieval.reqa_files import field, find, lines, parse

LOG = logging.getLogger(__name__)

_REMEDY = (
    "Download train-v1.1.json and dev-v1.1.json of SQuAD v1.1 (https://rajpurkar.github.io/SQuAD-explorer/) and name "
    "the files or their folder, or files of your own in that format."
)
_LAYOUT = (
    "a file must be an object like SQuAD's, {data: [{title, paragraphs: [{context, qas: [{question, answers: "
    "[{text, answer_start}]}]}]}]}, or a list of {context, question, answer}"
)


def read_squad(source: Path | Sequence[Path]) -> Iterator[Passage]:
    """Passages with their questions: one file, several, or a folder of `*.json` and `*.json.gz`, read one by one.

    Files of both layouts may be mixed. In a list of {context, question, answer} the answer is where its text first
    occurs. If the text of an answer is not at its `answer_start`, the nearest occurrence counts; an answer that does
    not occur in its context is left out, and a warning gives the number of these.

    Raises:
        BenchmarkMissing: a file is absent, or the folder holds none.
        ValueError: a file is damaged or has another layout; the text names file, position, key and remedy.
    """
    for path in find("SQuAD", source, ".json", _REMEDY):
        content = parse(path, b"".join(line for _, line in lines(path)))
        lost = 0
        for title, context, answered in _listed(path, content) if isinstance(content, list) else _nested(path, content):
            questions = []
            for text, answers in answered:
                starts = [start for answer, near in answers if (start := _locate(context, answer, near)) is not None]
                lost += len(answers) - len(starts)
                questions.append(Question(text, tuple(starts)))
            yield Passage(title, context, tuple(questions))
        if lost:
            LOG.warning("%s: %d answers do not occur in their passages and are left out", path, lost)


#: A question and its answers, each with the character it should start at.
_Answered = tuple[str, list[tuple[str, int]]]


def _nested(path: Path, content: Any) -> Iterator[tuple[str, str, list[_Answered]]]:
    for a, article in enumerate(field(content, "data", list, str(path), _LAYOUT)):
        position = f"{path}, data[{a}]"
        paragraphs = field(article, "paragraphs", list, position, _LAYOUT)
        title = str(article.get("title", "")).replace("_", " ")
        for p, paragraph in enumerate(paragraphs):
            at = f"{position}.paragraphs[{p}]"
            context = field(paragraph, "context", str, at, _LAYOUT)
            questions = [
                _answered(question, f"{at}.qas[{q}]")
                for q, question in enumerate(field(paragraph, "qas", list, at, _LAYOUT))
            ]
            yield title, context, questions


def _answered(question: Any, position: str) -> _Answered:
    answers = []
    for i, answer in enumerate(field(question, "answers", list, position, _LAYOUT)):
        at = f"{position}.answers[{i}]"
        answers.append((field(answer, "text", str, at, _LAYOUT), field(answer, "answer_start", int, at, _LAYOUT)))
    return field(question, "question", str, position, _LAYOUT), answers


def _listed(path: Path, rows: list[Any]) -> Iterator[tuple[str, str, list[_Answered]]]:
    passages: dict[str, list[_Answered]] = defaultdict(list)
    for number, row in enumerate(rows):
        context, question, answer = (
            field(row, key, str, f"{path}, [{number}]", _LAYOUT) for key in ("context", "question", "answer")
        )
        passages[context].append((question, [(answer, 0)]))
    yield from (("", context, answered) for context, answered in passages.items())


def _locate(context: str, answer: str, near: int) -> int | None:
    """Start of `answer` in `context`: `near`, or the nearest, the first of two; None if it does not occur."""
    if 0 <= near < len(context) and context.startswith(answer, near):
        return near
    starts = (match.start() for match in re.finditer(re.escape(answer), context) if answer)
    return min(starts, key=lambda start: abs(start - near), default=None)
