"""The questions of HotpotQA with their answers and facts, and the paragraphs with their sentences, as tables."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from contexture.tasks.ranking.config import RankingSet, Split
from contexture.tasks.ranking.data import TEXTS, Questions, read_split
from contexture.tasks.ranking.files import hotpot_questions, one_text

ANSWERS, SENTENCES = "answers.parquet", "sentences.parquet"
#: The title of a paragraph, and the number of a sentence in it.
Fact = tuple[str, int]


@dataclass(frozen=True)
class HopQuestions:
    """The questions of a split, as ranking has them, with what answers each."""

    asked: Questions
    answers: list[str]
    facts: list[set[Fact]]

    def __len__(self) -> int:
        return len(self.answers)


@dataclass(frozen=True)
class Paragraphs:
    """All paragraphs of the files, by row."""

    titles: list[str]
    texts: list[str]
    sentences: list[list[str]]


def write_answers(given: RankingSet, folder: Path) -> None:
    """Write answers, facts and sentences beside what `write_set` wrote.

    Raises ValueError for a question without an answer, or a fact without the number of its sentence.
    """
    files = given.files.values() if isinstance(given.files, dict) else [given.files]
    rows: list[tuple[str, str, list[str], list[int]]] = []
    sentences: dict[str, list[str]] = {}
    for file in files:
        for one in hotpot_questions(Path(file)):
            place = f"{file}, question {one.question_id}"
            if not isinstance(one.answer, str) or not one.answer.strip():
                raise ValueError(f"{place}: no answer; multi-hop questions need one")
            if not all(isinstance(number, int) for _, number in one.facts):
                raise ValueError(f"{place}: a supporting fact is a title and the number of a sentence")
            titles, numbers = [title for title, _ in one.facts], [number for _, number in one.facts]
            rows.append((one.question_id, one.answer, titles, numbers))
            for _, found in one.paragraphs:
                sentences.setdefault(one_text(found), [" ".join(sentence.split()) for sentence in found])
    pd.DataFrame(rows, columns=["question_id", "answer", "titles", "numbers"]).to_parquet(folder / ANSWERS)
    texts = pd.read_parquet(folder / TEXTS)["text"]
    pd.DataFrame({"sentences": texts.map(sentences)}).to_parquet(folder / SENTENCES)


def read_questions(folder: Path, split: Split) -> HopQuestions:
    """The questions of a split that have supporting facts."""
    asked = read_split(folder, split)
    table = pd.read_parquet(folder / ANSWERS).set_index("question_id").loc[asked.ids]
    facts: list[set[Fact]] = [
        set(zip(titles, map(int, numbers), strict=True))
        for titles, numbers in zip(table["titles"], table["numbers"], strict=True)
    ]
    return HopQuestions(asked, table["answer"].tolist(), facts)


def read_paragraphs(folder: Path) -> Paragraphs:
    """All paragraphs."""
    texts, sentences = pd.read_parquet(folder / TEXTS), pd.read_parquet(folder / SENTENCES)
    return Paragraphs(texts["title"].tolist(), texts["text"].tolist(), [list(one) for one in sentences["sentences"]])
