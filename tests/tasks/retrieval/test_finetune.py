"""Fine-tuning on questions."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file

from contexture.encoders.files import load_encoder
from contexture.encoders.layout import row_lengths
from contexture.encoders.transformer import Transformer
from contexture.seeding import mix
from contexture.tasks.base import Contestant
from contexture.tasks.retrieval.config import RetrievalSettings
from contexture.tasks.retrieval.evaluation import unseen
from contexture.tasks.retrieval.finetune import HeldOut, QuestionBatches, answered, finetune_retrieval
from contexture.tasks.retrieval.reqa import split_questions
from contexture.training.curves import read_curves
from tests.tasks.retrieval import toys

QUESTIONS, CANDIDATES = toys.tables()


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.vocabulary(tmp_path_factory.mktemp("vocabulary") / "words")


def tune(
    start: Path, folder: Path, settings: RetrievalSettings | None = None, seed: int = 0, share: float = 50
) -> Path:
    folder.mkdir()
    finetune_retrieval(
        settings or toys.settings(), share, Contestant("toy", seed, (str(start),)), QUESTIONS, CANDIDATES, folder
    )
    return folder


def weights(folder: Path) -> dict[str, torch.Tensor]:
    files = sorted(folder.rglob("*.safetensors"))
    return {f"{file.relative_to(folder)}:{name}": tensor for file in files for name, tensor in load_file(file).items()}


def loss(folder: Path) -> float:
    """Of the questions that are neither trained on nor held out."""
    test = answered(QUESTIONS, CANDIDATES, unseen(QUESTIONS, 50, 0))
    return HeldOut(test, QUESTIONS, CANDIDATES, 0).loss(load_encoder(folder))


@pytest.mark.parametrize("kind", ["shared", "separate", "bag"])
def test_fine_tuning_learns_from_questions(kind: str, words: Path, tmp_path: Path) -> None:
    """The answers of questions that were not trained on become more probable."""
    config: dict[str, Any] = {
        "shared": toys.TRANSFORMER,
        "separate": toys.TRANSFORMER | {"shared": False, "dropout": 0.0},
        "bag": toys.BAG,
    }[kind]
    start = toys.new_encoder(tmp_path / "start", words, config)
    assert loss(tune(start, tmp_path / "tuned")) < loss(start) - 0.2


def test_the_best_weights_are_those_that_were_measured(words: Path, tmp_path: Path) -> None:
    tuned = tune(toys.new_encoder(tmp_path / "start", words), tmp_path / "tuned")
    dev = split_questions(QUESTIONS["question_id"].tolist(), 0.5, 0).eq("dev").to_numpy()
    held_out = HeldOut(answered(QUESTIONS, CANDIDATES, dev), QUESTIONS, CANDIDATES, mix(0, 6))
    losses = read_curves(tuned)["dev/loss"].dropna()
    assert held_out.loss(load_encoder(tuned)) == pytest.approx(losses.min(), abs=1e-5)
    assert losses.min() < losses.iloc[-1]  # there was patience: the last weights are worse


def test_fine_tuning_that_only_harms_keeps_the_weights_it_started_from(words: Path, tmp_path: Path) -> None:
    start = tune(toys.new_encoder(tmp_path / "new", words, toys.BAG), tmp_path / "start")
    ruinous = toys.settings(steps=4, evaluate_every=2, optimizer={"learning_rate": 5.0, "weight_decay": 0.0})
    tuned = tune(start, tmp_path / "tuned", ruinous)
    losses = read_curves(tuned)["dev/loss"].dropna().tolist()
    assert len(losses) == 3 and losses[0] == min(losses)
    torch.testing.assert_close(weights(tuned), weights(start), rtol=0, atol=0)


def test_fine_tuning_is_a_function_of_its_seed(words: Path, tmp_path: Path) -> None:
    start = toys.new_encoder(tmp_path / "start", words, toys.TRANSFORMER | {"shared": False})
    settings = toys.settings(steps=10)
    first, again, other = (
        weights(tune(start, tmp_path / name, settings, seed)) for name, seed in (("1", 0), ("2", 0), ("3", 1))
    )
    torch.testing.assert_close(first, again, rtol=0, atol=0)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_recomputing_changes_nothing_but_memory(words: Path, tmp_path: Path) -> None:
    start = toys.new_encoder(tmp_path / "start", words, toys.TRANSFORMER | {"dropout": 0.0})
    kept, recomputed = (
        read_curves(tune(start, tmp_path / str(on), toys.settings(steps=5, recompute=on)))["dev/loss"].min()
        for on in (False, True)
    )
    assert recomputed == pytest.approx(kept, abs=1e-5)


def test_fine_tuning_starts_from_a_masked_language_model(words: Path, tmp_path: Path) -> None:
    """Its Transformer and its projection are carried on, its language-model head is not."""
    start = toys.new_encoder(tmp_path / "start", words, head=True)
    still = toys.settings(steps=5, optimizer={"learning_rate": 1e-12})
    before, after = (load_encoder(one).document for one in (start, tune(start, tmp_path / "tuned", still)))
    assert isinstance(before, Transformer) and isinstance(after, Transformer)
    torch.testing.assert_close(dict(after.base.state_dict()), dict(before.base.state_dict()), rtol=0, atol=1e-6)
    assert before.has_head and not after.has_head
    assert before.projection is not None and after.projection is not None
    torch.testing.assert_close(after.projection.weight, before.projection.weight, rtol=0, atol=1e-6)


def test_batches_are_pairs_of_every_epoch_once(words: Path, tmp_path: Path) -> None:
    encoder = load_encoder(toys.new_encoder(tmp_path / "start", words))
    pairs = answered(QUESTIONS, CANDIDATES, QUESTIONS.index < 33)
    batches = QuestionBatches(pairs, QUESTIONS, CANDIDATES, encoder, toys.settings(), 1)
    epochs = [[batches.batch(step) for step in (start, start + 1)] for start in (0, 2)]
    ids = [torch.cat([batch["document_ids"] for batch in epoch]).tolist() for epoch in epochs]
    for drawn in ids:
        assert len(drawn) == len(set(drawn)) == 32  # of 33: what does not fill a batch waits for another epoch
    assert ids[0] != ids[1]
    again = batches.batch(0)
    torch.testing.assert_close(encoder(again["query"], "query"), encoder(epochs[0][0]["query"], "query"))
    # A question and its answer stand in the same row.
    rows = again["document_ids"].tolist()
    expected = encoder.embed([(CANDIDATES["sentence"][row], CANDIDATES["passage"][row]) for row in rows], "document")
    torch.testing.assert_close(encoder(again["document"], "document").detach(), torch.from_numpy(expected))


def test_other_right_answers_and_their_passages_are_no_negatives(words: Path, tmp_path: Path) -> None:
    encoder = load_encoder(toys.new_encoder(tmp_path / "start", words))
    questions, candidates = QUESTIONS.head(4).copy(), CANDIDATES.copy()
    # q0: c0 and c1; q1: c1; q2: c2, q3: c3, which are sentences of one passage.
    questions["answers"] = [["c0", "c1"], ["c1"], ["c2"], ["c3"]]
    candidates.loc[3, "passage_id"] = "p2"
    pairs = answered(questions, candidates, questions.index < 4)
    batch = QuestionBatches(pairs, questions, candidates, encoder, toys.settings(), 1).batch(0)
    rows = batch["document_ids"].tolist()
    assert sorted(rows) == [0, 1, 1, 2, 3]
    for i, row in enumerate(rows):
        masked = {rows[j] for j in range(5) if batch["no_negatives"][i, j]}
        assert masked in ({0: [{0, 1}], 1: [{0, 1}, {1}], 2: [{2, 3}], 3: [{2, 3}]}[row])
    assert sum(batch["no_negatives"][i, rows.index(0)].item() for i in range(5)) == 2  # of q0 alone, in both rows


def test_fewer_questions_than_a_batch_are_one_batch(words: Path, tmp_path: Path) -> None:
    encoder = load_encoder(toys.new_encoder(tmp_path / "start", words))
    pairs = answered(QUESTIONS, CANDIDATES, QUESTIONS.index < 3)
    batches = QuestionBatches(pairs, QUESTIONS, CANDIDATES, encoder, toys.settings(), 1)
    assert all(sorted(batches.batch(step)["document_ids"].tolist()) == [0, 1, 2] for step in range(4))


def test_devices_share_a_batch_and_its_negatives(words: Path, tmp_path: Path) -> None:
    """Of each question, the documents of both devices that are no negatives are those that one device finds."""
    encoder = load_encoder(toys.new_encoder(tmp_path / "start", words))
    pairs = answered(QUESTIONS, CANDIDATES, QUESTIONS.index < 61)  # of 40 candidates: some come twice
    told = toys.settings(batch_size=60)
    whole = QuestionBatches(pairs, QUESTIONS, CANDIDATES, encoder, told, 1).batch(0)
    parts = [
        QuestionBatches(pairs, QUESTIONS, CANDIDATES, encoder, replace(told, devices=2), 1, rank).batch(0)
        for rank in range(2)
    ]
    everyone = torch.cat([part["document_ids"] for part in parts])
    assert sorted(everyone.tolist()) == sorted(whole["document_ids"].tolist()) and len(everyone) == 60
    for batch, others in ((whole, whole["document_ids"]), *((part, everyone) for part in parts)):
        same = batch["document_ids"][:, None] == others
        assert torch.equal(batch["no_negatives"], same) and same.sum() > len(same)
    tokens = [int(row_lengths(part["document"]).sum()) for part in parts]
    assert abs(tokens[0] - tokens[1]) <= 0.05 * sum(tokens)


def test_every_device_has_a_question(words: Path, tmp_path: Path) -> None:
    encoder = load_encoder(toys.new_encoder(tmp_path / "start", words))
    told = toys.settings(devices=4)
    pairs = answered(QUESTIONS, CANDIDATES, QUESTIONS.index < 3)
    with pytest.raises(ValueError, match="3 pairs of a question and its answer are too few for 4 devices"):
        QuestionBatches(pairs, QUESTIONS, CANDIDATES, encoder, told, 1)
    with pytest.raises(ValidationError, match="batch_size 16 must be a multiple of devices, 3"):
        toys.settings(devices=3)


@pytest.mark.parametrize("share", [1, 1.5])
def test_a_share_that_is_too_small_is_refused(share: float, words: Path, tmp_path: Path) -> None:
    start = toys.new_encoder(tmp_path / "start", words)
    with pytest.raises(ValueError, match=rf"{share:g} % of 80 questions are too few to train on and hold some out"):
        tune(start, tmp_path / "tuned", share=share)


def test_what_cannot_be_fine_tuned_is_named(words: Path, tmp_path: Path) -> None:
    start = toys.new_encoder(tmp_path / "start", words)
    with pytest.raises(ValueError, match="both: several encoders side by side are not fine-tuned"):
        finetune_retrieval(
            toys.settings(), 50, Contestant("both", 0, (str(start), str(start))), QUESTIONS, CANDIDATES, tmp_path
        )
    file = start / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(ValueError, match="start holds no whole encoder"):
        tune(start, tmp_path / "tuned")
