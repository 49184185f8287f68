from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.tasks.retrieval.ranks import (
    METRICS,
    RECALL_AT,
    average_recalls,
    gold_rows,
    grow,
    question_ranks,
    recalls,
)


def candidate_table(sentences: list[str]) -> pd.DataFrame:
    rows = [(f"c{i}", f"p{i}", sentence, f"passage {i}: {sentence}") for i, sentence in enumerate(sentences)]
    return pd.DataFrame(rows, columns=["candidate_id", "passage_id", "sentence", "passage"])


def question_table(*answers: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"question_id": [f"q{i}" for i in range(len(answers))], "answers": list(answers)})


CANDIDATES = candidate_table(["same", "other", "same", "third", "fourth"])


def ranks(found: list[list[int]], *answers: list[str]) -> list[tuple[int, int]]:
    table = question_ranks(question_table(*answers), CANDIDATES, np.array(found))
    assert table["question_id"].tolist() == [f"q{i}" for i in range(len(answers))]
    return list(zip(table["rank"], table["sentence_rank"], strict=True))


def test_the_gold_pair_and_the_gold_sentence_in_any_passage() -> None:
    assert ranks([[1, 0, 3, 2, 4]], ["c2"]) == [(4, 2)]
    assert ranks([[1, 0, 3, 2, 4]], ["c3"]) == [(3, 3)]
    assert ranks([[1, 0, 3, 2, 4]], ["c4", "c0"]) == [(2, 2)]  # any gold pair will do


def test_places_that_nothing_takes_are_wrong() -> None:
    assert ranks([[1, -1, -1, -1, -1], [-1] * 5], ["c0"], ["c0"]) == [(0, 0), (0, 0)]


def test_recalls_count_ranks_up_to_k() -> None:
    table = recalls(pd.DataFrame({"question_id": list("abcd"), "rank": [0, 1, 6, 100], "sentence_rank": [51, 1, 5, 2]}))
    assert table.columns.tolist() == ["question_id", *METRICS]
    assert table[METRICS[:5]].to_numpy().tolist() == [[0] * 5, [1] * 5, [0, 0, 1, 1, 1], [0, 0, 0, 0, 1]]
    assert table[METRICS[5:]].to_numpy().tolist() == [[0, 0, 0, 0, 1], [1] * 5, [0, 1, 1, 1, 1], [0, 1, 1, 1, 1]]
    assert METRICS[0] == "recall_at_1"
    assert METRICS[-1] == "sentence_recall_at_100"


@settings(max_examples=50, deadline=None)  # the cores may be shared
@given(st.integers(1, 150), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_equals_a_count_by_sets(candidates: int, per_sentence: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sentences = [f"s{i // per_sentence}" for i in range(candidates)]
    found = np.stack([rng.permutation(candidates) for _ in range(6)])[:, :100]
    answers = [rng.choice(candidates, rng.integers(1, min(3, candidates) + 1), replace=False) for _ in found]
    questions = question_table(*([f"c{row}" for row in rows] for rows in answers))
    table = recalls(question_ranks(questions, candidate_table(sentences), found))
    for question, (line, rows) in enumerate(zip(found.tolist(), answers, strict=True)):
        wanted = {sentences[row] for row in rows}
        for k in RECALL_AT:
            assert table[f"recall_at_{k}"][question] == bool(set(line[:k]) & set(rows.tolist()))
            assert table[f"sentence_recall_at_{k}"][question] == bool({sentences[row] for row in line[:k]} & wanted)


def test_rows_are_places_whatever_the_index_says() -> None:
    candidates = CANDIDATES.set_index(pd.Index([9, 9, 8, 7, 6]))
    questions = question_table(["c4"], ["c1", "c0"]).set_index(pd.Index([3, 3]))
    assert [rows.tolist() for rows in gold_rows(questions, candidates)] == [[4], [1, 0]]
    arrays = questions.assign(answers=[np.array(names) for names in questions["answers"]])  # as Parquet gives them
    assert [rows.tolist() for rows in gold_rows(arrays, candidates)] == [[4], [1, 0]]


def test_what_gold_must_not_be() -> None:
    with pytest.raises(ValueError, match="no candidates"):
        gold_rows(question_table(["c0"]), CANDIDATES[:0])
    with pytest.raises(ValueError, match="question q1 has no answer"):
        gold_rows(question_table(["c0"], []), CANDIDATES)
    with pytest.raises(ValueError, match="question q1 is answered by c9, which is not among"):
        gold_rows(question_table(["c0"], ["c1", "c9"], ["c2"]), CANDIDATES)
    with pytest.raises(ValueError, match="candidate c0 occurs twice"):
        gold_rows(question_table(["c0"]), pd.concat([CANDIDATES, CANDIDATES]))


def test_too_shallow_a_search_is_no_recall() -> None:
    for found in (np.zeros((1, 4), np.int64), np.zeros((2, 5), np.int64)):
        with pytest.raises(ValueError, match=r"expected the 5 best candidates of 1 questions, got an array \(\d, \d\)"):
            question_ranks(question_table(["c0"]), CANDIDATES, found)


def test_no_questions_no_rows() -> None:
    table = question_ranks(question_table(), CANDIDATES, np.empty((0, 5), np.int64))
    assert recalls(table).shape == (0, 11)


def test_records_are_means_of_a_run() -> None:
    table = recalls(pd.DataFrame({"question_id": list("abcd"), "rank": [1, 0, 3, 1], "sentence_rank": [1, 1, 1, 1]}))
    run: dict[str, Any] = {"variant": "bm25", "seed": 0, "split": ["1%", "1%", "80%", "80%"]}
    records = average_recalls(table.assign(**run), "two_tower", "squad")
    assert len(records) == 2 * len(METRICS)
    assert records[0] == {
        "system": "two_tower",
        "variant": "bm25",
        "task": "squad",
        "split": "1%",
        "metric": "recall_at_1",
        "value": 0.5,
        "seed": 0,
    }
    values = {(record["split"], record["metric"]): record["value"] for record in records}
    assert (values["80%", "recall_at_1"], values["80%", "recall_at_5"], values["1%", "sentence_recall_at_1"]) == (
        0.5,
        1,
        1,
    )


OTHERS = candidate_table([f"new {i}" for i in range(40)]).assign(candidate_id=[f"w{i}" for i in range(40)])


def test_the_open_domain_adds_pairs_that_are_never_right() -> None:
    grown = grow(CANDIDATES, OTHERS, 10, seed=1)
    pd.testing.assert_frame_equal(grown[:5], CANDIDATES)
    assert grown["candidate_id"].is_unique
    assert len(grown) == 15
    assert gold_rows(question_table(["c4"]), grown)[0].tolist() == [4]
    pd.testing.assert_frame_equal(grow(CANDIDATES, OTHERS, 6, seed=1), grown[:11])  # fewer: the first of them
    pd.testing.assert_frame_equal(grow(CANDIDATES, OTHERS[::-1], 10, seed=1), grown)  # not the order of the corpus
    assert grow(CANDIDATES, OTHERS, 10, seed=2)["candidate_id"].tolist() != grown["candidate_id"].tolist()


def test_pairs_that_are_there_already_are_not_added() -> None:
    same = CANDIDATES[:2].assign(candidate_id=["w90", "w91"])
    others = pd.concat([same, OTHERS[:3], OTHERS[:3].assign(candidate_id=["w97", "w98", "w99"])])
    assert set(grow(CANDIDATES, others, 3, seed=0)["candidate_id"][5:]) == {"w0", "w1", "w2"}
    with pytest.raises(ValueError, match="cannot add 4 pairs to the candidates: the corpus holds 3 others"):
        grow(CANDIDATES, others, 4, seed=0)
    with pytest.raises(ValueError, match=r"candidate c\d is also the id of another pair"):
        grow(CANDIDATES, OTHERS.assign(candidate_id=[f"c{i}" for i in range(40)]), 40, seed=0)
