"""The open domain: pairs of the corpus join the candidates, where they are never right.

Two-tower paper, section 4.4. Memory holds a few numbers a pair that is drawn; texts are read, and written, some at a
time.
"""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from contexture.folders import work_folder
from contexture.retrieval.candidates import COLUMNS, PARTS
from contexture.retrieval.parquet_rows import ROWS_A_GROUP, ParquetRows
from contexture.text.sentences import splitter

#: The candidates in the folder that `grow` writes.
GROWN = "candidates.parquet"
#: Passages that are read, and pairs that are brought into their order, at a time.
PASSAGES_AT_ONCE, PAIRS_AT_ONCE = 16_384, 65_536
SCHEMA = pa.schema([(name, pa.string()) for name in COLUMNS])
#: A sentence of a passage of the corpus, and what the pair is drawn by: the smaller, the sooner.
DRAWN = np.dtype([("draw", np.uint64), ("passage", np.int64), ("sentence", np.int32)])

Drawn = npt.NDArray[np.void]
Numbers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


def grow(candidates: Path, passages: Path, count: int, seed: int, lang: str, folder: Path) -> Path:
    """Write the candidates, and after them `count` (sentence, passage) pairs of the corpus, to `folder`.

    Which ones, and their order, is a function of the seed and their ids; a larger count adds to those of a smaller one.
    Pairs that are candidates already are left out. A passage's sentences are told apart anew, as its text is.

    Args:
        candidates: a Parquet file: candidate_id, sentence, passage and more. They stay the first, in their order.
        passages: a folder of Parquet files: passage_id, text, sentence_lengths (one number a sentence).
        count: how many to add.
        seed: of the draw.
        lang: the language that passages are split into sentences by.
        folder: to be written; an older one is replaced.

    Returns:
        The Parquet file of all: candidate_id, sentence, passage.

    Raises:
        ValueError: if the corpus has fewer others, or one of them has the id of another.
    """
    known = ParquetRows(candidates)
    with work_folder(folder) as work:
        # Some more than are asked for, as some will be candidates already.
        drawn = draw_pairs(passages, count + count // 4 + 100, seed)
        hashes = _write_pairs(passages, drawn, lang, work / "pairs.arrow")
        order = np.argsort(drawn["draw"], kind="stable")
        before = np.array([_hash(pair) for pair in known.tuples(PARTS)], np.uint64)
        order = order[_new(before, hashes[order])]
        if len(order) < count:
            raise ValueError(
                f"cannot add {count} pairs to the candidates: the corpus holds {len(order)} others; ask for fewer"
            )
        with pq.ParquetWriter(work / GROWN, SCHEMA) as writer:
            for batch in known.batches(COLUMNS):
                writer.write_batch(batch.select(COLUMNS).cast(SCHEMA), row_group_size=ROWS_A_GROUP)
            for pairs in _in_order(work / "pairs.arrow", order[:count]):
                writer.write_table(pairs, row_group_size=ROWS_A_GROUP)
        (work / "pairs.arrow").unlink()
        _check_ids(ParquetRows(work / GROWN), len(known))
    return folder / GROWN


def draw_pairs(passages: Path, count: int, seed: int) -> Drawn:
    """Draw pairs from the corpus, those of the smallest draws, in the order of the corpus; all where it has fewer."""
    kept, held, number = [np.empty(0, DRAWN)], 0, 0
    for batch in _batches(passages, ["passage_id", "sentence_lengths"]):
        lengths = pc.list_value_length(batch["sentence_lengths"]).to_pylist()
        pairs = [
            (draw(seed, _id(name, sentence)), number + row, sentence)
            for row, (name, sentences) in enumerate(zip(batch["passage_id"].to_pylist(), lengths, strict=True))
            for sentence in range(sentences)
        ]
        kept.append(np.array(pairs, DRAWN))
        held, number = held + len(pairs), number + len(batch)
        if held > count + max(count // 4, PAIRS_AT_ONCE):
            kept, held = [_first_drawn(np.concatenate(kept), count)], count
    return _first_drawn(np.concatenate(kept), count)


def _first_drawn(pairs: Drawn, count: int) -> Drawn:
    """The pairs of the smallest draws, in the order of the corpus."""
    return pairs[np.sort(np.argsort(pairs["draw"], kind="stable")[:count])]


def draw(seed: int, name: str) -> int:
    """What pairs are ordered by to draw some of them: 64 bits that depend on the seed and the pair's id alone."""
    return int.from_bytes(blake2b(f"{seed} {name}".encode(), digest_size=8).digest())


def _batches(passages: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    for file in sorted(passages.glob("*.parquet")):
        yield from pq.ParquetFile(file).iter_batches(PASSAGES_AT_ONCE, columns=columns)


def _id(passage_id: str, sentence: int) -> str:
    return f"corpus:{passage_id}/{sentence}"


def _hash(pair: tuple[Any, ...]) -> int:
    """64 bits that stand for the texts of a pair."""
    found = blake2b(digest_size=8)
    for text in pair:
        content = text.encode()
        found.update(len(content).to_bytes(8))
        found.update(content)
    return int.from_bytes(found.digest())


def _write_pairs(passages: Path, drawn: Drawn, lang: str, file: Path) -> Hashes:
    """Write the pairs that were drawn, in the order of the corpus, to an Arrow file; their hashes."""
    split = splitter(lang).split
    hashes, number = np.empty(len(drawn), np.uint64), 0
    with pa.ipc.new_file(file, SCHEMA) as writer:
        for batch in _batches(passages, ["passage_id", "text"]):
            first, end = np.searchsorted(drawn["passage"], [number, number + len(batch)]).tolist()
            names, texts = batch["passage_id"].to_pylist(), batch["text"].to_pylist()
            found: dict[int, list[str]] = {}
            rows: list[tuple[str, str, str]] = []
            places = (drawn["passage"][first:end] - number).tolist(), drawn["sentence"][first:end].tolist()
            for row, sentence in zip(*places, strict=True):
                if row not in found:
                    found[row] = split(texts[row])
                # Fewer sentences than when the passage was packed: its last one, which is taken but once.
                said = found[row][: sentence + 1][-1] if found[row] else ""
                hashes[first + len(rows)] = _hash((said, texts[row]))
                rows.append((_id(names[row], sentence), said, texts[row]))
            if rows:
                writer.write_batch(pa.record_batch(list(zip(*rows, strict=True)), schema=SCHEMA))
            number += len(batch)
    return hashes


def _new(known: Hashes, others: Hashes) -> Numbers:
    """Places of the others that are not known and the first of their kind."""
    _, first = np.unique(np.concatenate([known, others]), return_index=True)
    return np.sort(first[first >= len(known)]) - len(known)


def _in_order(file: Path, places: Numbers) -> Iterator[pa.Table]:
    """The rows of an Arrow file at some places, in the order given."""
    for start in range(0, len(places), PAIRS_AT_ONCE):
        wanted = places[start : start + PAIRS_AT_ONCE]
        order = np.argsort(wanted)
        rising = wanted[order]
        with pa.memory_map(str(file)) as source:  # mapped anew each time, so that what was read is let go
            reader, parts, first = pa.ipc.open_file(source), [], 0
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                here = rising[slice(*np.searchsorted(rising, [first, first + len(batch)]))]
                parts.append(batch.take(pa.array(here - first)))
                first += len(batch)
            yield pa.Table.from_batches(parts).combine_chunks().take(pa.array(np.argsort(order)))


def _check_ids(grown: ParquetRows, before: int) -> None:
    """ValueError where an id occurs twice among the candidates before and the pairs after them."""
    known, last = set[str](), ""
    for number, (name,) in enumerate(grown.tuples(["candidate_id"])):
        # Pairs of the corpus of the same id have the same draw, so they stand side by side.
        if name in known or name == last:
            raise ValueError(f"candidate {name} is also the id of another pair: give the pairs of the corpus other ids")
        if number < before:
            known.add(name)
        last = name
