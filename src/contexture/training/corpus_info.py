"""What is known of the text that examples were made from: a file in their folder."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

#: Readers of tables skip names with an underscore.
CORPUS_INFO_FILE = "_corpus.json"


@dataclass(frozen=True)
class CorpusInfo:
    """Name, languages (ISO 639 codes) and licence (SPDX identifier, "" if unknown) of a corpus, for model cards.

    `held_out_share`: share of its documents of which the folder has no examples.
    """

    name: str = ""
    languages: list[str] = field(default_factory=list)
    license: str = ""
    held_out_share: float = 0.0


def write_corpus_info(folder: Path, info: CorpusInfo) -> None:
    """Write what is known of a corpus into the folder of its examples."""
    values = {key: value for key, value in asdict(info).items() if key != "held_out_share" or value}
    (folder / CORPUS_INFO_FILE).write_text(json.dumps(values), encoding="utf-8")


def read_corpus_info(folder: Path) -> CorpusInfo:
    """Read what is known of the corpus of a folder of examples; empty for folders of older versions."""
    file = folder / CORPUS_INFO_FILE
    return CorpusInfo(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else CorpusInfo()
