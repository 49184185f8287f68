"""The decoders, against a slow loop over words and PyTorch's own GRU."""

import pytest
import torch

from contexture.encoders.base import Encoder
from contexture.objectives.settings import SkipThoughtConfig
from contexture.objectives.skip_thought import SkipThought
from tests.encoders.toys import TOKENS, TRAINED, build, contiguous
from tests.objectives.losses import vectors

TEXTS = [[5, 6, 7], [8, TRAINED + 1], [9, 10, 11, 12], [13]]


def slow(
    objective: SkipThought, encoder: Encoder, texts: list[list[int]], pairs: list[tuple[int, int]], name: str
) -> float:
    """Mean −log p of the words of each target, written from the vector of its source, one word after the other."""
    decoder = getattr(objective, name)
    total, words = 0.0, 0
    for source, target in pairs:
        known = [word if word < TRAINED else TOKENS.unk for word in texts[target]]
        state = encoder(contiguous(encoder, texts[source])["texts"], "query")[None]
        for read, said in zip([TOKENS.cls, *known], [*known, TOKENS.sep], strict=True):
            _, state = decoder.gru(encoder.query.words(torch.tensor([[read]])), state)
            total -= float(decoder.words(state[0, 0]).log_softmax(dim=0)[said].detach())
            words += 1
    return total / words


@pytest.mark.parametrize("kind", ["gru", "bidirectional", "bag_of_words", "transformer_cls"])
def test_the_loss_is_that_of_a_slow_loop(kind: str) -> None:
    encoder = build(kind)
    objective = SkipThought(SkipThoughtConfig(), encoder)
    documents = [0, 0, 0, 1]
    given = contiguous(encoder, *TEXTS, documents=documents)
    loss = objective(encoder, vectors(encoder, given), given)
    after = slow(objective, encoder, TEXTS, [(0, 1), (1, 2)], "after")
    before = slow(objective, encoder, TEXTS, [(1, 0), (2, 1)], "before")
    assert float(loss.metrics["after"]) == pytest.approx(after, rel=1e-5)
    assert float(loss.metrics["before"]) == pytest.approx(before, rel=1e-5)
    assert float(loss.value) == pytest.approx((after + before) / 2, rel=1e-5)


def test_the_loss_of_a_transformer_is_that_of_one_word_after_the_other() -> None:
    """Each word from those before it alone, through PyTorch's own layers, one sentence at a time."""
    encoder = build("transformer_mean")
    config = SkipThoughtConfig(decoder="transformer", layers=2, heads=2)
    objective = SkipThought(config, encoder).eval()
    torch.nn.init.normal_(objective.before.bias)
    assert not torch.equal(*(layer.linear1.weight for layer in objective.before.layers))
    given = contiguous(encoder, *TEXTS, documents=[0, 0, 0, 1])
    loss = objective(encoder, vectors(encoder, given), given)
    words = encoder.query.words
    for name, pairs in (("after", [(0, 1), (1, 2)]), ("before", [(1, 0), (2, 1)])):
        decoder, total, count = getattr(objective, name), 0.0, 0
        for source, target in pairs:
            known = [word if word < TRAINED else TOKENS.unk for word in TEXTS[target]]
            memory = decoder.thought(encoder(contiguous(encoder, TEXTS[source])["texts"], "query"))[:, None]
            read, said = [TOKENS.cls, *known], [*known, TOKENS.sep]
            for place in range(len(said)):
                states = words(torch.tensor([read[: place + 1]])) + decoder.places.weight[: place + 1]
                ahead = torch.ones(place + 1, place + 1, dtype=torch.bool).triu(1)
                for layer in decoder.layers:
                    states = layer(states, memory, tgt_mask=ahead)
                logits = decoder.norm(states)[0, -1] @ words.weight.T + decoder.bias
                total -= float(logits.log_softmax(dim=0)[said[place]].detach())
                count += 1
        assert float(loss.metrics[name]) == pytest.approx(total / count, rel=1e-5)


def test_heads_that_do_not_divide_a_word_are_refused() -> None:
    with pytest.raises(ValueError, match=r"heads \(8\) must divide 6"):
        SkipThought(SkipThoughtConfig(decoder="transformer"), build("gru"))


def test_both_decoders_and_the_encoder_learn() -> None:
    encoder = build("gru")
    objective = SkipThought(SkipThoughtConfig(), encoder)
    given = contiguous(encoder, *TEXTS)
    objective(encoder, vectors(encoder, given), given).value.backward()
    for parameter in [*encoder.parameters(), *objective.parameters()]:
        assert parameter.grad is not None
        assert parameter.grad.abs().sum() > 0


def test_a_batch_without_neighbours_has_a_loss_of_zero() -> None:
    encoder = build("gru")
    objective = SkipThought(SkipThoughtConfig(), encoder)
    given = contiguous(encoder, *TEXTS, documents=[0, 1, 2, 3])
    assert float(objective(encoder, vectors(encoder, given), given).value) == 0


def test_a_device_writes_the_neighbours_that_it_has() -> None:
    """The second of two devices: its sentences are the last two, which follow one another."""
    encoder = build("gru")
    objective = SkipThought(SkipThoughtConfig(), encoder)
    whole = contiguous(encoder, *TEXTS[2:])
    part = whole | {
        "document_numbers": torch.tensor([0, 0, 5, 5]),
        "positions": torch.tensor([0, 1, 0, 1]),
        "first": torch.tensor(2),
    }
    expected, found = (objective(encoder, vectors(encoder, batch), batch).value for batch in (whole, part))
    assert float(found) == pytest.approx(float(expected), rel=1e-6) and float(found) > 0


def test_parameters_and_flops_by_hand() -> None:
    """Two GRUs over words of length 6 from states of length 4, and two softmaxes over the trained words."""
    encoder = build("gru")
    objective = SkipThought(SkipThoughtConfig(), encoder)
    parameters = 2 * (3 * 4 * (6 + 4 + 2) + TRAINED * (4 + 1))
    assert sum(p.numel() for p in objective.parameters()) == parameters
    # Of sentences of 3, 2, 4 and 1 words the first three are written before another, the last three after one.
    assert float(objective.flops(contiguous(encoder, *TEXTS))) == 3 * parameters * (4 + 3 + 5 + 3 + 5 + 2)
    apart = contiguous(encoder, *TEXTS, documents=[0, 0, 1, 2])
    assert float(objective.flops(apart)) == 3 * parameters * (4 + 3)
