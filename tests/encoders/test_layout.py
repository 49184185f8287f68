"""Layouts by hand, the joint layout compared with the paper's padded one, and chunks of similar length."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contexture.encoders.config import LayoutConfig, TableSizes
from contexture.encoders.layout import (
    Sentences,
    SpecialTokenFormat,
    group_by_length,
    joint_layout,
    pair_layout,
    row_lengths,
    select_rows,
    text_chunks,
    text_layout,
    truncate,
    word_layout,
)
from tests.factories import rows_of, texts_of

from .toys import build, rows

CLS, SEP, PAD = 1, 2, 0
SPECIALS = SpecialTokenFormat(cls=CLS, sep=SEP, pad=PAD)


def test_joint_layout_by_hand() -> None:
    batch = joint_layout(
        rows([[5, 6], [7], []], [[8], None, [9, 9, 9]]), SPECIALS, LayoutConfig(candidates=2, sentence_tokens=4)
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
    batch = joint_layout(rows([[5], None, [7, 8]], [[], [6], []]), SPECIALS, layout)
    third, half, quarter = 1 / 3, 1 / 2, 1 / 4
    expected = [
        [[third] * 3 + [0] * 4, [0] * 7, [0] * 3 + [quarter] * 4],
        [[half] * 2 + [0] * 5, [0] * 2 + [third] * 3 + [0] * 2, [0] * 5 + [half] * 2],
    ]
    assert torch.allclose(batch["pooling"], torch.tensor(expected))
    pair = pair_layout(rows([[5], [7]], [[5], []]), SPECIALS, layout)
    assert torch.allclose(pair["pooling"], torch.tensor([[[0.2] * 5], [[quarter] * 4 + [0]]]))


def test_positions_of_the_released_code_count_tokens() -> None:
    layout = LayoutConfig(candidates=1, sentence_tokens=8, positions="tokens")
    batch = joint_layout(rows([[5], [6, 7]]), SpecialTokenFormat(CLS, SEP, PAD, first_position=2), layout)
    assert batch["position_ids"].tolist() == [[2, 3, 4, 5, 6, 7, 8]]


def test_pair_layout_by_hand() -> None:
    """A pair has the length of a joint input, here 3 × 3 tokens: half for the first sentence."""
    pairs = rows([[5], [6, 7, 6, 7, 6, 7]], [[8, 8, 8, 8], [9, 9, 9, 9]])
    batch = pair_layout(pairs, SPECIALS, LayoutConfig(candidates=2, sentence_tokens=3))
    assert batch["input_ids"].tolist() == [
        [CLS, 5, SEP, 6, 7, 6, 7, 6, SEP],
        [CLS, 8, 8, 8, SEP, 9, 9, 9, SEP],
    ]
    assert batch["token_type_ids"].tolist() == [[0] * 3 + [1] * 6, [0] * 5 + [1] * 4]
    assert batch["position_ids"].tolist() == [list(range(9))] * 2
    roberta = pair_layout(rows([[5], [6]]), SpecialTokenFormat(CLS, SEP, PAD, 2, pair_separators=2), LayoutConfig())
    assert roberta["input_ids"].tolist() == [[CLS, 5, SEP, SEP, 6, SEP]]
    assert roberta["position_ids"].tolist() == [[2, 3, 4, 5, 6, 7]]


def test_a_pair_has_two_sentences() -> None:
    with pytest.raises(ValueError, match="two sentences"):
        pair_layout(rows([[5], None]), SPECIALS, LayoutConfig())


@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.lists(st.integers(3, 19), max_size=9)), min_size=3, max_size=3).filter(
            lambda row: row[0] is not None
        ),
        min_size=1,
        max_size=4,
    )
)
def test_every_token_keeps_its_slot(texts: list[list[list[int] | None]]) -> None:
    layout = LayoutConfig(candidates=2, sentence_tokens=6)
    batch = joint_layout(rows(*texts), SPECIALS, layout)
    for i, row in enumerate(texts):
        expected = [
            (slot, slot * 6 + j, token)
            for slot, text in enumerate(row)
            if text is not None
            for j, token in enumerate([CLS, *text[:4], SEP])
        ]
        kept = batch["attention_mask"][i].bool()
        tokens = zip(
            *(batch[n][i][kept].tolist() for n in ("token_type_ids", "position_ids", "input_ids")), strict=True
        )
        assert list(tokens) == expected


def test_padding_changes_no_state() -> None:
    """In the paper's layout every sentence is padded to its slot, and the padding is masked."""
    layout = LayoutConfig(candidates=2, sentence_tokens=6)
    encoder = build("transformer_mean", table_sizes=TableSizes(layout.width, 3))
    texts = [[3, 4, 5], [6], [7, 8]]
    batch = joint_layout(rows(texts), SPECIALS, layout)
    padded = [([CLS, *text, SEP] + [PAD] * 6)[:6] for text in texts]
    full = {
        "input_ids": torch.tensor([[token for row in padded for token in row]]),
        "position_ids": torch.arange(18)[None],
        "token_type_ids": torch.arange(3).repeat_interleave(6)[None],
    }
    full["attention_mask"] = (full["input_ids"] != PAD).long()
    with torch.no_grad():
        compact = encoder.transformer.states(batch)[0]
        reference = encoder.transformer.states(full)[0][full["attention_mask"][0].bool()]
    torch.testing.assert_close(compact, reference, atol=1e-6, rtol=1e-5)


def test_texts_of_one_and_of_two_parts() -> None:
    batch = text_layout(rows([[5, 6]], [[7]]), SPECIALS, 16)
    assert batch["input_ids"].tolist() == [[1, 5, 6, 2], [1, 7, 2, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    batch = text_layout(rows([[5], [6, 7, 8]], [[], [9]]), SPECIALS, 16)
    assert batch["input_ids"].tolist() == [[1, 5, 2, 6, 7, 8, 2], [1, 2, 9, 2, 0, 0, 0]]
    assert batch["position_ids"][0].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert not batch["token_type_ids"].any()
    roberta = text_layout(rows([[5], [6]]), SpecialTokenFormat(CLS, SEP, PAD, 2, pair_separators=2), 16)
    assert roberta["position_ids"].tolist() == [[2, 3, 4, 5, 6]]


def test_each_part_is_cut_at_its_end() -> None:
    batch = text_layout(rows([[5] * 9, [6] * 9], [[5], [6] * 9]), SPECIALS, 9)
    assert batch["input_ids"].tolist() == [[1, 5, 5, 5, 2, 6, 6, 6, 2], [1, 5, 2, 6, 6, 6, 6, 6, 2]]
    assert text_layout(rows([[5] * 20]), SPECIALS, 8)["input_ids"].tolist() == [[1, 5, 5, 5, 5, 5, 5, 2]]


def test_words_have_no_special_tokens() -> None:
    batch = word_layout(rows([[5, 6, 7]], [[8]], [[]]), PAD, 2)
    assert batch["input_ids"].tolist() == [[5, 6], [8, 0], [0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1], [1, 0], [0, 0]]
    assert set(batch) == {"input_ids", "attention_mask"}


def test_rows_are_selected_in_order() -> None:
    chosen = select_rows(rows([[5, 6], None], [[7], [8, 9]], [[], [4]]), np.array([1, 0, 1]))
    assert chosen.tokens.tolist() == [7, 8, 9, 5, 6, 7, 8, 9]
    assert chosen.lengths.tolist() == [[1, 2], [2, -1], [1, 2]]
    short = truncate(rows([[5, 6, 7], None], [[7], [8, 9]]), 1)
    assert (short.tokens.tolist(), short.lengths.tolist()) == ([5, 7, 8], [[1, -1], [1, 1]])


@pytest.mark.parametrize("budget", [1, 7, 30, 1000])
def test_chunks_contain_each_row_once_within_the_budget(budget: int) -> None:
    lengths = np.random.default_rng(0).integers(1, 20, 40)
    chunks = group_by_length(lengths, budget)
    assert sorted(np.concatenate(chunks)) == list(range(40))
    for chunk in chunks:
        assert len(chunk) == 1 or len(chunk) * lengths[chunk].max() <= budget
    ends = [lengths[chunk].max() for chunk in chunks]
    assert ends == sorted(ends)


@pytest.mark.parametrize("parts", [1, 2])
def test_every_text_is_in_its_chunk(parts: int) -> None:
    draw = np.random.default_rng(1)
    lengths = draw.integers(0, 12, (30, parts))
    texts = Sentences(draw.integers(5, 99, int(lengths.sum())), lengths)
    chunks, positions = text_chunks(texts, SPECIALS, 16, 60)
    batch, whole = {"chunks": chunks, "rows": positions}, text_layout(texts, SPECIALS, 16)
    assert len(chunks) > 1 and texts_of(batch) == rows_of(whole)
    assert row_lengths(batch)[positions].tolist() == row_lengths(whole).tolist()
    assert row_lengths({"texts": batch}).tolist() == row_lengths(batch).tolist()
