"""Training of CMLM: killed, with micro-batches, recomputed activations, continued, and from published weights."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from contexture.encoders.base import tokenize_texts
from contexture.encoders.files import load_encoder
from contexture.systems.config import SystemConfig
from contexture.training.curves import read_curves
from tests.systems.resume import kill
from tests.training.runs import are_different, assert_same, train
from tests.training.toys import PRETRAIN, STEADY, make_system, schedule, transformer


def system(encoder: dict[str, Any] | None = None, dropout: float = 0.1, **pretrain: Any) -> SystemConfig:
    """Return a small system with sequence pairs."""
    few_projections = {"objectives": {"cmlm": {"projections": 4}}}
    runs = {
        "cmlm": schedule(cmlm=1) | few_projections,
        "mixed": {"schedule": [{"steps": 6, "weights": {"cmlm": 1, "mlm": 0.5}}]} | few_projections,
        "longer": schedule(cmlm=1) | few_projections | {"start": "cmlm"},
        "none": {"schedule": []},
    }
    return make_system(
        lengths={"query": 12, "document": 24},
        encoders={"transformer": transformer(dropout) | (encoder or {})},
        streams={"sequence_pairs": {}, "sequences": {}},
        pretrain=PRETRAIN | {"runs": runs, "optimizer": STEADY} | pretrain,
    )


@pytest.mark.parametrize("projections", [None, 4])
def test_killed_run_resumes_exactly(projections: int | None, examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    config = system({"projections": projections})
    whole = train(config, "cmlm", examples, tokenizer, tmp_path / "whole")
    kill(lambda: train(config, "cmlm", examples, tokenizer, tmp_path / "again"), 4)
    assert_same(whole, train(config, "cmlm", examples, tokenizer, tmp_path / "again"))
    assert any("projections" in name or "perceptrons" in name for name in whole)


def test_recomputed_activations_give_the_same_weights(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    weights = [
        train(system(recompute=recompute), "cmlm", examples, tokenizer, tmp_path / str(recompute))
        for recompute in (False, True)
    ]
    assert_same(*weights, atol=1e-4, rtol=1e-3)


def test_micro_batches_read_the_same_rows(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    for micro in (12, 4):
        config = system(dropout=0.0, micro_batch_size=micro, log_every=3)
        train(config, "cmlm", examples, tokenizer, tmp_path / str(micro))
    whole, parts = (read_curves(tmp_path / str(micro)) for micro in (12, 4))
    assert whole["spent/tokens"].tolist() == parts["spent/tokens"].tolist()
    assert whole["step"].tolist() == parts["step"].tolist() == [3, 6]
    assert not parts["train/cmlm_conditioning_gain"].isna().any()


def test_cmlm_is_mixed_with_mlm_and_continued(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    config = system()
    train(config, "mixed", examples, tokenizer, tmp_path / "mixed")
    assert {"train/cmlm", "train/mlm"} <= set(read_curves(tmp_path / "mixed"))
    first = train(config, "cmlm", examples, tokenizer, tmp_path / "cmlm")
    longer = train(config, "longer", examples, tokenizer, tmp_path / "longer", start=tmp_path / "cmlm")
    assert first.keys() == longer.keys() and are_different(first, longer)


def test_projections_are_saved_and_loaded(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    config = system({"projections": 4})
    trained = train(config, "cmlm", examples, tokenizer, tmp_path / "run")
    assert are_different(trained, train(config, "none", examples, tokenizer, tmp_path / "new") | {
        name: tensor for name, tensor in trained.items() if not name.startswith("projections")
    })  # fmt: skip
    encoder = load_encoder(tmp_path / "run")
    assert encoder.transformer.projections is not None
    texts = ["kana lona", "mipo rudi sega"]
    with torch.no_grad():
        batch = encoder.batch(tokenize_texts(texts, encoder.vocabulary), "document", 100)
        expected = encoder.transformer.projections(encoder.pooled_states(batch)).mean(dim=1)
    torch.testing.assert_close(torch.from_numpy(encoder.embed(texts)), expected, atol=1e-5, rtol=1e-4)
    assert not (tmp_path / "run/modules.json").exists()  # sentence-transformers would ignore the projections


def test_published_weights_are_continued(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    model = BertForMaskedLM(BertConfig(**sizes, vocab_size=300, max_position_embeddings=30))
    model.save_pretrained(tmp_path / "published")
    config = system({"init_from": str(tmp_path / "published")})
    untrained_weights = train(config, "none", examples, tokenizer, tmp_path / "none")
    trained_weights = train(config, "cmlm", examples, tokenizer, tmp_path / "cmlm")
    assert {name for name in untrained_weights if "bert." in name} <= set(trained_weights)
    assert are_different(untrained_weights, trained_weights)
    assert read_curves(tmp_path / "cmlm")["train/cmlm"].between(3, 9).all()


def test_other_number_of_projections_is_an_error(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    untrained = system({"projections": 3}, runs={"none": {"schedule": []}})
    train(untrained, "none", examples, tokenizer, tmp_path / "three")
    with pytest.raises(ValueError, match=r"three cannot be continued by run longer: cmlm trains 4 .* averages 3"):
        train(system(), "longer", examples, tokenizer, tmp_path / "longer", start=tmp_path / "three")
