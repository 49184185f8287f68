"""The questions of HotpotQA with their answers and facts, and the paragraphs with their sentences, as tables."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from contexture.tasks.ranking.config import RankingSet, Split
from contexture.tasks.ranking.data import TEXTS, Questions, read_split
from contexture.tasks.ranking.files import hotpot_questions, join_sentences

ANSWERS, SENTENCES = "answers.parquet", "sentences.parquet"
#: The title of a paragraph, and the number of a sentence in it.
Fact = tuple[str, int]


@dataclass(frozen=True)
class HopQuestions:
    """The questions of a split, as ranking has them, with the answer and the facts of each."""

    ranked: Questions
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


def write_answers(source: RankingSet, folder: Path) -> None:
    """Write answers, facts and sentences to the folder of `write_set`.

    Raises ValueError for a question without an answer, or a fact without the number of its sentence.
    """
    files = source.files.values() if isinstance(source.files, dict) else [source.files]
    rows: list[tuple[str, str, list[str], list[int]]] = []
    sentences: dict[str, list[str]] = {}
    questions = [(file, question) for file in files for question in hotpot_questions(Path(file))]
    for source_file, question in questions:
        where = f"{source_file}, question {question.question_id}"
        if not isinstance(question.answer, str) or not question.answer.strip():
            raise ValueError(f"{where}: no answer; multi-hop questions need one")
        titles, numbers = [title for title, _ in question.facts], [number for _, number in question.facts]
        if not all(isinstance(number, int) for number in numbers):
            raise ValueError(f"{where}: a supporting fact is a title and the number of a sentence")
        rows.append((question.question_id, question.answer, titles, numbers))
        for _, lines in question.paragraphs:
            sentences.setdefault(join_sentences(lines), [" ".join(line.split()) for line in lines])
    pd.DataFrame(rows, columns=["question_id", "answer", "titles", "numbers"]).to_parquet(folder / ANSWERS)
    texts = pd.read_parquet(folder / TEXTS)["text"]
    pd.DataFrame({"sentences": texts.map(sentences)}).to_parquet(folder / SENTENCES)


def read_questions(folder: Path, split: Split) -> HopQuestions:
    """The questions of a split that have supporting facts."""
    ranked = read_split(folder, split)
    table = pd.read_parquet(folder / ANSWERS).set_index("question_id").loc[ranked.ids]
    facts: list[set[Fact]] = [
        set(zip(titles, map(int, numbers), strict=True))
        for titles, numbers in zip(table["titles"], table["numbers"], strict=True)
    ]
    return HopQuestions(ranked, table["answer"].tolist(), facts)


def read_paragraphs(folder: Path) -> Paragraphs:
    """All paragraphs."""
    texts, sentences = pd.read_parquet(folder / TEXTS), pd.read_parquet(folder / SENTENCES)
    return Paragraphs(texts["title"].tolist(), texts["text"].tolist(), sentences["sentences"].map(list).tolist())
