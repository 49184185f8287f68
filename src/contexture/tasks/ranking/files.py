"""Questions and their candidates, read from the published formats into one shape."""

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
#: A right candidate whose text is not among the candidates.
ABSENT = -1
_QUASAR_REMEDY = (
    "Download Quasar-T (https://github.com/bdhingra/quasar) and name the folder that holds "
    "{train,dev,test}_questions.json and {train,dev,test}_contexts.json, gzipped or not, side by side or in questions/ "
    "and contexts/short/ as published."
)
_QUASAR_QUESTION = "a line of questions must be {uid, question, answer}"
_QUASAR_CONTEXTS = "a line of contexts must be {uid, contexts: [[score, text], …]}"
_HOTPOT_REMEDY = (
    "Download HotpotQA's distractor files (https://hotpotqa.github.io/) and name them, or files of your own in that "
    "format."
)
_HOTPOT = (
    "a file must be a list of {_id, question, answer, supporting_facts: [[title, sentence], …], context: "
    "[[title, [sentence, …]], …]}, or the same with {title: […], sent_id: […]} and {title: […], sentences: […]}"
)


class Question(NamedTuple):
    """A question; candidates are rows of `Texts`."""

    split: Split | None  # None: the format does not say
    question_id: str
    question: str
    #: Its candidates in the files.
    candidates: tuple[int, ...]
    #: The right ones; `ABSENT` for one without a text.
    right: tuple[int, ...]


@dataclass
class Texts:
    """All candidates of a set, each text once."""

    rows: dict[str, int] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)

    def row(self, text: str, title: str = "") -> int:
        """The number of a text; of several titles the first is kept."""
        if text not in self.rows:
            self.rows[text] = len(self.titles)
            self.titles.append(title)
        return self.rows[text]


@dataclass(frozen=True, slots=True)
class HotpotQuestion:
    """A question of HotpotQA as its files have it; a fact is a title and the number of a sentence."""

    question_id: str
    question: str
    answer: Any
    paragraphs: list[tuple[str, list[str]]]
    facts: list[tuple[str, Any]]


def read_quasar(source: Path, split: Split | None, texts: Texts) -> Iterator[Question]:
    """Quasar-T (Dhingra et al., 2017): sentences that a search found for a question.

    A candidate is right if it contains the words of the answer in a row, case-insensitively: the set has no labels.
    """
    for name in ("train", "dev", "test"):
        questions: dict[str, tuple[str, str]] = {}
        for where, row in _rows(_quasar_file(source, name, "questions")):
            uid, question, answer = (
                reqa_files.get_field(row, key, str, where, _QUASAR_QUESTION) for key in ("uid", "question", "answer")
            )
            questions[uid] = question, answer
        for where, row in _rows(_quasar_file(source, name, "contexts")):
            uid = reqa_files.get_field(row, "uid", str, where, _QUASAR_CONTEXTS)
            contexts = reqa_files.get_field(row, "contexts", list, where, _QUASAR_CONTEXTS)
            if uid not in questions:
                raise ValueError(
                    f"{where}: no question has the uid {uid!r}, or two lines have it; {reqa_files.FETCH_AGAIN}"
                )
            question, answer = questions.pop(uid)
            by_text = {text: texts.row(text) for text in (_second_text(context, where) for context in contexts)}
            right = tuple(row for text, row in by_text.items() if holds(text, answer))
            yield Question(name, uid, question, tuple(by_text.values()), right)
        for uid, (question, _) in questions.items():  # the search had no result for these
            yield Question(name, uid, question, (), ())


def read_hotpotqa(source: Path, split: Split | None, texts: Texts) -> Iterator[Question]:
    """HotpotQA (Yang et al., 2018): paragraphs, of which those with supporting facts are right."""
    for question in hotpot_questions(source):
        paragraphs = {title: texts.row(join_sentences(lines), title) for title, lines in question.paragraphs}
        gold = [paragraphs.get(title, ABSENT) for title in dict.fromkeys(title for title, _ in question.facts)]
        # Two titles may have one text; of those without a text each is missed.
        right = tuple(row for i, row in enumerate(gold) if row == ABSENT or row not in gold[:i])
        yield Question(split, question.question_id, question.question, _distinct(paragraphs.values()), right)


def hotpot_questions(source: Path) -> Iterator[HotpotQuestion]:
    """The questions of HotpotQA's files, as published or in copies with columns for lists.

    A question without an id gets the hash of its text.
    """
    for path in reqa_files.find_files("HotpotQA", source, ".json", _HOTPOT_REMEDY):
        content = reqa_files.parse_json(path, b"".join(line for _, line in reqa_files.iter_lines(path)))
        if not isinstance(content, list):
            raise ValueError(f"{path}: no list; {_HOTPOT}")
        for number, row in enumerate(content):
            where = f"{path}, [{number}]"
            question = reqa_files.get_field(row, "question", str, where, _HOTPOT)
            paragraphs = _pairs(row, "context", "sentences", where)
            for title, sentences in paragraphs:
                if not isinstance(sentences, list) or not all(isinstance(text, str) for text in sentences):
                    raise ValueError(f"{where}.context: the paragraph {title!r} is no list of sentences; {_HOTPOT}")
            question_id = row.get("_id") or row.get("id") or stable_id(question)
            details = _pairs(row, "supporting_facts", "sent_id", where)
            yield HotpotQuestion(str(question_id), question, row.get("answer"), paragraphs, details)


def join_sentences(sentences: list[str]) -> str:
    """The text of a paragraph."""
    return " ".join(" ".join(sentences).split())


def read_wikiqa_sets(source: Path, split: Split | None, texts: Texts) -> Iterator[Question]:
    """WikiQA (Yang, Yih and Meek, 2015), questions without a right sentence included."""
    groups: Any = read_wikiqa(source).groupby(["split", "question_id"], sort=False)
    for (name, question_id), part in groups:
        rows = [texts.row(text, title) for text, title in zip(part["candidate"], part["title"], strict=True)]
        right = (row for row, label in zip(rows, part["label"], strict=True) if label)
        yield Question(name, question_id, part["question"].iloc[0], _distinct(rows), _distinct(right))


def read_squad_paragraphs(source: Path, split: Split | None, texts: Texts) -> Iterator[Question]:
    """SQuAD v1.1: a question's right paragraphs are those that it is asked about, all others are candidates, too."""
    right: dict[str, list[int]] = {}
    for passage in read_squad(source):
        row = texts.row(passage.text, passage.title)
        for question in passage.questions:
            right.setdefault(question.text, []).append(row)
    for text, rows in right.items():
        question_id = stable_id(text if split is None else f"{split}/{text}")  # some are in train and in dev
        yield Question(split, question_id, text, (), _distinct(rows))


#: Format → its reader; `split` is that of the questions, if the file does not name it.
READERS: dict[Format, Callable[[Path, Split | None, Texts], Iterator[Question]]] = {
    "quasar_t": read_quasar,
    "hotpotqa": read_hotpotqa,
    "wikiqa": read_wikiqa_sets,
    "squad": read_squad_paragraphs,
}
#: Formats whose right candidates are all needed; elsewhere one is enough.
ALL_NEEDED: tuple[Format, ...] = ("hotpotqa",)


def holds(text: str, answer: str) -> bool:
    """Whether the text contains the words of the answer in a row."""
    words = " ".join(_WORD.findall(answer.lower()))
    return bool(words) and f" {words} " in f" {' '.join(_WORD.findall(text.lower()))} "


def _quasar_file(folder: Path, split: str, kind: str) -> Path:
    name = f"{split}_{kind}.json"
    for parent in (folder, folder / "questions", folder / "contexts" / "short"):
        for path in (parent / name, parent / f"{name}.gz"):
            if path.is_file():
                return path
    raise BenchmarkMissing("Quasar-T", folder / name, _QUASAR_REMEDY)


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """The JSON lines of a file, each with its position for errors."""
    for number, line in reqa_files.iter_lines(path):
        if line.strip():
            yield f"{path}, line {number}", reqa_files.parse_json(path, line, number)


def _second_text(context: Any, where: str) -> str:
    if not isinstance(context, list) or len(context) != 2 or not isinstance(context[1], str):
        raise ValueError(f"{where}: {str(context)[:60]!r} is no [score, text]; {_QUASAR_CONTEXTS}")
    return context[1]


def _pairs(row: Any, key: str, second: str, where: str) -> list[tuple[str, Any]]:
    """Titles, each with its entry under `second`, of either layout of HotpotQA."""
    value = row.get(key)
    if isinstance(value, dict):
        titles, values = (
            reqa_files.get_field(value, name, list, f"{where}.{key}", _HOTPOT) for name in ("title", second)
        )
        value = list(zip(titles, values, strict=False)) if len(titles) == len(values) else None
    if not isinstance(value, list) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in value
    ):
        raise ValueError(f"{where}: no list of pairs under the key {key!r}; {_HOTPOT}")
    return [(pair[0], pair[1]) for pair in value]


def _distinct(rows: Any) -> tuple[int, ...]:
    return tuple(dict.fromkeys(rows))
