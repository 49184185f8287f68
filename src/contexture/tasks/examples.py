"""Questions to read on a page: some that a model answered, and some that it did not."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: Questions of either kind.
EXAMPLES_PER_KIND = 3


def select_examples(
    variant: str, protocol: str, is_right: Sequence[bool], make_row: Callable[[int], dict[str, str]]
) -> dict[str, Any]:
    """A fact for the page: rows of answered and of missed questions, spread over all of them.

    Args:
        variant: which gave the answers.
        protocol: by which they were measured.
        right: whether each question was answered.
        row: the question's number → "question", "found" and "right", as texts.
    """
    answered = np.asarray(is_right, np.bool_)
    return {
        "variant": variant,
        "protocol": protocol,
        "answered": [make_row(number) for number in select_evenly(np.flatnonzero(answered))],
        "missed": [make_row(number) for number in select_evenly(np.flatnonzero(~answered))],
    }


def select_evenly(numbers: npt.NDArray[np.intp]) -> list[int]:
    """At most `EXAMPLES_PER_KIND` of the numbers, evenly spaced."""
    chosen = np.linspace(0, len(numbers) - 1, min(EXAMPLES_PER_KIND, len(numbers))).round().astype(int)
    return [int(number) for number in numbers[chosen]]
