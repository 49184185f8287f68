"""Report the progress of the current training."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_sinks: list[Callable[[float], None]] = []


@contextmanager
def report_to(sink: Callable[[float], None]) -> Iterator[None]:
    """Send progress to `sink` inside the `with` block."""
    _sinks.append(sink)
    try:
        yield
    finally:
        _sinks.remove(sink)


def report(share: float) -> None:
    """Report the completed share of the training, 0 to 1."""
    if _sinks:
        _sinks[-1](share)


def has_listener() -> bool:
    """Return whether progress is sent to a sink, so that no bar is needed."""
    return bool(_sinks)
