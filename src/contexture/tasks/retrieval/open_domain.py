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
from contexture.retrieval.candidates import CANDIDATE_COLUMNS, TEXT_COLUMNS, update_digest
from contexture.retrieval.parquet_rows import ROWS_PER_GROUP, ParquetRows, read_batches
from contexture.text.sentences import splitter

#: The candidates in the folder that `add_corpus_pairs` writes.
CANDIDATES_FILE = "candidates.parquet"
#: Pairs that are brought into their order at a time.
PAIRS_PER_BATCH = 65_536
SCHEMA = pa.schema([(name, pa.string()) for name in CANDIDATE_COLUMNS])
#: A sentence of a passage of the corpus, and the number that it is drawn by, the smallest first.
DRAW_DTYPE = np.dtype([("draw", np.uint64), ("passage", np.int64), ("sentence", np.int32)])

DrawnPairs = npt.NDArray[np.void]
Numbers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


def add_corpus_pairs(candidates: Path, passages: Path, count: int, seed: int, lang: str, folder: Path) -> Path:
    """Write the candidates, and after them `count` (sentence, passage) pairs of the corpus, to `folder`.

    Which pairs, and their order, is a function of the seed and their ids; a larger count adds to those of a smaller
    one. Pairs that are candidates already are left out. Passages, Parquet files with passage_id, text and
    sentence_lengths (one number per sentence), are split into sentences again.

    Returns the Parquet file of all: candidate_id, sentence, passage. Raises ValueError if the corpus has fewer others,
    or one of them has the id of another.
    """
    known = ParquetRows(candidates)
    with work_folder(folder) as work_dir:
        # More than are needed, as some will be candidates already.
        drawn = draw_pairs(passages, count + count // 4 + 100, seed)
        hashes = _write_pairs(passages, drawn, lang, work_dir / "pairs.arrow")
        order = np.argsort(drawn["draw"], kind="stable")
        known_hashes = np.array([_hash_pair(pair) for pair in known.tuples(TEXT_COLUMNS)], np.uint64)
        # The first pair of each text, unless that is a candidate.
        _, first = np.unique(np.concatenate([known_hashes, hashes[order]]), return_index=True)
        order = order[np.sort(first[first >= len(known)]) - len(known)]
        if len(order) < count:
            raise ValueError(
                f"cannot add {count} pairs to the candidates: the corpus holds {len(order)} others; ask for fewer"
            )
        with pq.ParquetWriter(work_dir / CANDIDATES_FILE, SCHEMA) as writer:
            for batch in known.batches(CANDIDATE_COLUMNS):
                writer.write_batch(batch.select(CANDIDATE_COLUMNS).cast(SCHEMA), row_group_size=ROWS_PER_GROUP)
            for pairs in _read_rows(work_dir / "pairs.arrow", order[:count]):
                writer.write_table(pairs, row_group_size=ROWS_PER_GROUP)
        (work_dir / "pairs.arrow").unlink()
        _check_ids(ParquetRows(work_dir / CANDIDATES_FILE), len(known))
    return folder / CANDIDATES_FILE


def draw_pairs(passages: Path, count: int, seed: int) -> DrawnPairs:
    """Draw pairs from the corpus, those of the smallest draws, in the order of the corpus; all if it has fewer."""
    parts, num_pairs, num_passages = [np.empty(0, DRAW_DTYPE)], 0, 0
    for batch in read_batches(passages, ["passage_id", "sentence_lengths"]):
        lengths = pc.list_value_length(batch["sentence_lengths"]).to_pylist()
        pairs = [
            (draw_number(seed, _pair_id(passage_id, sentence)), num_passages + row, sentence)
            for row, (passage_id, sentences) in enumerate(zip(batch["passage_id"].to_pylist(), lengths, strict=True))
            for sentence in range(sentences)
        ]
        parts.append(np.array(pairs, DRAW_DTYPE))
        num_pairs, num_passages = num_pairs + len(pairs), num_passages + len(batch)
        if num_pairs > count + max(count // 4, PAIRS_PER_BATCH):
            parts, num_pairs = [_select_smallest(parts, count)], count
    return _select_smallest(parts, count)


def _select_smallest(parts: Sequence[DrawnPairs], count: int) -> DrawnPairs:
    """The pairs of the smallest draws, in the order of the corpus."""
    pairs = np.concatenate(parts)
    return pairs[np.sort(np.argsort(pairs["draw"], kind="stable")[:count])]


def draw_number(seed: int, name: str) -> int:
    """The number that a pair is drawn by: 64 bits that depend on the seed and the pair's id alone."""
    return int.from_bytes(blake2b(f"{seed} {name}".encode(), digest_size=8).digest())


def _pair_id(passage_id: str, sentence: int) -> str:
    return f"corpus:{passage_id}/{sentence}"


def _hash_pair(pair: tuple[str, ...]) -> int:
    """64 bits that stand for the texts of a pair."""
    digest = blake2b(digest_size=8)
    update_digest(digest, pair)
    return int.from_bytes(digest.digest())


def _write_pairs(passages: Path, drawn: DrawnPairs, lang: str, file: Path) -> Hashes:
    """Write the pairs that were drawn, in the order of the corpus, to an Arrow file; return their hashes."""
    split = splitter(lang).split
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
                hashes[first + len(rows)] = _hash_pair((sentence, texts[row]))
                rows.append((_pair_id(names[row], position), sentence, texts[row]))
            if rows:
                writer.write_batch(pa.record_batch(list(zip(*rows, strict=True)), schema=SCHEMA))
            number += len(batch)
    return hashes


def _read_rows(file: Path, positions: Numbers) -> Iterator[pa.Table]:
    """The rows of an Arrow file at these positions, in their order."""
    for start in range(0, len(positions), PAIRS_PER_BATCH):
        batch_positions = positions[start : start + PAIRS_PER_BATCH]
        order = np.argsort(batch_positions)
        sorted_positions = batch_positions[order]
        with pa.memory_map(str(file)) as source:  # mapped anew each time, so that memory is released
            reader, parts, first = pa.ipc.open_file(source), [], 0
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                in_batch = sorted_positions[slice(*np.searchsorted(sorted_positions, [first, first + len(batch)]))]
                parts.append(batch.take(pa.array(in_batch - first)))
                first += len(batch)
            yield pa.Table.from_batches(parts).combine_chunks().take(pa.array(np.argsort(order)))


def _check_ids(rows: ParquetRows, num_candidates: int) -> None:
    """ValueError if an id occurs twice among the `num_candidates` candidates and the pairs after them."""
    ids, previous = set[str](), ""
    for number, (name,) in enumerate(rows.tuples(["candidate_id"])):
        # Pairs of the corpus of the same id have the same draw, so they are adjacent.
        if name in ids or name == previous:
            raise ValueError(f"candidate {name} is also the id of another pair: give the pairs of the corpus other ids")
        if number < num_candidates:
            ids.add(name)
        previous = name
