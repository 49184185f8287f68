"""CMLM compared with one example at a time through transformers, and its gradient."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.encoders.config import GruConfig, Lengths, TableSizes, TransformerConfig
from contexture.encoders.layout import row_lengths, text_layout
from contexture.encoders.network import Projections
from contexture.objectives.cmlm import ConditionalMaskedLanguageModel
from contexture.objectives.masking import IGNORED_TARGET
from contexture.objectives.mlm import MaskedLanguageModel
from contexture.objectives.settings import CmlmConfig, MlmConfig
from tests.encoders.toys import build, sentences, subwords
from tests.objectives.losses import set_single_logit

LENGTHS = Lengths(query=12, document=12)
FIRST = [[20, 21, 22, 23], [30, 31], [24, 25, 26, 27, 28, 29, 30], [32]]
SECOND = [[23, 22, 40, 41, 42], [31, 30, 33], [28], [35, 36, 37, 38, 39, 20, 21, 22]]


def make_objective(
    pooling: str = "mean", encoder: dict[str, Any] | None = None, **settings: Any
) -> tuple[Encoder, Any]:
    """An encoder of subwords and its objective, without dropout."""
    torch.manual_seed(0)
    built = build(
        f"transformer_{pooling}",
        vocabulary=subwords(),
        lengths=LENGTHS,
        table_sizes=TableSizes(12),
        head=True,
        **({"embedding_size": None} if pooling == "cls" else {}) | (encoder or {}),
    )
    return built, ConditionalMaskedLanguageModel(CmlmConfig(**{"probability": 0.4, "projections": 3} | settings), built)


def pairs(encoder: Encoder, first: list[list[int]] = FIRST, second: list[list[int]] = SECOND) -> dict[str, Any]:
    tokens = text_layout(sentences(*second), encoder.specials, 12)
    return {
        "texts": encoder.batch(sentences(*first), "document", 40),
        "second": tokens | {"lengths": row_lengths(tokens).tolist()},
    }


def corrupt(objective: Any, batch: dict[str, Any], seed: int = 3) -> dict[str, Any]:
    batch_with_targets: dict[str, Any] = objective.corrupt(batch, torch.Generator().manual_seed(seed))
    assert (batch_with_targets["cmlm_targets"] != IGNORED_TARGET).sum() > 3
    return batch_with_targets


def compute_loss(encoder: Encoder, objective: Any, batch: dict[str, Any]) -> Any:
    return objective(encoder, encoder.pooled_states(batch["texts"]), batch)


def slow_loss(encoder: Encoder, objective: Any, batch: dict[str, Any], first: list[list[int]], pooling: str) -> Tensor:
    """One pair at a time: `BertModel` twice by its public interface, and the loss over all logits."""
    model, losses, count = encoder.document.model, [], 0
    embeddings = model.bert.embeddings
    tokens = encoder.vocabulary.tokens
    perceptrons = (encoder.transformer.projections or objective.projections).perceptrons
    for row, words in enumerate(first):
        states = model.bert(input_ids=torch.tensor([[tokens.cls, *words, tokens.sep]])).last_hidden_state[0]
        pooled = {"mean": states.mean(0), "max": states.max(0).values, "cls": states[0]}[pooling]
        views = torch.stack([pooled, *(perceptron(pooled) for perceptron in perceptrons)])
        length = int(batch["second"]["attention_mask"][row].sum())
        ids, targets = batch["second"]["input_ids"][row, :length], batch["cmlm_targets"][row, :length]
        # Undo the embeddings of positions and types that `BertModel` adds to projections.
        shifted = torch.arange(len(views) + length)
        wanted = torch.cat([torch.zeros(len(views), dtype=torch.int64), torch.arange(length)])
        inputs = torch.cat([views, embeddings.word_embeddings(ids)])
        inputs = inputs + embeddings.position_embeddings(wanted) - embeddings.position_embeddings(shifted)
        inputs[: len(views)] -= embeddings.position_embeddings(wanted[:1]) + embeddings.token_type_embeddings.weight[0]
        states = model.bert(inputs_embeds=inputs[None]).last_hidden_state[0, len(views) :]
        if objective.join is not None:
            conditions = views.flatten().expand(length, -1)
            states = objective.join(torch.cat([states, conditions], dim=1))
        losses.append(
            nn.functional.cross_entropy(model.cls(states), targets, ignore_index=IGNORED_TARGET, reduction="sum")
        )
        count += int((targets != IGNORED_TARGET).sum())
    return torch.stack(losses).sum() / count


@pytest.mark.parametrize("skip", [False, True], ids=["concat", "skip"])
@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
def test_loss_is_that_of_one_pair_at_a_time(pooling: str, skip: bool) -> None:
    encoder, objective = make_objective(pooling, {"dropout": 0.0}, skip=skip)
    batch = corrupt(objective, pairs(encoder, second=[text[:6] for text in SECOND]))
    loss = compute_loss(encoder, objective, batch).value
    assert loss.item() == pytest.approx(slow_loss(encoder, objective, batch, FIRST, pooling).item(), rel=1e-5)


def test_an_encoder_of_projections_supplies_and_averages_them() -> None:
    encoder, objective = make_objective("projections")
    assert objective.projections is None and not list(objective.parameters())
    batch = corrupt(objective, pairs(encoder, second=[text[:6] for text in SECOND]))
    loss = compute_loss(encoder, objective, batch).value
    assert loss.item() == pytest.approx(slow_loss(encoder, objective, batch, FIRST, "mean").item(), rel=1e-5)
    assert encoder.transformer.projections is not None
    views = encoder.transformer.projections(encoder.pooled_states(batch["texts"]))
    assert torch.allclose(encoder(batch["texts"], "document"), views.mean(dim=1), atol=1e-6)


def test_a_case_by_hand() -> None:
    """All logits are 0 except log 2 for token 22, which has 2 of V + 1 parts of the probability."""
    encoder, objective = make_objective(probability=0.99)
    parts = set_single_logit(encoder, 22, math.log(2)) + 1
    batch = corrupt(objective, pairs(encoder, [[20], [21]], [[22, 23, 24], [22, 26]]))
    masked = batch["cmlm_targets"][batch["cmlm_targets"] != IGNORED_TARGET].tolist()
    assert 22 in masked and len({*masked}) > 1
    expected = sum(math.log(parts) - math.log(2) * (token == 22) for token in masked) / len(masked)
    assert compute_loss(encoder, objective, batch).value.item() == pytest.approx(expected, rel=1e-5)


def test_without_projections_it_is_masked_language_modelling_of_the_second() -> None:
    encoder, objective = make_objective(projections=0)
    mlm = MaskedLanguageModel(MlmConfig(probability=0.4), encoder)
    batch = pairs(encoder)
    corrupted_batch = corrupt(objective, batch)
    theirs = mlm.corrupt(batch["second"], torch.Generator().manual_seed(3))
    assert torch.equal(corrupted_batch["cmlm_targets"], theirs["mlm_targets"])
    mlm_loss = mlm(encoder, encoder.transformer.states(dict(theirs)), theirs).value
    assert compute_loss(encoder, objective, corrupted_batch).value.item() == pytest.approx(mlm_loss.item(), rel=1e-6)


def test_the_gradient_reaches_the_encoder_through_the_first_sequences_vector() -> None:
    """Compares with finite differences in float64, and follows the gradient to the weights."""
    encoder, objective = make_objective()
    encoder, objective = encoder.double(), objective.double()
    batch = corrupt(objective, pairs(encoder))

    def loss(pooled: Tensor) -> Tensor:
        return nn.functional.cross_entropy(*objective._predict(encoder, pooled, batch))

    pooled = encoder.pooled_states(batch["texts"])
    vectors = pooled.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(vectors), vectors)
    assert (gradient.abs().sum(dim=1) > 0).tolist() == (batch["cmlm_targets"] != IGNORED_TARGET).any(dim=1).tolist()
    change = 1e-5 * torch.randn(pooled.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        difference = (loss(vectors + change) - loss(vectors - change)) / 2
    assert difference.item() == pytest.approx((gradient * change).sum().item(), rel=1e-6)
    weight = encoder.document.base.encoder.layer[0].attention.self.value.weight
    whole, through, without = (
        torch.autograd.grad(value, weight, retain_graph=True)[0]
        for value in (loss(pooled), (pooled * gradient).sum(), loss(vectors))
    )
    torch.testing.assert_close(whole, through + without)
    assert through.abs().max() > 1e-6


def test_only_masked_tokens_get_logits() -> None:
    encoder, objective = make_objective()
    batch = corrupt(objective, pairs(encoder))
    seen: list[int] = []
    hook = encoder.document.model.cls.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].shape[0]))
    compute_loss(encoder, objective, batch)
    hook.remove()
    assert seen == [(batch["cmlm_targets"] != IGNORED_TARGET).sum().item()]


def test_special_tokens_are_never_masked_and_short_sequences_keep_the_rate() -> None:
    encoder, objective = make_objective(probability=80 / 256)
    short, long = [[20, 21, 22]] * 400, [list(range(20, 30))] * 400
    for second in (short, long):
        masked_batch = corrupt(objective, pairs(encoder, [[20]] * 400, second))
        chosen = masked_batch["cmlm_targets"] != IGNORED_TARGET
        words = 400 * len(second[0])
        assert abs(chosen.sum().item() / words - 80 / 256) < 4 * (0.3125 * 0.6875 / words) ** 0.5
        last = masked_batch["second"]["attention_mask"].sum(dim=1) - 1
        assert not chosen[:, 0].any() and not chosen[torch.arange(400), last].any()


def test_logging_adds_metrics_and_does_not_change_the_loss() -> None:
    encoder, objective = make_objective(encoder={"dropout": 0.1})
    encoder.train()
    batch = corrupt(objective, pairs(encoder))
    results = []
    for is_logged in (False, True):
        objective.is_logged = is_logged
        torch.manual_seed(5)
        loss = compute_loss(encoder, objective, batch)
        results.append((loss.value.item(), torch.rand(1).item(), set(loss.metrics)))
    assert results[0] == (results[1][0], results[1][1], set())
    assert results[1][2] == {"accuracy", "conditioning_gain"}


@pytest.mark.slow
def test_a_model_whose_second_sequence_repeats_the_first_learns_to_use_its_vector() -> None:
    """Random words can only be predicted from the vector: with another one, accuracy is at chance."""
    torch.manual_seed(0)
    config = TransformerConfig(hidden_size=32, layers=1, heads=2, intermediate_size=64, dropout=0.0)
    encoder = build(config, vocabulary=subwords(), lengths=LENGTHS, table_sizes=TableSizes(12), head=True).train()
    objective = ConditionalMaskedLanguageModel(CmlmConfig(projections=4), encoder)
    objective.is_logged = True
    optimizer = torch.optim.AdamW([*encoder.parameters(), *objective.parameters()], lr=5e-3)
    draw, gains = torch.Generator().manual_seed(1), []
    for _ in range(250):
        words = torch.randint(20, 40, (64, 4), generator=draw)
        words[:, 1:] = words[:, :1]
        batch = pairs(encoder, words.tolist(), words[:, :1].repeat(1, 2).tolist())
        loss = compute_loss(encoder, objective, objective.corrupt(batch, draw))
        optimizer.zero_grad()
        loss.value.backward()
        optimizer.step()
        gains.append(loss.metrics["conditioning_gain"].item())
    assert sum(gains[:10]) / 10 < 0.1
    assert sum(gains[-10:]) / 10 > 0.5


def test_flops_are_those_of_every_layer() -> None:
    encoder, objective = make_objective(projections=3, skip=True)
    batch = pairs(encoder, [[20, 21]], [[22, 23, 24]])
    width, words = encoder.hidden_size, subwords().tokens.vocab_size
    perceptrons = 2 * (8 * width**2 + 5 * width)
    assert sum(p.numel() for p in objective.projections.parameters()) == perceptrons
    masked_tokens = 0.4 * 5 * (width * (width + words) + 4 * width * width)
    layers = float(encoder.transformer.layer_flops(torch.tensor([5 + 3])))
    assert float(objective.flops(batch)) == pytest.approx(layers + 6 * (perceptrons + masked_tokens))


@pytest.mark.parametrize("count", [0, 1, 5, 10, 15, 20])
def test_projections_are_the_vector_itself_and_three_layers_of_it(count: int) -> None:
    torch.manual_seed(0)
    projections = Projections(count, 6)
    vectors = torch.randn(3, 6)
    views = projections(vectors)
    assert views.shape == (3, count, 6)
    if count:
        assert torch.equal(views[:, 0], vectors)
    for number, perceptron in enumerate(projections.perceptrons, start=1):
        first, second, third = (layer for layer in perceptron if isinstance(layer, nn.Linear))
        hidden = (first.weight @ vectors.T + first.bias[:, None]).clamp(min=0)
        inner = (second.weight @ hidden + second.bias[:, None]).clamp(min=0)
        assert torch.allclose(views[:, number], (third.weight @ inner + third.bias[:, None]).T, atol=1e-6)


INVALID: list[tuple[dict[str, Any], Any, str]] = [
    ({"projections": 11}, TransformerConfig(), "puts 11 projections before sequences of at most 10 tokens"),
    ({}, TransformerConfig(shared=False), "set shared to true"),
    ({}, TransformerConfig(embedding_size=4), "embedding_size to null"),
    ({"projections": 5}, TransformerConfig(projections=4), "trains 5 projections, but the encoder averages 4"),
    ({"projections": 4, "skip": True}, TransformerConfig(projections=4), "has skip, which cannot be combined"),
    ({}, GruConfig("gru"), "reads states of tokens, which a gru does not have"),
]


@pytest.mark.parametrize(("settings", "encoder", "message"), INVALID)
def test_invalid_encoders_and_settings_raise_an_error(settings: dict[str, Any], encoder: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CmlmConfig(**{"projections": 9} | settings).check(encoder, LENGTHS)


def test_metrics_compare_the_own_vector_with_another_pairs() -> None:
    """The words that are predicted from the own vectors are the truth."""
    encoder, objective = make_objective()
    objective.is_logged = True
    batch = corrupt(objective, pairs(encoder))
    pooled = 20 * torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        best, other = (objective._predict(encoder, v, batch)[0].argmax(-1) for v in (pooled, pooled[[3, 0, 1, 2]]))
    targets = batch["cmlm_targets"].clone()
    targets[targets != IGNORED_TARGET] = best
    metrics = objective(encoder, pooled, batch | {"cmlm_targets": targets}).metrics
    share = float((best != other).float().mean())
    assert metrics["accuracy"].item() == 1 and metrics["conditioning_gain"].item() == pytest.approx(share) and share > 0
