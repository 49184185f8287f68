"""Attention of masked words, compared with one sequence at a time."""

import pytest
import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.objectives.attended import GAP, measure_attention
from tests.objectives.test_cross_thought import make_batch, make_objective

#: Samples with repeated words of the toy vocabulary; each word is a token.
TEXTS = [
    ["kadi lona mive", "ruve sega kadi", "lona sega lona", "mive sena"],
    ["ruve mive", "ruve sena kadi", "ka lona kadi"],
]


def tokens(encoder: Encoder) -> list[list[list[int]]]:
    tokenizer = encoder.vocabulary.tokenizer
    return [[[tokenizer.token_to_id(word) for word in text.split()] for text in sample] for sample in TEXTS]


def encode_one(encoder: Encoder, words: list[int]) -> Tensor:
    """Return the vector of a single sequence."""
    batch = make_batch(encoder, [[words]])
    (states,) = encoder.sequence_states(batch["sequences"]["chunks"])
    return states[0, : encoder.document.num_leading].flatten()


@pytest.mark.parametrize("one_batch", [True, False], ids=["one batch", "a batch each"])
@torch.inference_mode()
def test_attention_to_the_sequence_that_contains_the_word(one_batch: bool) -> None:
    encoder, _ = make_objective()
    samples = tokens(encoder)
    batches = [make_batch(encoder, samples)] if one_batch else [make_batch(encoder, [sample]) for sample in samples]
    attended = measure_attention(encoder, batches)
    assert encoder.cross is not None
    mask, first, times = encoder.vocabulary.tokens.mask, 0, 0.0
    for case in attended["cases"]:
        sample, texts = next(
            (sample, texts)
            for sample, texts in zip(samples, TEXTS, strict=True)
            if case["masked"] == texts[case["place"]].replace(case["word"], GAP)
        )
        holding = [number for number, text in enumerate(texts) if case["word"] in text.split()]
        assert sorted([case["place"], case["with_word"]]) == holding
        token = encoder.vocabulary.tokenizer.token_to_id(case["word"])
        masked_vector = encode_one(encoder, [mask if word == token else word for word in sample[case["place"]]])
        rest = [number for number in range(len(sample)) if number != case["place"]]
        vectors = torch.stack([encode_one(encoder, sample[number]) for number in rest])
        weights = encoder.cross.log_attention(masked_vector[None], vectors).exp()[0].tolist()
        assert case["weights"][case["place"]] is None
        assert [case["weights"][number] for number in rest] == pytest.approx(weights, abs=1e-5)
        assert case["holder"] == texts[case["with_word"]]
        assert case["most"] == texts[rest[weights.index(max(weights))]]
        first += rest[weights.index(max(weights))] == case["with_word"]
        times += weights[rest.index(case["with_word"])] * len(rest)
    assert attended["words"] == len(attended["cases"]) == 7
    assert (attended["first"], attended["times"]) == pytest.approx((first / 7, times / 7), abs=1e-5)
    assert attended["chance"] == pytest.approx((4 / 3 + 3 / 2) / 7)


@torch.no_grad()
def test_uniform_attention_is_at_chance() -> None:
    encoder, _ = make_objective()
    assert encoder.cross is not None
    for layer in encoder.cross.layers:
        layer.attention.self.query.weight.zero_()  # type: ignore[union-attr, operator]
    attended = measure_attention(encoder, [make_batch(encoder, tokens(encoder))])
    assert attended["first"] == 0 and attended["times"] == pytest.approx(1)


def test_without_repeated_words_there_are_no_results() -> None:
    encoder, _ = make_objective()
    assert measure_attention(encoder, [make_batch(encoder, [[[30, 31], [32, 33]]])]) == {}


@torch.inference_mode()
def test_attention_within_the_first_sample_in_multiples_of_uniform_attention() -> None:
    encoder, _ = make_objective()
    samples = tokens(encoder)
    documents = torch.tensor([[7, 7, 3, 7], [1, 1, 1, 1]])
    sample = measure_attention(encoder, [make_batch(encoder, samples) | {"documents": documents}])["sample"]
    assert sample["documents"] == [0, 0, 1, 0] and len(sample["weights"]) == 4 and encoder.cross is not None
    vectors = torch.stack([encode_one(encoder, text) for text in samples[0]])
    for number, row in enumerate(sample["weights"]):
        rest = [other for other in range(4) if other != number]
        weights = 3 * encoder.cross.log_attention(vectors[number][None], vectors[rest]).exp()[0]
        assert [row[other] for other in rest] == pytest.approx(weights.tolist(), abs=1e-3) and row[number] == 0
