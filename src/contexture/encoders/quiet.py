"""Load models without messages of the libraries."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from transformers.utils import logging as transformers_logging

#: One reports weights that are left out or new, the other every try to reach the hub; errors are raised anyway.
LIBRARIES = ("transformers", "huggingface_hub")


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Inside the block neither progress bars nor reports; errors are shown."""
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
