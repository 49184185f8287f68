"""Semantic textual similarity: the tasks of SemEval 2012 to 2016 by subsets, and the benchmark drawn from them."""

from pathlib import Path

import pandas as pd

from contexture.tasks.sentences.files import Counts, check_rows, find, read_lines, score, scored_sentence
from contexture.tasks.sentences.sick import as_similarity
from contexture.tasks.sentences.tables import RelatednessTask, SimilarityTask

#: All scores go from LOW to HIGH.
LOW, HIGH = 0.0, 5.0

#: By year and subset: the published pairs, and how many of them have a score.
_PUBLISHED: dict[str, dict[str, tuple[int, int]]] = {
    "sts12": {
        "MSRpar": (750, 750),
        "MSRvid": (750, 750),
        "SMTeuroparl": (459, 459),
        "surprise.OnWN": (750, 750),
        "surprise.SMTnews": (399, 399),
    },
    "sts13": {"FNWN": (189, 189), "headlines": (750, 750), "OnWN": (561, 561)},
    "sts14": {
        "deft-forum": (450, 450),
        "deft-news": (300, 300),
        "headlines": (750, 750),
        "images": (750, 750),
        "OnWN": (750, 750),
        "tweet-news": (750, 750),
    },
    "sts15": {
        "answers-forums": (2_000, 375),
        "answers-students": (1_500, 750),
        "belief": (2_000, 375),
        "headlines": (1_500, 750),
        "images": (1_500, 750),
    },
    "sts16": {
        "answer-answer": (1_572, 254),
        "headlines": (1_498, 249),
        "plagiarism": (1_271, 230),
        "postediting": (3_287, 244),
        "question-question": (1_555, 209),
    },
}
YEARS = tuple(_PUBLISHED)

#: STS13's fourth subset, whose sentences need a licence: all public copies lack them, and everyone leaves it out.
_LICENSED = "SMT"

_BENCHMARK = {"train": 5_749, "dev": 1_500, "test": 1_379}
#: Columns of the benchmark: genre, file, year, number, score, the two sentences; some lines name their origin behind.
_SCORE, _TEXT, _TEXT2 = 4, 5, 6


def read_year(folder: Path, name: str, counts: Counts) -> SimilarityTask:
    """A year of `YEARS`: `STS/STS12-en-test/STS.input.<subset>.txt` and `STS.gs.<subset>.txt`.

    With counts "any", the subsets are those that are there. Pairs without a score are left out and counted in
    `dropped`.
    """
    inside = f"STS/STS{name.removeprefix('sts')}-en-test"
    published = _PUBLISHED[name]
    subsets = list(published) if counts == "published" else _subsets(folder / inside) or list(published)
    rows: list[tuple[str, str, str, float]] = []
    dropped = 0
    for subset in subsets:
        expected = published[subset] if counts == "published" else (None, None)
        pairs = find(name.upper(), folder, f"{inside}/STS.input.{subset}.txt")
        scores = find(name.upper(), folder, f"{inside}/STS.gs.{subset}.txt")
        found, unscored = _subset(pairs, scores, *expected)
        rows += [(subset, *row) for row in found]
        dropped += unscored
    return SimilarityTask(name, pd.DataFrame(rows, columns=["subset", "text", "text2", "score"]), dropped)


def read_stsb(folder: Path, counts: Counts) -> RelatednessTask:
    """The benchmark (Cer et al., 2017): `STS/STSBenchmark/sts-<split>.csv`, whose fields are separated by tabs."""
    rows: list[tuple[str, str, str, float]] = []
    for split, published in _BENCHMARK.items():
        path = find("STS-B", folder, f"STS/STSBenchmark/sts-{split}.csv")
        lines = read_lines(path, published if counts == "published" else None)
        for number, line in enumerate(lines, start=1):
            rows.append((split, *_pair_with_score(path, number, line)))
    table = pd.DataFrame(rows, columns=["split", "text", "text2", "score"])
    return RelatednessTask("stsb", LOW, HIGH, table)


def stsb_similarity(folder: Path, counts: Counts) -> SimilarityTask:
    """The test split, for the cosine."""
    return as_similarity(read_stsb(folder, counts))


def _pair_with_score(path: Path, number: int, line: str) -> tuple[str, str, float]:
    fields = line.split("\t")
    if len(fields) <= _TEXT2:
        raise ValueError(
            f"{path}, line {number}: {len(fields)} fields; a line must have genre, file, year, number, score and two "
            "sentences, separated by tabs"
        )
    text, text2 = (scored_sentence(path, number, fields[column]) for column in (_TEXT, _TEXT2))
    return text, text2, score(path, number, fields[_SCORE], LOW, HIGH)


def _subsets(folder: Path) -> list[str]:
    names = {path.name.removesuffix(".gz") for path in folder.glob("STS.input.*.txt*")}
    subsets = {name[len("STS.input.") : -len(".txt")] for name in names if name.endswith(".txt")}
    return sorted(subsets - {_LICENSED})


def _subset(
    pairs: Path, scores: Path, published: int | None, published_scores: int | None
) -> tuple[list[tuple[str, str, float]], int]:
    """The scored pairs, and the number of those without a score."""
    lines = read_lines(pairs, published)
    values = [value.strip() for value in read_lines(scores)]
    if len(values) != len(lines):
        raise ValueError(
            f"{scores} has {len(values):,} lines where {pairs.name} has {len(lines):,}; fetch both again: line n "
            "of one belongs to line n of the other"
        )
    check_rows(scores, sum(map(bool, values)), published_scores, "scores")
    found = [
        (*_pair(pairs, number, line), score(scores, number, value, LOW, HIGH))
        for number, (line, value) in enumerate(zip(lines, values, strict=True), start=1)
        if value
    ]
    return found, len(lines) - len(found)


def _pair(path: Path, number: int, line: str) -> tuple[str, str]:
    """The first two fields; STS16 names the sentences' origins behind them."""
    fields = line.split("\t")
    if len(fields) < 2:
        raise ValueError(f"{path}, line {number}: no tab; a line must be two sentences with a tab between them")
    return scored_sentence(path, number, fields[0]), scored_sentence(path, number, fields[1])
