"""BM25, the baseline of lexical matching (two-tower paper, section 4.2), as bm25s computes it."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import bm25s
import numpy as np

from contexture.metrics.config import Bm25Config
from contexture.metrics.top import NOTHING, Rows, Scores, best
from contexture.progress import progress

SETTINGS = "bm25.json"


class Bm25:
    """BM25 over the texts of candidates; words are in lower case, of two or more characters, and not stemmed."""

    def __init__(self, texts: Sequence[str], config: Bm25Config | None = None) -> None:
        """Index the texts; a ReQA candidate's is its sentence and its passage.

        Raises:
            ValueError: if there are no texts, or no words in any of them.
        """
        if not texts:
            raise ValueError("BM25: there are no candidates; look whether the table of candidates is empty")
        self.config = config or Bm25Config()
        tokens = bm25s.tokenize(texts, stopwords=self.config.stop_words, show_progress=False)
        if not tokens.vocab:
            raise ValueError(f"BM25: none of the {len(texts)} candidates holds a word; look at their texts")
        self._model = bm25s.BM25(k1=self.config.k1, b=self.config.b, method="lucene")
        self._model.index(tokens, show_progress=False)
        self._size = len(texts)

    def save(self, folder: Path) -> None:
        """Write the index into `folder`: arrays, which are mapped when it is opened, and JSON."""
        self._model.save(folder, show_progress=False, allow_pickle=False)
        (folder / SETTINGS).write_text(json.dumps(asdict(self.config), indent=1), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> "Bm25":
        """The index that `save` wrote; ValueError, naming the folder, where a part is missing or cut off."""
        index = cls.__new__(cls)
        try:
            index.config = Bm25Config(**json.loads((folder / SETTINGS).read_text(encoding="utf-8")))
            index._model = bm25s.BM25.load(folder, mmap=True, show_progress=False, allow_pickle=False)
            index._size = int(index._model.scores["num_docs"])
        except (OSError, ValueError, TypeError, LookupError, EOFError) as error:
            raise ValueError(f"{folder} is missing or damaged ({error}): build the index again") from error
        return index

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
        words = bm25s.tokenize(list(queries), stopwords=self.config.stop_words, return_ids=False, show_progress=False)
        for line, query in enumerate(progress(len(words), "BM25", "query", words)):
            all_scores = self._model.get_scores_from_ids(self._model.get_tokens_ids(query))
            matching = np.flatnonzero(all_scores)
            found = best(all_scores[None, matching], matching, places)
            scores[line, : len(matching)], rows[line, : len(matching)] = found[0][0], found[1][0]
        return scores, rows
