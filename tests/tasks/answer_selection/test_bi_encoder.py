"""Fine-tuning by cosine on a small artificial set."""

import math
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contexture.encoders.base import Encoder
from contexture.encoders.files import load_encoder
from contexture.metrics.ranking import mean_average_precision
from contexture.tasks.answer_selection import bi_encoder
from contexture.tasks.answer_selection.bi_encoder import (
    WHOLE_QUESTION,
    CandidateRanking,
    QuestionCandidates,
    score_by_cosine,
)
from contexture.tasks.answer_selection.data import AnswerRows
from contexture.tasks.answer_selection.finetune import finetune_answers
from contexture.tasks.answer_selection.task import AnswerSelectionTask
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.finetuned import Step
from contexture.training.curves import read_curves
from tests.tasks.answer_selection import toys
from tests.tasks.retrieval.toys import WORDS

ANSWERS = toys.make_answers()
TRAIN, DEV = (ANSWERS[ANSWERS["split"] == split].reset_index(drop=True) for split in ("train", "dev"))


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.make_encoder(tmp_path_factory.mktemp("encoder") / "encoder")


@pytest.fixture(scope="module")
def encoder(start: Path) -> Encoder:
    return load_encoder(start)


def tune(start: Path, folder: Path, train: pd.DataFrame = TRAIN, dev: pd.DataFrame = DEV, **settings: Any) -> float:
    folder.mkdir()
    evaluated = EvaluatedEncoder("one", 0, (str(start),), head="bi_encoder")
    return finetune_answers(toys.settings(**settings), evaluated, [train], dev, folder)


def dev_map(folder: Path, dev: pd.DataFrame = DEV) -> float:
    return mean_average_precision(score_by_cosine(load_encoder(folder), dev), dev["label"], dev["question_id"])


def replace_words(answers: pd.DataFrame) -> pd.DataFrame:
    """Replace each word of a candidate by its partner."""
    partners = dict(zip(WORDS, [*WORDS[7:], *WORDS[:7]], strict=True))
    texts = [" ".join(partners[word] for word in text.split()) for text in answers["candidate"]]
    return answers.assign(candidate=texts)


def make_examples(encoder: Encoder, answers: pd.DataFrame) -> QuestionCandidates:
    return QuestionCandidates(AnswerRows.in_memory(answers, encoder, WHOLE_QUESTION), encoder)


def texts(encoder: Encoder, batch: dict[str, Any], role: str) -> list[str]:
    """The texts of a batch, in the order of its rows."""
    chunks = [ids for chunk in batch[role]["chunks"] for ids in chunk["input_ids"].tolist()]
    decoded = encoder.vocabulary.tokenizer.decode_batch(chunks, skip_special_tokens=True)
    return [decoded[row] for row in batch[role]["rows"].tolist()]


def test_the_loss_by_hand(encoder: Encoder) -> None:
    """Cosines 1, 0 and 0.6 of the first question, and 1 and −1 of the second, whose first candidate is right."""
    states = {
        "query": torch.tensor([[2.0, 0.0], [0.0, 3.0]]),
        "document": torch.tensor([[5.0, 0.0], [0.0, 1.0], [3.0, 4.0], [0.0, 0.5], [0.0, -2.0]]),
    }
    batch = {
        "candidates": torch.tensor([[0, 1, 2], [3, 4, -1]]),
        "right": torch.tensor([[False, True, True], [True, False, False]]),
    }
    odds = [math.exp(cosine / 0.05) for cosine in (1, 0, 0.6)]
    first = -sum(math.log(odds[number] / sum(odds)) for number in (1, 2)) / 2
    second = math.log(1 + math.exp(-2 / 0.05))
    states = {role: vectors.requires_grad_() for role, vectors in states.items()}
    loss = CandidateRanking(encoder)(encoder, states, batch)
    assert loss.value.item() == pytest.approx((first + second) / 2, rel=1e-5)
    assert loss.metrics["accuracy"].item() == 0.5
    loss.value.backward()  # type: ignore[no-untyped-call]
    assert all(vectors.grad is not None and vectors.grad.isfinite().all() for vectors in states.values())


@hypothesis.settings(deadline=None, max_examples=20)
@given(chosen=st.lists(st.integers(0, 23), min_size=1, max_size=6, unique=True), epoch=st.integers(0, 3))
def test_an_example_has_a_question_and_all_its_candidates(chosen: list[int], epoch: int, encoder: Encoder) -> None:
    examples = make_examples(encoder, TRAIN)
    assert len(examples) == 24
    batch = examples.training_batch(Step(np.array(chosen), epoch, 1, 0, 1))
    questions, candidates = texts(encoder, batch, "query"), texts(encoder, batch, "document")
    for number, question, rows, right in zip(chosen, questions, batch["candidates"], batch["right"], strict=True):
        of_question = TRAIN[TRAIN["question_id"] == f"train{number}"]
        assert question == of_question["question"].iloc[0]
        labels = {candidates[row]: int(label) for row, label in zip(rows, right, strict=True) if row >= 0}
        assert labels == dict(zip(of_question["candidate"], of_question["label"], strict=True))


def test_devices_share_the_questions(encoder: Encoder) -> None:
    examples, rows = make_examples(encoder, TRAIN), np.array([3, 1, 4, 15])
    whole = texts(encoder, examples.training_batch(Step(rows, 0, 1, 0, 1)), "query")
    parts = [texts(encoder, examples.training_batch(Step(rows, 0, 1, rank, 2)), "query") for rank in (0, 1)]
    assert [whole[::2], whole[1::2]] == parts


def test_wrong_candidates_beyond_the_limit_are_drawn_anew(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bi_encoder, "MAX_CANDIDATES", 2)
    examples, drawn = make_examples(encoder, TRAIN), set()
    for epoch in range(12):
        batch = examples.training_batch(Step(np.array([2]), epoch, 1, 0, 1))
        assert batch["right"].tolist() == [[False, True]]
        drawn.add(texts(encoder, batch, "document")[0])
    wrong = TRAIN.query("question_id == 'train2' and label == 0")["candidate"]
    assert drawn == set(wrong) and len(wrong) > 1
    # A wrong candidate has a place even if there are more right ones than places.
    flipped = make_examples(encoder, TRAIN.assign(label=1 - TRAIN["label"]))
    batch = flipped.training_batch(Step(np.array([2]), 0, 1, 0, 1))
    assert batch["right"].tolist() == [[False, True]]


def test_a_question_may_continue_in_the_next_table(encoder: Encoder, tmp_path: Path) -> None:
    rows = AnswerRows.on_disk([TRAIN[:7], TRAIN[7:]], encoder, WHOLE_QUESTION, tmp_path / "tokens")
    groups = [rows.group(number) for number in range(len(rows.starts))]
    assert [len(group) for group in groups] == TRAIN.groupby("question_id", sort=False).size().tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_near_cosines_stay_different_in_mixed_precision(dtype: torch.dtype, encoder: Encoder) -> None:
    """Their difference of 0.001 is smaller than the steps of bfloat16 near 1."""
    states = {
        "query": torch.tensor([[1.0, 0.0]]),
        "document": torch.tensor([[0.999, math.sqrt(1 - 0.999**2)], [0.998, math.sqrt(1 - 0.998**2)]]),
    }
    batch = {"candidates": torch.tensor([[0, 1]]), "right": torch.tensor([[True, False]])}
    with torch.autocast("cpu", dtype, enabled=dtype is torch.bfloat16):
        loss = CandidateRanking(encoder)(encoder, states, batch).value
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-0.001 / 0.05)), rel=1e-5)


def test_questions_that_teach_nothing_are_left_out(encoder: Encoder) -> None:
    """Those with only right or only wrong candidates, or whose other candidates have no text."""
    labels = {"only wrong": (0, 0), "only right": (1, 1), "no text": (1, 0), "good": (0, 1)}
    rows = [
        (name, "kana love", "" if (name, label) == ("no text", 0) else "midi kana", label)
        for name, of_question in labels.items()
        for label in of_question
    ]
    answers = pd.DataFrame(rows, columns=["question_id", "question", "candidate", "label"])
    examples = make_examples(encoder, answers)
    assert [examples.rows.group(number).tolist() for number in examples.groups] == [[6, 7]]
    assert len(make_examples(encoder, answers[:0])) == 0


def test_fine_tuning_raises_map_and_saves_the_best_encoder(start: Path, tmp_path: Path) -> None:
    """Right candidates have the partners of the question's words, which only training shows."""
    train, dev = (replace_words(part) for part in (TRAIN, DEV))
    folder = tmp_path / "tuned"
    best = tune(start, folder, train, dev, epochs=30, patience=30, optimizer={"learning_rate": 1e-2})
    assert best == pytest.approx(dev_map(folder, dev)) and best > dev_map(start, dev) + 0.1
    assert not list((tmp_path / "tuned").glob("tokens*"))


def test_the_initial_encoder_is_kept_if_training_makes_it_worse(start: Path, tmp_path: Path) -> None:
    best = tune(start, tmp_path / "tuned", epochs=1, optimizer={"learning_rate": 10.0})
    first, last = read_curves(tmp_path / "tuned")["dev/map"].dropna().tolist()
    assert best == first == pytest.approx(dev_map(start)) and last < first
    kept, expected = (load_encoder(folder).state_dict() for folder in (tmp_path / "tuned", start))
    torch.testing.assert_close(kept, expected, rtol=0, atol=0)
    with pytest.raises(ValueError, match="0 questions with a right and a wrong candidate to train on are too few"):
        tune(start, tmp_path / "none", TRAIN[TRAIN["label"] == 1])


def test_vectors_that_are_not_numbers_are_not_scored_as_zero(start: Path) -> None:
    diverged = load_encoder(start)
    for weight in diverged.parameters():
        weight.data.fill_(math.nan)
    assert np.isnan(score_by_cosine(diverged, DEV)).all()


def test_records_have_the_protocol(start: Path, tmp_path: Path) -> None:
    """The scores are those of the fine-tuned encoder, measured as a frozen one; transfer has its own."""
    settings = toys.settings(
        epochs=4, finetune=["toys", "more"], transfer={"toys": "more"}, optimizer={"learning_rate": 1e-2},
        latency_rounds=1,
    )  # fmt: skip
    data = tmp_path / "data"
    for name in ("toys", "more"):
        toys.write_set(data / name, replace_words(ANSWERS))
    toys.write_report(data, "toys", "more")
    task, models = AnswerSelectionTask(), tmp_path / "models"
    tuned = EvaluatedEncoder("tuned", 0, (str(start),), models, "bi_encoder")
    toys.tune_all(task, settings, [tuned], data)
    options = {"again": "toys", "transferred": "toys_after_more"}
    frozen = [EvaluatedEncoder(name, 0, (str(models / option),)) for name, option in options.items()]
    results = task.evaluate(settings, [tuned, *frozen], data, tmp_path / "vectors")
    records = pd.DataFrame(results.records).query("data == 'toys'")
    scores = records.set_index(["variant", "protocol", "split", "metric"])["value"].sort_index()
    protocols = {"frozen": ("tuned", "frozen"), "bi_encoder": ("again", "frozen")}
    protocols["bi_encoder_after_more"] = ("transferred", "frozen")
    assert set(records[records["variant"] == "tuned"]["protocol"]) == {*protocols}
    for protocol, same in protocols.items():
        pd.testing.assert_series_equal(scores["tuned", protocol], scores[same])
    assert scores["tuned", "bi_encoder"].tolist() != scores["tuned", "frozen"].tolist()
    assert results.details["latency"] == {}
