"""Report the progress of the current training."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_sinks: list[Callable[[float], None]] = []


@contextmanager
def report_to(sink: Callable[[float], None]) -> Iterator[None]:
    """Send the progress of trainings to `sink` inside the `with` block."""
    _sinks.append(sink)
    try:
        yield
    finally:
        _sinks.remove(sink)


def report(share: float) -> None:
    """Send the completed share of the current training, 0 to 1, to the last sink; the rest of one that is resumed."""
    if _sinks:
        _sinks[-1](share)


def has_listener() -> bool:
    """Return whether progress is sent to a sink, so that no bar is needed."""
    return bool(_sinks)
