"""Skip-Thought's decoders compared with a slow loop over words through PyTorch's layers."""

from typing import Any

import pytest
import torch

from contexture.objectives.settings import SkipThoughtConfig
from contexture.objectives.skip_thought import SkipThought
from tests.encoders.toys import TOKENS, TRAINED, build, contiguous
from tests.objectives.losses import vectors

TEXTS = [[5, 6, 7], [8, TRAINED + 1], [9, 10, 11, 12], [13]]


PAIRS = {"after": [(0, 1), (1, 2)], "before": [(1, 0), (2, 1)]}


def next_word(decoder: Any, words: torch.nn.Embedding, read: list[int], vector: torch.Tensor) -> torch.Tensor:
    """Return log-probabilities of the word after `read`, from the vector (1, D) of the other sentence."""
    embedded = words(torch.tensor([read]))
    if hasattr(decoder, "gru"):
        _, state = decoder.gru(embedded.transpose(0, 1), vector[None])
        return decoder.words(state[0, 0]).log_softmax(dim=0)  # type: ignore[no-any-return]
    states, memory = embedded + decoder.places.weight[: len(read)], decoder.thought(vector)[:, None]
    ahead = torch.ones(len(read), len(read), dtype=torch.bool).triu(1)
    for layer in decoder.layers:
        states = layer(states, memory, tgt_mask=ahead)
    return (decoder.norm(states)[0, -1] @ words.weight.T + decoder.bias).log_softmax(dim=0)  # type: ignore[no-any-return]


TRANSFORMER = SkipThoughtConfig(decoder="transformer", layers=2, heads=2)


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        *((kind, SkipThoughtConfig()) for kind in ("gru", "bidirectional", "bag_of_words", "transformer_cls")),
        ("transformer_mean", TRANSFORMER),
    ],
)
def test_the_loss_is_that_of_one_word_after_the_other(kind: str, config: SkipThoughtConfig) -> None:
    """One sentence at a time, each word from the previous ones."""
    encoder = build(kind)
    objective = SkipThought(config, encoder).eval()
    if config is TRANSFORMER:
        torch.nn.init.normal_(objective.before.bias)  # type: ignore[arg-type]
        assert not torch.equal(*(layer.linear1.weight for layer in objective.before.layers))  # type: ignore[union-attr]
    batch = contiguous(encoder, *TEXTS, documents=[0, 0, 0, 1])
    loss = objective(encoder, vectors(encoder, batch), batch)
    means = []
    for name, pairs in PAIRS.items():
        losses = []
        for source, target in pairs:
            known = [word if word < TRAINED else TOKENS.unk for word in TEXTS[target]]
            vector = encoder(contiguous(encoder, TEXTS[source])["texts"], "query")
            for end, word in enumerate([*known, TOKENS.sep]):
                scores = next_word(getattr(objective, name), encoder.query.words, [TOKENS.cls, *known[:end]], vector)
                losses.append(-scores[word].item())
        means.append(sum(losses) / len(losses))
        assert loss.metrics[name].item() == pytest.approx(means[-1], rel=1e-5)
    assert loss.value.item() == pytest.approx(sum(means) / 2, rel=1e-5)


def test_heads_must_divide_the_embedding_size() -> None:
    with pytest.raises(ValueError, match=r"heads \(8\) must divide 6"):
        SkipThought(SkipThoughtConfig(decoder="transformer"), build("gru"))


def test_both_decoders_and_the_encoder_learn() -> None:
    encoder = build("gru")
    objective = SkipThought(SkipThoughtConfig(), encoder)
    batch = contiguous(encoder, *TEXTS)
    objective(encoder, vectors(encoder, batch), batch).value.backward()
    for parameter in [*encoder.parameters(), *objective.parameters()]:
        assert parameter.grad is not None
        assert parameter.grad.abs().sum() > 0


def test_a_batch_without_neighbours_has_a_loss_of_zero() -> None:
    encoder = build("gru")
    objective = SkipThought(SkipThoughtConfig(), encoder)
    batch = contiguous(encoder, *TEXTS, documents=[0, 1, 2, 3])
    assert float(objective(encoder, vectors(encoder, batch), batch).value) == 0


def test_a_device_generates_its_own_neighbours() -> None:
    """The second of two devices has the last two sentences, which are adjacent."""
    encoder = build("gru")
    objective = SkipThought(SkipThoughtConfig(), encoder)
    whole = contiguous(encoder, *TEXTS[2:])
    part = whole | {
        "document_numbers": torch.tensor([0, 0, 5, 5]),
        "positions": torch.tensor([0, 1, 0, 1]),
        "first": torch.tensor(2),
    }
    expected, actual = (objective(encoder, vectors(encoder, batch), batch).value for batch in (whole, part))
    assert float(actual) == pytest.approx(float(expected), rel=1e-6) and float(actual) > 0


def test_parameters_and_flops_by_hand() -> None:
    """Two GRUs over words of size 6 from states of size 4, and two softmaxes over the trained words."""
    encoder = build("gru")
    objective = SkipThought(SkipThoughtConfig(), encoder)
    parameters = 2 * (3 * 4 * (6 + 4 + 2) + TRAINED * (4 + 1))
    assert sum(p.numel() for p in objective.parameters()) == parameters
    # Sentences have 3, 2, 4 and 1 words: the first three are generated as previous, the last three as next sentences.
    assert float(objective.flops(contiguous(encoder, *TEXTS))) == 3 * parameters * (4 + 3 + 5 + 3 + 5 + 2)
    apart = contiguous(encoder, *TEXTS, documents=[0, 0, 1, 2])
    assert float(objective.flops(apart)) == 3 * parameters * (4 + 3)
