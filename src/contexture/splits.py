"""Held-out pairs of sentences, and held-out documents. The choice depends on texts or ids, not on order or files."""

from hashlib import blake2b, sha256

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

#: Share of test rows in a data set without published parts.
TEST_SHARE = 0.2
#: Hexadecimal digits of a hash that make a number; Spark computes the same in `streams.held_out`.
HASH_DIGITS = 8


def draw_rows(rows: pd.DataFrame, purpose: str, share: float) -> npt.NDArray[np.bool_]:
    """Return a mask (N) of about this share of the rows, drawn by a hash of their texts and `purpose`.

    Rows of the same group (`group_rows`) are drawn together.
    """
    return np.array([uniform(purpose, key) < share for key in group_rows(rows)], np.bool_)


def group_rows(rows: pd.DataFrame) -> list[str]:
    """Return a key for each row, equal for rows that are split together.

    These are rows with the same first text, and those of pairs and their reverses.
    """
    codes, texts = pd.factorize(pd.concat([rows["first"], rows["second"]]), sort=True)
    first, second = codes[: len(rows)].astype(np.int64), codes[len(rows) :].astype(np.int64)
    both_ways = np.isin(first * len(texts) + second, second * len(texts) + first)
    edges = (both_ways[both_ways], (first[both_ways], second[both_ways]))
    _, component = connected_components(coo_array(edges, shape=(len(texts), len(texts))), directed=False)
    _, earliest = np.unique(component, return_index=True)  # texts are sorted
    group_texts: list[str] = np.asarray(texts)[earliest[component[first]]].tolist()
    return group_texts


def uniform(*texts: str) -> float:
    """Return a pseudo-random number in [0, 1) that depends on the texts only."""
    return int.from_bytes(blake2b(repr(texts).encode(), digest_size=8).digest(), "big") / 2**64


def document_draw(doc_id: str) -> float:
    """Return a pseudo-random number in [0, 1) that depends on the document id only.

    Documents below `pretrain.held_out.share` are held out: a larger share holds out more, among them the same ones.
    """
    number: float = int(sha256(doc_id.encode()).hexdigest()[:HASH_DIGITS], 16) / 16**HASH_DIGITS
    return number
