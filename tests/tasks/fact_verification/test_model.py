"""Inputs, heads and fine-tuning on small artificial claims."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from contexture.encoders.config import LabelHeadKind, LayoutConfig
from contexture.encoders.files import load_encoder
from contexture.encoders.heads import sentence_states
from contexture.encoders.layout import Sentences, joint_layout, pair_layout
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.fact_verification.files import LABELS
from contexture.tasks.fact_verification.finetune import finetune_claims
from contexture.tasks.fact_verification.model import ClaimInputs, Verifier, VerifierSettings, load_verifier
from tests.tasks.answer_selection.toys import TOKENS, K, make_encoder
from tests.tasks.fact_verification import toys

CLAIMS = toys.make_claims()
DEV = CLAIMS[CLAIMS["split"] == "dev"]
LAYOUT = LayoutConfig(candidates=K, sentence_tokens=TOKENS)
HEADS: tuple[LabelHeadKind, ...] = ("ie_1", "ae_1", "max_pool", "weighted_sum")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_encoder(tmp_path_factory.mktemp("encoder") / "encoder")


def verifier(encoder: Path, head: LabelHeadKind) -> Verifier:
    torch.manual_seed(1)
    made = Verifier(load_encoder(encoder), VerifierSettings(head, "linear", LAYOUT, [*LABELS])).eval()
    for parameter in made.task.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return made


def tune(head: str, start: Path, folder: Path, claims: pd.DataFrame = CLAIMS, **settings: Any) -> float:
    encoder = EvaluatedEncoder("one", 0, (str(start),))
    return finetune_claims(toys.settings(**settings), head, encoder, claims, folder)


@torch.inference_mode()
def judge_by_loops(model: Verifier, claim: str, evidence: list[str]) -> Tensor:
    """Return the probabilities of one claim, with loops that follow the definitions of the heads."""
    encoder, head = model.encoder, model.task.head
    ids = {
        text: np.array(encoder.vocabulary.tokenizer.encode(text, add_special_tokens=False).ids, np.int64)
        for text in (claim, *evidence)
    }

    def states(lay_out: object, *texts: str) -> list[Tensor]:
        lengths = np.array([[len(ids[text]) for text in texts]])
        made = lay_out(Sentences(np.concatenate([ids[t] for t in texts]), lengths), encoder.specials, LAYOUT)  # type: ignore[operator]
        return [*sentence_states(encoder.transformer.states(made), made["pooling"])[0]]

    if head.kind in ("ie_1", "ae_1"):
        head_states = states(joint_layout, claim, *evidence)
        pooled = head_states[0] if head.kind == "ie_1" else sum(head_states, torch.zeros(16)) / len(head_states)
    else:
        pairs = [states(pair_layout, claim, text)[0] for text in evidence]
        if head.weight is None:
            pooled = torch.tensor([max(float(pair[column]) for pair in pairs) for column in range(16)])
        else:
            weights = [float(torch.exp(head.weight(pair))) for pair in pairs]
            pooled = sum((w / sum(weights) * pair for w, pair in zip(weights, pairs, strict=True)), torch.zeros(16))
    return torch.softmax(head.classifier(pooled), dim=0)


@pytest.mark.parametrize("head", HEADS)
def test_batches_equal_single_claims(head: LabelHeadKind, encoder: Path) -> None:
    model = verifier(encoder, head)
    probabilities = model.probabilities(model.inputs(DEV))
    for row, (claim, evidence) in enumerate(zip(DEV["claim"], DEV["evidence"], strict=True)):
        torch.testing.assert_close(probabilities[row], judge_by_loops(model, claim, evidence), atol=1e-5, rtol=1e-4)
        judged = model.judge(claim, evidence)
        assert [*judged] == [*LABELS] and [*judged.values()] == pytest.approx(probabilities[row].tolist(), abs=1e-5)
    assert probabilities.std(dim=0).max() > 1e-3  # probabilities differ


def test_texts_become_joint_inputs_and_pairs(encoder: Path) -> None:
    loaded = load_encoder(encoder)
    rows = pd.DataFrame({"claim": ["kana", "love midi"], "evidence": [["rudi sena", "topo"], ["toga"]], "label": "a"})
    order = np.array([1, 0])
    joint = ClaimInputs(rows, ["a"], "ie_1", loaded, LAYOUT).batch(order)
    assert joint["present"].tolist() == [[True, True, False], [True, True, True]]
    read = loaded.vocabulary.tokenizer.decode_batch(joint["input_ids"].tolist(), skip_special_tokens=True)
    assert [text.split() for text in read] == [["love", "midi", "toga"], ["kana", "rudi", "sena", "topo"]]
    pairs = ClaimInputs(rows, ["a"], "max_pool", loaded, LAYOUT).batch(order)
    assert pairs["present"].tolist() == [[True, False], [True, True]]
    assert (pairs["pair_rows"].tolist(), pairs["pair_slots"].tolist()) == ([0, 1, 1], [0, 0, 1])
    read = loaded.vocabulary.tokenizer.decode_batch(pairs["input_ids"].tolist(), skip_special_tokens=True)
    assert [text.split() for text in read] == [["love", "midi", "toga"], ["kana", "rudi", "sena"], ["kana", "topo"]]
    assert pairs["labels"].tolist() == [0, 0]


@pytest.mark.parametrize("head", ["ie_1", "max_pool"])
def test_a_learnable_task_is_learned(head: str, encoder: Path, tmp_path: Path) -> None:
    """One word distinguishes REFUTES from SUPPORTS."""
    settings = {"epochs": 20, "patience": 20, "optimizer": {"learning_rate": 3e-3, "warmup_steps": 2}}
    assert tune(head, encoder, tmp_path, toys.make_claims(LABELS[:2]), **settings) == 1
    assert load_verifier(tmp_path).settings.classes == [*LABELS[:2]]


def test_missing_layout_raises(encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"set fact_verification\.layout"):
        tune("ie_1", encoder, tmp_path, layout=None)
