"""What is known of the text that examples were made from: a file in their folder."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from contexture.folders import hash_file

#: Readers of tables skip names with an underscore.
CORPUS_INFO_FILE = "_corpus.json"


@dataclass(frozen=True)
class CorpusInfo:
    """Name, languages (ISO 639 codes) and licence (SPDX identifier, "" if unknown) of a corpus, for model cards.

    `held_out_share`: share of its documents of which the folder has no examples. `sha256`: that of the examples.
    """

    name: str = ""
    languages: list[str] = field(default_factory=list)
    license: str = ""
    held_out_share: float = 0.0
    sha256: str = ""


def write_corpus_info(folder: Path, info: CorpusInfo) -> None:
    """Write what is known of a corpus into the folder of its examples."""
    values = {key: value for key, value in asdict(info).items() if key not in ("held_out_share", "sha256") or value}
    (folder / CORPUS_INFO_FILE).write_text(json.dumps(values), encoding="utf-8")


def hash_tables(*folders: Path) -> str:
    """Return the SHA-256 of all Parquet files in folders."""
    tables = (table for folder in folders for table in sorted(folder.rglob("*.parquet")))
    return hashlib.sha256(b"".join(map(hash_file, tables))).hexdigest()


def read_corpus_info(folder: Path) -> CorpusInfo:
    """Read what is known of the corpus of a folder of examples; empty for folders of older versions."""
    file = folder / CORPUS_INFO_FILE
    return CorpusInfo(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else CorpusInfo()
