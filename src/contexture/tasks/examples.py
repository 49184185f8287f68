"""Questions to read on a page: some that a model answered, and some that it did not."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: Of either kind.
FEW = 3


def to_read(variant: str, protocol: str, right: Sequence[bool], row: Callable[[int], dict[str, str]]) -> dict[str, Any]:
    """A fact for the page: who was asked, and rows of both kinds, from all over the questions.

    Args:
        variant: whose answers these are.
        protocol: how it was measured.
        right: of each question, whether it was answered.
        row: the question's number → "question", "found" and "right", as texts.
    """
    answered = np.asarray(right, np.bool_)
    return {
        "variant": variant,
        "protocol": protocol,
        "answered": [row(place) for place in _spread(np.flatnonzero(answered))],
        "missed": [row(place) for place in _spread(np.flatnonzero(~answered))],
    }


def _spread(places: npt.NDArray[np.intp]) -> list[int]:
    chosen = np.linspace(0, len(places) - 1, min(FEW, len(places))).round().astype(int)
    return [int(place) for place in places[chosen]]
