"""The stream of parallel sentences, and a run that learns from it."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import Lengths, TransformerConfig
from contexture.streams.base import Steps
from contexture.streams.bitext.batches import Bitext
from contexture.streams.bitext.config import BitextStreamConfig
from contexture.training.curves import read_curves
from contexture.vocabulary.vocabulary import Vocabulary
from tests.factories import Ids, texts_of
from tests.training.runs import Training
from tests.training.toys import OPTIMIZER, PRETRAIN, configured, transformer

LIMIT = 12


@pytest.fixture(scope="module")
def encoder(tokenizer: Path) -> Encoder:
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32, "dropout": 0.0}
    return build_encoder(TransformerConfig(**sizes), Lengths(4, LIMIT), Vocabulary.load(tokenizer))  # type: ignore[arg-type]


def stream(folder: Path, encoder: Encoder, **steps: Any) -> Bitext:
    return Bitext(BitextStreamConfig(), folder / "bitext", encoder, 0, Steps(**{"batch_size": 12} | steps))


def sides(batch: dict[str, Any]) -> dict[Ids, tuple[Ids, Ids]]:
    """Ids of a pair → what the encoder reads of its sides, special tokens included."""
    texts = texts_of(batch["document"])
    count = len(batch["ids"])
    assert len(texts) == 2 * count
    return {
        tuple(ids): (texts[place], texts[count + place]) for place, ids in enumerate(batch["ids"].tolist())
    }  # fmt: skip


def test_a_batch_has_both_sides_of_its_rows(examples: Path, encoder: Encoder) -> None:
    """Both cut to the length of documents, of which queries have another."""
    table = pq.read_table(examples / "bitext").to_pylist()
    rows = {(row["source_id"], row["target_id"]): row for row in table}
    seen: set[Ids] = set()
    for step in range(4):
        for ids, texts in sides(stream(examples, encoder).batch(step, 0)).items():
            for side, text in zip(("source", "target"), texts, strict=True):
                assert list(text[1:-1]) == rows[ids][side][: LIMIT - 2]  # type: ignore[index]
            seen.add(ids)
    assert len(seen) == 48


def test_devices_share_the_rows_of_a_step(examples: Path, encoder: Encoder) -> None:
    whole = sides(stream(examples, encoder).batch(3, 0))
    parts = [sides(stream(examples, encoder, rank=rank, ranks=3).batch(3, 0)) for rank in range(3)]
    assert [len(part) for part in parts] == [4, 4, 4]
    assert parts[0] | parts[1] | parts[2] == whole
    with pytest.raises(ValueError, match="bitext: batch_size 3 on 2 devices"):
        stream(examples, encoder, batch_size=3, ranks=2)


def test_vectors_are_those_of_documents_by_side(examples: Path, encoder: Encoder) -> None:
    batches = stream(examples, encoder, tokens_at_once=50)
    batch = batches.batch(0, 0)
    assert len(batch["document"]["chunks"]) > 2
    vectors = batches.encode(encoder.eval(), batch)
    for place, texts in enumerate(sides(batch).values()):
        for side, text in zip(("source", "target"), texts, strict=True):
            words = encoder.vocabulary.tokenizer.decode(list(text))
            expected = torch.from_numpy(encoder.embed([words], "document"))[0]
            torch.testing.assert_close(vectors[side][place], expected, atol=1e-5, rtol=1e-4)
    assert batches.sample(10).dtype == "int64" and len(batches.sample(10)) > 20


def test_it_goes_beside_cmlm_with_a_weight(training: Training) -> None:
    """The schedule of the paper: CMLM alone, then with bitext at 0.2."""
    stages = [{"steps": 2, "weights": {"cmlm": 1}}, {"steps": 2, "weights": {"cmlm": 1, "bitext": 0.2}}]
    run = {"schedule": stages, "objectives": {"cmlm": {"projections": 2}}}
    config = configured(
        lengths={"query": 12, "document": 24},
        encoders={"transformer": transformer()},
        streams={"sequence_pairs": {}, "bitext": {}},
        pretrain=PRETRAIN | {"optimizer": OPTIMIZER, "runs": {"cmlm_then_cmlm_br": run}},
    )
    training.train(config, "cmlm_then_cmlm_br", "run")
    curves = read_curves(training.folder / "run")
    assert curves["train/bitext"].isna().tolist() == [True, True, False, False]
    both = curves["train/cmlm"] + 0.2 * curves["train/bitext"].fillna(0)
    assert curves["train/loss"].tolist() == pytest.approx(both.tolist(), rel=1e-4)
