"""HotpotQA as tables: questions with answers and supporting facts, paragraphs with sentences."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from contexture.tasks.ranking.config import RankingSet, Split
from contexture.tasks.ranking.data import TEXTS_FILE, Questions, read_split
from contexture.tasks.ranking.files import join_sentences, read_hotpot_questions

ANSWERS_FILE, SENTENCES_FILE = "answers.parquet", "sentences.parquet"
#: Title of a paragraph and number of a sentence in it.
Fact = tuple[str, int]


@dataclass(frozen=True)
class MultiHopQuestions:
    """Questions of a split as `ranking` stores them, with the answer and the facts of each."""

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
    """Write the questions' answers and facts, and the paragraphs' sentences, to a folder of `ranking.data.write_set`.

    Raises ValueError for a question without an answer, and for a fact without a sentence number.
    """
    files = source.files.values() if isinstance(source.files, dict) else [source.files]
    rows: list[tuple[str, str, list[str], list[int]]] = []
    sentences: dict[str, list[str]] = {}
    questions = [(file, question) for file in files for question in read_hotpot_questions(Path(file))]
    for source_file, question in questions:
        location = f"{source_file}, question {question.question_id}"
        if not isinstance(question.answer, str) or not question.answer.strip():
            raise ValueError(f"{location}: no answer; add one")
        titles, numbers = [title for title, _ in question.facts], [number for _, number in question.facts]
        if not all(isinstance(number, int) for number in numbers):
            raise ValueError(f"{location}: a supporting fact must be a title and a sentence number")
        rows.append((question.question_id, question.answer, titles, numbers))
        for _, lines in question.paragraphs:
            sentences.setdefault(join_sentences(lines), [" ".join(line.split()) for line in lines])
    pd.DataFrame(rows, columns=["question_id", "answer", "titles", "numbers"]).to_parquet(folder / ANSWERS_FILE)
    texts = pd.read_parquet(folder / TEXTS_FILE)["text"]
    pd.DataFrame({"sentences": texts.map(sentences)}).to_parquet(folder / SENTENCES_FILE)


def read_questions(folder: Path, split: Split) -> MultiHopQuestions:
    """Return the questions of a split that have supporting facts, with these and the answers."""
    ranked = read_split(folder, split)
    table = pd.read_parquet(folder / ANSWERS_FILE).set_index("question_id").loc[ranked.ids]
    facts: list[set[Fact]] = [
        set(zip(titles, map(int, numbers), strict=True))
        for titles, numbers in zip(table["titles"], table["numbers"], strict=True)
    ]
    return MultiHopQuestions(ranked, table["answer"].tolist(), facts)


def read_paragraphs(folder: Path) -> Paragraphs:
    """Return titles, texts and sentences of all paragraphs of the files."""
    texts, sentences = pd.read_parquet(folder / TEXTS_FILE), pd.read_parquet(folder / SENTENCES_FILE)
    return Paragraphs(texts["title"].tolist(), texts["text"].tolist(), sentences["sentences"].map(list).tolist())
