"""Training of Cross-Thought: killed, with micro-batches, recomputed activations and longer sequences."""

from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file
from transformers import RobertaConfig, RobertaForMaskedLM

from contexture.encoders.config import TableSizes
from contexture.encoders.files import load_encoder
from contexture.objectives.cross_thought import CrossThought
from contexture.streams.rows import ShuffledRows
from contexture.streams.sequence_samples import batches
from contexture.systems.config import SystemConfig
from contexture.systems.launch import training_files
from contexture.training.curves import read_curves
from contexture.training.prepare import prepare, required_table_sizes
from contexture.training.pretrain import read_illustrations
from tests.systems.resume import kill
from tests.training.runs import assert_same, launch, train
from tests.training.toys import PRETRAIN, STEADY, STREAMS, make_system, schedule, transformer


def system(
    dropout: float = 0.1,
    streams: dict[str, Any] | None = None,
    encoders: dict[str, Any] | None = None,
    **pretrain: Any,
) -> SystemConfig:
    """Return a small system with samples."""
    runs = {
        "ct": schedule(cross_thought=1),
        "longer": schedule(cross_thought=1) | {"streams": {"sequence_samples": {"tokens": 16}}},
        "apart": schedule(cross_thought=1) | {"streams": {"sequence_samples": {"attends": "document"}}},
        "mlm": schedule(mlm=1) | {"encoder": "plain"},
        "none": {"schedule": []},
    }
    return make_system(
        lengths={"query": 12, "document": 24},
        encoders=encoders
        or {
            "ct": transformer(dropout, pooling="cls", cross={"tokens": 2}),
            "plain": transformer(dropout, pooling="cls"),
        },
        streams={name: STREAMS[name] for name in ("sequence_samples", "short_sequences")} | (streams or {}),
        pretrain=PRETRAIN | {"batch_size": 6, "runs": runs, "optimizer": STEADY} | pretrain,
    )


def test_killed_run_resumes_exactly(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    whole = train(system(), "ct", examples, tokenizer, tmp_path / "whole")
    kill(lambda: train(system(), "ct", examples, tokenizer, tmp_path / "again"), 4)
    assert_same(whole, train(system(), "ct", examples, tokenizer, tmp_path / "again"))
    assert any(name.startswith("cross.safetensors") for name in whole)
    assert any(name.startswith("objectives.safetensors:cross_thought.last") for name in whole)
    assert load_encoder(tmp_path / "whole").cross is not None


@pytest.fixture(autouse=True)
def no_token_is_frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow frequent tokens: in the tests' small vocabulary all tokens are frequent."""
    monkeypatch.setattr(batches, "MAX_SEQUENCE_SHARE", 1.0)


RUNS = {"sequences": 4, "tokens": 8, "run_length": 2}
STAGES = [
    {"steps": 3, "weights": {"cross_thought": 1}, "streams": {"sequence_samples": {"documents": 1}}},
    {"steps": 3, "weights": {"cross_thought": 1}},
]


def staged_system() -> SystemConfig:
    """Return a system with growing samples, shared words masked, and mean pooling."""
    stream = {"sampling": RUNS, "positions": 40, "attends": "others", "maskable": "shared"}
    short = {name: value for name, value in stream.items() if name != "attends"}
    objectives = {"cross_thought": {"probability": 0.5, "starts": "fixed"}}
    return system(
        encoders={
            "ct": transformer(0.1, pooling="mean", cross={"tokens": 1, "start": "copy"}),
            "plain": transformer(0.1, pooling="mean"),
        },
        streams={"sequence_samples": stream, "short_sequences": short},
        runs={"ct": {"schedule": STAGES, "objectives": objectives}, "mlm": schedule(mlm=1) | {"encoder": "plain"}},
    )


@pytest.mark.parametrize("step", [2, 4])
def test_staged_run_resumes_exactly(step: int, examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    whole = train(staged_system(), "ct", examples, tokenizer, tmp_path / "whole")
    kill(lambda: train(staged_system(), "ct", examples, tokenizer, tmp_path / "again"), step)
    assert_same(whole, train(staged_system(), "ct", examples, tokenizer, tmp_path / "again"))
    chance = read_curves(tmp_path / "whole")["train/cross_thought_own_chance"]
    losses = read_curves(tmp_path / "whole")["train/cross_thought"]
    assert (losses > 0).sum() >= len(losses) - 1  # samples of two documents may have no shared word
    # In samples of one document, all other sequences have the same document.
    assert chance.iloc[:3].mean() > chance.iloc[3:].mean()


def read_batch(run: str, examples: Path, tokenizer: Path, config: SystemConfig) -> dict[str, Any]:
    """Return the first batch of a run's last stage."""
    files = training_files(config, examples, tokenizer, None)
    (stream,) = prepare(config.pretraining(run), 0, files).stages[-1].values()
    return stream.batch(0, 0)


def test_both_objectives_can_mask_the_same_words(examples: Path, tokenizer: Path) -> None:
    samples, short = (read_batch(run, examples, tokenizer, staged_system()) for run in ("ct", "mlm"))
    chunks, rows = samples["sequences"]["chunks"], samples["sequences"]["rows"].tolist()
    flat = [(ids[attended], words[attended]) for chunk in chunks for ids, words, attended in batch_rows(chunk)]
    expected = [(ids[attended], words[attended]) for ids, words, attended in batch_rows(short)]
    assert len(rows) == len(expected)
    for row, (ids, words) in zip(rows, expected, strict=True):
        assert flat[row][0].equal(ids) and flat[row][1].equal(words)
    assert any(bool(words.any()) for _, words in expected)
    assert samples["to_itself"] is False


def batch_rows(batch: dict[str, Any]) -> Any:
    return zip(batch["input_ids"], batch["maskable"], batch["attention_mask"].bool(), strict=True)


def test_shards_have_the_maskable_words_of_the_batch(examples: Path, tokenizer: Path) -> None:
    files, config = training_files(staged_system(), examples, tokenizer, None), staged_system()
    (stream,) = prepare(config.pretraining("mlm"), 0, files).stages[0].values()
    table = stream.rows.take(0, 6)
    whole = stream.collate(table, 0, 1)
    parts = [stream.collate(table, shard, 3) for shard in range(3)]
    assert sum(int(part["maskable"].sum()) for part in parts) == int(whole["maskable"].sum()) > 0


def test_precision_is_measured_on_samples(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    train(system(precision="auto"), "ct", examples, tokenizer, tmp_path / "run")
    assert load_encoder(tmp_path / "run").cross is not None


@pytest.mark.slow
def test_stages_share_one_budget(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    stages = [{"share": share, "weights": {"cross_thought": 1}} for share in (0.25, 0.75)]
    runs = {"ct": {"schedule": stages}, "whole": {"schedule": [{"weights": {"cross_thought": 1}}]}}
    config = system(runs=runs, budget={"unit": "tokens", "amount": 6000})
    budgets = [stage.budget.amount for stage in config.pretraining("ct").recipe.schedule if stage.budget]
    assert budgets == [1500, 4500]
    tokens = {}
    for run in ("ct", "whole"):
        train(config, run, examples, tokenizer, tmp_path / run)
        tokens[run] = float(read_curves(tmp_path / run)["spent/tokens"].iloc[-1])
    assert tokens["ct"] == pytest.approx(tokens["whole"], rel=0.2)


def test_settings_of_a_stage_are_checked() -> None:
    stage = {"steps": 1, "weights": {"cross_thought": 1}}
    for streams, message in (
        ({"sequence_samples": {"positions": 9}}, r"a run can set .*, not positions"),
        ({"short_sequences": {"documents": 1}}, r"schedule\.0\.streams: no objective of the stage reads"),
    ):
        with pytest.raises(ValidationError, match=message):
            system(runs={"ct": {"schedule": [stage | {"streams": streams}]}})
    for wrong in ({"share": 0.5}, {"share": 0.5, "steps": None, "budget": {"unit": "flops", "amount": 1}}):
        with pytest.raises(ValidationError, match=r"share is a part of pretrain\.budget"):
            system(runs={"ct": {"schedule": [stage | wrong]}})


def test_details_are_of_every_sample_once(
    examples: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CrossThought, "inspect", lambda _, encoder, batches: {"batches": len(list(batches))})
    train(system(), "ct", examples, tokenizer, tmp_path / "run")
    rows = ShuffledRows(examples / "sequence_samples", ["pieces"], 0).rows
    assert read_illustrations(tmp_path / "run") == {"cross_thought": {"batches": rows}}


def test_recomputed_activations_give_the_same_weights(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    weights = [
        train(system(recompute=recompute), "ct", examples, tokenizer, tmp_path / str(recompute))
        for recompute in (False, True)
    ]
    assert_same(*weights, atol=1e-4, rtol=1e-3)


def test_micro_batches_read_the_same_samples(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    for micro in (6, 2):
        config = system(dropout=0.0, micro_batch_size=micro, log_every=3)
        train(config, "ct", examples, tokenizer, tmp_path / str(micro))
    whole, parts = (read_curves(tmp_path / str(micro)) for micro in (6, 2))
    assert whole["spent/tokens"].tolist() == parts["spent/tokens"].tolist()
    assert not parts["train/cross_thought_gain"].isna().any()


def test_language_models_read_the_same_text(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    """With equal steps, longer sequences have all words and fewer special tokens."""
    tokens = {}
    for run in ("ct", "longer", "apart", "mlm"):
        train(system(), run, examples, tokenizer, tmp_path / run)
        tokens[run] = int(read_curves(tmp_path / run)["spent/tokens"].iloc[-1])
    assert tokens["ct"] == tokens["apart"] > tokens["longer"]
    assert tokens["ct"] > tokens["mlm"]  # one more special token


def published_system(folder: Path) -> SystemConfig:
    """Return a system with published weights of 24 positions and samples with 40 positions."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    model = RobertaForMaskedLM(RobertaConfig(**sizes, vocab_size=300, max_position_embeddings=26, type_vocab_size=1))
    model.save_pretrained(folder)
    published = {"kind": "transformer", "init_from": str(folder), "pooling": "cls"}
    runs = {
        "ct": schedule(cross_thought=1),
        "untrained": {"schedule": []},
        "published": {"schedule": [], "encoder": "published"},
        "more": schedule(mlm=1) | {"encoder": "published"},
        "continued": schedule(mlm=1) | {"start": "published"},
    }
    encoders = {"ct": transformer(pooling="cls", cross={"tokens": 2}), "published": published}
    return system(runs=runs, encoders=encoders)


def test_untrained_published_weights_need_only_text_positions(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    config = published_system(tmp_path / "roberta")
    train(config, "published", examples, tokenizer, tmp_path / "run")
    expected = load_file(tmp_path / "roberta/model.safetensors")
    saved = load_file(tmp_path / "run/model.safetensors")
    assert set(expected) <= set(saved) and all(torch.equal(saved[name], expected[name]) for name in expected)
    encoder = load_encoder(tmp_path / "run")
    assert encoder.embed(["kana lodi " * 30]).any()  # truncated to 24 tokens
    assert required_table_sizes(config.pretraining("published")) == TableSizes()
    # New weights have positions for all streams; trained published weights need them, too.
    for run in ("ct", "untrained", "more"):
        assert required_table_sizes(config.pretraining(run)) == TableSizes(positions=40)


def test_published_weights_with_too_few_positions_are_an_error(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    config = published_system(tmp_path / "roberta")
    with pytest.raises(ValueError, match="roberta has 26 positions, this system needs 42"):
        launch(config, "more", examples, tokenizer, tmp_path / "more")
    launch(config, "published", examples, tokenizer, tmp_path / "run")
    with pytest.raises(ValueError, match="run has 26 positions and 1 token types, run continued needs 42 and 1"):
        launch(config, "continued", examples, tokenizer, tmp_path / "continued", start=tmp_path / "run")


def test_too_long_sequences_are_an_error(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    short = STREAMS["sequence_samples"] | {"positions": 10}
    with pytest.raises(ValueError, match="8 tokens and 3 special ones do not fit into 10 positions"):
        launch(system(streams={"sequence_samples": short}), "ct", examples, tokenizer, tmp_path / "run")


def test_attention_within_documents_needs_boundaries() -> None:
    sampling = STREAMS["sequence_samples"]["sampling"] | {"boundaries": "cross"}
    with pytest.raises(ValidationError, match=r"attends: document, but with sampling\.boundaries: cross"):
        system(streams={"sequence_samples": {"sampling": sampling, "attends": "document"}})


def test_sampling_settings_of_a_run_are_an_error() -> None:
    runs = {"ct": schedule(cross_thought=1) | {"streams": {"sequence_samples": {"positions": 9}}}}
    with pytest.raises(ValidationError, match="a run can set tokens, documents, maskable, attends, not positions"):
        system(runs=runs)
