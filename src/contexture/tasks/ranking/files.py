"""Questions and their candidates, read from the published formats into one shape."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contexture.tasks.answer_selection.sets import read_wikiqa
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.ranking.config import Format, Split
from contexture.tasks.retrieval import reqa_files
from contexture.tasks.retrieval.reqa import stable_id
from contexture.tasks.retrieval.squad import read_squad

_WORD = re.compile(r"\w+")
#: A right candidate whose text is not among the candidates: nobody can find it.
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


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; candidates are rows of `Texts`."""

    split: Split | None  # None: the format does not say
    question_id: str
    question: str
    #: Candidates of its own.
    candidates: tuple[int, ...]
    #: The right ones; `ABSENT` for one without a text.
    right: tuple[int, ...]


@dataclass
class Texts:
    """All candidates of a set, each text once."""

    rows: dict[str, int] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)

    def row(self, text: str, title: str = "") -> int:
        """The number of a text; the title of what it comes from is that of the first time."""
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


def read_quasar(source: Path, split: Split | None, texts: Texts) -> Iterator[Asked]:
    """Quasar-T (Dhingra et al., 2017): sentences that a search found for a question.

    A candidate is right when it holds the answer as a run of words, letters' case aside: the set says no more.
    """
    for name in ("train", "dev", "test"):
        questions: dict[str, tuple[str, str]] = {}
        path = _quasar_file(source, name, "questions")
        for place, row in _rows(path):
            uid, question, answer = (
                reqa_files.field(row, key, str, place, _QUASAR_QUESTION) for key in ("uid", "question", "answer")
            )
            questions[uid] = question, answer
        path = _quasar_file(source, name, "contexts")
        for place, row in _rows(path):
            uid = reqa_files.field(row, "uid", str, place, _QUASAR_CONTEXTS)
            contexts = reqa_files.field(row, "contexts", list, place, _QUASAR_CONTEXTS)
            if uid not in questions:
                raise ValueError(f"{place}: no question has the uid {uid!r}, or two lines have it; {reqa_files.AGAIN}")
            question, answer = questions.pop(uid)
            found = [_second_text(context, place) for context in contexts]
            rows = [texts.row(text) for text in found]
            right = (row for row, text in zip(rows, found, strict=True) if holds(text, answer))
            yield Asked(name, uid, question, _once(rows), _once(right))
        for uid, (question, _) in questions.items():  # nothing was found for these
            yield Asked(name, uid, question, (), ())


def read_hotpotqa(source: Path, split: Split | None, texts: Texts) -> Iterator[Asked]:
    """HotpotQA (Yang et al., 2018): paragraphs, of which those with supporting facts are right."""
    for one in hotpot_questions(source):
        paragraphs = {title: texts.row(one_text(sentences), title) for title, sentences in one.paragraphs}
        gold = [paragraphs.get(title, ABSENT) for title in dict.fromkeys(title for title, _ in one.facts)]
        # Two titles may have one text; of those without one each is missed.
        right = tuple(row for place, row in enumerate(gold) if row == ABSENT or row not in gold[:place])
        yield Asked(split, one.question_id, one.question, _once(paragraphs.values()), right)


def hotpot_questions(source: Path) -> Iterator[HotpotQuestion]:
    """The questions of HotpotQA's files, of the layout as published, or that of their copies with columns for lists.

    A question without an id is known by its text.
    """
    for path in reqa_files.find("HotpotQA", source, ".json", _HOTPOT_REMEDY):
        content = reqa_files.parse(path, b"".join(line for _, line in reqa_files.lines(path)))
        if not isinstance(content, list):
            raise ValueError(f"{path}: no list; {_HOTPOT}")
        for number, row in enumerate(content):
            place = f"{path}, [{number}]"
            question = reqa_files.field(row, "question", str, place, _HOTPOT)
            paragraphs = _pairs(row, "context", "sentences", place)
            for title, sentences in paragraphs:
                if not isinstance(sentences, list) or not all(isinstance(one, str) for one in sentences):
                    raise ValueError(f"{place}.context: the paragraph {title!r} is no list of sentences; {_HOTPOT}")
            known = row.get("_id") or row.get("id") or stable_id(question)
            facts = _pairs(row, "supporting_facts", "sent_id", place)
            yield HotpotQuestion(str(known), question, row.get("answer"), paragraphs, facts)


def one_text(sentences: list[str]) -> str:
    """A paragraph of its sentences."""
    return " ".join(" ".join(sentences).split())


def read_wikiqa_sets(source: Path, split: Split | None, texts: Texts) -> Iterator[Asked]:
    """WikiQA (Yang, Yih and Meek, 2015), questions without a right sentence included."""
    answers = read_wikiqa(source)
    of_question: Any = answers.groupby(["split", "question_id"], sort=False)
    for (name, known), part in of_question:
        rows = [texts.row(text, title) for text, title in zip(part["candidate"], part["title"], strict=True)]
        right = (row for row, label in zip(rows, part["label"], strict=True) if label)
        yield Asked(name, known, part["question"].iloc[0], _once(rows), _once(right))


def read_squad_paragraphs(source: Path, split: Split | None, texts: Texts) -> Iterator[Asked]:
    """SQuAD v1.1: a question's right paragraphs are those that it is asked about, all others are candidates, too."""
    right: dict[str, list[int]] = {}
    for passage in read_squad(source):
        row = texts.row(passage.text, passage.title)
        for question in passage.questions:
            right.setdefault(question.text, []).append(row)
    for text, rows in right.items():
        known = stable_id(text if split is None else f"{split}/{text}")  # some are asked in train and in dev
        yield Asked(split, known, text, (), _once(rows))


Reader = Callable[[Path, Split | None, Texts], Iterator[Asked]]
#: Format → how its files are read; `split` is that of the questions, where the file does not say it.
READERS: dict[Format, Reader] = {
    "quasar_t": read_quasar,
    "hotpotqa": read_hotpotqa,
    "wikiqa": read_wikiqa_sets,
    "squad": read_squad_paragraphs,
}
#: Formats whose right candidates are all needed; elsewhere one is enough.
ALL_NEEDED: tuple[Format, ...] = ("hotpotqa",)


def holds(text: str, answer: str) -> bool:
    """Whether the words of the answer stand in the text, one after the other."""
    words = " ".join(_WORD.findall(answer.lower()))
    return bool(words) and f" {words} " in f" {' '.join(_WORD.findall(text.lower()))} "


def _quasar_file(folder: Path, split: str, kind: str) -> Path:
    name = f"{split}_{kind}.json"
    for place in (folder, folder / "questions", folder / "contexts" / "short"):
        for path in (place / name, place / f"{name}.gz"):
            if path.is_file():
                return path
    raise BenchmarkMissing("Quasar-T", folder / name, _QUASAR_REMEDY)


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """The JSON lines of a file, and where each stands."""
    for number, line in reqa_files.lines(path):
        if line.strip():
            yield f"{path}, line {number}", reqa_files.parse(path, line, number)


def _second_text(context: Any, place: str) -> str:
    """The text of [score, text]."""
    if not isinstance(context, list) or len(context) != 2 or not isinstance(context[1], str):
        raise ValueError(f"{place}: {str(context)[:60]!r} is no [score, text]; {_QUASAR_CONTEXTS}")
    return context[1]


def _pairs(row: Any, key: str, second: str, place: str) -> list[tuple[str, Any]]:
    """Titles and what belongs to each, of either layout of HotpotQA."""
    value = row.get(key)
    if isinstance(value, dict):
        titles, others = (reqa_files.field(value, name, list, f"{place}.{key}", _HOTPOT) for name in ("title", second))
        value = list(zip(titles, others, strict=False)) if len(titles) == len(others) else None
    if not isinstance(value, list) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in value
    ):
        raise ValueError(f"{place}: no list of pairs under the key {key!r}; {_HOTPOT}")
    return [(pair[0], pair[1]) for pair in value]


def _once(rows: Any) -> tuple[int, ...]:
    return tuple(dict.fromkeys(rows))
