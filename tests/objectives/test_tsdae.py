"""TSDAE: what is deleted, what the decoder may see, and that vectors get better at telling a sentence."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contexture.encoders.base import build_encoder
from contexture.encoders.config import BagOfWordsConfig, Lengths
from contexture.encoders.layout import Sentences
from contexture.objectives.tsdae import Tsdae, delete
from contexture.objectives.tsdae_config import TsdaeConfig
from contexture.training.sentence_streams import sentence_batch
from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.floats(0.01, 0.99), st.integers(0, 9))
def test_what_is_left_is_in_order_and_never_nothing(lengths: list[int], share: float, seed: int) -> None:
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    ids = (torch.arange(10, 10 + max(lengths)) * mask).masked_fill(torch.arange(max(lengths)) == 0, 1) * mask
    found = delete({"input_ids": ids, "attention_mask": mask}, share, {0, 1}, torch.Generator().manual_seed(seed))
    for row, length in enumerate(lengths):
        left = found["input_ids"][row][found["attention_mask"][row].bool()].tolist()
        assert left[0] == 1 and left == sorted(left)  # the special token stays, the others are in their order
        assert (len(left) > 1) == (length > 1)


def test_about_the_share_is_deleted() -> None:
    batch = {"input_ids": torch.full((50, 100), 9), "attention_mask": torch.ones(50, 100, dtype=torch.int64)}
    found = delete(batch, 0.6, {0}, torch.Generator().manual_seed(0))
    assert float(found["attention_mask"].float().mean()) == pytest.approx(0.4, abs=0.02)


def test_no_word_sees_what_comes_after_it_and_training_lowers_the_loss(tmp_path: Path) -> None:
    torch.manual_seed(0)
    train_tokenizer(["one sentence and another one"] * 4, VocabularyConfig(size=300), tmp_path)
    encoder = build_encoder(BagOfWordsConfig("bag_of_words", 8), Lengths(16, 16), Vocabulary.load(tmp_path))
    objective = Tsdae(TsdaeConfig(), encoder)
    batch = sentence_batch(encoder, Sentences(torch.arange(6, 18).numpy(), torch.tensor([[4], [5], [3]]).numpy()), 64)

    def loss(words: torch.Tensor) -> torch.Tensor:
        states = {"document": encoder(batch["texts"], "document")}
        return objective(encoder, states, {**batch, "words": {**batch["words"], "input_ids": words}}).value

    words = batch["words"]["input_ids"]
    changed = words.clone()
    changed[1, 4] += 1  # the last word of the longest sentence: only its own probability may change
    last = torch.zeros_like(words, dtype=torch.bool)
    last[1, 4] = True
    mask = {"input_ids": words, "attention_mask": batch["words"]["attention_mask"] * ~last}
    states = {"document": encoder(batch["texts"], "document")}
    before = objective(encoder, states, {**batch, "words": mask}).value
    torch.testing.assert_close(
        before, objective(encoder, states, {**batch, "words": mask | {"input_ids": changed}}).value
    )
    optimizer = torch.optim.Adam([*encoder.parameters(), *objective.parameters()], 1e-2)
    first = float(loss(words))
    for _ in range(30):
        optimizer.zero_grad()
        loss(words).backward()
        optimizer.step()
    assert float(loss(words)) < 0.7 * first
    assert objective.flops(batch) > 0
