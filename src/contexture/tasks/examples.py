"""Example questions for reports: some that a model answers correctly and some that it misses."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: Number of examples of each kind.
EXAMPLES_PER_KIND = 3


def select_examples(
    variant: str, protocol: str, is_right: Sequence[bool], describe_example: Callable[[int], dict[str, str]]
) -> dict[str, Any]:
    """Return example questions for the report: the lists `answered` and `missed`, with `variant` and `protocol`.

    Each list has at most `EXAMPLES_PER_KIND` questions, evenly spaced. `describe_example` returns a question by its
    number: "question", "predicted" (the model's answer) and "right" (the right answer).
    """
    answered = np.asarray(is_right, np.bool_)
    return {
        "variant": variant,
        "protocol": protocol,
        "answered": [describe_example(number) for number in select_evenly(np.flatnonzero(answered))],
        "missed": [describe_example(number) for number in select_evenly(np.flatnonzero(~answered))],
    }


def select_evenly(numbers: npt.NDArray[np.intp]) -> list[int]:
    """Return at most `EXAMPLES_PER_KIND` of the numbers, at evenly spaced positions."""
    chosen = np.linspace(0, len(numbers) - 1, min(EXAMPLES_PER_KIND, len(numbers))).round().astype(int)
    return [int(number) for number in numbers[chosen]]
