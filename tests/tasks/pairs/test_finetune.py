"""Fine-tuning on labelled pairs."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from contexture.encoders.files import load_encoder
from contexture.tasks.base import Contestant
from contexture.tasks.pairs.config import PairSettings
from contexture.tasks.pairs.evaluation import measure_finetuned
from contexture.tasks.pairs.features import coded
from contexture.tasks.pairs.finetune import PairBatches, finetune_pairs
from contexture.tasks.pairs.model import PairModel, PairTexts, load_pair_model
from contexture.training.curves import read_curves
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
        PairModel(encoder, ["no", "yes"], features=features).save(folder)
        assert json.loads((folder / "pairs.json").read_text()) == {"classes": ["no", "yes"], "features": features}
        task = load_pair_model(folder).task
        assert (task.features, task.linear.in_features) == (features, width)


def test_a_model_saved_without_features_read_its_cross_sequence_layers(words: Path, tmp_path: Path) -> None:
    config = toys.TRANSFORMER | {"embedding_size": None, "pooling": "cls", "cross": {"tokens": 2}}
    for name, size, width in (("layers", config, 2 * 32), ("none", toys.TRANSFORMER, 4 * 8)):
        encoder = load_encoder(toys.new_encoder(tmp_path / "start", words, size))
        PairModel(encoder, ["no", "yes"], features="cross").save(tmp_path / name)
        (tmp_path / name / "pairs.json").write_text('{"classes": ["no", "yes"]}')
        task = load_pair_model(tmp_path / name).task
        assert (task.features, task.linear.in_features) == ("cross", width)
    (tmp_path / "none" / "pairs.json").write_text('{"classes": ["no", "yes"], "features": "both"}')
    with pytest.raises(ValueError, match=r"none holds no whole pair classifier \(pairs\.json: features is 'both', not"):
        load_pair_model(tmp_path / "none")


def test_the_best_weights_are_those_that_were_measured(words: Path, tmp_path: Path) -> None:
    best = tune(toys.new_encoder(tmp_path / "start", words, toys.BAG), tmp_path / "tuned")
    model = load_pair_model(tmp_path / "tuned")
    dev = ROWS[ROWS["part"] == "dev"]
    texts = PairTexts(dev["first"].tolist(), dev["second"].tolist(), model.encoder)
    right = texts.predicted(model.encoder, model.task) == coded(dev["label"].tolist(), model.classes)
    assert best == right.mean() == read_curves(tmp_path / "tuned")["dev/accuracy"].max()
    (tmp_path / "tuned" / "pairs.json").write_text("{}")
    with pytest.raises(ValueError, match=r"tuned holds no whole pair classifier .*; fine-tune it again"):
        load_pair_model(tmp_path / "tuned")


def test_fine_tuning_is_a_function_of_its_seed(words: Path, tmp_path: Path) -> None:
    start = toys.new_encoder(tmp_path / "start", words)
    settings = toys.settings(steps=10, dropout=0.1)
    for name, seed in (("1", 0), ("2", 0), ("3", 1)):
        tune(start, tmp_path / name, settings, seed)
    first, again, other = (weights(tmp_path / name) for name in ("1", "2", "3"))
    torch.testing.assert_close(first, again, rtol=0, atol=0)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_fewer_rows_are_learned_from(words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    whole = PairBatches.__init__

    def watched(self: PairBatches, texts: PairTexts, *others: Any) -> None:
        seen.append(len(texts.first))
        whole(self, texts, *others)

    monkeypatch.setattr(PairBatches, "__init__", watched)
    tune(toys.new_encoder(tmp_path / "start", words), tmp_path / "tuned", toys.settings(steps=2, train_rows=30))
    assert seen == [30]


def test_batches_are_the_pairs_of_every_epoch_once_and_are_dealt_out(words: Path, tmp_path: Path) -> None:
    encoder = load_encoder(toys.new_encoder(tmp_path / "start", words))
    rows = ROWS[:40].copy()
    rows.loc[3, "second"] = "!"  # no token of this vocabulary
    texts = PairTexts(rows["first"].tolist(), rows["second"].tolist(), encoder)
    assert texts.there[texts.second[3]] == (len(encoder.vocabulary.tokenizer.encode("!").ids) > 2)
    texts.there[texts.second[3]] = False
    labels = coded(range(40), range(40))  # so that a label tells its row
    settings = toys.settings(devices=2, batch_size=8)
    devices = [PairBatches(texts, labels, encoder, settings, 1, rank) for rank in (0, 1)]
    epochs = [
        [row for step in range(start, start + 4) for one in devices for row in one.batch(step)["labels"].tolist()]
        for start in (0, 4)
    ]
    for drawn in epochs:
        assert len(drawn) == len(set(drawn)) == 32 and 3 not in drawn  # of 39: the others wait for another epoch
    assert epochs[0] != epochs[1]
    # First, then second sentences of its rows.
    batch = devices[0].batch(0)
    chosen = rows.iloc[batch["labels"].tolist()]
    expected = encoder.embed([*chosen["first"], *chosen["second"]])
    torch.testing.assert_close(devices[0].encode(encoder, batch).detach(), torch.from_numpy(expected))
    with pytest.raises(ValueError, match="1 pairs are too few for 2 devices"):
        PairBatches(PairTexts(["kana"], ["kana"], encoder), labels, encoder, settings, 1)


def test_several_encoders_side_by_side_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="toy: several encoders side by side"):
        finetune_pairs(toys.settings(), Contestant("toy", 0, ("a", "b")), ROWS, tmp_path)
