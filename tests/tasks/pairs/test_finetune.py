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
from contexture.tasks.base import Contestant
from contexture.tasks.finetuned import Step
from contexture.tasks.pairs.config import PairSettings
from contexture.tasks.pairs.evaluation import measure_finetuned
from contexture.tasks.pairs.finetune import finetune_pairs
from contexture.tasks.pairs.model import PairInputs, PairModel, PairModelSettings, load_pair_model
from tests.tasks.pairs import toys

ROWS = toys.rows()


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.vocabulary(tmp_path_factory.mktemp("vocabulary") / "words")


def tune(start: Path, folder: Path, settings: PairSettings | None = None, seed: int = 0) -> float:
    folder.mkdir()
    return finetune_pairs(settings or toys.settings(), Contestant("toy", seed, (str(start),)), ROWS, folder)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    files = sorted(folder.rglob("*.safetensors"))
    return {f"{file.relative_to(folder)}:{name}": tensor for file in files for name, tensor in load_file(file).items()}


@pytest.mark.parametrize("kind", ["separate", "bag"])
def test_fine_tuning_learns_the_relation(kind: str, words: Path, tmp_path: Path) -> None:
    """Half of the pairs have the same words: no sentence alone tells which."""
    both = toys.TRANSFORMER | {"shared": False, "plain": "both"}
    start = toys.new_encoder(tmp_path / "start", words, both if kind == "separate" else toys.BAG)
    assert tune(start, tmp_path / "tuned") > 0.75
    ROWS.to_parquet(tmp_path / "toys.parquet")
    assert measure_finetuned(tmp_path / "tuned", tmp_path / "toys.parquet")[""] > 0.75
    moved = weights(tmp_path / "tuned")
    assert any(not torch.equal(moved[name], tensor) for name, tensor in weights(start).items())


@pytest.mark.parametrize(("features", "width"), [("cross", 2 * 32), ("vectors", 4 * 32)])
def test_cross_sequence_layers_are_fine_tuned_only_if_they_are_classified(
    features: str, width: int, words: Path, tmp_path: Path
) -> None:
    """From which half of the words the second sentence is."""
    draw = random.Random(1)
    halves = {"same": toys.WORDS[:15], "other": toys.WORDS[15:]}
    rows = ROWS.assign(second=[" ".join(draw.sample(halves[label], 3)) for label in ROWS["label"]])
    rows.to_parquet(tmp_path / "toys.parquet")
    config = toys.TRANSFORMER | {"embedding_size": None, "pooling": "cls", "cross": {"tokens": 2}}
    start = toys.new_encoder(tmp_path / "start", words, config)
    settings = toys.settings(steps=20, optimizer={"learning_rate": 5e-3, "warmup_steps": 5}, features=features)
    (tmp_path / "tuned").mkdir()
    finetune_pairs(settings, Contestant("toy", 0, (str(start),)), rows, tmp_path / "tuned")
    assert measure_finetuned(tmp_path / "tuned", tmp_path / "toys.parquet")[""] > 0.8
    assert load_pair_model(tmp_path / "tuned").task.linear.in_features == width
    old, new = (load_encoder(folder).cross for folder in (start, tmp_path / "tuned"))
    assert old is not None and new is not None
    for before, after in zip(old.layers, new.layers, strict=True):
        moved = any(not torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))
        assert moved == (features == "cross")


def test_a_saved_model_keeps_its_features(words: Path, tmp_path: Path) -> None:
    config = toys.TRANSFORMER | {"embedding_size": None, "pooling": "cls", "cross": {"tokens": 2}}
    encoder = load_encoder(toys.new_encoder(tmp_path / "start", words, config))
    for features, width in (("vectors", 4 * 32), ("cross", 2 * 32)):
        folder = tmp_path / features
        PairModel(encoder, PairModelSettings(["no", "yes"], features)).save(folder)
        assert json.loads((folder / "pairs.json").read_text()) == {"classes": ["no", "yes"], "features": features}
        task = load_pair_model(folder).task
        assert (task.features, task.linear.in_features) == (features, width)


def test_a_model_saved_without_features_read_its_cross_sequence_layers(words: Path, tmp_path: Path) -> None:
    config = toys.TRANSFORMER | {"embedding_size": None, "pooling": "cls", "cross": {"tokens": 2}}
    for name, size, width in (("layers", config, 2 * 32), ("none", toys.TRANSFORMER, 4 * 8)):
        encoder = load_encoder(toys.new_encoder(tmp_path / "start", words, size))
        PairModel(encoder, PairModelSettings(["no", "yes"])).save(tmp_path / name)
        (tmp_path / name / "pairs.json").write_text('{"classes": ["no", "yes"]}')
        task = load_pair_model(tmp_path / name).task
        assert (task.features, task.linear.in_features) == ("cross", width)
    (tmp_path / "none" / "pairs.json").write_text('{"classes": ["no", "yes"], "features": "both"}')
    with pytest.raises(ValueError, match=r"(?s)none holds no whole pair classifier .*features.*'both'"):
        load_pair_model(tmp_path / "none")


def test_fewer_rows_are_learned_from(words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    whole = PairInputs.__init__

    def watched(self: PairInputs, pairs: pd.DataFrame, *others: Any) -> None:
        seen.append(len(pairs))
        whole(self, pairs, *others)

    monkeypatch.setattr(PairInputs, "__init__", watched)
    tune(toys.new_encoder(tmp_path / "start", words), tmp_path / "tuned", toys.settings(steps=2, train_rows=30))
    assert seen == [30, 40]


def test_a_batch_holds_first_then_second_sentences_of_pairs_with_tokens(words: Path, tmp_path: Path) -> None:
    encoder = load_encoder(toys.new_encoder(tmp_path / "start", words))
    rows = ROWS[:40].assign(label=range(40))  # so that a label tells its row
    rows.loc[3, "second"] = ""
    inputs = PairInputs(rows, range(40), encoder, 100)  # type: ignore[arg-type]
    assert len(inputs) == 39 and inputs.labels[inputs.trained_on].tolist() == [*range(3), *range(4, 40)]
    batch = inputs.training_batch(Step(np.arange(10), 0, 1, 1, 2))
    chosen = rows.iloc[batch["labels"].tolist()]
    assert chosen.index.tolist() == [1, 4, 6, 8, 10]
    expected = encoder.embed([*chosen["first"], *chosen["second"]])
    torch.testing.assert_close(inputs.encode(encoder, batch).detach(), torch.from_numpy(expected))
