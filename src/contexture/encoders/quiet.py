"""Load models without messages from libraries."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from transformers.utils import logging as transformers_logging

#: They log new and unused weights, and every attempt to reach the hub.
LIBRARIES = ("transformers", "huggingface_hub")


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Silence progress bars and log records below errors inside the `with` block."""
    bars = transformers_logging.is_progress_bar_enabled()
    levels = {library: logging.getLogger(library).level for library in LIBRARIES}
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    for library in LIBRARIES:
        logging.getLogger(library).setLevel(logging.ERROR)
    try:
        yield
    finally:
        for library, level in levels.items():
            logging.getLogger(library).setLevel(level)
        if bars:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
