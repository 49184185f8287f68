import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.tasks.retrieval.config import RECALL_AT
from contexture.tasks.retrieval.ranks import METRICS, gold_rows, question_ranks, recalls


def candidate_table(sentences: list[str]) -> pd.DataFrame:
    rows = [(f"c{i}", f"p{i}", sentence, f"passage {i}: {sentence}") for i, sentence in enumerate(sentences)]
    return pd.DataFrame(rows, columns=["candidate_id", "passage_id", "sentence", "passage"])


def question_table(*answers: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"question_id": [f"q{i}" for i in range(len(answers))], "answers": list(answers)})


CANDIDATES = candidate_table(["same", "other", "same", "third", "fourth"])


def batches(candidates: pd.DataFrame, rows: int = 2) -> list[pa.RecordBatch]:
    parts: list[pa.RecordBatch] = pa.Table.from_pandas(candidates, preserve_index=False).to_batches(rows)
    return parts


def rank_table(ranked: list[list[int]], *answers: list[str]) -> list[tuple[int, int]]:
    table = question_ranks(question_table(*answers), batches(CANDIDATES), np.array(ranked))
    assert table["question_id"].tolist() == [f"q{i}" for i in range(len(answers))]
    return list(zip(table["rank"], table["sentence_rank"], strict=True))


def test_the_gold_pair_and_the_gold_sentence_in_any_passage() -> None:
    # The third question has two gold pairs.
    assert rank_table([[1, 0, 3, 2, 4]] * 3, ["c2"], ["c3"], ["c4", "c0"]) == [(4, 2), (3, 3), (2, 2)]
    assert rank_table([[1, -1, -1, -1, -1], [-1] * 5], ["c0"], ["c0"]) == [(0, 0), (0, 0)]
    none = question_ranks(question_table(), batches(CANDIDATES), np.empty((0, 5), np.int64))
    assert recalls(none).shape == (0, 11)


def test_recalls_count_ranks_up_to_k() -> None:
    table = recalls(pd.DataFrame({"question_id": list("abcd"), "rank": [0, 1, 6, 100], "sentence_rank": [51, 1, 5, 2]}))
    assert table.columns.tolist() == ["question_id", *METRICS]
    assert table[METRICS[:5]].to_numpy().tolist() == [[0] * 5, [1] * 5, [0, 0, 1, 1, 1], [0, 0, 0, 0, 1]]
    assert table[METRICS[5:]].to_numpy().tolist() == [[0, 0, 0, 0, 1], [1] * 5, [0, 1, 1, 1, 1], [0, 1, 1, 1, 1]]
    assert (METRICS[0], METRICS[-1]) == ("recall_at_1", "sentence_recall_at_100")


@settings(max_examples=30, deadline=None)  # the cores may be shared
@given(st.integers(1, 150), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_equals_a_count_by_sets(candidates: int, per_sentence: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sentences = [f"s{i // per_sentence}" for i in range(candidates)]
    ranked = np.stack([rng.permutation(candidates) for _ in range(6)])[:, :100]
    answers = [rng.choice(candidates, rng.integers(1, min(3, candidates) + 1), replace=False) for _ in ranked]
    questions = question_table(*([f"c{row}" for row in rows] for rows in answers))
    table = recalls(question_ranks(questions, batches(candidate_table(sentences), 40), ranked))
    for question, (line, rows) in enumerate(zip(ranked.tolist(), answers, strict=True)):
        wanted = {sentences[row] for row in rows}
        for k in RECALL_AT:
            assert table[f"recall_at_{k}"][question] == bool(set(line[:k]) & set(rows.tolist()))
            assert table[f"sentence_recall_at_{k}"][question] == bool({sentences[row] for row in line[:k]} & wanted)


def test_gold_rows_do_not_depend_on_the_index_or_the_batch_size() -> None:
    questions = question_table(["c4"], ["c1", "c0"]).set_index(pd.Index([3, 3]))
    arrays = questions.assign(answers=[np.array(names) for names in questions["answers"]])  # as in Parquet files
    for rows in (1, 2, 5):
        for table in (questions, arrays):
            gold, sentences = gold_rows(table, batches(CANDIDATES, rows))
            assert [rows.tolist() for rows in gold] == [[4], [1, 0]]
            assert (sentences[:, None] == sentences).sum() == 5 + 2  # two sentences are equal


@pytest.mark.parametrize(
    ("answers", "candidates", "message"),
    [
        ([["c0"]], CANDIDATES[:0], "no candidates"),
        ([["c0"], []], CANDIDATES, "question q1 has no answer"),
        ([["c0"], ["c1", "c9"], ["c2"]], CANDIDATES, "question q1 is answered by c9, which is not among"),
        ([["c0"]], pd.concat([CANDIDATES, CANDIDATES]), "candidate c0 occurs twice"),
    ],
)
def test_invalid_answers_raise(answers: list[list[str]], candidates: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gold_rows(question_table(*answers), batches(candidates, 4))


@pytest.mark.parametrize("shape", [(1, 4), (2, 5)])
def test_rankings_that_are_too_short_raise(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"expected the 5 best candidates of 1 questions, got an array \(\d, \d\)"):
        question_ranks(question_table(["c0"]), batches(CANDIDATES), np.zeros(shape, np.int64))
