"""Helpers of many tests."""

import socket
from collections.abc import Mapping
from typing import Any

#: Token ids of a text, with special tokens.
Ids = tuple[int, ...]


def rows_of(batch: Mapping[str, Any]) -> list[Ids]:
    """Return the rows of a padded batch without padding."""
    kept = zip(batch["input_ids"], batch["attention_mask"], strict=True)
    return [tuple(ids[mask.bool()].tolist()) for ids, mask in kept]


def texts_of(texts: Mapping[str, Any]) -> list[Ids]:
    """Return the texts of a batch in chunks, in the order of the batch."""
    rows = [row for chunk in texts["chunks"] for row in rows_of(chunk)]
    return [rows[position] for position in texts["rows"].tolist()]


def free_port() -> int:
    """Return the number of a port of this machine that no program uses."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
