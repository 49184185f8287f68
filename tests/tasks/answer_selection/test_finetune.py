"""Fine-tuning and scoring on a small artificial set."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from contexture.encoders.base import build_encoder
from contexture.encoders.config import BagOfWordsMlpConfig, HeadKind, LayoutConfig, Lengths, TableSizes
from contexture.encoders.files import load_encoder, save_encoder
from contexture.encoders.transformer import Transformer
from contexture.metrics.ranking import question_metrics
from contexture.tasks.answer_selection.data import AnswerInputs, AnswerRows, get_group_size
from contexture.tasks.answer_selection.finetune import finetune_answers
from contexture.tasks.answer_selection.model import load_answer_model
from contexture.tasks.answer_selection.scoring import group_candidates, score_candidates, score_model
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.finetuned import Step
from contexture.training.curves import read_curves
from contexture.vocabulary.vocabulary import Vocabulary
from tests.tasks.answer_selection import toys

ANSWERS = toys.make_answers()
TRAIN = ANSWERS[ANSWERS["split"] == "train"].reset_index(drop=True)
DEV = ANSWERS[ANSWERS["split"] == "dev"].reset_index(drop=True)


STILL = {"epochs": 1, "optimizer": {"learning_rate": 1e-12}}
RUINOUS = {"epochs": 1, "optimizer": {"learning_rate": 10.0}}
HEADS: tuple[HeadKind, ...] = ("ie_k", "ae_k", "ie_1")
OTHER_KIND = "the head is of another kind"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.make_encoder(tmp_path_factory.mktemp("encoder") / "encoder", heads=("ie_k",))


@pytest.fixture(scope="module")
def tuned(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tuned")
    for head in HEADS:
        (folder / head / "tokens-0").mkdir(parents=True)
        (folder / head / "tokens-0/labels").write_text("left by a killed run")
        tune(head, encoder, folder / head)
    return {head: folder / head for head in HEADS}


def tune(head: str | None, start: Path, folder: Path, **settings: Any) -> float:
    folder.mkdir(exist_ok=True)
    encoder = EvaluatedEncoder(f"variant of {head}", 0, (str(start),), head=head)
    return finetune_answers(toys.settings(**settings), encoder, [TRAIN], DEV, folder)


def scores(folder: Path, answers: pd.DataFrame = DEV) -> pd.DataFrame:
    return score_model(load_answer_model(folder), answers)


def dev_scores(folder: Path) -> list[float]:
    curve: list[float] = read_curves(folder)["dev/map"].dropna().tolist()
    return curve


def head_weight(folder: Path) -> torch.Tensor:
    return load_answer_model(folder).task.head.classifier.weight


def pretrained_head(folder: Path, head: str = "ie_k") -> torch.Tensor:
    return load_file(folder / "objectives.safetensors")[f"of_{head}.head.classifier.weight"]


def inputs(encoder: Path, answers: pd.DataFrame, head: HeadKind = "ie_k") -> AnswerInputs:
    layout, loaded = LayoutConfig(candidates=toys.K, sentence_tokens=toys.TOKENS), load_encoder(encoder)
    return AnswerInputs(AnswerRows.in_memory(answers, loaded, get_group_size(head, layout)), head, loaded, layout)


def test_pretrained_heads_of_the_same_kind_are_copied(
    encoder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    both = toys.make_encoder(tmp_path / "both", heads=("ae_k", "ie_k"))
    for start, head in ((encoder, "ie_k"), (both, "ie_k"), (both, "ae_k"), (encoder, "ie_1")):
        tune(head, start, tmp_path / head, **STILL)
        expected, after = pretrained_head(start, "ie_k" if head == "ie_1" else head), head_weight(tmp_path / head)
        assert torch.allclose(after, expected, atol=1e-6) is (head != "ie_1")
    assert OTHER_KIND not in caplog.text
    tune("ae_k", encoder, tmp_path / "other", **STILL)
    assert OTHER_KIND in caplog.text


def test_pretrained_heads_are_measured_before_training(encoder: Path, tmp_path: Path) -> None:
    """And kept if training makes it worse; new heads are not measured."""
    for head, count in (("ie_k", 2), ("ae_k", 1)):
        tune(head, encoder, tmp_path / head, **RUINOUS)
        curve = dev_scores(tmp_path / head)
        assert len(curve) == count
        if head == "ie_k" and curve[0] == max(curve):
            torch.testing.assert_close(head_weight(tmp_path / head), pretrained_head(encoder), rtol=0, atol=0)


def test_scores_do_not_depend_on_other_questions(tuned: dict[str, Path]) -> None:
    together, model = scores(tuned["ie_k"])["score"].to_numpy(), load_answer_model(tuned["ie_k"])
    for _, rows in DEV.groupby("question_id"):
        separate = score_model(model, rows.reset_index(drop=True))["score"].to_numpy()
        np.testing.assert_allclose(separate, together[rows.index], atol=1e-5)
        by_hand = score_candidates(model, rows["question"].iloc[0], rows["candidate"].tolist())
        np.testing.assert_allclose(by_hand, separate, atol=1e-5)


def test_reranking_only_changes_the_pairwise_top(tuned: dict[str, Path]) -> None:
    pairwise = np.random.default_rng(0).normal(size=len(DEV))
    table = score_model(load_answer_model(tuned["ie_k"]), DEV, pairwise)
    assert set(table["protocol"]) == {"grouped", "reranked"}
    reranked = table[table["protocol"] == "reranked"].reset_index(drop=True)
    for _, rows in DEV.groupby("question_id"):
        first = rows.index[np.argsort(-pairwise[rows.index])]
        second = rows.index[np.argsort(-reranked["score"].to_numpy()[rows.index])]
        assert set(first[: toys.K]) == set(second[: toys.K])
        assert first[toys.K :].tolist() == second[toys.K :].tolist()
    measured = question_metrics(table.assign(variant="joint", seed=0, split="dev"))
    assert len(measured) == 2 * DEV["question_id"].nunique()


def test_texts_become_groups_of_tokens(encoder: Path) -> None:
    joint, pairs = inputs(encoder, DEV), inputs(encoder, DEV, "ie_1")
    batch = joint.batch([np.array([0, 1]), np.array([2])])
    assert batch["labels"].tolist() == [DEV["label"][:2].tolist(), [DEV["label"][2], -100]]
    tokenizer = load_encoder(encoder).vocabulary.tokenizer
    text = tokenizer.decode(batch["input_ids"][0].tolist(), skip_special_tokens=True)
    assert text.split() == " ".join([DEV["question"][0], *DEV["candidate"][:2]]).split()
    assert (get_group_size("ie_1", pairs.layout), get_group_size("ie_k", pairs.layout)) == (1, 2)
    assert pairs.batch([np.array([3])])["labels"].tolist() == [[DEV["label"][3]]]


def test_a_device_without_examples_gets_ignored_labels(encoder: Path) -> None:
    """Each device must compute gradients."""
    batches = [inputs(encoder, TRAIN).training_batch(Step(np.array([5]), 0, 1, rank, 2)) for rank in (0, 1)]
    assert [int((batch["labels"] >= 0).any(dim=1).sum()) for batch in batches] == [1, 0]
    assert torch.equal(batches[0]["input_ids"], batches[1]["input_ids"])


@pytest.mark.parametrize("head", ["ie_k", "ie_1"])
def test_more_positions_do_not_change_vectors(head: HeadKind, tmp_path: Path) -> None:
    start = toys.make_encoder(tmp_path / "start", TableSizes(positions=16, types=1))
    expected, after = load_encoder(start, head=False), load_encoder(start, head=False)
    after.transformer.resize_tables(3 * 16, 2 if head == "ie_1" else 3)
    network = after.document
    assert isinstance(network, Transformer)
    tables = network.base.embeddings
    assert tables.token_type_embeddings.num_embeddings == (2 if head == "ie_1" else 3)
    positions = tables.position_embeddings.weight
    assert positions.shape[0] == 3 * 16
    for slot in range(3):  # positions restart in each slot
        torch.testing.assert_close(positions[slot * 16 : slot * 16 + 16], positions[:16])
    texts = ["kana love", "midi"]
    np.testing.assert_allclose(after.embed(texts), expected.embed(texts), atol=1e-6)
    best = tune(head, start, tmp_path / "tuned", epochs=1)
    assert 0 < best <= 1 and len(scores(tmp_path / "tuned")) == len(DEV)


def test_enough_positions_are_not_changed(encoder: Path) -> None:
    loaded = load_encoder(encoder, head=False)
    expected = {name: value.clone() for name, value in loaded.state_dict().items()}
    loaded.transformer.resize_tables(3 * 16, 3)
    torch.testing.assert_close(dict(loaded.state_dict()), expected, rtol=0, atol=0)


@hypothesis.settings(deadline=None, max_examples=30)
@given(cuts=st.lists(st.integers(0, len(TRAIN)), max_size=6), size=st.integers(1, 4))
def test_rows_on_disk_equal_rows_in_memory(
    cuts: list[int], size: int, encoder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Tables may be empty, and a question may continue in the next table."""
    loaded = load_encoder(encoder)
    tables = [TRAIN[first:last] for first, last in pairwise([0, *sorted(cuts), len(TRAIN)])]
    mapped = AnswerRows.on_disk(tables, loaded, size, tmp_path_factory.mktemp("rows") / "tokens")
    known = AnswerRows.in_memory(TRAIN, loaded, size)
    assert all(isinstance(column, np.memmap) for column in vars(mapped).values())
    assert mapped.labels.tolist() == TRAIN["label"].tolist() and mapped.lengths.tolist() == known.lengths.tolist()
    groups = group_candidates(TRAIN, size)
    assert [mapped.group(number).tolist() for number in range(len(mapped.starts))] == [rows.tolist() for rows in groups]
    for rows, column in ((mapped.questions, "question"), (mapped.candidates, "candidate")):
        texts = [mapped.text(number).tolist() for number in rows]
        assert loaded.vocabulary.tokenizer.decode_batch(texts) == TRAIN[column].tolist()


def test_token_files_are_removed(tuned: dict[str, Path]) -> None:
    assert not [file for folder in tuned.values() for file in folder.glob("tokens*")]


@pytest.mark.parametrize("head", HEADS)
def test_fine_tuning_continues_a_fine_tuned_model(head: str, tuned: dict[str, Path], tmp_path: Path) -> None:
    """Its head is copied, measured before training, and kept if training makes it worse."""
    best = tune(head, tuned[head], tmp_path / "second", **RUINOUS)
    curve = dev_scores(tmp_path / "second")
    assert len(curve) == 2
    if curve[0] == max(curve):
        pd.testing.assert_frame_equal(scores(tuned[head]), scores(tmp_path / "second"))
        assert best == curve[0]


def test_heads_of_another_kind_are_not_copied(
    tuned: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tune("ie_1", tuned["ie_k"], tmp_path / "second", epochs=1)
    assert OTHER_KIND in caplog.text and len(dev_scores(tmp_path / "second")) == 1


def test_invalid_fine_tuning_raises(encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"set answer_selection\.layout"):
        tune("ie_k", encoder, tmp_path, layout=None)
    with pytest.raises(ValueError, match="head"):
        tune(None, encoder, tmp_path)
    evaluated = EvaluatedEncoder("one", 0, (str(encoder),), head="ie_k")
    with pytest.raises(ValueError, match="dev has no questions"):
        finetune_answers(toys.settings(), evaluated, [TRAIN], DEV[:0], tmp_path)
    with pytest.raises(ValueError, match="0 groups of candidates to train on are too few"):
        finetune_answers(toys.settings(), evaluated, [TRAIN[:0]], DEV, tmp_path)
    bag = BagOfWordsMlpConfig("bag_of_words_mlp", 8, 8, 8)
    save_encoder(build_encoder(bag, Lengths(query=8, document=8), Vocabulary.load(encoder)), tmp_path / "bag")
    with pytest.raises(ValueError, match="bag: a BagOfWordsMlp has no states of tokens: this needs a transformer"):
        tune("ie_k", tmp_path / "bag", tmp_path)
