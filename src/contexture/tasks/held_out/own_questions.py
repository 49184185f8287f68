"""Check a user's questions before `contexture adapt` runs."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from heapq import nlargest
from itertools import pairwise
from pathlib import Path

from contexture.corpus.sources import list_documents
from contexture.corpus.sources.protocol import SourceFile
from contexture.tasks.held_out.config import MIN_USER_QUESTIONS
from contexture.tasks.held_out.questions import describe_unknown, document_names, read_questions

#: Names with the most pairs of characters in common, which are compared closely.
_MAX_COMPARED_NAMES = 2_000


def check_questions(path: Path, files: Sequence[SourceFile]) -> tuple[int, list[str]]:
    """Return the number of questions at a path, and warnings: too few questions, unknown answers.

    Answers are not checked if a file of the text is a dump whose documents are not known before it is parsed. Raises
    ValueError if the questions cannot be read or all answers are unknown.
    """
    table = read_questions(path)
    count, answers = table["question"].nunique(), set(table["answer"])
    notes = []
    if count < MIN_USER_QUESTIONS:
        notes.append(f"{count} questions: too few to decide ({MIN_USER_QUESTIONS}), reported only")
    documents = list_documents(files)
    names = {name for doc_id, title in documents for name in document_names(doc_id, title)}
    unknown = {answer for answer in answers if answer not in names and answer.rpartition("#")[0] not in names}
    if names and unknown:
        nearest = find_nearest(min(unknown), (doc_id.partition(":")[2] for doc_id, _ in documents))
        note = f"{describe_unknown(unknown, str(path))}; the closest match is {nearest!r}"
        if unknown == answers:
            raise ValueError(note)
        notes.append(note)
    return count, notes


def find_nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most similar, apart from case; fast for a hundred thousand names."""
    lower = name.lower()
    pairs = set(pairwise(lower))
    close = nlargest(
        _MAX_COMPARED_NAMES,
        known,
        key=lambda other: (len(pairs & set(pairwise(other.lower()))), -abs(len(other) - len(name))),
    )
    matcher = SequenceMatcher(b=lower)

    def similarity(other: str) -> float:
        matcher.set_seq1(other.lower())
        return matcher.ratio()

    return max(close, key=similarity)
