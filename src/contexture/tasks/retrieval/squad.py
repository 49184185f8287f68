"""Read SQuAD v1.1 (Rajpurkar et al., 2016) as published, or as a list of contexts, questions and answers."""

import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from contexture.tasks.retrieval.reqa import ReqaPassage, ReqaQuestion
from contexture.tasks.retrieval.reqa_files import find_files, get_field, iter_lines, parse_json

LOG = logging.getLogger(__name__)

_REMEDY = (
    "Download train-v1.1.json and dev-v1.1.json of SQuAD v1.1 (https://rajpurkar.github.io/SQuAD-explorer/) and set "
    "input to the files or their folder, or to your own files in that format."
)
_LAYOUT = (
    "a file must be an object like SQuAD's, {data: [{title, paragraphs: [{context, qas: [{question, answers: "
    "[{text, answer_start}]}]}]}]}, or a list of {context, question, answer}"
)


def read_squad(source: Path | Sequence[Path]) -> Iterator[ReqaPassage]:
    """Yield passages with their questions from files, or from a folder of `*.json` and `*.json.gz`, file by file.

    In a list of {context, question, answer} the first occurrence of an answer counts. If an answer is not at its
    `answer_start`, the nearest occurrence counts. Answers that do not occur in their context are left out with a
    warning.

    Raises:
        BenchmarkMissing: a file is missing, or the folder contains none.
        ValueError: a file is damaged or has another layout.
    """
    for path in find_files("SQuAD", source, ".json", _REMEDY):
        content = parse_json(path, b"".join(line for _, line in iter_lines(path)))
        num_lost = 0
        for title, context, questions_answers in (
            _read_contexts(path, content) if isinstance(content, list) else _read_articles(path, content)
        ):
            questions = []
            for text, answers in questions_answers:
                starts = [
                    start
                    for answer, expected_start in answers
                    if (start := _locate(context, answer, expected_start)) is not None
                ]
                num_lost += len(answers) - len(starts)
                questions.append(ReqaQuestion(text, tuple(starts)))
            yield ReqaPassage(title, context, tuple(questions))
        if num_lost:
            LOG.warning("%s: %d answers do not occur in their passages and are left out", path, num_lost)


#: A question and its answers, each with the character offset at which it should start.
_QuestionAnswers = tuple[str, list[tuple[str, int]]]


def _read_articles(path: Path, content: Any) -> Iterator[tuple[str, str, list[_QuestionAnswers]]]:
    """Yield title, context and questions of each paragraph in SQuAD's layout."""
    for a, article in enumerate(get_field(content, "data", list, str(path), _LAYOUT)):
        position = f"{path}, data[{a}]"
        paragraphs = get_field(article, "paragraphs", list, position, _LAYOUT)
        title = str(article.get("title", "")).replace("_", " ")
        for p, paragraph in enumerate(paragraphs):
            paragraph_position = f"{position}.paragraphs[{p}]"
            context = get_field(paragraph, "context", str, paragraph_position, _LAYOUT)
            questions = [
                _read_question(question, f"{paragraph_position}.qas[{q}]")
                for q, question in enumerate(get_field(paragraph, "qas", list, paragraph_position, _LAYOUT))
            ]
            yield title, context, questions


def _read_question(question: Any, position: str) -> _QuestionAnswers:
    """Return the text of a question, and each of its answers with the offset at which it starts."""
    answers = []
    for i, answer in enumerate(get_field(question, "answers", list, position, _LAYOUT)):
        answer_position = f"{position}.answers[{i}]"
        answers.append(
            (
                get_field(answer, "text", str, answer_position, _LAYOUT),
                get_field(answer, "answer_start", int, answer_position, _LAYOUT),
            )
        )
    return get_field(question, "question", str, position, _LAYOUT), answers


def _read_contexts(path: Path, rows: list[Any]) -> Iterator[tuple[str, str, list[_QuestionAnswers]]]:
    """Yield an empty title, context and questions of each context in a list of {context, question, answer}."""
    passages: dict[str, list[_QuestionAnswers]] = defaultdict(list)
    for number, row in enumerate(rows):
        context, question, answer = (
            get_field(row, key, str, f"{path}, [{number}]", _LAYOUT) for key in ("context", "question", "answer")
        )
        passages[context].append((question, [(answer, 0)]))
    yield from (("", context, questions) for context, questions in passages.items())


def _locate(context: str, answer: str, expected_start: int) -> int | None:
    """Return the offset of `answer` in `context` that is nearest to the expected one; None if it does not occur."""
    if 0 <= expected_start < len(context) and context.startswith(answer, expected_start):
        return expected_start
    starts = (match.start() for match in re.finditer(re.escape(answer), context) if answer)
    return min(starts, key=lambda start: abs(start - expected_start), default=None)
