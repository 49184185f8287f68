"""The open domain: pairs of the corpus join the candidates, where they are never right.

Two-tower paper, section 4.4. Memory holds a few numbers for each pair that is drawn; texts are read, and written, a
few at a time.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from contexture.folders import work_folder
from contexture.retrieval.candidates import COLUMNS, PARTS, update_digest
from contexture.retrieval.parquet_rows import ROWS_A_GROUP, ParquetRows, read_batches
from contexture.text.sentences import get_splitter

#: The candidates in the folder that `grow` writes.
GROWN = "candidates.parquet"
#: Pairs that are brought into their order at a time.
PAIRS_AT_ONCE = 65_536
SCHEMA = pa.schema([(name, pa.string()) for name in COLUMNS])
#: A sentence of a passage of the corpus, and the number that it is drawn by, the smallest first.
DRAWN = np.dtype([("draw", np.uint64), ("passage", np.int64), ("sentence", np.int32)])

Drawn = npt.NDArray[np.void]
Numbers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


def grow(candidates: Path, passages: Path, count: int, seed: int, lang: str, folder: Path) -> Path:
    """Write the candidates, and after them `count` (sentence, passage) pairs of the corpus, to `folder`.

    Which pairs, and their order, is a function of the seed and their ids; a larger count adds to those of a smaller
    one. Pairs that are candidates already are left out. Passages, Parquet files with passage_id, text and
    sentence_lengths (one number per sentence), are split into sentences again.

    Returns the Parquet file of all: candidate_id, sentence, passage. Raises ValueError if the corpus has fewer others,
    or one of them has the id of another.
    """
    known = ParquetRows(candidates)
    with work_folder(folder) as work:
        # More than are needed, as some will be candidates already.
        drawn = draw_pairs(passages, count + count // 4 + 100, seed)
        hashes = _write_pairs(passages, drawn, lang, work / "pairs.arrow")
        order = np.argsort(drawn["draw"], kind="stable")
        known_hashes = np.array([_hash(pair) for pair in known.tuples(PARTS)], np.uint64)
        # The first pair of each text, unless that is a candidate.
        _, first = np.unique(np.concatenate([known_hashes, hashes[order]]), return_index=True)
        order = order[np.sort(first[first >= len(known)]) - len(known)]
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
    """Draw pairs from the corpus, those of the smallest draws, in the order of the corpus; all if it has fewer."""
    parts, held, number = [np.empty(0, DRAWN)], 0, 0
    for batch in read_batches(passages, ["passage_id", "sentence_lengths"]):
        lengths = pc.list_value_length(batch["sentence_lengths"]).to_pylist()
        pairs = [
            (draw(seed, _id(name, sentence)), number + row, sentence)
            for row, (name, sentences) in enumerate(zip(batch["passage_id"].to_pylist(), lengths, strict=True))
            for sentence in range(sentences)
        ]
        parts.append(np.array(pairs, DRAWN))
        held, number = held + len(pairs), number + len(batch)
        if held > count + max(count // 4, PAIRS_AT_ONCE):
            parts, held = [_first_drawn(parts, count)], count
    return _first_drawn(parts, count)


def _first_drawn(parts: Sequence[Drawn], count: int) -> Drawn:
    """The pairs of the smallest draws, in the order of the corpus."""
    pairs = np.concatenate(parts)
    return pairs[np.sort(np.argsort(pairs["draw"], kind="stable")[:count])]


def draw(seed: int, name: str) -> int:
    """The number that a pair is drawn by: 64 bits that depend on the seed and the pair's id alone."""
    return int.from_bytes(blake2b(f"{seed} {name}".encode(), digest_size=8).digest())


def _id(passage_id: str, sentence: int) -> str:
    return f"corpus:{passage_id}/{sentence}"


def _hash(pair: tuple[str, ...]) -> int:
    """64 bits that stand for the texts of a pair."""
    digest = blake2b(digest_size=8)
    update_digest(digest, pair)
    return int.from_bytes(digest.digest())


def _write_pairs(passages: Path, drawn: Drawn, lang: str, file: Path) -> Hashes:
    """Write the pairs that were drawn, in the order of the corpus, to an Arrow file; return their hashes."""
    split = get_splitter(lang).split
    hashes, number = np.empty(len(drawn), np.uint64), 0
    with pa.ipc.new_file(file, SCHEMA) as writer:
        for batch in read_batches(passages, ["passage_id", "text"]):
            first, end = np.searchsorted(drawn["passage"], [number, number + len(batch)]).tolist()
            names, texts = batch["passage_id"].to_pylist(), batch["text"].to_pylist()
            sentences: dict[int, list[str]] = {}
            rows: list[tuple[str, str, str]] = []
            for _, passage, position in drawn[first:end].tolist():
                row = passage - number
                if row not in sentences:
                    sentences[row] = split(texts[row])
                # Fewer sentences than when the passage was packed: its last one, which is taken but once.
                sentence = sentences[row][: position + 1][-1] if sentences[row] else ""
                hashes[first + len(rows)] = _hash((sentence, texts[row]))
                rows.append((_id(names[row], position), sentence, texts[row]))
            if rows:
                writer.write_batch(pa.record_batch(list(zip(*rows, strict=True)), schema=SCHEMA))
            number += len(batch)
    return hashes


def _in_order(file: Path, positions: Numbers) -> Iterator[pa.Table]:
    """The rows of an Arrow file at these positions, in their order."""
    for start in range(0, len(positions), PAIRS_AT_ONCE):
        wanted = positions[start : start + PAIRS_AT_ONCE]
        order = np.argsort(wanted)
        rising = wanted[order]
        with pa.memory_map(str(file)) as source:  # mapped anew each time, so that memory is released
            reader, parts, first = pa.ipc.open_file(source), [], 0
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                in_batch = rising[slice(*np.searchsorted(rising, [first, first + len(batch)]))]
                parts.append(batch.take(pa.array(in_batch - first)))
                first += len(batch)
            yield pa.Table.from_batches(parts).combine_chunks().take(pa.array(np.argsort(order)))


def _check_ids(grown: ParquetRows, known: int) -> None:
    """ValueError if an id occurs twice among the `known` candidates and the pairs after them."""
    ids, last = set[str](), ""
    for number, (name,) in enumerate(grown.tuples(["candidate_id"])):
        # Pairs of the corpus of the same id have the same draw, so they are adjacent.
        if name in ids or name == last:
            raise ValueError(f"candidate {name} is also the id of another pair: give the pairs of the corpus other ids")
        if number < known:
            ids.add(name)
        last = name
