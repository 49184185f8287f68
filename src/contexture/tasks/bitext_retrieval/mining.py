"""Translations mined from two lists of sentences: by cosine, and by its margin over the neighbours' cosines."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from contexture.retrieval.search_index import find_nearest
from contexture.retrieval.top import Rows
from contexture.tasks.base import Row
from contexture.tasks.bitext_retrieval.files import Part, mining_pairs, read_part
from contexture.tasks.sentences.vectors import Array, VectorStore

NAME = "bitext_mining"
#: Neighbours, as in the paper of `ratio` (Artetxe and Schwenk, 2019).
NEIGHBOURS = 4

#: Pairs: score, row of the source, row of the target; best first.
Mined = list[tuple[float, int, int]]


def measure(encoders: Sequence[str], name: str, folder: Path, vectors_dir: Path) -> list[Row]:
    """Precision, recall and F1 of the mined pairs of each pair of languages, by each score of `mine`.

    The threshold is chosen on another part. Vectors are kept in `vectors_dir`.
    """
    store = VectorStore(vectors_dir)
    rows: list[Row] = []
    for pair, names in mining_pairs(folder).items():
        parts = [read_part(folder / pair, part) for part in names]
        sentences = sorted({text for part in parts for text in (*part.source, *part.target)})
        lookup = store(encoders, sentences, f"{name}/{pair}")
        tuned, tested = (mine(lookup(part.source), lookup(part.target)) for part in parts)
        for score in tuned:
            minimum = threshold(tuned[score], parts[0])
            metrics = agreement([found for found in tested[score] if found[0] >= minimum], parts[1])
            rows += [
                Row(task=NAME, data=f"{name}_{pair}", protocol=score, split="test", metric=metric, value=value)
                for metric, value in metrics.items()
            ]
    return rows


def mine(source: Array, target: Array) -> dict[str, Mined]:
    """Score → the pairs that are best for one of their sides.

    `cosine`, or `ratio`: the cosine as a share of the mean cosine with both sides' neighbours.
    """
    forward, targets = find_nearest(target, source, min(NEIGHBOURS, len(target)))
    backward, sources = find_nearest(source, target, min(NEIGHBOURS, len(source)))
    source_means, target_means = forward.mean(1), backward.mean(1)
    forward_ratio = _ratio(forward, source_means[:, None] + target_means[targets])
    backward_ratio = _ratio(backward, target_means[:, None] + source_means[sources])
    return {
        "cosine": _paired(forward, targets, backward, sources),
        "ratio": _paired(forward_ratio, targets, backward_ratio, sources),
    }


def _paired(forward: Array, targets: Rows, backward: Array, sources: Rows) -> Mined:
    """From the highest score down, so that a sentence is in one pair at most.

    `forward` are the scores (S, k) of each source's neighbours `targets`, `backward` those of each target's, `sources`.
    """
    source_rows, target_rows = np.arange(len(targets)), np.arange(len(sources))
    best, best_back = forward.argmax(1), backward.argmax(1)
    scores = np.concatenate([forward[source_rows, best], backward[target_rows, best_back]])
    first = np.concatenate([source_rows, sources[target_rows, best_back]])
    second = np.concatenate([targets[source_rows, best], target_rows])
    order = np.lexsort([second, first, -scores])
    pairs: Mined = []
    used_sources, used_targets = set[int](), set[int]()
    for score, source, target in zip(
        scores[order].tolist(), first[order].tolist(), second[order].tolist(), strict=True
    ):
        if source not in used_sources and target not in used_targets:
            pairs.append((score, source, target))
            used_sources.add(source)
            used_targets.add(target)
    return pairs


def _ratio(cosines: Array, both_means: Array) -> Array:
    """0 if the neighbours are no nearer than chance."""
    return np.divide(cosines, both_means / 2, out=np.zeros_like(cosines), where=both_means > 0)


def threshold(pairs: Mined, part: Part) -> float:
    """The score above which pairs have the best F1, halfway to the next pair's; of equally good ones the highest."""
    right = np.cumsum([(part.source[source], part.target[target]) in part.gold for _, source, target in pairs])
    f1 = 2 * right / (np.arange(1, len(pairs) + 1) + len(part.gold))
    scores = np.array([score for score, *_ in pairs])
    f1[:-1][scores[:-1] == scores[1:]] = -1  # equal scores are taken together
    last = int(f1.argmax())
    return float(scores[last : last + 2].mean())


def agreement(pairs: Mined, part: Part) -> dict[str, float]:
    """Precision, recall and F1 of the pairs."""
    right = sum((part.source[source], part.target[target]) in part.gold for _, source, target in pairs)
    return {
        "precision": right / max(1, len(pairs)),
        "recall": right / len(part.gold),
        "f1": 2 * right / (len(pairs) + len(part.gold)),
    }
