"""The decoders, against a slow loop over words and PyTorch's own GRU."""

import pytest
import torch
from torch import nn

from contexture.encoders.config import BagOfWordsSentences, GruSentences
from contexture.objectives.config import SkipThoughtConfig
from contexture.objectives.skip_thought import SkipThought
from tests.encoders.sentences import TOKENS, TRAINED, batch, build

TEXTS = [[5, 6, 7], [8, TRAINED + 1], [9, 10, 11, 12], [13]]


def slow(
    objective: SkipThought, encoders: nn.Module, texts: list[list[int]], pairs: list[tuple[int, int]], name: str
) -> float:
    """Mean −log p of the words of each target, written from the vector of its source, one word after the other."""
    decoder = getattr(objective, name)
    total, words = 0.0, 0
    for source, target in pairs:
        known = [word if word < TRAINED else TOKENS.unk for word in texts[target]]
        state = encoders(batch(encoders, texts[source]))[0][None]
        for read, said in zip([TOKENS.cls, *known], [*known, TOKENS.sep], strict=True):
            _, state = decoder.gru(encoders.f.words(torch.tensor([[read]])), state)
            total -= float(decoder.words(state[0, 0]).log_softmax(dim=0)[said])
            words += 1
    return total / words


@pytest.mark.parametrize(
    "config", [GruSentences(word_size=6, embedding_size=4), BagOfWordsSentences("bag_of_words", 4)]
)
def test_the_loss_is_that_of_a_slow_loop(config: GruSentences | BagOfWordsSentences) -> None:
    encoders = build(config, pair=False)
    objective = SkipThought(SkipThoughtConfig(), encoders, TOKENS)
    documents = [0, 0, 0, 1]
    given = batch(encoders, *TEXTS, documents=documents)
    loss = objective(encoders, encoders(given), given)
    after = slow(objective, encoders, TEXTS, [(0, 1), (1, 2)], "after")
    before = slow(objective, encoders, TEXTS, [(1, 0), (2, 1)], "before")
    assert float(loss.metrics["after"]) == pytest.approx(after, rel=1e-5)
    assert float(loss.metrics["before"]) == pytest.approx(before, rel=1e-5)
    assert float(loss.value) == pytest.approx((after + before) / 2, rel=1e-5)


def test_both_decoders_and_the_encoder_learn() -> None:
    encoders = build(GruSentences(word_size=6, embedding_size=4), pair=False)
    objective = SkipThought(SkipThoughtConfig(), encoders, TOKENS)
    given = batch(encoders, *TEXTS)
    objective(encoders, encoders(given), given).value.backward()
    for parameter in [*encoders.parameters(), *objective.parameters()]:
        assert parameter.grad is not None
        assert parameter.grad.abs().sum() > 0


def test_a_batch_without_neighbours_has_a_loss_of_zero() -> None:
    encoders = build(GruSentences(word_size=6, embedding_size=4), pair=False)
    objective = SkipThought(SkipThoughtConfig(), encoders, TOKENS)
    given = batch(encoders, *TEXTS, documents=[0, 1, 2, 3])
    assert float(objective(encoders, encoders(given), given).value) == 0
