"""Load models without messages of the libraries."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from transformers.utils import logging as reports

#: One reports weights that are left out or new, the other every try to reach the hub; errors are raised anyway.
LIBRARIES = ("transformers", "huggingface_hub")


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Inside the block neither progress bars nor reports; errors are shown."""
    bars = reports.is_progress_bar_enabled()
    levels = {library: logging.getLogger(library).level for library in LIBRARIES}
    reports.disable_progress_bar()  # type: ignore[no-untyped-call]
    for library in LIBRARIES:
        logging.getLogger(library).setLevel(logging.ERROR)
    try:
        yield
    finally:
        for library, level in levels.items():
            logging.getLogger(library).setLevel(level)
        if bars:
            reports.enable_progress_bar()  # type: ignore[no-untyped-call]
