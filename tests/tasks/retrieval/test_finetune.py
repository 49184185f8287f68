"""Fine-tuning on questions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from contexture.encoders.files import load_encoder
from contexture.encoders.layout import row_lengths
from contexture.encoders.transformer import Transformer
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.finetuned import Step
from contexture.tasks.retrieval.config import RetrievalSettings
from contexture.tasks.retrieval.evaluation import is_unseen
from contexture.tasks.retrieval.finetune import (
    DevQuestions,
    QuestionPairs,
    candidate_texts,
    finetune_retrieval,
    list_answer_pairs,
)
from contexture.training.curves import read_curves
from tests.tasks.retrieval import toys
from tests.training.runs import weights

QUESTIONS, CANDIDATES = toys.tables()


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.vocabulary(tmp_path_factory.mktemp("vocabulary") / "words")


def tune(
    start: Path, folder: Path, settings: RetrievalSettings | None = None, seed: int = 0, share: float = 50
) -> Path:
    folder.mkdir()
    finetune_retrieval(
        settings or toys.settings(), share, EvaluatedEncoder("toy", seed, (str(start),)), QUESTIONS, CANDIDATES, folder
    )
    return folder


def loss(folder: Path) -> float:
    """Return the loss on test questions."""
    test = list_answer_pairs(QUESTIONS, CANDIDATES, is_unseen(QUESTIONS, 50, 0))
    return DevQuestions(test, QUESTIONS, CANDIDATES, 0).loss(load_encoder(folder))


@pytest.mark.parametrize("config", [toys.TRANSFORMER, toys.TRANSFORMER | {"shared": False, "dropout": 0.0}, toys.BAG])
def test_fine_tuning_learns_from_questions(config: dict[str, Any], words: Path, tmp_path: Path) -> None:
    """The loss on test questions falls."""
    start = toys.new_encoder(tmp_path / "start", words, config)
    assert loss(tune(start, tmp_path / "tuned")) < loss(start) - 0.2


def test_fine_tuning_without_gain_keeps_the_initial_weights(words: Path, tmp_path: Path) -> None:
    start = tune(toys.new_encoder(tmp_path / "new", words, toys.BAG), tmp_path / "start")
    ruinous = toys.settings(steps=4, evaluate_every=2, optimizer={"learning_rate": 5.0, "weight_decay": 0.0})
    tuned = tune(start, tmp_path / "tuned", ruinous)
    losses = read_curves(tuned)["dev/loss"].dropna().tolist()
    assert len(losses) == 3 and losses[0] == min(losses)
    torch.testing.assert_close(weights(tuned), weights(start), rtol=0, atol=0)


def test_recomputing_activations_does_not_change_the_loss(words: Path, tmp_path: Path) -> None:
    start = toys.new_encoder(tmp_path / "start", words, toys.TRANSFORMER | {"dropout": 0.0})
    kept, recomputed = (
        read_curves(tune(start, tmp_path / str(on), toys.settings(steps=5, recompute=on)))["dev/loss"].min()
        for on in (False, True)
    )
    assert recomputed == pytest.approx(kept, abs=1e-5)


def test_fine_tuning_starts_from_a_masked_language_model(words: Path, tmp_path: Path) -> None:
    """Transformer and projection are kept, the language-model head is not."""
    start = toys.new_encoder(tmp_path / "start", words, head=True)
    still = toys.settings(steps=5, optimizer={"learning_rate": 1e-12})
    old, new = (load_encoder(folder).document for folder in (start, tune(start, tmp_path / "tuned", still)))
    assert isinstance(old, Transformer) and isinstance(new, Transformer)
    torch.testing.assert_close(dict(new.base.state_dict()), dict(old.base.state_dict()), rtol=0, atol=1e-6)
    assert old.has_head and not new.has_head
    assert old.projection is not None and new.projection is not None
    torch.testing.assert_close(new.projection.weight, old.projection.weight, rtol=0, atol=1e-6)


def test_other_right_answers_and_their_passages_are_no_negatives(words: Path, tmp_path: Path) -> None:
    encoder = load_encoder(toys.new_encoder(tmp_path / "start", words))
    questions, candidates = QUESTIONS.head(4).copy(), CANDIDATES.copy()
    # q0: c0 and c1; q1: c1; q2: c2, q3: c3, which are sentences of one passage.
    questions["answers"] = [["c0", "c1"], ["c1"], ["c2"], ["c3"]]
    candidates.loc[3, "passage_id"] = "p2"
    pairs = list_answer_pairs(questions, candidates, questions.index < 4)
    batch = QuestionPairs(pairs, questions, candidates, encoder, 60).training_batch(Step(np.arange(5), 0, 1, 0, 1))
    rows = batch["document_ids"].tolist()
    assert sorted(rows) == [0, 1, 1, 2, 3]
    for i, row in enumerate(rows):
        masked = {rows[j] for j in range(5) if batch["no_negatives"][i, j]}
        assert masked in ({0: [{0, 1}], 1: [{0, 1}, {1}], 2: [{2, 3}], 3: [{2, 3}]}[row])
    assert sum(batch["no_negatives"][i, rows.index(0)].item() for i in range(5)) == 2  # only for q0, in both rows


def test_devices_share_a_batch_and_its_negatives(words: Path, tmp_path: Path) -> None:
    """The masks of two devices equal that of one device."""
    encoder = load_encoder(toys.new_encoder(tmp_path / "start", words))
    pairs = list_answer_pairs(
        QUESTIONS, CANDIDATES, QUESTIONS.index < 61
    )  # 61 questions on 40 candidates: some are repeated
    examples = QuestionPairs(pairs, QUESTIONS, CANDIDATES, encoder, 60)
    rows = np.random.default_rng(0).permutation(60)
    whole = examples.training_batch(Step(rows, 0, 1, 0, 1))
    parts = [examples.training_batch(Step(rows, 0, 1, rank, 2)) for rank in range(2)]
    all_documents = torch.cat([part["document_ids"] for part in parts])
    assert sorted(all_documents.tolist()) == sorted(whole["document_ids"].tolist()) and len(all_documents) == 60
    for batch, documents in ((whole, whole["document_ids"]), *((part, all_documents) for part in parts)):
        same = batch["document_ids"][:, None] == documents
        assert torch.equal(batch["no_negatives"], same) and same.sum() > len(same)
    # A question and its answer are in the same row.
    texts = {
        "query": QUESTIONS["question"].iloc[pairs[rows, 0]].tolist(),
        "document": candidate_texts(CANDIDATES.iloc[pairs[rows, 1]]),
    }
    for role, vectors in examples.encode(encoder, whole).items():
        torch.testing.assert_close(vectors.detach(), torch.from_numpy(encoder.embed(texts[role], role)))
    tokens = [int(row_lengths(part["document"]).sum()) for part in parts]
    assert abs(tokens[0] - tokens[1]) <= 0.05 * sum(tokens)


@pytest.mark.parametrize("share", [1, 1.5])
def test_a_share_that_is_too_small_raises(share: float, words: Path, tmp_path: Path) -> None:
    start = toys.new_encoder(tmp_path / "start", words)
    with pytest.raises(ValueError, match=rf"{share:g}% of 80 questions is too few for train and dev"):
        tune(start, tmp_path / "tuned", share=share)
