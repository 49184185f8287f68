"""Fine-tuning on labelled pairs."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from contexture.encoders.files import load_encoder
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.finetuned import Step
from contexture.tasks.pairs.config import PairSettings
from contexture.tasks.pairs.evaluation import measure_finetuned
from contexture.tasks.pairs.finetune import finetune_pairs
from contexture.tasks.pairs.model import PairInputs, PairModel, PairModelSettings
from tests.tasks.pairs import toys

ROWS = toys.rows()


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.vocabulary(tmp_path_factory.mktemp("vocabulary") / "words")


def run_finetuning(start: Path, folder: Path, settings: PairSettings | None = None, rows: pd.DataFrame = ROWS) -> float:
    folder.mkdir()
    return finetune_pairs(settings or toys.settings(), EvaluatedEncoder("toy", 0, (str(start),)), rows, folder)


def load_weights(folder: Path) -> dict[str, torch.Tensor]:
    files = sorted(folder.rglob("*.safetensors"))
    return {f"{file.relative_to(folder)}:{name}": tensor for file in files for name, tensor in load_file(file).items()}


@pytest.mark.parametrize("config", [toys.TRANSFORMER | {"shared": False, "plain": "both"}, toys.BAG])
def test_fine_tuning_learns_the_relation(config: dict[str, Any], words: Path, tmp_path: Path) -> None:
    """Half of the pairs have equal words, so that both sentences are needed."""
    start = toys.new_encoder(tmp_path / "start", words, config)
    assert run_finetuning(start, tmp_path / "tuned") > 0.75
    ROWS.to_parquet(tmp_path / "toys.parquet")
    assert measure_finetuned(tmp_path / "tuned", tmp_path / "toys.parquet")[""] > 0.75
    tuned_weights = load_weights(tmp_path / "tuned")
    assert any(not torch.equal(tuned_weights[name], tensor) for name, tensor in load_weights(start).items())


@pytest.mark.parametrize(("features", "width"), [("cross", 2 * 32), ("vectors", 4 * 32)])
def test_cross_sequence_layers_are_fine_tuned_only_if_they_are_classified(
    features: str, width: int, words: Path, tmp_path: Path
) -> None:
    """The label depends on the words of the second sentence."""
    draw = random.Random(1)
    halves = {"same": toys.WORDS[:15], "other": toys.WORDS[15:]}
    rows = ROWS.assign(second=[" ".join(draw.sample(halves[label], 3)) for label in ROWS["label"]])
    rows.to_parquet(tmp_path / "toys.parquet")
    start = toys.new_encoder(tmp_path / "start", words, toys.CROSS)
    settings = toys.settings(steps=20, optimizer={"learning_rate": 5e-3, "warmup_steps": 5}, features=features)
    run_finetuning(start, tmp_path / "tuned", settings, rows)
    assert measure_finetuned(tmp_path / "tuned", tmp_path / "toys.parquet")[""] > 0.8
    assert PairModel.load(tmp_path / "tuned").task.linear.in_features == width
    old, new = (load_encoder(folder).cross for folder in (start, tmp_path / "tuned"))
    assert old is not None and new is not None
    for layers in zip(old.layers, new.layers, strict=True):
        parameters = zip(*(layer.parameters() for layer in layers), strict=True)
        assert any(not torch.equal(*pair) for pair in parameters) == (features == "cross")


def test_a_saved_model_keeps_its_features(words: Path, tmp_path: Path) -> None:
    """Models saved without the key use their cross-sequence layers."""
    cross = load_encoder(toys.new_encoder(tmp_path / "cross", words, toys.CROSS))
    plain = load_encoder(toys.new_encoder(tmp_path / "plain", words))
    folder = tmp_path / "model"
    for encoder, features, width in ((cross, "vectors", 4 * 32), (cross, "cross", 2 * 32), (plain, "cross", 4 * 8)):
        PairModel(encoder, PairModelSettings(["no", "yes"], features)).save(folder)
        assert json.loads((folder / "pairs.json").read_text()) == {"classes": ["no", "yes"], "features": features}
        if features == "cross":
            (folder / "pairs.json").write_text('{"classes": ["no", "yes"]}')
        task = PairModel.load(folder).task
        assert (task.features, task.linear.in_features, task.dropout.p) == (features, width, 0.1)
    (folder / "pairs.json").write_text('{"classes": ["no", "yes"], "features": "both"}')
    with pytest.raises(ValueError, match=r"(?s)model: incomplete pair classifier .*features.*'both'"):
        PairModel.load(folder)


def test_train_rows_limits_the_training_rows(words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    initialize = PairInputs.__init__

    def count_rows(self: PairInputs, pairs: pd.DataFrame, *args: Any) -> None:
        sizes.append(len(pairs))
        initialize(self, pairs, *args)

    monkeypatch.setattr(PairInputs, "__init__", count_rows)
    run_finetuning(
        toys.new_encoder(tmp_path / "start", words), tmp_path / "tuned", toys.settings(steps=2, train_rows=30)
    )
    assert sizes == [30, 40]


def test_a_batch_holds_first_then_second_sentences_of_pairs_with_tokens(words: Path, tmp_path: Path) -> None:
    encoder = load_encoder(toys.new_encoder(tmp_path / "start", words))
    rows = ROWS[:40].assign(label=range(40))  # a label identifies its row
    rows.loc[3, "second"] = ""
    inputs = PairInputs(rows, range(40), encoder, 100)  # type: ignore[arg-type]
    assert len(inputs) == 39 and inputs.labels[inputs.trained_on].tolist() == [*range(3), *range(4, 40)]
    batch = inputs.training_batch(Step(np.arange(10), 0, 1, 1, 2))
    chosen = rows.iloc[batch["labels"].tolist()]
    assert chosen.index.tolist() == [1, 4, 6, 8, 10]
    expected = encoder.embed([*chosen["first"], *chosen["second"]])
    torch.testing.assert_close(inputs.encode(encoder, batch).detach(), torch.from_numpy(expected))
