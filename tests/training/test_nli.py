"""The stream of premises and hypotheses, and runs that learn from it."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import Lengths, TransformerConfig
from contexture.streams.base import Steps
from contexture.streams.nli.batches import Nli
from contexture.streams.nli.config import NliStreamConfig
from contexture.training.curves import read_curves
from contexture.vocabulary.vocabulary import Vocabulary
from tests.training.runs import Training
from tests.training.toys import PRETRAIN, configured, schedule


def small(tokenizer: Path) -> Encoder:
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32, "dropout": 0.0}
    return build_encoder(TransformerConfig(**sizes), Lengths(4, 12), Vocabulary.load(tokenizer)).eval()  # type: ignore[arg-type]


def stream(folder: Path, encoder: Encoder, **steps: Any) -> Nli:
    return Nli(NliStreamConfig(), folder / "nli", encoder, 0, Steps(**{"batch_size": 12} | steps))


def test_vectors_and_labels_are_those_of_the_rows(examples: Path, tokenizer: Path) -> None:
    """Of the table's rows in the order in which they are drawn."""
    encoder = small(tokenizer)
    batches = stream(examples, encoder, tokens_at_once=50)
    batch = batches.batch(1, 0)
    rows = batches.rows.take(12, 12).to_pylist()
    assert batch["labels"].tolist() == [row["label"] for row in rows]
    vectors = batches.encode(encoder, batch)
    for side in ("premise", "hypothesis"):
        texts = [encoder.vocabulary.tokenizer.decode(row[side]) for row in rows]
        expected = torch.from_numpy(encoder.embed(texts, "document"))
        torch.testing.assert_close(vectors[side], expected, atol=1e-5, rtol=1e-4)


def test_passes_and_devices_share_the_rows_of_a_step(examples: Path, tokenizer: Path) -> None:
    encoder = small(tokenizer)
    parts = [
        stream(examples, encoder, passes=2, ranks=3, rank=rank).batch(2, part)["labels"]
        for part in range(2)
        for rank in range(3)
    ]
    whole = stream(examples, encoder).batch(2, 0)["labels"]
    assert [len(part) for part in parts] == [2] * 6
    assert sorted(torch.cat(parts).tolist()) == sorted(whole.tolist())


def test_relations_are_learned_behind_another_objective(training: Training) -> None:
    """A run that continues one of bitext, as the paper's does; in one pass or in several."""
    nli = schedule(60, nli=1) | {"start": "br"}
    config = configured(
        lengths={"query": 12, "document": 24},
        encoders={"bag": {"kind": "bag_of_words", "embedding_size": 16}},
        streams={"bitext": {}, "nli": {}},
        pretrain=PRETRAIN
        | {"optimizer": {"learning_rate": 3e-2}, "runs": {"br": schedule(1, bitext=1), "br_nli": nli}}
        | {"checkpoint_every": 100, "micro_batch_size": 6},
    )
    before = training.train(config, "br")
    after = training.train(config, "br_nli", "nli", start=training.folder / "br")
    curves = read_curves(training.folder / "nli")
    assert curves["train/nli"].iloc[-5:].mean() < 0.7 * curves["train/nli"].iloc[0]
    assert curves["train/nli_accuracy"].iloc[-5:].mean() > 0.6
    shared = [name for name in before if name in after and "objectives" not in name]
    assert shared and any(not torch.equal(before[name], after[name]) for name in shared)
    assert len(pq.read_table(training.examples / "nli")) == 60
