"""The joint and the pair layout, by hand and against the padded layout of the paper."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, BertForMaskedLM

from contexture.encoders.config import LayoutConfig
from contexture.encoders.layout import Sentences, Specials, joint_layout, pair_layout
from contexture.encoders.transformer import TransformerEncoder

CLS, SEP, PAD = 1, 2, 0
SPECIALS = Specials(cls=CLS, sep=SEP, pad=PAD)


def sentences(rows: list[list[list[int] | None]]) -> Sentences:
    flat = [token for row in rows for text in row if text for token in text]
    lengths = [[-1 if text is None else len(text) for text in row] for row in rows]
    return Sentences(np.array(flat, dtype=np.int64), np.array(lengths, dtype=np.int64))


def test_joint_layout_by_hand() -> None:
    batch = joint_layout(
        sentences([[[5, 6], [7], []], [[8], None, [9, 9, 9]]]), SPECIALS, LayoutConfig(candidates=2, sentence_tokens=4)
    )
    assert batch["input_ids"].tolist() == [
        [CLS, 5, 6, SEP, CLS, 7, SEP, CLS, SEP],
        [CLS, 8, SEP, CLS, 9, 9, SEP, PAD, PAD],  # the third 9 does not fit into 4 tokens
    ]
    assert batch["position_ids"].tolist() == [[0, 1, 2, 3, 4, 5, 6, 8, 9], [0, 1, 2, 8, 9, 10, 11, 0, 0]]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 2, 2, 2, 2, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1] * 9, [1] * 7 + [0] * 2]
    assert batch["pooling"].argmax(-1).tolist() == [[0, 4, 7], [0, 0, 3]]
    assert batch["pooling"].sum(-1).tolist() == [[1, 1, 1], [1, 0, 1]]


def test_mean_pooling_by_hand() -> None:
    layout = LayoutConfig(candidates=2, sentence_tokens=4, pooling="mean")
    batch = joint_layout(sentences([[[5], None, [7, 8]], [[], [6], []]]), SPECIALS, layout)
    third, half, quarter = 1 / 3, 1 / 2, 1 / 4
    expected = [
        [[third] * 3 + [0] * 4, [0] * 7, [0] * 3 + [quarter] * 4],
        [[half] * 2 + [0] * 5, [0] * 2 + [third] * 3 + [0] * 2, [0] * 5 + [half] * 2],
    ]
    assert torch.allclose(batch["pooling"], torch.tensor(expected))
    pair = pair_layout(sentences([[[5], [7]], [[5], []]]), SPECIALS, layout)
    assert torch.allclose(pair["pooling"], torch.tensor([[[0.2] * 5], [[quarter] * 4 + [0]]]))


def test_positions_of_the_released_code_count_tokens() -> None:
    layout = LayoutConfig(candidates=1, sentence_tokens=8, positions="tokens")
    batch = joint_layout(sentences([[[5], [6, 7]]]), Specials(CLS, SEP, PAD, first_position=2), layout)
    assert batch["position_ids"].tolist() == [[2, 3, 4, 5, 6, 7, 8]]


def test_pair_layout_by_hand() -> None:
    batch = pair_layout(sentences([[[5], [6, 7]], [[8, 8, 8], [9]]]), SPECIALS, LayoutConfig(sentence_tokens=4))
    assert batch["input_ids"].tolist() == [[CLS, 5, SEP, 6, 7, SEP], [CLS, 8, 8, SEP, 9, SEP]]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1]]
    assert batch["position_ids"].tolist() == [[0, 1, 2, 3, 4, 5]] * 2
    roberta = pair_layout(sentences([[[5], [6]]]), Specials(CLS, SEP, PAD, 2, pair_separators=2), LayoutConfig())
    assert roberta["input_ids"].tolist() == [[CLS, 5, SEP, SEP, 6, SEP]]
    assert roberta["position_ids"].tolist() == [[2, 3, 4, 5, 6, 7]]


def test_a_pair_has_two_sentences() -> None:
    with pytest.raises(ValueError, match="two sentences"):
        pair_layout(sentences([[[5], None]]), SPECIALS, LayoutConfig())


@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.lists(st.integers(3, 19), max_size=9)), min_size=3, max_size=3).filter(
            lambda row: row[0] is not None
        ),
        min_size=1,
        max_size=4,
    )
)
def test_every_token_keeps_its_slot(rows: list[list[list[int] | None]]) -> None:
    layout = LayoutConfig(candidates=2, sentence_tokens=6)
    batch = joint_layout(sentences(rows), SPECIALS, layout)
    for i, row in enumerate(rows):
        expected = [
            (slot, slot * 6 + j, token)
            for slot, text in enumerate(row)
            if text is not None
            for j, token in enumerate([CLS, *text[:4], SEP])
        ]
        kept = batch["attention_mask"][i].bool()
        found = zip(*(batch[n][i][kept].tolist() for n in ("token_type_ids", "position_ids", "input_ids")), strict=True)
        assert list(found) == expected


def test_leaving_out_the_padding_changes_no_state() -> None:
    """The compact layout against the paper's: every sentence padded to its slot, padding masked."""
    torch.manual_seed(0)
    layout = LayoutConfig(candidates=2, sentence_tokens=6)
    config = BertConfig(
        vocab_size=20, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=18, type_vocab_size=3, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
    )  # fmt: skip
    encoder = TransformerEncoder(BertForMaskedLM(config)).eval()
    texts = [[3, 4, 5], [6], [7, 8]]
    batch = joint_layout(sentences([texts]), SPECIALS, layout)  # type: ignore[list-item]
    padded = [([CLS, *text, SEP] + [PAD] * 6)[:6] for text in texts]
    full = {
        "input_ids": torch.tensor([[token for row in padded for token in row]]),
        "position_ids": torch.arange(18)[None],
        "token_type_ids": torch.arange(3).repeat_interleave(6)[None],
    }
    full["attention_mask"] = (full["input_ids"] != PAD).long()
    with torch.no_grad():
        compact, reference = encoder(batch)[0], encoder(full)[0][full["attention_mask"][0].bool()]
    torch.testing.assert_close(compact, reference, atol=1e-6, rtol=1e-5)
