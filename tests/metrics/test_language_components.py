"""Principal component removal, compared with NumPy's singular value decomposition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexture.metrics.language_components import first_component, remove_component


def draw(seed: int, rows: int, width: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(rows, width)) + 3 * rng.normal(size=width)).astype(np.float32)


@given(st.integers(0, 1000), st.integers(1, 40), st.integers(2, 12))
def test_the_component_is_the_first_right_singular_vector(seed: int, rows: int, width: int) -> None:
    vectors = draw(seed, rows, width)
    component = first_component(vectors)
    expected = np.linalg.svd(vectors.astype(np.float64))[2][0]
    np.testing.assert_allclose(component * np.sign(component @ expected), expected, atol=2e-3)


def test_vectors_are_not_centred() -> None:
    """The component of vectors far from 0 is their mean."""
    vectors = draw(0, 500, 8) * 0.1 + np.array([50, *[0] * 7], np.float32)
    assert abs(first_component(vectors)[0]) > 0.999


@pytest.mark.parametrize("seed", range(3))
def test_remainders_are_orthogonal_to_the_component(seed: int) -> None:
    vectors = draw(seed, 30, 6)
    component = first_component(vectors)
    left = remove_component(vectors, component)
    loop = [v - sum(a * b for a, b in zip(v, component, strict=True)) * component for v in vectors]
    np.testing.assert_allclose(left, loop, atol=1e-5)
    np.testing.assert_allclose(left @ component, 0, atol=1e-5)
    np.testing.assert_allclose(remove_component(left, component), left, atol=1e-5)
