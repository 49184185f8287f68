"""Check a user's questions before `contexture adapt` runs."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from contexture.corpus.sources.protocol import SourceFile
from contexture.tasks.held_out.questions import describe_unknown, document_names, read_questions


def check_questions(path: Path, documents: Sequence[SourceFile]) -> tuple[int, str]:
    """Return the number of questions in a file, and a warning about unknown answers, or "".

    `documents` is empty if the documents are not known yet. Raises ValueError if the file cannot be read or all answers
    are unknown.
    """
    table = read_questions(path)
    count, answers = table["question"].nunique(), set(table["answer"])
    names = {name for file in documents for name in document_names(f"{file.lang}:{file.name}", file.title)}
    unknown = {answer for answer in answers if answer not in names and answer.rpartition("#")[0] not in names}
    if not documents or not unknown:
        return count, ""
    nearest = get_close_matches(min(unknown), [file.name for file in documents], 1, 0.0)[0]
    note = f"{describe_unknown(unknown, str(path))}; the closest match is {nearest!r}"
    if unknown == answers:
        raise ValueError(note)
    return count, note
