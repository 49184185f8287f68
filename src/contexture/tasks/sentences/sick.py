"""SICK (Marelli et al., 2014): pairs of sentences with an entailment label and a degree of relatedness."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from contexture.tasks.sentences.files import Counts, find, label, read_columns, score, scored_sentence
from contexture.tasks.sentences.tables import RelatednessTask, SimilarityTask

#: Entailment by label, in SentEval's order.
CLASSES = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
#: The degrees of relatedness go from LOW to HIGH.
LOW, HIGH = 1.0, 5.0

_FILES = {
    "train": ("SICK/SICK_train.txt", 4_500),
    "dev": ("SICK/SICK_trial.txt", 500),
    "test": ("SICK/SICK_test_annotated.txt", 4_927),
}
_TEXTS = ("sentence_A", "sentence_B")


def read_sick_e(folder: Path, counts: Counts) -> tuple[tuple[str, ...], list[tuple[str, tuple[str, ...], int]]]:
    """The classes, and the rows of all splits: split, the two sentences (perhaps empty), label."""
    return CLASSES, [
        (split, (text, text2), label(path, number, value, CLASSES))
        for split, path, number, text, text2, value in _rows(folder, "entailment_judgment", counts)
    ]


def read_sick_r(folder: Path, counts: Counts) -> RelatednessTask:
    """All splits with their degrees of relatedness."""
    rows = [
        (
            split,
            scored_sentence(path, number, text),
            scored_sentence(path, number, text2),
            score(path, number, value, LOW, HIGH),
        )
        for split, path, number, text, text2, value in _rows(folder, "relatedness_score", counts)
    ]
    table = pd.DataFrame(rows, columns=["split", "text", "text2", "score"])
    return RelatednessTask("sick_r", LOW, HIGH, table)


def sick_similarity(folder: Path, counts: Counts) -> SimilarityTask:
    """The test split, for the cosine."""
    return as_similarity(read_sick_r(folder, counts))


def as_similarity(task: RelatednessTask) -> SimilarityTask:
    """The test split of a task as its one subset."""
    test = task.table[task.table["split"] == "test"].rename(columns={"split": "subset"})
    return SimilarityTask(task.name, test.reset_index(drop=True))


def _rows(folder: Path, column: str, counts: Counts) -> Iterator[tuple[str, Path, int, str, str, str]]:
    """Split, file, line, the two sentences, and the value of a column."""
    for split, (relative, published) in _FILES.items():
        path = find("SICK", folder, relative)
        columns = read_columns(path, (*_TEXTS, column), published if counts == "published" else None)
        for number, (text, text2, value) in enumerate(columns, start=2):
            yield split, path, number, text, text2, value
