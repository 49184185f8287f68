"""Fine-tuning and scoring on a little made-up benchmark."""

from itertools import pairwise
from pathlib import Path

import hypothesis
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from contexture.encoders.base import build_encoder
from contexture.encoders.config import BagOfWordsMlpConfig, HeadKind, LayoutConfig, Lengths, Needs
from contexture.encoders.files import load_encoder, save_encoder
from contexture.encoders.transformer import Transformer
from contexture.metrics.ranking import question_metrics
from contexture.tasks.answer_selection.config import AnswerSelectionSettings
from contexture.tasks.answer_selection.data import AnswerInputs, AnswerRows, group_size
from contexture.tasks.answer_selection.finetune import finetune_answers
from contexture.tasks.answer_selection.model import load_answer_model
from contexture.tasks.answer_selection.scoring import consecutive_groups, score_candidates, score_model
from contexture.tasks.base import Contestant
from contexture.tasks.finetuned import Step
from contexture.training.curves import read_curves
from contexture.vocabulary.vocabulary import Vocabulary
from tests.tasks.answer_selection import toys

ANSWERS = toys.answers()
TRAIN = ANSWERS[ANSWERS["split"] == "train"].reset_index(drop=True)
DEV = ANSWERS[ANSWERS["split"] == "dev"].reset_index(drop=True)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.new_encoder(tmp_path_factory.mktemp("encoder") / "encoder", heads=("ie_k",))


def tune(
    head: str | None, start: Path, folder: Path, settings: AnswerSelectionSettings | None = None, seed: int = 0
) -> float:
    folder.mkdir(exist_ok=True)
    contestant = Contestant(f"variant of {head}", seed, (str(start),), head=head)
    return finetune_answers(settings or toys.settings(), contestant, [TRAIN], DEV, folder)


def scores(folder: Path, answers: pd.DataFrame = DEV) -> pd.DataFrame:
    return score_model(load_answer_model(folder), answers)


def test_the_head_of_pretraining_is_carried_on_where_it_is_of_the_same_kind(encoder: Path, tmp_path: Path) -> None:
    still = toys.settings(epochs=1, optimizer={"learning_rate": 1e-12})
    before = load_file(encoder / "objectives.safetensors")["of_ie_k.head.classifier.weight"]
    for head, same in (("ie_k", True), ("ae_k", False), ("ie_1", False)):
        tune(head, encoder, tmp_path / head, still)
        after = load_answer_model(tmp_path / head).task.head.classifier.weight
        assert (after.shape == before.shape and torch.allclose(after, before, atol=1e-6)) is same


def test_a_model_with_the_head_of_pretraining_is_looked_at_before_it_is_trained(encoder: Path, tmp_path: Path) -> None:
    """And kept where training harms it; a new head has nothing to say yet."""
    ruinous = toys.settings(epochs=2, optimizer={"learning_rate": 10.0})
    for head, looks in (("ie_k", 3), ("ae_k", 2)):
        tune(head, encoder, tmp_path / head, ruinous)
        curve = read_curves(tmp_path / head)["dev/map"].dropna().tolist()
        assert len(curve) == looks
        if head == "ie_k" and curve[0] == max(curve):
            before = load_file(encoder / "objectives.safetensors")["of_ie_k.head.classifier.weight"]
            after = load_answer_model(tmp_path / head).task.head.classifier.weight
            torch.testing.assert_close(after, before, rtol=0, atol=0)


def test_of_several_heads_that_of_the_same_kind_is_taken_and_others_are_told(
    encoder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    start = toys.new_encoder(tmp_path / "start", heads=("ae_k", "ie_k"))
    still = toys.settings(epochs=1, optimizer={"learning_rate": 1e-12})
    for head in ("ie_k", "ae_k"):
        tune(head, start, tmp_path / head, still)
        before = load_file(start / "objectives.safetensors")[f"of_{head}.head.classifier.weight"]
        torch.testing.assert_close(
            load_answer_model(tmp_path / head).task.head.classifier.weight, before, rtol=0, atol=1e-6
        )
    assert "of another kind" not in caplog.text
    tune("ae_k", encoder, tmp_path / "other", still)
    assert "its head is of another kind than this one, which starts anew" in caplog.text


def test_a_joint_model_reads_a_question_with_few_candidates_as_if_alone(encoder: Path, tmp_path: Path) -> None:
    """Scores do not depend on what else stands in the batch, nor on empty slots of other questions."""
    tune("ie_k", encoder, tmp_path)
    together = scores(tmp_path)["score"].to_numpy()
    for _, rows in DEV.groupby("question_id"):
        alone = scores(tmp_path, rows.reset_index(drop=True))["score"].to_numpy()
        np.testing.assert_allclose(alone, together[rows.index], atol=1e-5)
        told = score_candidates(load_answer_model(tmp_path), rows["question"].iloc[0], rows["candidate"].tolist())
        np.testing.assert_allclose(told, alone, atol=1e-5)


def test_reranking_reorders_the_top_of_the_pairwise_model_only(encoder: Path, tmp_path: Path) -> None:
    tune("ie_k", encoder, tmp_path)
    pairwise = np.random.default_rng(0).normal(size=len(DEV))
    found = score_model(load_answer_model(tmp_path), DEV, pairwise)
    assert set(found["protocol"]) == {"grouped", "reranked"}
    reranked = found[found["protocol"] == "reranked"].reset_index(drop=True)
    for _, rows in DEV.groupby("question_id"):
        first = rows.index[np.argsort(-pairwise[rows.index])]
        second = rows.index[np.argsort(-reranked["score"].to_numpy()[rows.index])]
        assert set(first[: toys.K]) == set(second[: toys.K])
        assert first[toys.K :].tolist() == second[toys.K :].tolist()
    measured = question_metrics(found.assign(variant="joint", seed=0, split="dev"))
    assert len(measured) == 2 * DEV["question_id"].nunique()


def test_texts_become_groups_of_tokens(encoder: Path) -> None:
    loaded = load_encoder(encoder)
    layout = LayoutConfig(candidates=2, sentence_tokens=16)
    inputs = AnswerInputs(AnswerRows.in_memory(DEV, loaded, 2), "ie_k", loaded, layout)
    batch = inputs.batch([np.array([0, 1]), np.array([2])])
    assert batch["labels"].tolist()[0] == DEV["label"][:2].tolist()
    assert batch["labels"].tolist()[1] == [DEV["label"][2], -100]
    text = loaded.vocabulary.tokenizer.decode(batch["input_ids"][0].tolist(), skip_special_tokens=True)
    assert text.split() == " ".join([DEV["question"][0], *DEV["candidate"][:2]]).split()
    pairs = AnswerInputs(AnswerRows.in_memory(DEV, loaded, 1), "ie_1", loaded, layout)
    assert (group_size("ie_1", layout), group_size("ie_k", layout)) == (1, 2)
    assert pairs.batch([np.array([3])])["labels"].tolist() == [[DEV["label"][3]]]


@pytest.mark.parametrize("head", ["ie_k", "ie_1"])
def test_an_encoder_of_short_texts_gets_room_and_first_computes_what_it_did(head: HeadKind, tmp_path: Path) -> None:
    start = toys.new_encoder(tmp_path / "start", Needs(positions=16, types=1))
    before, after = load_encoder(start, head=False), load_encoder(start, head=False)
    after.make_room(3 * 16, 2 if head == "ie_1" else 3)
    network = after.document
    assert isinstance(network, Transformer)
    tables = network.base.embeddings
    assert tables.token_type_embeddings.num_embeddings == (2 if head == "ie_1" else 3)
    positions = tables.position_embeddings.weight
    assert positions.shape[0] == 3 * 16
    for slot in range(3):  # every slot counts its positions anew
        torch.testing.assert_close(positions[slot * 16 : slot * 16 + 16], positions[:16])
    texts = ["kana love", "midi"]
    np.testing.assert_allclose(after.embed(texts), before.embed(texts), atol=1e-6)
    best = tune(head, start, tmp_path / "tuned", toys.settings(epochs=1))
    assert 0 < best <= 1 and len(scores(tmp_path / "tuned")) == len(DEV)


def test_room_that_is_there_is_left_alone(encoder: Path) -> None:
    loaded = load_encoder(encoder, head=False)
    before = {name: value.clone() for name, value in loaded.state_dict().items()}
    loaded.make_room(3 * 16, 3)
    torch.testing.assert_close(dict(loaded.state_dict()), before, rtol=0, atol=0)


@hypothesis.settings(deadline=None, max_examples=30)
@given(cuts=st.lists(st.integers(0, len(TRAIN)), max_size=6), size=st.integers(1, 4))
def test_rows_from_files_are_those_in_memory_however_they_come(
    cuts: list[int], size: int, encoder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Tables may be of any length, none included, and a question may go on from one to the next."""
    loaded = load_encoder(encoder)
    ends = [0, *sorted(cuts), len(TRAIN)]
    tables = [TRAIN[first:last] for first, last in pairwise(ends)]
    found = AnswerRows.on_disk(tables, loaded, size, tmp_path_factory.mktemp("rows") / "tokens")
    known = AnswerRows.in_memory(TRAIN, loaded, size)
    assert all(isinstance(column, np.memmap) for column in vars(found).values())
    assert found.labels.tolist() == TRAIN["label"].tolist() and found.lengths.tolist() == known.lengths.tolist()
    groups = consecutive_groups(TRAIN, size)
    assert [found.group(number).tolist() for number in range(len(found.starts))] == [rows.tolist() for rows in groups]
    for rows, column in ((found.questions, "question"), (found.candidates, "candidate")):
        texts = [found.text(number).tolist() for number in rows]
        assert loaded.vocabulary.tokenizer.decode_batch(texts) == TRAIN[column].tolist()


def test_nothing_of_the_token_ids_is_left_beside_a_model(encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "tokens-0").mkdir()
    (tmp_path / "tokens-0/labels").write_text("of a run that was killed")
    tune("ie_k", encoder, tmp_path, toys.settings(epochs=1))
    assert not list(tmp_path.glob("tokens*"))


@pytest.mark.parametrize("head", ["ie_k", "ae_k", "ie_1"])
def test_a_model_begins_where_that_of_another_set_ended(head: str, encoder: Path, tmp_path: Path) -> None:
    """With its head, so that it is looked at before it learns; and what it would unlearn is kept."""
    tune(head, encoder, tmp_path / "first")
    ruinous = toys.settings(epochs=1, optimizer={"learning_rate": 10.0})
    best = tune(head, tmp_path / "first", tmp_path / "second", ruinous)
    looks = read_curves(tmp_path / "second")["dev/map"].dropna().tolist()
    assert len(looks) == 2
    before, after = scores(tmp_path / "first"), scores(tmp_path / "second")
    if looks[0] == max(looks):
        pd.testing.assert_frame_equal(before, after)
        assert best == looks[0]


def test_a_head_of_another_kind_is_not_taken_over(
    encoder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tune("ie_k", encoder, tmp_path / "first", toys.settings(epochs=1))
    tune("ie_1", tmp_path / "first", tmp_path / "second", toys.settings(epochs=1))
    assert "its head is of another kind than this one, which starts anew" in caplog.text
    assert len(read_curves(tmp_path / "second")["dev/map"].dropna()) == 1


def test_what_cannot_be_fine_tuned_is_named(encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"set answer_selection\.layout"):
        tune("ie_k", encoder, tmp_path, toys.settings(layout=None))
    with pytest.raises(ValueError, match="head"):
        tune(None, encoder, tmp_path)
    one = Contestant("one", 0, (str(encoder),), head="ie_k")
    with pytest.raises(ValueError, match="there is no question of split 'dev'"):
        finetune_answers(toys.settings(), one, [TRAIN], DEV[:0], tmp_path)
    with pytest.raises(ValueError, match="0 groups of candidates to train on are too few"):
        finetune_answers(toys.settings(), one, [TRAIN[:0]], DEV, tmp_path)
    bag = BagOfWordsMlpConfig("bag_of_words_mlp", 8, 8, 8)
    save_encoder(build_encoder(bag, Lengths(query=8, document=8), Vocabulary.load(encoder)), tmp_path / "bag")
    with pytest.raises(ValueError, match="bag: a BagOfWordsMlp has no states of tokens: this needs a transformer"):
        tune("ie_k", tmp_path / "bag", tmp_path)


def test_a_device_that_gets_nothing_learns_nothing(encoder: Path) -> None:
    """It reads a group, as gradients are awaited from every device."""
    layout, loaded = LayoutConfig(candidates=toys.K, sentence_tokens=toys.TOKENS), load_encoder(encoder)
    inputs = AnswerInputs(AnswerRows.in_memory(TRAIN, loaded, toys.K), "ie_k", loaded, layout)
    batches = [inputs.training_batch(Step(np.array([5]), 0, 1, rank, 2)) for rank in (0, 1)]
    assert [int((batch["labels"] >= 0).any(dim=1).sum()) for batch in batches] == [1, 0]
    assert torch.equal(batches[0]["input_ids"], batches[1]["input_ids"])
