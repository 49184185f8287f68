"""Probabilities of candidates and the loss, compared with loops and values by hand."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from contexture.encoders.cross import CrossLayers
from contexture.encoders.files import load_encoder
from contexture.tasks.finetuned import Step
from contexture.tasks.ranking.data import Questions, trainable_questions
from contexture.tasks.ranking.finetune import (
    AnswerRanking,
    RankingExamples,
    draw_training_rows,
    log_probabilities,
    to_columns,
)
from tests.tasks.ranking import toys
from tests.tasks.retrieval.toys import WORDS

QUERIES = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
DOCUMENTS = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 3.0]])
COLUMNS = torch.tensor([[0, 1, 2], [3, 1, -1], [2, -1, -1]])


def make_rows(*numbers: list[int]) -> list[Any]:
    return [np.array(values, np.int64) for values in numbers]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.vocabulary(tmp_path_factory.mktemp("vocabulary") / "words")


def test_inner_products_by_hand() -> None:
    probabilities = log_probabilities(None, QUERIES, DOCUMENTS, COLUMNS).exp()
    first = math.exp(2) + math.exp(0) + math.exp(1)
    second = math.exp(6) + math.exp(2)
    expected = [
        [math.exp(2) / first, 1 / first, math.e / first],
        [math.exp(6) / second, math.exp(2) / second, 0],
        [1, 0, 0],
    ]
    torch.testing.assert_close(probabilities, torch.tensor(expected))


@torch.no_grad()
def attention_by_loops(cross: CrossLayers, query: Tensor, candidates: Tensor) -> list[float]:
    """Return α of one question by loops over special tokens and heads."""
    size, total, count = len(query) // cross.tokens, torch.zeros(len(candidates)), 0
    for token in range(cross.tokens):
        layer: Any = cross.layers[token % len(cross.layers)].attention.self  # type: ignore[union-attr]
        part = slice(token * size, (token + 1) * size)
        width = size // layer.num_attention_heads
        for head in range(layer.num_attention_heads):
            columns = slice(head * width, (head + 1) * width)
            vector, keys = layer.query(query[part])[columns], [layer.key(row[part])[columns] for row in candidates]
            weights = [math.exp(float(vector @ key) / math.sqrt(width)) for key in keys]
            total += torch.tensor(weights) / sum(weights)
            count += 1
    return (total / count).tolist()


def test_attention_of_a_question_to_its_candidates(words: Path, tmp_path: Path) -> None:
    """The question and empty slots get no weight; gradients are finite."""
    encoder = load_encoder(toys.new_encoder(tmp_path / "cross", words, toys.CROSS))
    assert encoder.cross is not None
    generator = torch.Generator().manual_seed(0)
    queries, documents = (torch.randn(n, 32, generator=generator).requires_grad_() for n in (3, 4))
    logs = log_probabilities(encoder.cross, queries, documents, COLUMNS)
    for number, columns in enumerate(COLUMNS.tolist()):
        filled = [column for column in columns if column >= 0]
        expected = attention_by_loops(encoder.cross, queries[number].detach(), documents[filled].detach())
        assert logs[number].exp().tolist() == pytest.approx([*expected, *[0] * (3 - len(filled))], abs=1e-6)
    loss = AnswerRanking(encoder)(encoder, {"query": queries, "document": documents}, {"columns": COLUMNS})
    assert loss.value.item() == pytest.approx(-logs[:, 0].mean().item())
    assert loss.metrics["accuracy"].item() == pytest.approx((logs[:, 0] > logs[:, 1:].amax(1)).float().mean().item())
    loss.value.backward()
    for tensor in (queries, documents, encoder.cross.layers[0].attention.self.query.weight):  # type: ignore[union-attr]
        assert tensor.grad is not None and torch.isfinite(tensor.grad).all() and tensor.grad.abs().sum() > 0


QUESTIONS = Questions(
    ["a", "b", "c", "d"],
    ["kana", "love", "mi", "ru"],
    make_rows(list(range(20)), [5, 6], [7], [1, 2, 3]),
    make_rows([3, 30, -1], [5], [7], [-1]),
)


def test_negatives_are_drawn_at_random_and_are_never_right() -> None:
    rng, seen = np.random.default_rng(0), set()
    for _ in range(60):
        right, *wrong = draw_training_rows(QUESTIONS, 0, 6, rng).tolist()
        assert right in (3, 30) and len(set(wrong)) == 6 and not {3, 30, -1} & set(wrong)
        seen |= {right, *wrong}
    assert seen == {*range(20), 30}
    assert draw_training_rows(QUESTIONS, 1, 6, rng).tolist() == [5, 6]  # all there are


def test_trainable_questions() -> None:
    """Questions need a wrong candidate, and a right one with a text."""
    assert trainable_questions(QUESTIONS).tolist() == [0, 1]


def test_columns_name_different_rows() -> None:
    distinct, columns = to_columns(make_rows([9, 4, 7], [4, 2]))
    assert distinct.tolist() == [2, 4, 7, 9] and columns.tolist() == [[3, 1, 2], [1, 0, -1]]


def test_batches_hold_each_text_once(words: Path, tmp_path: Path) -> None:
    encoder = load_encoder(toys.new_encoder(tmp_path / "bag", words, toys.BAG))
    texts = [f"{WORDS[number]} {WORDS[number + 1]}" for number in range(12)]
    names = WORDS[:8]
    questions = Questions(
        names, names, make_rows(*[list(range(12))] * 8), make_rows(*[[number] for number in range(8)])
    )
    examples = RankingExamples(questions, texts, encoder, toys.settings(batch_size=4, negatives=5))
    numbers = np.array([6, 1, 3, 0])
    batch = examples.training_batch(Step(numbers, 0, 1, 0, 1))
    vectors, columns = examples.encode(encoder, batch), batch["columns"]
    assert columns.shape == (4, 6) and len(vectors["document"]) == len(columns.unique())
    first = {"query": vectors["query"], "document": vectors["document"][columns[:, 0]]}
    for role, expected in (("query", names), ("document", texts)):
        expected_vectors = torch.from_numpy(encoder.embed([expected[number] for number in numbers], role))
        torch.testing.assert_close(first[role].detach(), expected_vectors)
