"""Open-domain retrieval: add pairs of the corpus to the candidates (two-tower paper, section 4.4).

Memory only holds a few numbers per drawn pair; texts are read and written in batches.
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
from contexture.text.sentences import get_splitter

#: File that `add_corpus_pairs` writes.
CANDIDATES_FILE = "candidates.parquet"
#: Pairs that are sorted at a time.
PAIRS_PER_BATCH = 65_536
SCHEMA = pa.schema([(name, pa.string()) for name in CANDIDATE_COLUMNS])
#: A sentence of a passage, and its draw number; pairs with the smallest numbers are drawn.
DRAW_DTYPE = np.dtype([("draw", np.uint64), ("passage", np.int64), ("sentence", np.int32)])

DrawnPairs = npt.NDArray[np.void]
Numbers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


def add_corpus_pairs(candidates: Path, passages: Path, count: int, seed: int, lang: str, folder: Path) -> Path:
    """Write the candidates, then `count` (sentence, passage) pairs of the corpus, to a Parquet file in `folder`.

    The pairs and their order depend on the seed and their ids alone; a larger count adds pairs at the end. Pairs that
    are candidates already are skipped. `passages` has Parquet files with passage_id, text and sentence_lengths (one
    number per sentence).

    Returns the Parquet file: candidate_id, sentence, passage. Raises ValueError if the corpus has too few pairs, or if
    an id occurs twice.
    """
    known = ParquetRows(candidates)
    with work_folder(folder) as work_dir:
        # A few more, because some are candidates already.
        drawn = draw_pairs(passages, count + count // 4 + 100, seed)
        hashes = _write_pairs(passages, drawn, lang, work_dir / "pairs.arrow")
        order = np.argsort(drawn["draw"], kind="stable")
        known_hashes = np.array([_hash_pair(pair) for pair in known.tuples(TEXT_COLUMNS)], np.uint64)
        # The first pair of each text that is not a candidate.
        _, first = np.unique(np.concatenate([known_hashes, hashes[order]]), return_index=True)
        order = order[np.sort(first[first >= len(known)]) - len(known)]
        if len(order) < count:
            raise ValueError(
                f"cannot add {count} pairs to the candidates: the corpus has {len(order)} others; "
                "reduce open_domain_pairs"
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
    """Return the `count` pairs of sentence and passage with the smallest draw numbers, in corpus order.

    If there are fewer, all are returned.
    """
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
    """Return the `count` pairs with the smallest draw numbers, in their order in `parts`."""
    pairs = np.concatenate(parts)
    return pairs[np.sort(np.argsort(pairs["draw"], kind="stable")[:count])]


def draw_number(seed: int, name: str) -> int:
    """Return a 64-bit pseudo-random number of a pair, which depends on the seed and the pair's id alone."""
    return int.from_bytes(blake2b(f"{seed} {name}".encode(), digest_size=8).digest())


def _pair_id(passage_id: str, sentence: int) -> str:
    """Return the candidate id of a sentence of a corpus passage."""
    return f"corpus:{passage_id}/{sentence}"


def _hash_pair(pair: tuple[str, ...]) -> int:
    """Return a 64-bit hash of the texts of a pair."""
    digest = blake2b(digest_size=8)
    update_digest(digest, pair)
    return int.from_bytes(digest.digest())


def _write_pairs(passages: Path, drawn: DrawnPairs, lang: str, file: Path) -> Hashes:
    """Write the texts of the drawn pairs in corpus order to an Arrow file; return a hash of each."""
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
                # If the text splits into fewer sentences than before, use the last one; duplicates are dropped later.
                sentence = sentences[row][: position + 1][-1] if sentences[row] else ""
                hashes[first + len(rows)] = _hash_pair((sentence, texts[row]))
                rows.append((_pair_id(names[row], position), sentence, texts[row]))
            if rows:
                writer.write_batch(pa.record_batch(list(zip(*rows, strict=True)), schema=SCHEMA))
            number += len(batch)
    return hashes


def _read_rows(file: Path, positions: Numbers) -> Iterator[pa.Table]:
    """Yield tables with the rows of an Arrow file at the positions, in their order."""
    for start in range(0, len(positions), PAIRS_PER_BATCH):
        batch_positions = positions[start : start + PAIRS_PER_BATCH]
        order = np.argsort(batch_positions)
        sorted_positions = batch_positions[order]
        with pa.memory_map(str(file)) as source:  # mapped again per batch to release memory
            reader, parts, first = pa.ipc.open_file(source), [], 0
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                in_batch = sorted_positions[slice(*np.searchsorted(sorted_positions, [first, first + len(batch)]))]
                parts.append(batch.take(pa.array(in_batch - first)))
                first += len(batch)
            yield pa.Table.from_batches(parts).combine_chunks().take(pa.array(np.argsort(order)))


def _check_ids(rows: ParquetRows, num_candidates: int) -> None:
    """Raise ValueError if an id occurs twice; after `num_candidates` rows, repeated ids are adjacent."""
    ids, previous = set[str](), ""
    for number, (name,) in enumerate(rows.tuples(["candidate_id"])):
        # Pairs with the same id have the same draw number and are adjacent.
        if name in ids or name == previous:
            raise ValueError(f"two pairs have the id {name}: give each passage a unique passage_id")
        if number < num_candidates:
            ids.add(name)
        previous = name
