"""BM25, the baseline of lexical matching (two-tower paper, section 4.2), in the files that bm25s searches."""

import json
import math
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray

from contexture.progress import progress
from contexture.retrieval.config import Bm25Config
from contexture.retrieval.runs import runs
from contexture.retrieval.top import NOTHING, Rows, Scores, best

SETTINGS = "bm25.json"
#: The long arrays of bm25s: the score of a word in a text, and the number of the text.
SCORES, TEXTS = "data.csc.index.npy", "indices.csc.index.npy"
#: Texts whose words are in memory at a time, and postings (a word in a text) while they are put in order.
TEXTS_AT_ONCE, POSTINGS_AT_ONCE = 32_768, 2**22

Counts = NDArray[np.int64]


def write_bm25(texts: Iterable[str], folder: Path, config: Bm25Config | None = None) -> None:
    """Write the index over texts into a folder that is there: arrays, which are mapped when it is opened, and JSON.

    Words are in lower case, of two or more characters, and not stemmed. bm25s would hold all of them at once; here it
    is a part of the texts, the numbers of the words, and a few numbers a text. The files are the same.

    Args:
        texts: read once; a ReQA candidate's is its sentence and its passage.
        folder: of the index.
        config: settings.

    Raises:
        ValueError: if there are no texts, or no words in any of them.
    """
    config = config or Bm25Config()
    parts = folder / "parts"
    parts.mkdir()
    words, lengths, holding = _count(iter(texts), parts, config)
    if not len(lengths):
        raise ValueError("BM25: there are no candidates; look whether the table of candidates is empty")
    if not words:
        raise ValueError(f"BM25: none of the {len(lengths)} candidates holds a word; look at their texts")
    starts = np.concatenate([[0], np.cumsum(holding)])
    model = bm25s.BM25(k1=config.k1, b=config.b, method="lucene")
    model.vocab_dict, model.nonoccurrence_array = words | {"": len(words)}, None
    short: Any = np.empty(0)  # the long arrays take their places below
    model.scores = {"data": short, "indices": short, "indptr": starts, "num_docs": len(lengths)}
    model.save(folder, show_progress=False, allow_pickle=False)
    _write_postings(parts, folder, lengths, holding, starts, config)
    shutil.rmtree(parts)
    (folder / SETTINGS).write_text(json.dumps(asdict(config), indent=1), encoding="utf-8")


class Bm25:
    """BM25 over the texts of candidates, in a folder of `write_bm25`."""

    def __init__(self, folder: Path) -> None:
        """Open it; ValueError, naming the folder, where a part is missing or cut off."""
        try:
            self.config = Bm25Config(**json.loads((folder / SETTINGS).read_text(encoding="utf-8")))
            self._model = bm25s.BM25.load(folder, mmap=True, show_progress=False, allow_pickle=False)
            self._size = int(self._model.scores["num_docs"])
        except (OSError, ValueError, TypeError, LookupError, EOFError) as error:
            raise ValueError(f"{folder} is missing or damaged ({error}): build the index again") from error

    def __len__(self) -> int:
        return self._size

    def search(self, queries: Sequence[str], k: int) -> tuple[Scores, Rows]:
        """Find the k best candidates.

        Returns:
            Scores (float32) and row numbers [Q, min(k, candidates)], best first; of equal scores the lower row number
            first. Only candidates that share a word with the query are found: the other places have row −1, score −inf.
        """
        if k < 1:
            raise ValueError(f"cannot find the {k} best candidates")
        places = min(k, self._size)
        scores = np.full((len(queries), places), -np.inf, np.float32)
        rows = np.full((len(queries), places), NOTHING, np.int64)
        words = self._words(queries)
        for line, all_scores in enumerate(progress(len(words), "BM25", "query", self._scores(words))):
            matching = np.flatnonzero(all_scores)
            found = best(all_scores[None, matching], matching, places)
            scores[line, : len(matching)], rows[line, : len(matching)] = found[0][0], found[1][0]
        return scores, rows

    def scores(self, queries: Sequence[str]) -> Iterator[Scores]:
        """Of each query the scores (candidates,) of all candidates; 0 for those that share no word with it."""
        return self._scores(self._words(queries))

    def _words(self, queries: Sequence[str]) -> Any:
        return bm25s.tokenize(list(queries), stopwords=self.config.stop_words, return_ids=False, show_progress=False)

    def _scores(self, words: Iterable[Any]) -> Iterator[Scores]:
        for query in words:
            yield self._model.get_scores_from_ids(self._model.get_tokens_ids(query))


def _count(texts: Iterator[str], parts: Path, config: Bm25Config) -> tuple[dict[str, int], Counts, Counts]:
    """Numbers of words, the words of each text, and the texts that hold each word.

    The postings of some texts at a time go to a file of `parts`: words, texts and how often, (3, n), in the order of
    words and then texts.
    """
    tokenizer = bm25s.tokenization.Tokenizer(stopwords=config.stop_words)
    lengths, holding, texts_before = [np.empty(0, np.int64)], np.empty(0, np.int64), 0
    while some := list(islice(texts, TEXTS_AT_ONCE)):
        ids = list(tokenizer.streaming_tokenize(some, allow_empty=False))
        counts = np.array([len(text) for text in ids])
        words = np.fromiter(chain.from_iterable(ids), np.int64, counts.sum())
        pairs, times = np.unique(words * len(some) + np.repeat(np.arange(len(some)), counts), return_counts=True)
        word, text = np.divmod(pairs, len(some))
        np.save(parts / f"{len(lengths):06d}.npy", np.stack([word, text + texts_before, times]).astype(np.int32))
        held = np.bincount(word, minlength=len(tokenizer.word_to_id))
        held[: len(holding)] += holding
        holding, texts_before = held, texts_before + len(some)
        lengths.append(counts)
    return tokenizer.word_to_id, np.concatenate(lengths), holding


def _write_postings(
    parts: Path, folder: Path, lengths: Counts, holding: Counts, starts: Counts, config: Bm25Config
) -> None:
    """The scores of all words in all texts that hold them, in the order of words and then texts."""
    count = len(lengths)
    idf = np.array([math.log(1 + (count - held + 0.5) / (held + 0.5)) for held in holding.tolist()], np.float32)
    norms = config.k1 * ((1 - config.b) + config.b * lengths / lengths.mean())
    files = sorted(parts.iterdir())
    with (folder / SCORES).open("wb") as scores, (folder / TEXTS).open("wb") as texts:
        for file, kind in ((scores, np.float32), (texts, np.int32)):
            np.lib.format.write_array_header_1_0(
                file, {"descr": np.dtype(kind).str, "fortran_order": False, "shape": (int(starts[-1]),)}
            )
        for first, end in runs(starts, POSTINGS_AT_ONCE):
            word, text, times = np.hstack([_between(file, first, end) for file in files])
            order = np.argsort(word, kind="stable")
            word, text, times = word[order], text[order], times[order].astype(np.float32)
            scores.write((idf[word] * (times / (norms[text] + times))).astype(np.float32).tobytes())
            texts.write(text.tobytes())


def _between(file: Path, first: int, end: int) -> NDArray[np.int32]:
    """The postings of a part whose words have the numbers first … end−1."""
    postings: NDArray[np.int32] = np.load(file, mmap_mode="r", allow_pickle=False)
    bounds = np.searchsorted(postings[0], [first, end])
    return np.array(postings[:, slice(*bounds)])
