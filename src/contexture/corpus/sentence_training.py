"""The parameters that sentences are found with, learned from a sample of the corpus for each language."""

import hashlib
from collections.abc import Iterator, Sequence

from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import open_readers, read_rows
from contexture.corpus.sources.protocol import SourceFile, Split, plan
from contexture.text.punkt_training import train
from contexture.text.sentences import Language

#: Characters of each language that are read.
SAMPLE = 1_000_000
_SPLITS = 16  # of each language, that the sample is taken from
_TASKS = 8  # the splits to draw from must not depend on the number of cores


def train_sentences(files: Sequence[SourceFile], config: CorpusConfig) -> dict[str, Language]:
    """Parameters for each language, from SAMPLE characters of it. Raises SourceError for a damaged file."""
    texts: dict[str, list[str]] = {}
    for lang, text in _sample(files, config):
        texts.setdefault(lang, []).append(text)
    return {lang: train(texts[lang], lang, SAMPLE) for lang in sorted(texts)}


def _sample(files: Sequence[SourceFile], config: CorpusConfig) -> Iterator[tuple[str, str]]:
    """Language and text of paragraphs from the start of some splits, drawn by their hashes."""
    readers = open_readers(files, config)
    by_language: dict[str, list[Split]] = {}
    for split in plan(files, _TASKS):
        by_language.setdefault(split.file.lang, []).append(split)
    for splits in by_language.values():
        chosen = sorted(splits, key=_draw)[:_SPLITS]
        for split in chosen:
            room = SAMPLE // len(chosen)
            for row in read_rows(split, readers):
                for paragraph in row["paragraphs"]:
                    yield row["lang"], paragraph["text"]
                    room -= len(paragraph["text"])
                if room <= 0:
                    break


def _draw(split: Split) -> bytes:
    return hashlib.sha256(f"{split.file.name}\0{split.start}\0{split.part}".encode()).digest()
