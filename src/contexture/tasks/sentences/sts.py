"""Semantic textual similarity: SemEval 2012 to 2016, by subset."""

from pathlib import Path

import pandas as pd

from contexture.tasks.sentences.files import RowCounts, check_rows, find_file, parse_score, parse_sentence, read_lines
from contexture.tasks.sentences.tables import SimilarityTask

#: Range of all scores.
LOW, HIGH = 0.0, 5.0

#: Published pairs by year and subset.
_PAIRS: dict[str, dict[str, int]] = {
    "sts12": {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "surprise.OnWN": 750, "surprise.SMTnews": 399},
    "sts13": {"FNWN": 189, "headlines": 750, "OnWN": 561},
    "sts14": {"deft-forum": 450, "deft-news": 300, "headlines": 750, "images": 750, "OnWN": 750, "tweet-news": 750},
    "sts15": {"answers-forums": 2000, "answers-students": 1500, "belief": 2000, "headlines": 1500, "images": 1500},
    "sts16": {
        "answer-answer": 1572, "headlines": 1498, "plagiarism": 1271, "postediting": 3287, "question-question": 1555,
    },
}  # fmt: skip
#: Published scores by year and subset, if not all pairs have one.
_SCORED: dict[str, dict[str, int]] = {
    "sts15": {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750, "images": 750},
    "sts16": {"answer-answer": 254, "headlines": 249, "plagiarism": 230, "postediting": 244, "question-question": 209},
}
YEARS = tuple(_PAIRS)

#: STS13's fourth subset, which needs a licence and is missing in public copies.
_LICENSED = "SMT"


def read_year(folder: Path, name: str, counts: RowCounts) -> SimilarityTask:
    """Return a year of `YEARS`, from `STS/STS12-en-test/STS.input.<subset>.txt` and `STS.gs.<subset>.txt`.

    With counts "any", the available subsets are read. Pairs without a score are skipped and counted in `dropped`.
    """
    year_dir = f"STS/STS{name.removeprefix('sts')}-en-test"
    published: dict[str, int] = _PAIRS[name]
    scored = _SCORED.get(name, published)
    subsets: dict[str, tuple[int | None, int | None]] = {key: (published[key], scored[key]) for key in published}
    if counts == "any":
        subsets = dict.fromkeys(_list_subsets(folder / year_dir) or subsets, (None, None))
    rows: list[tuple[str, str, str, float]] = []
    dropped = 0
    for subset, (num_pairs, num_scores) in subsets.items():
        pairs = find_file(name.upper(), folder, f"{year_dir}/STS.input.{subset}.txt")
        scores = find_file(name.upper(), folder, f"{year_dir}/STS.gs.{subset}.txt")
        lines = read_lines(pairs, num_pairs)
        values = [value.strip() for value in read_lines(scores)]
        if len(values) != len(lines):
            raise ValueError(
                f"{scores} has {len(values):,} lines, but {pairs.name} has {len(lines):,}: lines must correspond; "
                "fetch both files again"
            )
        check_rows(scores, sum(map(bool, values)), num_scores, "scores")
        for number, (line, value) in enumerate(zip(lines, values, strict=True), start=1):
            if value:
                rows.append((subset, *_parse_pair(pairs, number, line), parse_score(scores, number, value, LOW, HIGH)))
            else:
                dropped += 1
    return SimilarityTask(name, pd.DataFrame(rows, columns=["subset", "text", "text2", "score"]), dropped)


def _list_subsets(folder: Path) -> list[str]:
    """Return the subsets of which a folder has the sentences, except the one that needs a licence."""
    names = {path.name.removesuffix(".gz") for path in folder.glob("STS.input.*.txt*")}
    subsets = {name[len("STS.input.") : -len(".txt")] for name in names if name.endswith(".txt")}
    return sorted(subsets - {_LICENSED})


def _parse_pair(path: Path, number: int, line: str) -> tuple[str, str]:
    """Return the two sentences of a line; further fields (the sentences' sources in STS16) are ignored."""
    fields = line.split("\t")
    if len(fields) < 2:
        raise ValueError(f"{path}, line {number}: no tab; a line must be two sentences, separated by a tab")
    return parse_sentence(path, number, fields[0]), parse_sentence(path, number, fields[1])
