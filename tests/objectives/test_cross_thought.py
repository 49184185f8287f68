"""Cross-Thought compared with one sequence at a time through transformers, and a toy problem."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.encoders.config import CrossConfig, GruConfig, Lengths, TableSizes, TransformerConfig
from contexture.objectives.cross_thought import CrossThought, masked_positions
from contexture.objectives.masking import IGNORED_TARGET, Positions
from contexture.objectives.mlm import MaskedLanguageModel
from contexture.objectives.settings import CrossThoughtConfig, MlmConfig
from tests.encoders.toys import build, sentences, subwords
from tests.objectives.losses import set_single_logit

LENGTHS = Lengths(query=12, document=12)
#: Samples of three and two sequences. The third sequence is of another document than the first two.
SAMPLES = [[[20, 21, 22, 23], [30, 31], [24, 25, 26, 27, 28, 29, 30]], [[32, 33, 34], [35, 36, 37, 38, 39]]]
DOCUMENTS = [[0, 0, 1], [2, 2]]


def make_objective(
    tokens: int = 3,
    layers: Any = "own",
    embeddings: Any = "own",
    positions: int = 12,
    pooling: Any = "cls",
    **settings: Any,
) -> tuple[Encoder, CrossThought]:
    """An encoder of subwords and its objective, without dropout."""
    config = TransformerConfig(
        hidden_size=8, layers=2, heads=2, intermediate_size=16, pooling=pooling, dropout=0.0,
        cross=CrossConfig(tokens, embeddings, layers),
    )  # fmt: skip
    built = build(config, vocabulary=subwords(), lengths=LENGTHS, table_sizes=TableSizes(positions), head=True)
    return built, CrossThought(CrossThoughtConfig(**{"probability": 0.4} | settings), built)


def make_batch(encoder: Encoder, samples: list[list[list[int]]] = SAMPLES, budget: int = 30) -> dict[str, Any]:
    counts = [len(texts) for texts in samples]
    width = max(counts)
    chunks, rows = encoder.document.chunks(sentences(*(text for texts in samples for text in texts)), 14, budget)
    documents = torch.zeros(len(samples), width, dtype=torch.int64)
    if samples is SAMPLES:
        for sample, of_sample in enumerate(DOCUMENTS):
            documents[sample, : len(of_sample)] = torch.tensor(of_sample)
    return {
        "sequences": {"chunks": chunks, "rows": rows},
        "grid": torch.tensor(
            [sample * width + column for sample, count in enumerate(counts) for column in range(count)]
        ),
        "present": torch.arange(width) < torch.tensor(counts)[:, None],
        "documents": documents,
        "groups": documents,
        "to_itself": True,
    }


def corrupt(objective: CrossThought, batch: dict[str, Any], seed: int = 3) -> dict[str, Any]:
    batch_with_targets: Any = objective.corrupt(batch, torch.Generator().manual_seed(seed))
    return dict(batch_with_targets)


def compute_loss(encoder: Encoder, objective: CrossThought, batch: dict[str, Any]) -> Any:
    return objective(encoder, encoder.sequence_states(batch["sequences"]["chunks"]), batch)


def slow_loss(encoder: Encoder, objective: CrossThought, batch: dict[str, Any]) -> Tensor:
    """One sequence at a time: `BertModel`, whole layers and all logits."""
    model, cross, leaders = encoder.document.model, encoder.cross, objective.num_leading
    assert cross is not None
    chunks, rows = batch["sequences"]["chunks"], batch["sequences"]["rows"].tolist()
    flat = [
        {name: tensor[row] for name, tensor in chunk.items()}
        for chunk in chunks
        for row in range(len(chunk["targets"]))
    ]
    states = []
    for text in (flat[row] for row in rows):
        length = int(text["attention_mask"].sum())
        ids, positions = text["input_ids"][None, :length], text["position_ids"][None, :length]
        states.append(model.bert(input_ids=ids, position_ids=positions).last_hidden_state[0])
    total, count, begin = torch.zeros(()), 0, 0
    for sample, size in enumerate(batch["present"].sum(dim=1).tolist()):
        sequences = range(begin, begin + size)
        begin += size
        numbers = batch["documents"][sample, :size]
        mask = (numbers[:, None] == numbers)[None, None]
        mask = mask | torch.eye(size, dtype=torch.bool) if batch["to_itself"] else mask & ~torch.eye(size).bool()
        mask = mask | (torch.eye(size).bool() & ~mask.any(-1, keepdim=True))
        mean = encoder.config.pooling == "mean"  # type: ignore[attr-defined]
        vectors = [[states[row].mean(0)] if mean else list(states[row][:leaders]) for row in sequences]
        read = [
            cross.layers[n % len(cross.layers)](torch.stack([vector[n] for vector in vectors])[None], mask)[0]
            for n in range(leaders)
        ]
        for number, row in enumerate(sequences):
            merged = torch.cat([torch.stack([of_token[number] for of_token in read]), states[row][leaders:]])
            logits = model.cls(objective.last(merged[None]))[0]
            targets = flat[rows[row]]["targets"][: len(logits)]
            total = total + nn.functional.cross_entropy(logits, targets, ignore_index=IGNORED_TARGET, reduction="sum")
            count += int((targets != IGNORED_TARGET).sum())
    return total / count


@pytest.mark.parametrize("starts", ["each", "one", "fixed"])
@pytest.mark.parametrize(
    ("tokens", "layers", "embeddings"), [(1, "own", "own"), (3, "own", "own"), (3, "shared", "one")]
)
def test_loss_is_that_of_one_sequence_at_a_time(tokens: int, layers: str, embeddings: str, starts: str) -> None:
    encoder, objective = make_objective(tokens, layers, embeddings, positions=30, starts=starts)
    batch = corrupt(objective, make_batch(encoder))
    assert len(batch["sequences"]["chunks"]) > 1
    expected = slow_loss(encoder, objective, batch)
    assert compute_loss(encoder, objective, batch).value.item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_loss_without_attention_to_itself_is_that_of_one_sequence_at_a_time(pooling: str) -> None:
    """The third sequence of the first sample is the only one of its document and attends to itself."""
    encoder, objective = make_objective(tokens=1, positions=30, pooling=pooling)
    batch = corrupt(objective, make_batch(encoder)) | {"to_itself": False}
    expected = slow_loss(encoder, objective, batch)
    assert compute_loss(encoder, objective, batch).value.item() == pytest.approx(expected.item(), rel=1e-5)
    assert compute_loss(encoder, objective, batch | {"to_itself": True}).value.item() != pytest.approx(expected.item())


def test_metrics_are_differences_of_losses_and_shares_of_attention() -> None:
    encoder, objective = make_objective(tokens=1, pooling="mean")
    batch = corrupt(objective, make_batch(encoder)) | {"to_itself": False}
    everything = {**batch, "groups": torch.zeros_like(batch["documents"])}
    objective.is_logged = True
    loss = compute_loss(encoder, objective, everything)
    apart = {**batch, "groups": torch.arange(3).expand(2, 3), "to_itself": True}
    losses = [
        slow_loss(encoder, objective, grouped).item() for grouped in (separate_groups(apart), single_group(everything))
    ]
    within = slow_loss(encoder, objective, batch).item()
    assert loss.metrics["gain"].item() == pytest.approx(losses[0] - losses[1], abs=1e-5)
    assert loss.metrics["own_gain"].item() == pytest.approx(losses[0] - within, abs=1e-5)
    # In the first sample, the first two sequences have the same document and attend to two others; in the second, both
    # attend to one. Uniform attention gives ½, ½, 0, 1 and 1 to the same document.
    assert loss.metrics["own_chance"].item() == pytest.approx((0.5 + 0.5 + 0 + 1 + 1) / 5)
    assert encoder.cross is not None
    texts = encoder(batch["sequences"], "document")
    weights = (
        encoder.cross.log_attention(texts[:1], texts[1:3]).exp()[0],
        encoder.cross.log_attention(texts[1:2], texts[[0, 2]]).exp()[0],
    )
    share = (float(weights[0][0]) + float(weights[1][0]) + 0 + 1 + 1) / 5
    assert loss.metrics["own_share"].item() == pytest.approx(share, abs=1e-5)


def separate_groups(batch: dict[str, Any]) -> dict[str, Any]:
    """For the slow loop, which reads `documents`: each sequence is a group."""
    return {**batch, "documents": torch.arange(batch["present"].numel()).view(batch["present"].shape)}


def single_group(batch: dict[str, Any]) -> dict[str, Any]:
    """For the slow loop: all sequences of a sample are one group."""
    return {**batch, "documents": torch.zeros_like(batch["documents"])}


def test_recomputed_activations_give_the_same_loss_and_gradient() -> None:
    results = []
    for recompute in (False, True):
        encoder, objective = make_objective()
        encoder.recompute = recompute
        loss = compute_loss(encoder, objective, corrupt(objective, make_batch(encoder))).value
        loss.backward()
        parameters = [*encoder.named_parameters(), *objective.named_parameters()]
        results.append({name: p.grad for name, p in parameters if p.grad is not None} | {"loss": loss.detach()})
    torch.testing.assert_close(results[1], results[0], atol=1e-6, rtol=1e-4)


def test_a_case_by_hand() -> None:
    """All logits are 0 except log 2 for token 22, which has 2 of V + 1 parts of the probability."""
    encoder, objective = make_objective(probability=0.99)
    parts = set_single_logit(encoder, 22, math.log(2)) + 1
    batch = corrupt(objective, make_batch(encoder, [[[22, 23, 24]], [[22, 26]]]))
    targets = torch.cat([chunk["targets"].flatten() for chunk in batch["sequences"]["chunks"]])
    masked = targets[targets != IGNORED_TARGET].tolist()
    assert 22 in masked and len({*masked}) > 1
    expected = sum(math.log(parts) - math.log(2) * (token == 22) for token in masked) / len(masked)
    assert compute_loss(encoder, objective, batch).value.item() == pytest.approx(expected, rel=1e-5)


def test_words_move_and_special_tokens_do_not() -> None:
    encoder, objective = make_objective(tokens=2, positions=20)
    batch = make_batch(encoder, [[[20, 21, 22], [23, 24, 25, 26]]] * 300, budget=700)
    for starts, has_one_start in (("each", False), ("one", True), ("fixed", True)):
        objective.positions = Positions(starts, encoder)  # type: ignore[arg-type]
        begins, lasts = [], []
        for chunk in corrupt(objective, batch)["sequences"]["chunks"]:
            positions, present = chunk["position_ids"], chunk["attention_mask"].bool()
            assert (positions[:, :2] == torch.tensor([0, 1])).all()
            begins += positions[:, 2].tolist()
            lasts += positions.masked_fill(~present, 0).amax(dim=1).tolist()
            steps = positions[:, 3:] - positions[:, 2:-1]
            assert (steps[present[:, 3:]] == 1).all()
        assert min(begins) >= 2 and max(lasts) <= 19
        if has_one_start:
            assert len(set(begins)) == 1
        else:
            # Of 20 positions, the 3 + 1 tokens after the special ones can begin at 2 … 16, the 4 + 1 at 2 … 15.
            assert set(begins) == set(range(2, 17)) and max(lasts) == 19


def test_short_and_long_sequences_share_one_start() -> None:
    """They are in different chunks; the longest one fits."""
    encoder, objective = make_objective(tokens=1, positions=40, starts="one")
    begins = set()
    for seed in range(30):
        batch = corrupt(objective, make_batch(encoder, [[[20, 21], list(range(20, 32))]], budget=14), seed)
        assert len(batch["sequences"]["chunks"]) == 2
        (start,) = {int(chunk["position_ids"][0, 1]) for chunk in batch["sequences"]["chunks"]}
        begins.add(start)
    assert len(begins) > 10 and max(begins) <= 40 - 13


def test_masked_positions_come_first() -> None:
    targets = torch.tensor(
        [
            [IGNORED_TARGET, 5, IGNORED_TARGET, 7],
            [IGNORED_TARGET] * 4,
            [1, IGNORED_TARGET, IGNORED_TARGET, IGNORED_TARGET],
        ]
    )
    chosen, positions = masked_positions(targets)
    assert chosen.tolist() == [[True, True], [False, False], [True, False]]
    assert positions[chosen].tolist() == [1, 3, 0]
    assert targets.gather(1, positions)[chosen].tolist() == [5, 7, 1]


def test_the_loss_without_masked_tokens_is_zero() -> None:
    encoder, objective = make_objective(probability=1e-9)
    loss = compute_loss(encoder, objective, corrupt(objective, make_batch(encoder))).value
    loss.backward()
    assert loss.item() == 0


def test_logging_adds_metrics_and_does_not_change_the_loss() -> None:
    encoder, objective = make_objective()
    batch = corrupt(objective, make_batch(encoder))
    results = []
    for is_logged in (False, True):
        objective.is_logged = is_logged
        loss = compute_loss(encoder, objective, batch)
        results.append((loss.value.item(), set(loss.metrics)))
    assert results == [
        (results[0][0], set()),
        (results[0][0], {"accuracy", "gain", "own_gain", "own_share", "own_chance"}),
    ]


def copies(draw: torch.Generator, samples: int = 32) -> list[list[list[int]]]:
    """Samples of two sequences, in either order: a word next to another one, and the word by itself."""
    words = torch.randint(30, 46, (samples, 2), generator=draw).tolist()
    return [[[word], [other, word]] for word, other in words]


def mask_single_words(batch: dict[str, Any], mask: int) -> dict[str, Any]:
    """Mask the only word of the first sequence of each sample."""
    (chunk,), rows = batch["sequences"]["chunks"], batch["sequences"]["rows"][::2]
    targets = torch.full_like(chunk["input_ids"], IGNORED_TARGET)
    targets[rows, 1] = chunk["input_ids"][rows, 1]
    ids = chunk["input_ids"].masked_fill(targets != IGNORED_TARGET, mask)
    return {**batch, "sequences": {**batch["sequences"], "chunks": [{**chunk, "input_ids": ids, "targets": targets}]}}


@pytest.mark.parametrize("name", ["cross_thought", "mlm"])
def test_a_masked_word_is_recovered_from_another_sequence(name: str) -> None:
    """The word is one of 16 and has no context, so a masked language model is at chance."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 32, "layers": 1, "heads": 2, "intermediate_size": 64, "dropout": 0.0}
    cross = CrossConfig(1) if name == "cross_thought" else None
    config = TransformerConfig(**sizes, pooling="cls", cross=cross)
    encoder = build(config, vocabulary=subwords(), lengths=LENGTHS, table_sizes=TableSizes(12), head=True).train()
    objective: Any = (
        CrossThought(CrossThoughtConfig(starts="fixed"), encoder)
        if cross
        else MaskedLanguageModel(MlmConfig(), encoder)
    )
    optimizer = torch.optim.AdamW([*encoder.parameters(), *objective.parameters()], lr=2e-3)
    draw, rights = torch.Generator().manual_seed(1), []
    for step in range(100):
        objective.is_logged = step >= 80
        batch = mask_single_words(make_batch(encoder, copies(draw), 10_000), encoder.vocabulary.tokens.mask)
        (chunk,) = batch["sequences"]["chunks"]
        if cross:
            loss = compute_loss(encoder, objective, batch)
            rights += [loss.metrics["accuracy"].item()] if objective.is_logged else []
        else:
            tokens = {**chunk, "mlm_targets": chunk["targets"]}
            states, chosen = encoder.transformer.states(tokens), chunk["targets"] != IGNORED_TARGET
            loss = objective(encoder, states, tokens)
            right = encoder.transformer.token_logits(states[chosen]).argmax(-1) == chunk["targets"][chosen]
            rights.append(right.float().mean().item())
        optimizer.zero_grad()
        loss.value.backward()
        optimizer.step()
    accuracy = sum(rights[-20:]) / 20
    assert accuracy > 0.8 if cross else accuracy < 2 / 16


INVALID: list[tuple[Any, str]] = [
    (TransformerConfig(pooling="cls"), "trains layers across sequences, which the encoder does not have"),
    (TransformerConfig(pooling="cls", cross=CrossConfig(), shared=False), "set the encoder's shared to true"),
    (TransformerConfig(pooling="cls", cross=CrossConfig(11)), "11 special tokens, .* into 12 tokens; .* at most 10"),
    (GruConfig("gru"), "reads states of tokens, which a gru does not have"),
]


@pytest.mark.parametrize(("encoder", "message"), INVALID)
def test_invalid_encoders_raise_an_error(encoder: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CrossThoughtConfig().check(encoder, LENGTHS)


def test_invalid_cross_settings_raise_an_error() -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        CrossConfig(0)
    invalid: list[tuple[dict[str, Any], str]] = [
        ({"pooling": "max"}, "cross needs pooling: cls, mean or idf, not max"),
        ({"pooling": "mean", "cross": CrossConfig(2)}, r"cross\.tokens is 2, but pooling: mean gives one vector"),
        ({"pooling": "cls", "embedding_size": 4}, "set embedding_size and projections to null"),
    ]
    for changed, message in invalid:
        with pytest.raises(ValueError, match=message):
            TransformerConfig(**{"cross": CrossConfig()} | changed)
    with pytest.raises(ValueError, match="cross needs a vocabulary of subwords"):
        build(TransformerConfig(hidden_size=8, pooling="cls", cross=CrossConfig(2)))


def test_flops_are_those_of_every_layer() -> None:
    encoder, objective = make_objective(tokens=2)
    batch = make_batch(encoder, [[[20, 21], [22, 23, 24]]])
    width, inner, words = 8, 16, encoder.document.words.num_embeddings
    read = 2 * (width * width + width)
    asking = 2 * (width * width + width) + 2 * width * inner + inner + width + 4 * width
    lengths = torch.tensor([5.0, 6.0])
    last_layer = 6 * 11 * (read + 0.4 * (asking + width * (width + words - 1))) + 12 * 0.4 * width * float(
        lengths.square().sum()
    )
    assert encoder.cross is not None
    across = float(encoder.cross.flops(torch.tensor([2])))
    assert float(objective.flops(batch)) == pytest.approx(last_layer + across)
    assert float(encoder.flops(batch)) == float(encoder.transformer.layer_flops(lengths))
