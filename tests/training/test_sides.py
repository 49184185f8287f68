"""Streams of pairs of sentences, bitext and NLI, and runs that train on them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import Lengths, TransformerConfig
from contexture.streams.base import Batching
from contexture.streams.bitext.batches import Bitext
from contexture.streams.bitext.config import BitextStreamConfig
from contexture.streams.nli.batches import Nli
from contexture.streams.nli.config import NliStreamConfig
from contexture.training.curves import read_curves
from contexture.vocabulary.vocabulary import Vocabulary
from tests.factories import texts_of
from tests.training.runs import Training
from tests.training.toys import OPTIMIZER, PRETRAIN, make_system, schedule, transformer

LIMIT = 12


@pytest.fixture(scope="module")
def encoder(tokenizer: Path) -> Encoder:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32, "dropout": 0.0}
    return build_encoder(TransformerConfig(**sizes), Lengths(4, LIMIT), Vocabulary.load(tokenizer)).eval()


@pytest.fixture
def bitext(examples: Path, encoder: Encoder) -> Callable[..., Bitext]:
    def open_stream(batch_size: int = 12, **steps: Any) -> Bitext:
        return Bitext(BitextStreamConfig(), examples / "bitext", encoder, 0, Batching(batch_size, **steps))

    return open_stream


@pytest.fixture
def nli(examples: Path, encoder: Encoder) -> Callable[..., Nli]:
    def open_stream(**steps: Any) -> Nli:
        return Nli(NliStreamConfig(), examples / "nli", encoder, 0, Batching(12, **steps))

    return open_stream


def texts_by_ids(batch: dict[str, Any]) -> dict[tuple[int, ...], tuple[Any, Any]]:
    """Return IDs of a pair → the tokens of its two texts, special tokens included."""
    texts, count = texts_of(batch["document"]), len(batch["ids"])
    assert len(texts) == 2 * count
    return {tuple(ids): (texts[row], texts[count + row]) for row, ids in enumerate(batch["ids"].tolist())}


def test_a_batch_of_bitext_has_both_sides_of_its_rows(examples: Path, bitext: Callable[..., Bitext]) -> None:
    """Both are cut to the length of documents, not of queries."""
    table = pq.read_table(examples / "bitext").to_pylist()
    rows = {(row["source_id"], row["target_id"]): row for row in table}
    batches = [texts_by_ids(bitext().batch(step, 0)) for step in range(4)]
    for ids, texts in (pair for batch in batches for pair in batch.items()):
        for side, text in zip(("source", "target"), texts, strict=True):
            assert list(text[1:-1]) == rows[ids][side][: LIMIT - 2]  # type: ignore[index]
    assert len({ids for batch in batches for ids in batch}) == 48


def test_devices_share_the_rows_of_a_step(bitext: Callable[..., Bitext], nli: Callable[..., Nli]) -> None:
    parts = [texts_by_ids(bitext(rank=rank, ranks=3).batch(3, 0)) for rank in range(3)]
    assert [len(part) for part in parts] == [4, 4, 4]
    assert parts[0] | parts[1] | parts[2] == texts_by_ids(bitext().batch(3, 0))
    with pytest.raises(ValueError, match="bitext: batch_size 3 on 2 devices"):
        bitext(batch_size=3, ranks=2)
    labels = [nli(passes=2, ranks=3, rank=rank).batch(2, part)["labels"] for part in range(2) for rank in range(3)]
    assert [len(part) for part in labels] == [2] * 6
    assert sorted(torch.cat(labels).tolist()) == sorted(nli().batch(2, 0)["labels"].tolist())


def test_vectors_are_those_of_documents_by_side(
    encoder: Encoder, bitext: Callable[..., Bitext], nli: Callable[..., Nli]
) -> None:
    """In the order in which rows are drawn."""

    def vectors_of(ids: Any) -> torch.Tensor:
        return torch.from_numpy(
            encoder.embed([encoder.vocabulary.tokenizer.decode(list(text)) for text in ids], "document")
        )

    stream = bitext(tokens_at_once=50)
    batch = stream.batch(0, 0)
    assert len(batch["document"]["chunks"]) > 2
    vectors, texts = stream.encode(encoder, batch), texts_by_ids(batch).values()
    for number, side in enumerate(("source", "target")):
        expected = vectors_of(pair[number] for pair in texts)
        torch.testing.assert_close(vectors[side], expected, atol=1e-5, rtol=1e-4)

    pairs = nli(tokens_at_once=50)
    batch, rows = pairs.batch(1, 0), pairs.rows.take(12, 12).to_pylist()
    assert batch["labels"].tolist() == [row["label"] for row in rows]
    vectors = pairs.encode(encoder, batch)
    for side in ("premise", "hypothesis"):
        torch.testing.assert_close(vectors[side], vectors_of(row[side] for row in rows), atol=1e-5, rtol=1e-4)


def test_relations_are_learned_after_another_objective(training: Training) -> None:
    """The run continues a run on bitext, as in the paper, with several passes per step."""
    nli = schedule(60, nli=1) | {"start": "br"}
    settings = {"optimizer": {"learning_rate": 3e-2}, "checkpoint_every": 100, "micro_batch_size": 6}
    config = make_system(
        lengths={"query": 12, "document": 24},
        encoders={"bag": {"kind": "bag_of_words", "embedding_size": 16}},
        streams={"bitext": {}, "nli": {}},
        pretrain=PRETRAIN | settings | {"runs": {"br": schedule(1, bitext=1), "br_nli": nli}},
    )
    start = training.train(config, "br")
    trained = training.train(config, "br_nli", "nli", start=training.folder / "br")
    curves = read_curves(training.folder / "nli")
    assert curves["train/nli"].iloc[-5:].mean() < 0.7 * curves["train/nli"].iloc[0]
    assert curves["train/nli_accuracy"].iloc[-5:].mean() > 0.6
    shared = [name for name in start if name in trained and "objectives" not in name]
    assert shared and any(not torch.equal(start[name], trained[name]) for name in shared)
    assert len(pq.read_table(training.examples / "nli")) == 60


def test_bitext_joins_cmlm_with_a_weight(training: Training) -> None:
    """The schedule of the paper: CMLM, then CMLM with bitext at 0.2."""
    stages = [{"steps": 2, "weights": {"cmlm": 1}}, {"steps": 2, "weights": {"cmlm": 1, "bitext": 0.2}}]
    run = {"schedule": stages, "objectives": {"cmlm": {"projections": 2}}}
    config = make_system(
        lengths={"query": 12, "document": 24},
        encoders={"transformer": transformer()},
        streams={"sequence_pairs": {}, "bitext": {}},
        pretrain=PRETRAIN | {"optimizer": OPTIMIZER, "runs": {"cmlm_then_cmlm_br": run}},
    )
    training.train(config, "cmlm_then_cmlm_br", "run")
    curves = read_curves(training.folder / "run")
    assert curves["train/bitext"].isna().tolist() == [True, True, False, False]
    total = curves["train/cmlm"] + 0.2 * curves["train/bitext"].fillna(0)
    assert curves["train/loss"].tolist() == pytest.approx(total.tolist(), rel=1e-4)
