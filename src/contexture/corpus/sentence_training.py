"""Train the parameters of sentence splitting on a sample of the corpus for each language."""

import hashlib
from collections.abc import Iterator, Sequence

from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import open_readers, read_rows
from contexture.corpus.sources.protocol import SourceFile, Split, plan_splits
from contexture.text.punkt_training import train_parameters
from contexture.text.sentences import SentenceParameters

#: Read for each language.
SAMPLE_CHARS = 1_000_000
_MAX_SPLITS = 16  # sampled for each language
_NUM_TASKS = 8  # fixed, so that the splits do not depend on the number of cores


def train_splitters(files: Sequence[SourceFile], config: CorpusConfig) -> dict[str, SentenceParameters]:
    """Return language → parameters of sentence splitting, trained on SAMPLE_CHARS characters of the files each.

    Raises SourceError for a damaged file.
    """
    texts: dict[str, list[str]] = {}
    for lang, text in _sample_texts(files, config):
        texts.setdefault(lang, []).append(text)
    return {lang: train_parameters(texts[lang], lang, SAMPLE_CHARS) for lang in sorted(texts)}


def _sample_texts(files: Sequence[SourceFile], config: CorpusConfig) -> Iterator[tuple[str, str]]:
    """Yield language and text of paragraphs at the start of some splits, which are drawn by their hashes."""
    readers = open_readers(files, config)
    by_language: dict[str, list[Split]] = {}
    for split in plan_splits(files, _NUM_TASKS):
        by_language.setdefault(split.file.lang, []).append(split)
    for splits in by_language.values():
        chosen = sorted(splits, key=_hash_split)[:_MAX_SPLITS]
        for split in chosen:
            chars_left = SAMPLE_CHARS // len(chosen)
            for row in read_rows(split, readers):
                for paragraph in row["paragraphs"]:
                    yield row["lang"], paragraph["text"]
                    chars_left -= len(paragraph["text"])
                if chars_left <= 0:
                    break


def _hash_split(split: Split) -> bytes:
    """Return the hash of a split by which splits are drawn."""
    return hashlib.sha256(f"{split.file.name}\0{split.start}\0{split.part}".encode()).digest()
