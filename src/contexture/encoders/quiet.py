"""Models are loaded without a word of transformers: which weights a model has is said by its folder, and checked."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from transformers.utils import logging as reports


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Inside the block neither a bar of weights nor a report of those that are left out or new; errors are shown."""
    level, bars = reports.get_verbosity(), reports.is_progress_bar_enabled()
    reports.set_verbosity(logging.ERROR)
    reports.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        reports.set_verbosity(level)
        if bars:
            reports.enable_progress_bar()  # type: ignore[no-untyped-call]
