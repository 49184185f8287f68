"""Questions to read on a page: some that a model answered, and some that it did not."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: Questions of either kind.
FEW = 3


def to_read(variant: str, protocol: str, right: Sequence[bool], row: Callable[[int], dict[str, str]]) -> dict[str, Any]:
    """A fact for the page: rows of answered and of missed questions, spread over all of them.

    Args:
        variant: which gave the answers.
        protocol: by which they were measured.
        right: whether each question was answered.
        row: the question's number → "question", "found" and "right", as texts.
    """
    answered = np.asarray(right, np.bool_)
    return {
        "variant": variant,
        "protocol": protocol,
        "answered": [row(number) for number in spread(np.flatnonzero(answered))],
        "missed": [row(number) for number in spread(np.flatnonzero(~answered))],
    }


def spread(numbers: npt.NDArray[np.intp]) -> list[int]:
    """At most `FEW` of the numbers, evenly spaced."""
    chosen = np.linspace(0, len(numbers) - 1, min(FEW, len(numbers))).round().astype(int)
    return [int(number) for number in numbers[chosen]]
