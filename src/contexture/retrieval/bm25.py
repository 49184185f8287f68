"""BM25, the lexical baseline (two-tower paper, section 4.2), with the index files of bm25s."""

import json
import math
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray

from contexture.progress import progress
from contexture.retrieval.config import AUTO, Bm25Config
from contexture.retrieval.terms import Analyzer
from contexture.retrieval.top import NO_ROW, Rows, Scores, group_batches, select_best
from contexture.text.languages import detect_languages

SETTINGS_FILE = "bm25.json"
#: Arrays of bm25s with one entry per posting (a word in a text): its score and the row of the text.
SCORES_FILE, TEXT_ROWS_FILE = "data.csc.index.npy", "indices.csc.index.npy"
#: Texts that are tokenized, and postings that are sorted, in memory at a time.
TEXTS_PER_BATCH, POSTINGS_PER_BATCH = 32_768, 2**22
#: The first texts, by which the language is detected.
LANGUAGE_SAMPLE = 1_000

Counts = NDArray[np.int64]


def write_bm25(texts: Iterable[str], folder: Path, config: Bm25Config | None = None) -> None:
    """Write a BM25 index over `texts` to an existing folder.

    Texts are read once; `terms.Analyzer` splits them. The files equal those of bm25s for the same terms, but the
    postings are never all in memory. Raises ValueError if there are no texts or no words.
    """
    texts = iter(texts)
    first_texts = list(islice(texts, LANGUAGE_SAMPLE))
    config = set_language(config or Bm25Config(), first_texts)
    parts_dir = folder / "parts"
    parts_dir.mkdir()
    words, lengths, frequencies = _count_words(chain(first_texts, texts), parts_dir, Analyzer(config))
    if not len(lengths):
        raise ValueError("BM25: there are no candidates; check whether the table of candidates is empty")
    if not words:
        raise ValueError(f"BM25: none of the {len(lengths)} candidates contains a word; check their texts")
    starts = np.concatenate([[0], np.cumsum(frequencies)])
    model = bm25s.BM25(k1=config.k1, b=config.b, method="lucene")
    model.vocab_dict, model.nonoccurrence_array = words | {"": len(words)}, None
    empty: Any = np.empty(0)  # `_write_postings` replaces the long arrays
    model.scores = {"data": empty, "indices": empty, "indptr": starts, "num_docs": len(lengths)}
    model.save(folder, show_progress=False, allow_pickle=False)
    _write_postings(parts_dir, folder, lengths, frequencies, starts, config)
    shutil.rmtree(parts_dir)
    (folder / SETTINGS_FILE).write_text(json.dumps(asdict(config), indent=1), encoding="utf-8")


def set_language(config: Bm25Config, texts: Iterable[str]) -> Bm25Config:
    """Return `config` with the language of most texts instead of "auto"; English if none is certain."""
    if config.language != AUTO:
        return config
    languages = detect_languages(texts)
    return replace(config, language=max(sorted(languages), key=lambda code: languages[code], default="en"))


class Bm25:
    """BM25 search in an index of `write_bm25`."""

    def __init__(self, folder: Path) -> None:
        """Open the index; raise ValueError if a file is missing or damaged."""
        try:
            self.config = Bm25Config(**json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8")))
            self._model = bm25s.BM25.load(folder, mmap=True, show_progress=False, allow_pickle=False)
            self._num_texts = int(self._model.scores["num_docs"])
            self._analyzer = Analyzer(self.config)
        except (OSError, ValueError, TypeError, LookupError, EOFError) as error:
            raise ValueError(f"{folder} is missing or damaged ({error}): build the index again") from error

    def __len__(self) -> int:
        return self._num_texts

    def search(self, queries: Sequence[str], k: int) -> tuple[Scores, Rows]:
        """Return scores (float32) and rows of the best candidates, both (Q, min(k, candidates)), best first.

        Ties are ordered by row. If fewer candidates share a word with the query, the rest has row −1 and score −inf.
        """
        if k < 1:
            raise ValueError(f"cannot find the {k} best candidates: k must be at least 1")
        k = min(k, self._num_texts)
        scores = np.full((len(queries), k), -np.inf, np.float32)
        rows = np.full((len(queries), k), NO_ROW, np.int64)
        for line, all_scores in enumerate(progress(len(queries), "BM25", "query", self.score_texts(queries))):
            matches = np.flatnonzero(all_scores)
            best_scores, best_rows = select_best(all_scores[None, matches], matches, k)
            scores[line, : len(matches)], rows[line, : len(matches)] = best_scores[0], best_rows[0]
        return scores, rows

    def score_texts(self, queries: Sequence[str]) -> Iterator[Scores]:
        """Yield the scores (candidates,) of all candidates for each query; 0 without a shared word."""
        for query in queries:
            terms = list(self._analyzer.terms(query))
            yield self._model.get_scores_from_ids(self._model.get_tokens_ids(terms))


def _count_words(texts: Iterator[str], parts_dir: Path, analyzer: Analyzer) -> tuple[dict[str, int], Counts, Counts]:
    """Return term → id, the terms in each text, and the texts with each term.

    Write the postings of each batch of texts to a file in `parts_dir`: term, text and count, (3, n), ordered by term,
    then text.
    """
    vocabulary: defaultdict[str, int] = defaultdict(lambda: len(vocabulary))
    lengths, frequencies, num_texts = [np.empty(0, np.int64)], np.empty(0, np.int64), 0
    while batch := list(islice(texts, TEXTS_PER_BATCH)):
        ids = [[vocabulary[term] for term in analyzer.terms(text)] for text in batch]
        batch_lengths = np.array([len(text) for text in ids])
        words = np.fromiter(chain.from_iterable(ids), np.int64, batch_lengths.sum())
        pairs, term_counts = np.unique(
            words * len(batch) + np.repeat(np.arange(len(batch)), batch_lengths), return_counts=True
        )
        word, text = np.divmod(pairs, len(batch))
        np.save(parts_dir / f"{len(lengths):06d}.npy", np.stack([word, text + num_texts, term_counts]).astype(np.int32))
        batch_frequencies = np.bincount(word, minlength=len(vocabulary))
        batch_frequencies[: len(frequencies)] += frequencies
        frequencies, num_texts = batch_frequencies, num_texts + len(batch)
        lengths.append(batch_lengths)
    return dict(vocabulary), np.concatenate(lengths), frequencies


def _write_postings(
    parts_dir: Path, folder: Path, lengths: Counts, frequencies: Counts, starts: Counts, config: Bm25Config
) -> None:
    """Write the scores and text rows of all postings, ordered by word, then text."""
    num_texts = len(lengths)
    idf = np.array([math.log(1 + (num_texts - df + 0.5) / (df + 0.5)) for df in frequencies.tolist()], np.float32)
    norms = config.k1 * ((1 - config.b) + config.b * lengths / lengths.mean())
    files = sorted(parts_dir.iterdir())
    with (folder / SCORES_FILE).open("wb") as scores, (folder / TEXT_ROWS_FILE).open("wb") as texts:
        for file, dtype in ((scores, np.float32), (texts, np.int32)):
            np.lib.format.write_array_header_1_0(
                file, {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (int(starts[-1]),)}
            )
        for first, end in group_batches(starts, POSTINGS_PER_BATCH):
            word, text, term_counts = np.hstack([_read_postings(file, first, end) for file in files])
            order = np.argsort(word, kind="stable")
            word, text, term_counts = word[order], text[order], term_counts[order].astype(np.float32)
            scores.write((idf[word] * (term_counts / (norms[text] + term_counts))).astype(np.float32).tobytes())
            texts.write(text.tobytes())


def _read_postings(file: Path, first: int, end: int) -> NDArray[np.int32]:
    """Return the postings of words first … end−1 in a file of `parts_dir`."""
    postings: NDArray[np.int32] = np.load(file, mmap_mode="r", allow_pickle=False)
    bounds = np.searchsorted(postings[0], [first, end])
    return np.array(postings[:, slice(*bounds)])
