"""Principal component removal (PCR; CMLM, section 5.2).

The printed projection lacks a factor c; this is the one that the text around it describes.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def first_component(vectors: Array) -> Array:
    """c (D,), the first right singular vector of a language's vectors (N, D), which are not centred."""
    # D × D numbers, however many vectors there are.
    matrix = vectors.astype(np.float64)
    component: Array = np.linalg.eigh(matrix.T @ matrix).eigenvectors[:, -1].astype(np.float32)
    return component


def remove_component(vectors: Array, component: Array) -> Array:
    """Vectors (N, D) less their projections on c: v − (v·c) c."""
    remainder: Array = vectors - np.outer(vectors @ component, component)
    return remainder
