"""Readers of questions and candidates in the published formats."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from contexture.tasks.answer_selection.sets import read_wikiqa
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.ranking.config import Format, Split
from contexture.tasks.retrieval import reqa_files
from contexture.tasks.retrieval.reqa import stable_id
from contexture.tasks.retrieval.squad import read_squad

_WORD = re.compile(r"\w+")
#: Row of a right candidate whose text is missing.
NO_TEXT = -1
_QUASAR_REMEDY = (
    "Download Quasar-T (https://github.com/bdhingra/quasar) and name the folder that holds "
    "{train,dev,test}_questions.json and {train,dev,test}_contexts.json, gzipped or not, in one folder or in "
    "questions/ and contexts/short/ as published."
)
_QUASAR_QUESTION_FORMAT = "a line of questions must be {uid, question, answer}"
_QUASAR_CONTEXTS_FORMAT = "a line of contexts must be {uid, contexts: [[score, text], …]}"
_HOTPOT_REMEDY = (
    "Download HotpotQA's distractor files (https://hotpotqa.github.io/) and name them, or your files in that format."
)
_HOTPOT_FORMAT = (
    "a file must be a list of {_id, question, answer, supporting_facts: [[title, sentence], …], context: "
    "[[title, [sentence, …]], …]}, or the same with {title: […], sent_id: […]} and {title: […], sentences: […]}"
)


class RankingQuestion(NamedTuple):
    """A question; candidates are rows of `CandidateTexts`."""

    split: Split | None  # None: not in the files
    question_id: str
    question: str
    #: Candidates of the files.
    candidates: tuple[int, ...]
    #: Right candidates; `NO_TEXT`: the text is missing.
    right: tuple[int, ...]


@dataclass
class CandidateTexts:
    """Distinct candidates of a set."""

    rows: dict[str, int] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)

    def add(self, text: str, title: str = "") -> int:
        """Add a text unless it is present, and return its row. The first title is kept."""
        if text not in self.rows:
            self.rows[text] = len(self.titles)
            self.titles.append(title)
        return self.rows[text]


@dataclass(frozen=True, slots=True)
class HotpotQuestion:
    """A question of HotpotQA's files; a fact is a title and a sentence number."""

    question_id: str
    question: str
    answer: Any
    paragraphs: list[tuple[str, list[str]]]
    facts: list[tuple[str, Any]]


def read_quasar(source: Path, split: Split | None, texts: CandidateTexts) -> Iterator[RankingQuestion]:
    """Yield the questions of Quasar-T (Dhingra et al., 2017), whose candidates are sentences retrieved for them.

    The set has no labels: a candidate is right if it contains the answer's words in sequence, ignoring case.
    """
    for name in ("train", "dev", "test"):
        questions: dict[str, tuple[str, str]] = {}
        for location, row in _read_json_lines(_find_quasar_file(source, name, "questions")):
            uid, question, answer = (
                reqa_files.get_field(row, key, str, location, _QUASAR_QUESTION_FORMAT)
                for key in ("uid", "question", "answer")
            )
            questions[uid] = question, answer
        for location, row in _read_json_lines(_find_quasar_file(source, name, "contexts")):
            uid = reqa_files.get_field(row, "uid", str, location, _QUASAR_CONTEXTS_FORMAT)
            contexts = reqa_files.get_field(row, "contexts", list, location, _QUASAR_CONTEXTS_FORMAT)
            if uid not in questions:
                raise ValueError(
                    f"{location}: no question has the uid {uid!r}, or two lines have it; {reqa_files.FETCH_AGAIN}"
                )
            question, answer = questions.pop(uid)
            by_text = {text: texts.add(text) for text in (_get_context_text(context, location) for context in contexts)}
            right = tuple(row for text, row in by_text.items() if has_answer(text, answer))
            yield RankingQuestion(name, uid, question, tuple(by_text.values()), right)
        for uid, (question, _) in questions.items():  # without search results
            yield RankingQuestion(name, uid, question, (), ())


def read_hotpotqa(source: Path, split: Split | None, texts: CandidateTexts) -> Iterator[RankingQuestion]:
    """Yield the questions of HotpotQA (Yang et al., 2018); paragraphs with supporting facts are right candidates."""
    for question in read_hotpot_questions(source):
        paragraphs = {title: texts.add(join_sentences(lines), title) for title, lines in question.paragraphs}
        gold = [paragraphs.get(title, NO_TEXT) for title in dict.fromkeys(title for title, _ in question.facts)]
        # Titles with the same text count once; each title without a text counts.
        right = tuple(row for i, row in enumerate(gold) if row == NO_TEXT or row not in gold[:i])
        yield RankingQuestion(split, question.question_id, question.question, _distinct(paragraphs.values()), right)


def read_hotpot_questions(source: Path) -> Iterator[HotpotQuestion]:
    """Yield the questions of HotpotQA's files, as published or with columns for lists.

    A question without an id gets the hash of its text.
    """
    for path in reqa_files.find_files("HotpotQA", source, ".json", _HOTPOT_REMEDY):
        content = reqa_files.parse_json(path, b"".join(line for _, line in reqa_files.iter_lines(path)))
        if not isinstance(content, list):
            raise ValueError(f"{path}: no list; {_HOTPOT_FORMAT}")
        for number, row in enumerate(content):
            location = f"{path}, [{number}]"
            question = reqa_files.get_field(row, "question", str, location, _HOTPOT_FORMAT)
            paragraphs = _title_pairs(row, "context", "sentences", location)
            for title, sentences in paragraphs:
                if not isinstance(sentences, list) or not all(isinstance(text, str) for text in sentences):
                    raise ValueError(
                        f"{location}.context: the paragraph {title!r} is no list of sentences; {_HOTPOT_FORMAT}"
                    )
            question_id = row.get("_id") or row.get("id") or stable_id(question)
            facts = _title_pairs(row, "supporting_facts", "sent_id", location)
            yield HotpotQuestion(str(question_id), question, row.get("answer"), paragraphs, facts)


def join_sentences(sentences: list[str]) -> str:
    """Return the text of a paragraph: its sentences, joined by single spaces."""
    return " ".join(" ".join(sentences).split())


def read_wikiqa_sets(source: Path, split: Split | None, texts: CandidateTexts) -> Iterator[RankingQuestion]:
    """Yield all questions of WikiQA (Yang, Yih and Meek, 2015), including those without a right sentence."""
    groups: Any = read_wikiqa(source).groupby(["split", "question_id"], sort=False)
    for (name, question_id), part in groups:
        rows = [texts.add(text, title) for text, title in zip(part["candidate"], part["title"], strict=True)]
        right = (row for row, label in zip(rows, part["label"], strict=True) if label)
        yield RankingQuestion(name, question_id, part["question"].iloc[0], _distinct(rows), _distinct(right))


def read_squad_paragraphs(source: Path, split: Split | None, texts: CandidateTexts) -> Iterator[RankingQuestion]:
    """Yield the questions of SQuAD v1.1; the paragraphs that a question is asked about are right."""
    right: dict[str, list[int]] = {}
    for passage in read_squad(source):
        row = texts.add(passage.text, passage.title)
        for question in passage.questions:
            right.setdefault(question.text, []).append(row)
    for text, rows in right.items():
        question_id = stable_id(text if split is None else f"{split}/{text}")  # some occur in train and dev
        yield RankingQuestion(split, question_id, text, (), _distinct(rows))


#: Format → reader; `split` is used if the files do not name the split.
READERS: dict[Format, Callable[[Path, Split | None, CandidateTexts], Iterator[RankingQuestion]]] = {
    "quasar_t": read_quasar,
    "hotpotqa": read_hotpotqa,
    "wikiqa": read_wikiqa_sets,
    "squad": read_squad_paragraphs,
}
#: Formats that need all right candidates; for others one is enough.
ALL_NEEDED: tuple[Format, ...] = ("hotpotqa",)


def has_answer(text: str, answer: str) -> bool:
    """Return whether the text contains the answer's words in sequence."""
    words = " ".join(_WORD.findall(answer.lower()))
    return bool(words) and f" {words} " in f" {' '.join(_WORD.findall(text.lower()))} "


def _find_quasar_file(folder: Path, split: str, kind: str) -> Path:
    """Return the file of a split's questions or contexts (`kind`). Raise BenchmarkMissing if there is none."""
    name = f"{split}_{kind}.json"
    for parent in (folder, folder / "questions", folder / "contexts" / "short"):
        for path in (parent / name, parent / f"{name}.gz"):
            if path.is_file():
                return path
    raise BenchmarkMissing("Quasar-T", folder / name, _QUASAR_REMEDY)


def _read_json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the location and value of each JSON line."""
    for number, line in reqa_files.iter_lines(path):
        if line.strip():
            yield f"{path}, line {number}", reqa_files.parse_json(path, line, number)


def _get_context_text(context: Any, location: str) -> str:
    """Return the text of a context [score, text]. Raise ValueError, with the location, for other values."""
    if not isinstance(context, list) or len(context) != 2 or not isinstance(context[1], str):
        raise ValueError(f"{location}: {str(context)[:60]!r} is no [score, text]; {_QUASAR_CONTEXTS_FORMAT}")
    return context[1]


def _title_pairs(row: Any, key: str, second: str, location: str) -> list[tuple[str, Any]]:
    """Return the pairs (title, `second`) under a key of a question, from either layout of HotpotQA."""
    value = row.get(key)
    if isinstance(value, dict):
        titles, values = (
            reqa_files.get_field(value, name, list, f"{location}.{key}", _HOTPOT_FORMAT) for name in ("title", second)
        )
        value = list(zip(titles, values, strict=False)) if len(titles) == len(values) else None
    if not isinstance(value, list) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in value
    ):
        raise ValueError(f"{location}: no list of pairs under the key {key!r}; {_HOTPOT_FORMAT}")
    return [(pair[0], pair[1]) for pair in value]


def _distinct(rows: Any) -> tuple[int, ...]:
    """Return the distinct rows in the order of their first occurrence."""
    return tuple(dict.fromkeys(rows))
