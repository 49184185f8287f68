"""Translations looked for among two lists of sentences: by cosine, and by its margin over the neighbours'."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from contexture.retrieval.search_index import nearest
from contexture.tasks.base import Contestant, Each, Results, Row, measure_encoders, one_by_one
from contexture.tasks.bitext_retrieval.mining_files import Part, mining_pairs, read_part
from contexture.tasks.sentences.vectors import Array, VectorStore

NAME = "bitext_mining"
#: What pairs are scored by: the cosine; or the cosine as a share of the mean cosine with both sides' neighbours
#: ("ratio" of Artetxe and Schwenk, 2019).
SCORES = ("cosine", "ratio")
#: Neighbours, as theirs.
NEIGHBOURS = 4

#: Score, source, target.
Found = list[tuple[float, int, int]]


def evaluate_mining(
    contestants: Sequence[Contestant], folders: dict[str, Path], place: Path, each: Each = one_by_one
) -> Results:
    """All contestants on every pair of languages of every set, by each of `SCORES`; vectors are kept in `place`."""
    records: list[dict[str, Any]] = []
    for name, folder in folders.items():
        found = measure_encoders(measure, contestants, each, name, folder, place)
        records += [
            {"variant": one.variant, "seed": one.seed, **row} for one in contestants for row in found[one.encoders]
        ]
    return Results(records)


def measure(encoders: Sequence[str], name: str, folder: Path, place: Path) -> list[Row]:
    """Precision, recall and F1 of the pairs found, whose threshold was chosen on another part."""
    store = VectorStore(place)
    rows: list[Row] = []
    for pair, parts in mining_pairs(folder).items():
        both = [read_part(folder / pair, part) for part in parts]
        sentences = sorted({text for part in both for text in (*part.source, *part.target)})
        lookup = store(encoders, sentences, f"{name}/{pair}")
        tuned, tested = (mine(lookup(part.source), lookup(part.target)) for part in both)
        for score in SCORES:
            least = threshold(tuned[score], both[0])
            measured = agreement([one for one in tested[score] if one[0] >= least], both[1])
            rows += [
                Row(task=NAME, data=f"{name}_{pair}", protocol=score, split="test", metric=metric, value=value)
                for metric, value in measured.items()
            ]
    return rows


def mine(source: Array, target: Array) -> dict[str, Found]:
    """By each of `SCORES` the pairs that are best for one of their sides."""
    forward, there = nearest(target, source, min(NEIGHBOURS, len(target)))
    backward, here = nearest(source, target, min(NEIGHBOURS, len(source)))
    of_source, of_target = forward.mean(1), backward.mean(1)
    ratios = (
        _ratio(forward, of_source[:, None] + of_target[there]),
        _ratio(backward, of_target[:, None] + of_source[here]),
    )
    return {"cosine": _paired(forward, there, backward, here), "ratio": _paired(ratios[0], there, ratios[1], here)}


def _paired(forward: Array, there: Any, backward: Array, here: Any) -> Found:
    """From the highest score down, so that a sentence is in one pair at most.

    `forward` are the scores (S, k) of each source's neighbours `there`, `backward` those of each target's, `here`.
    """
    rows, columns = np.arange(len(there)), np.arange(len(here))
    best, best_back = forward.argmax(1), backward.argmax(1)
    scores = np.concatenate([forward[rows, best], backward[columns, best_back]])
    sources = np.concatenate([rows, here[columns, best_back]])
    targets = np.concatenate([there[rows, best], columns])
    kept: Found = []
    seen: tuple[set[int], set[int]] = (set(), set())
    for place in np.lexsort([targets, sources, -scores]):
        one, other = int(sources[place]), int(targets[place])
        if one not in seen[0] and other not in seen[1]:
            kept.append((float(scores[place]), one, other))
            seen[0].add(one)
            seen[1].add(other)
    return kept


def _ratio(cosines: Array, both_means: Array) -> Array:
    """Nothing where the neighbours are no nearer than chance."""
    return np.divide(cosines, both_means / 2, out=np.zeros_like(cosines), where=both_means > 0)


def threshold(found: Found, part: Part) -> float:
    """The score above which pairs have the best F1, halfway to the next pair's; of equally good ones the highest."""
    right = np.cumsum([(part.source[one], part.target[other]) in part.gold for _, one, other in found])
    f1 = 2 * right / (np.arange(1, len(found) + 1) + len(part.gold))
    scores = np.array([score for score, *_ in found])
    f1[:-1][scores[:-1] == scores[1:]] = -1  # equal scores are taken together
    last = int(f1.argmax())
    return float(scores[last : last + 2].mean())


def agreement(found: Found, part: Part) -> dict[str, float]:
    """Precision, recall and F1 of the pairs."""
    right = sum((part.source[one], part.target[other]) in part.gold for _, one, other in found)
    return {
        "precision": right / max(1, len(found)),
        "recall": right / len(part.gold),
        "f1": 2 * right / (len(found) + len(part.gold)),
    }
