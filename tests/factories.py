"""What many tests make, or read out of what they have made."""

from collections.abc import Mapping
from typing import Any

#: A text as the encoder reads it, special tokens included.
Ids = tuple[int, ...]


def rows_of(batch: Mapping[str, Any]) -> list[Ids]:
    """The rows of a padded batch, without the padding."""
    kept = zip(batch["input_ids"], batch["attention_mask"], strict=True)
    return [tuple(ids[mask.bool()].tolist()) for ids, mask in kept]


def texts_of(texts: Mapping[str, Any]) -> list[Ids]:
    """The texts of a batch in chunks, in the order of the batch."""
    rows = [row for chunk in texts["chunks"] for row in rows_of(chunk)]
    return [rows[place] for place in texts["rows"].tolist()]
