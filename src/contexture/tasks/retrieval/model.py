"""Fine-tuned towers over a set of candidates: vectors once, then exact search."""

import hashlib
import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.parquet as pq
import torch

from contexture.encoders.config import PairLayoutConfig
from contexture.encoders.embedding import embed
from contexture.encoders.tower_files import checksum, load_towers
from contexture.encoders.towers import TwoTowers
from contexture.metrics.search_index import search_exact
from contexture.metrics.vectors import Vectors, check_identity, write_vectors
from contexture.tasks.retrieval.data import CANDIDATE, QUESTION, texts_of
from contexture.tasks.retrieval.ranks import RECALL_AT, draw, question_ranks
from contexture.vocabulary.tokenizers import load_tokenizer


def question_ranks_of(model: Path, questions: pd.DataFrame, candidates: pd.DataFrame, vectors: Path) -> pd.DataFrame:
    """Where the towers in `model` find each question's answer; the candidates' vectors stay in the folder `vectors`.

    See `retrieval.question_ranks` for the tables; both have token ids as `encode_reqa` made them.
    """
    stored = embed_candidates(model, candidates, vectors)
    _, found = search_exact(stored, embed_questions(model, questions), min(max(RECALL_AT), len(candidates)))
    return question_ranks(questions, candidates, found)


def embed_candidates(model: Path, candidates: pd.DataFrame, folder: Path) -> Vectors:
    """Vectors of all candidates by the document tower; those that are there of the same towers and texts are kept."""
    towers = on_device(load_towers(model))
    specials = towers.specials(load_tokenizer(model)[1])

    def rows(chosen: range) -> npt.NDArray[np.float32]:
        texts = texts_of(candidates.iloc[chosen.start : chosen.stop], CANDIDATE)
        return embed(towers.document, texts, specials, towers.layout.document_tokens)

    identity = {"towers": checksum(model), "texts": texts_checksum(candidates)}
    folder.parent.mkdir(parents=True, exist_ok=True)
    stored = write_vectors(folder, len(candidates), towers.config.embedding_size, rows, identity)
    check_identity(stored, identity)
    return stored


def embed_questions(model: Path, questions: pd.DataFrame) -> npt.NDArray[np.float32]:
    """Vectors of questions by the query tower, (Q, D)."""
    towers = on_device(load_towers(model))
    specials = towers.specials(load_tokenizer(model)[1])
    return embed(towers.query, texts_of(questions, QUESTION), specials, towers.layout.query_tokens)


def on_device(towers: TwoTowers) -> TwoTowers:
    """The towers on the device that there is, ready to embed."""
    return towers.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def texts_checksum(candidates: pd.DataFrame) -> str:
    """SHA-256 of the candidates' ids and tokens, in their order."""
    parts = texts_of(candidates, CANDIDATE)
    found = hashlib.sha256("\n".join(candidates["candidate_id"]).encode())
    found.update(parts.lengths.tobytes())
    found.update(parts.tokens.tobytes())
    return found.hexdigest()


def corpus_pairs(passages: Path, tokenizer: Path, layout: PairLayoutConfig, count: int, seed: int) -> pd.DataFrame:
    """`count` (sentence, passage) pairs of the corpus as candidates, with token ids cut to what a tower can read.

    They are those that `retrieval.grow` draws, and some more, for pairs that are candidates already. The table of
    passages has its sentences as tokens only: their text here is what these spell.
    """
    drawn = heapq.nsmallest(
        count + count // 4 + 100, _pairs(passages, layout), lambda pair: draw(seed, pair["candidate_id"])
    )
    spelt = load_tokenizer(tokenizer)[0].decode_batch([pair["sentence_tokens"] for pair in drawn])
    return pd.DataFrame(drawn).assign(sentence=spelt)


def _pairs(passages: Path, layout: PairLayoutConfig) -> Iterator[dict[str, Any]]:
    columns = ["passage_id", "title", "text", "tokens", "sentence_lengths"]
    for file in sorted(passages.glob("*.parquet")):
        for batch in pq.ParquetFile(file).iter_batches(1024, columns=columns):
            for passage in batch.to_pylist():
                place = f"corpus:{passage['passage_id']}"
                ends = np.cumsum(passage["sentence_lengths"])
                for number, (end, length) in enumerate(zip(ends, passage["sentence_lengths"], strict=True)):
                    yield {
                        "candidate_id": f"{place}/{number}",
                        "passage_id": place,
                        "title": passage["title"],
                        "passage": passage["text"],
                        "sentence_tokens": passage["tokens"][end - length : end][: layout.document_tokens],
                        "passage_tokens": passage["tokens"][: layout.document_tokens],
                    }
