"""BUCC's files (Zweigenbaum et al., 2018): two lists of sentences, some of which are translations of one another.

`de-en/de-en.training.de` and `.en` have lines of id and sentence, `de-en/de-en.training.gold` the ids that belong
together. `sample` and `test` are like `training`; the gold of `test` is not public.
"""

from dataclasses import dataclass
from pathlib import Path

from contexture.tasks.missing import BenchmarkMissing

#: What a pair's sets are called: where the threshold is chosen, and where it is tested, the best first.
PARTS = (("training", "test"), ("sample", "training"))


@dataclass(frozen=True)
class Part:
    """Sentences of two languages, and those that are translations; each sentence once."""

    source: list[str]
    target: list[str]
    gold: set[tuple[str, str]]


def mining_pairs(folder: Path) -> dict[str, tuple[str, str]]:
    """Pair of languages → the parts to choose on and to test, of which the gold is there; none in other folders."""
    found = {}
    for place in sorted(folder.glob("*-*/")):
        gold = {part for part in ("sample", "training", "test") if _file(place, f"{part}.gold").exists()}
        if usable := next((parts for parts in PARTS if gold.issuperset(parts)), None):
            found[place.name] = usable
    return found


def read_part(place: Path, part: str) -> Part:
    """A part of a pair of languages.

    Raises BenchmarkMissing for a file that is not there, ValueError, naming file and line, for one in another format.
    """
    languages = place.name.split("-")
    sides = [dict(_lines(_file(place, f"{part}.{language}"))) for language in languages]
    gold = set()
    file = _file(place, f"{part}.gold")
    for number, ids in enumerate(_lines(file), start=1):
        for one, side, language in zip(ids, sides, languages, strict=True):
            if one not in side:
                raise ValueError(
                    f"{file}, line {number}: {one} stands in no line of {_file(place, f'{part}.{language}')}"
                )
        gold.add((sides[0][ids[0]], sides[1][ids[1]]))
    if not gold:
        raise ValueError(f"{file} is empty; fetch it again")
    source, target = (list(dict.fromkeys(side.values())) for side in sides)
    return Part(source, target, gold)


def _lines(file: Path) -> list[tuple[str, str]]:
    if not file.exists():
        raise BenchmarkMissing(file.parent.name, file, "Unpack all of the archives of BUCC 2018 into one folder.")
    found = []
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 text ({error}); convert it first") from error
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), start=1):
        first, tab, second = line.rstrip("\r").partition("\t")
        if not (tab and first.strip() and second.strip()):
            raise ValueError(f"{file}, line {number}: a line must be an id, a tab, and a sentence or another id")
        found.append((first.strip(), second.strip()))
    return found


def _file(place: Path, ending: str) -> Path:
    return place / f"{place.name}.{ending}"
