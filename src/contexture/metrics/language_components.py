"""Principal component removal (PCR; CMLM, section 5.2).

The printed projection lacks a factor c; this is the projection that the paper's text describes.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def first_component(vectors: Array) -> Array:
    """Return c (D,), the first right singular vector of a language's vectors (N, D), without centring them."""
    matrix = vectors.astype(np.float64)
    component: Array = np.linalg.eigh(matrix.T @ matrix).eigenvectors[:, -1].astype(np.float32)
    return component


def remove_component(vectors: Array, component: Array) -> Array:
    """Return vectors (N, D) without their projections on the component c (D,): v − (v·c) c."""
    remainder: Array = vectors - np.outer(vectors @ component, component)
    return remainder
