"""What a model card says of the text that examples were made from: a file in their folder."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

#: Readers of tables skip names with an underscore.
CORPUS_INFO_FILE = "_corpus.json"


@dataclass(frozen=True)
class CorpusInfo:
    """Name, languages (ISO 639 codes) and licence (SPDX identifier, "" if unknown) of a corpus."""

    name: str = ""
    languages: list[str] = field(default_factory=list)
    license: str = ""


def write_corpus_info(folder: Path, info: CorpusInfo) -> None:
    """Write the name, languages and licence of a corpus into the folder of its examples."""
    (folder / CORPUS_INFO_FILE).write_text(json.dumps(asdict(info)), encoding="utf-8")


def read_corpus_info(folder: Path) -> CorpusInfo:
    """Read name, languages and licence of the corpus of a folder of examples; empty for folders of older versions."""
    file = folder / CORPUS_INFO_FILE
    return CorpusInfo(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else CorpusInfo()
