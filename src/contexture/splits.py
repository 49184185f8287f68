"""Which pairs of sentences are held out: told by their texts alone, wherever and in whatever order they stand."""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

#: Share of all rows that is tested on, where a set has no parts to train and to test on.
TEST_SHARE = 0.2


def draw_rows(rows: pd.DataFrame, purpose: str, share: float) -> npt.NDArray[np.bool_]:
    """Which rows fall into a share of about this size."""
    return np.array([uniform(purpose, key) < share for key in group_rows(rows)], np.bool_)


def group_rows(rows: pd.DataFrame) -> list[str]:
    """Of each row a text that those have in common that must stay together, whatever order they stand in."""
    codes, texts = pd.factorize(pd.concat([rows["first"], rows["second"]]), sort=True)
    first, second = codes[: len(rows)].astype(np.int64), codes[len(rows) :].astype(np.int64)
    both_ways = np.isin(first * len(texts) + second, second * len(texts) + first)
    edges = (both_ways[both_ways], (first[both_ways], second[both_ways]))
    _, component = connected_components(coo_array(edges, shape=(len(texts), len(texts))), directed=False)
    _, earliest = np.unique(component, return_index=True)  # texts are sorted
    texts_of_groups: list[str] = np.asarray(texts)[earliest[component[first]]].tolist()
    return texts_of_groups


def uniform(*texts: str) -> float:
    """A number in [0, 1) that depends on nothing but the texts."""
    return int.from_bytes(blake2b(repr(texts).encode(), digest_size=8).digest(), "big") / 2**64
