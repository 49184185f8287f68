"""Where results come from: the text, by a checksum of its files."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def hash_json(value: Any) -> str:
    """Return the SHA-256 of a value as JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def hash_corpus(sources: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the fingerprints of a corpus' files, in the manifest that the stage `sources` writes.

    It is the same in another folder, and for files with other names.
    """
    return hash_json(sorted(file["fingerprint"] for file in sources["corpus"]))
