"""The open domain: pairs of the corpus join the candidates, where they are never right.

Two-tower paper, section 4.4.
"""

import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from contexture.tasks.retrieval.reqa import stable_id
from contexture.text.sentences import splitter


def corpus_pairs(passages: Path, count: int, seed: int, lang: str) -> pd.DataFrame:
    """`count` (sentence, passage) pairs of the corpus as candidates.

    They are those that `grow` draws, and some more, for pairs that are candidates already. A passage's sentences are
    told apart anew, as its text is.

    Args:
        passages: a folder of Parquet files: passage_id, title, text, sentence_lengths (one number a sentence).
        count: how many to draw.
        seed: of the draw.
        lang: the language that passages are split into sentences by.

    Returns:
        candidate_id, passage_id, title, sentence, passage; as many as there are, if these are fewer.
    """
    drawn = heapq.nsmallest(count + count // 4 + 100, _pairs(passages), lambda pair: draw(seed, pair["candidate_id"]))
    split = splitter(lang).split
    pairs = pd.DataFrame(drawn, columns=["candidate_id", "passage_id", "title", "passage", "number"])
    sentences = [
        split(passage)[: number + 1] for passage, number in zip(pairs["passage"], pairs["number"], strict=True)
    ]
    # Fewer sentences than when the passage was packed: its last one, which `grow` will take but once.
    return pairs.assign(sentence=[found[-1] if found else "" for found in sentences]).drop(columns="number")


def grow(candidates: pd.DataFrame, others: pd.DataFrame, count: int, seed: int) -> pd.DataFrame:
    """Add `count` other pairs to the candidates.

    Which ones is a function of the seed and their ids; a larger count adds to those of a smaller one. Pairs that are
    candidates already are left out. The rows of the candidates stay the first ones, in their order.

    Args:
        candidates: candidate_id, sentence, passage and more.
        others: the same columns, with ids of their own.
        count: how many to add.
        seed: of the draw.

    Raises:
        ValueError: if there are fewer others, or one has the id of a candidate.
    """
    known = set(zip(candidates["sentence"], candidates["passage"], strict=True))
    order = sorted(range(len(others)), key=[draw(seed, name) for name in others["candidate_id"]].__getitem__)
    # Of pairs that read alike the one drawn first: so it does not matter how many others there are behind it.
    others = others.iloc[order].drop_duplicates(["sentence", "passage"])
    new = others[[pair not in known for pair in zip(others["sentence"], others["passage"], strict=True)]]
    if len(new) < count:
        raise ValueError(
            f"cannot add {count} pairs to the candidates: the corpus holds {len(new)} others; ask for fewer"
        )
    grown = pd.concat([candidates, new.iloc[:count]], ignore_index=True)[candidates.columns.tolist()]
    if not grown["candidate_id"].is_unique:
        twice = grown["candidate_id"][grown["candidate_id"].duplicated()].iloc[0]
        raise ValueError(f"candidate {twice} is also the id of another pair: give the pairs of the corpus other ids")
    return grown


def draw(seed: int, name: str) -> str:
    """What pairs are ordered by to draw some of them."""
    return stable_id(f"{seed} {name}")


def _pairs(passages: Path) -> Iterator[dict[str, Any]]:
    columns = ["passage_id", "title", "text", "sentence_lengths"]
    for file in sorted(passages.glob("*.parquet")):
        for batch in pq.ParquetFile(file).iter_batches(1024, columns=columns):
            for passage in batch.to_pylist():
                place = f"corpus:{passage['passage_id']}"
                for number in range(len(passage["sentence_lengths"])):
                    yield {
                        "candidate_id": f"{place}/{number}",
                        "passage_id": place,
                        "title": passage["title"],
                        "passage": passage["text"],
                        "number": number,
                    }
