"""Mining of translations from two lists of sentences, scored by cosine or by its ratio to the neighbours' cosines."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from contexture.retrieval.search_index import find_nearest
from contexture.retrieval.top import Rows
from contexture.tasks.base import Row
from contexture.tasks.bitext_retrieval.files import MiningPart, list_mining_parts, read_mining_part
from contexture.tasks.sentences.vectors import Array, VectorStore

NAME = "bitext_mining"
#: Neighbours for `ratio` (Artetxe and Schwenk, 2019).
NUM_NEIGHBOURS = 4

#: (score, source row, target row), best first.
MinedPairs = list[tuple[float, int, int]]


def measure_mining(encoders: Sequence[str], name: str, folder: Path, vectors_dir: Path) -> list[Row]:
    """Return precision, recall and F1 of the mined pairs of each language pair, by each score of `mine_pairs`.

    The threshold is tuned on a second part. Vectors are cached in `vectors_dir`.
    """
    store = VectorStore(vectors_dir)
    rows: list[Row] = []
    for languages, part_names in list_mining_parts(folder).items():
        parts = [read_mining_part(folder / languages, part) for part in part_names]
        sentences = sorted({text for part in parts for text in (*part.source, *part.target)})
        lookup = store(encoders, sentences, f"{name}/{languages}")
        tuned, tested = (mine_pairs(lookup(part.source), lookup(part.target)) for part in parts)
        for score in tuned:
            minimum = choose_threshold(tuned[score], parts[0])
            metrics = precision_recall_f1(
                [languages for languages in tested[score] if languages[0] >= minimum], parts[1]
            )
            rows += [
                Row(task=NAME, data=f"{name}_{languages}", protocol=score, split="test", metric=metric, value=value)
                for metric, value in metrics.items()
            ]
    return rows


def mine_pairs(source: Array, target: Array) -> dict[str, MinedPairs]:
    """Return kind of score → mined pairs of source and target; each sentence is in at most one pair.

    The scores are `cosine`, and `ratio`: the cosine divided by the mean cosine with the neighbours of both sides.
    """
    forward, targets = find_nearest(target, source, min(NUM_NEIGHBOURS, len(target)))
    backward, sources = find_nearest(source, target, min(NUM_NEIGHBOURS, len(source)))
    source_means, target_means = forward.mean(1), backward.mean(1)
    forward_ratio = _divide_by_mean(forward, source_means[:, None] + target_means[targets])
    backward_ratio = _divide_by_mean(backward, target_means[:, None] + source_means[sources])
    return {
        "cosine": _match_greedily(forward, targets, backward, sources),
        "ratio": _match_greedily(forward_ratio, targets, backward_ratio, sources),
    }


def _match_greedily(forward: Array, targets: Rows, backward: Array, sources: Rows) -> MinedPairs:
    """Return pairs matched from the highest score down; each sentence is in at most one pair.

    `forward` are the scores (S, k) of each source's neighbours `targets`, `backward` those of each target's neighbours
    `sources`.
    """
    source_rows, target_rows = np.arange(len(targets)), np.arange(len(sources))
    best, best_back = forward.argmax(1), backward.argmax(1)
    scores = np.concatenate([forward[source_rows, best], backward[target_rows, best_back]])
    first = np.concatenate([source_rows, sources[target_rows, best_back]])
    second = np.concatenate([targets[source_rows, best], target_rows])
    order = np.lexsort([second, first, -scores])
    pairs: MinedPairs = []
    used_sources, used_targets = set[int](), set[int]()
    for score, source, target in zip(
        scores[order].tolist(), first[order].tolist(), second[order].tolist(), strict=True
    ):
        if source not in used_sources and target not in used_targets:
            pairs.append((score, source, target))
            used_sources.add(source)
            used_targets.add(target)
    return pairs


def _divide_by_mean(cosines: Array, both_means: Array) -> Array:
    """Return cosines divided by the mean of the means of both sides; 0 if this is not positive."""
    return np.divide(cosines, both_means / 2, out=np.zeros_like(cosines), where=both_means > 0)


def choose_threshold(pairs: MinedPairs, part: MiningPart) -> float:
    """Return the score above which mined pairs have the best F1, halfway to the next pair; ties: the highest."""
    right = np.cumsum([(part.source[source], part.target[target]) in part.gold for _, source, target in pairs])
    f1 = 2 * right / (np.arange(1, len(pairs) + 1) + len(part.gold))
    scores = np.array([score for score, *_ in pairs])
    f1[:-1][scores[:-1] == scores[1:]] = -1  # no threshold between equal scores
    last = int(f1.argmax())
    return float(scores[last : last + 2].mean())


def precision_recall_f1(pairs: MinedPairs, part: MiningPart) -> dict[str, float]:
    """Return precision, recall and F1 of mined pairs against the gold pairs of a part."""
    right = sum((part.source[source], part.target[target]) in part.gold for _, source, target in pairs)
    return {
        "precision": right / max(1, len(pairs)),
        "recall": right / len(part.gold),
        "f1": 2 * right / (len(pairs) + len(part.gold)),
    }
