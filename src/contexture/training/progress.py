"""Report how far the current training is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_sinks: list[Callable[[float], None]] = []


@contextmanager
def report_to(sink: Callable[[float], None]) -> Iterator[None]:
    """Inside the block `report` goes to `sink`."""
    _sinks.append(sink)
    try:
        yield
    finally:
        _sinks.remove(sink)


def report(share: float) -> None:
    """Report the share of the training that is done, 0 to 1."""
    if _sinks:
        _sinks[-1](share)


def has_listener() -> bool:
    """Whether progress is shown elsewhere, so that no bar is needed."""
    return bool(_sinks)
