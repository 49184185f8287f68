"""Measure functions in turns; for other benchmarks here."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any


def measure_in_turns(
    works: Mapping[str, Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return the median seconds of functions that take turns; a first round, which warms up, is left out."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, work in works.items():
            start = clock()
            work()
            seconds[name].append(clock() - start)
    return {name: statistics.median(durations[1:]) for name, durations in seconds.items()}
