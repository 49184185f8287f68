"""Batches of CMLM and of its baseline, a masked language model."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from contexture.encoders.base import Encoder
from contexture.encoders.config import Lengths
from contexture.streams.base import Batching
from contexture.streams.sequence_pairs.batches import SequencePairs, Sequences
from contexture.streams.sequence_pairs.config import SequencePairsConfig, SequencesConfig
from contexture.vocabulary.vocabulary import Vocabulary
from tests.encoders.toys import build
from tests.factories import rows_of, texts_of

LIMIT = 24


@pytest.fixture(scope="module")
def encoder(tokenizer: Path) -> Encoder:
    return build("transformer_mean", vocabulary=Vocabulary.load(tokenizer), lengths=Lengths(12, LIMIT))


def test_the_baseline_reads_both_sequences_of_the_pairs_of_cmlm(examples: Path, encoder: Encoder) -> None:
    folder, batching = examples / "sequence_pairs", Batching(12)
    pairs = SequencePairs(SequencePairsConfig(), folder, encoder, 3, batching)
    single = Sequences(SequencesConfig(), folder, encoder, 3, batching)
    for step in range(4):
        pair, texts = pairs.batch(step, 0), single.batch(step, 0)
        assert sorted(rows_of(texts)) == sorted([*texts_of(pair["texts"]), *rows_of(pair["second"])])
        assert len(texts["lengths"]) == 24


def test_an_epoch_of_the_baseline_has_all_text(examples: Path, encoder: Encoder) -> None:
    rows = pq.read_table(examples / "sequence_pairs").to_pylist()
    stream = Sequences(SequencesConfig(), examples / "sequence_pairs", encoder, 0, Batching(len(rows)))
    expected = {tuple(row[side][: LIMIT - 2]) for row in rows for side in ("first", "second")}
    assert {row[1:-1] for row in rows_of(stream.batch(0, 0))} == expected
    assert expected > {tuple(row["second"][: LIMIT - 2]) for row in rows}


def test_the_first_sequence_of_a_pair_is_encoded_and_the_second_predicted(examples: Path, encoder: Encoder) -> None:
    rows = pq.read_table(examples / "sequence_pairs").to_pylist()
    stream = SequencePairs(
        SequencePairsConfig(), examples / "sequence_pairs", encoder, 0, Batching(len(rows), tokens_at_once=60)
    )
    batch = stream.batch(0, 0)
    pairs = zip(texts_of(batch["texts"]), rows_of(batch["second"]), strict=True)
    expected = sorted(tuple(tuple(row[side][: LIMIT - 2]) for side in ("first", "second")) for row in rows)
    assert sorted((first[1:-1], second[1:-1]) for first, second in pairs) == expected
