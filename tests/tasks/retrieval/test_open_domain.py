"""Pairs of the corpus that join the candidates."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contexture.tasks.retrieval.open_domain import corpus_pairs, grow
from contexture.tasks.retrieval.ranks import gold_rows
from tests.tasks.retrieval.test_ranks import CANDIDATES, candidate_table, question_table

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
    grown = grow(CANDIDATES, others, 3, seed=0)[5:]
    assert set(grown["sentence"]) == {"new 0", "new 1", "new 2"}
    assert set(grown["candidate_id"]) <= {"w0", "w1", "w2", "w97", "w98", "w99"}
    with pytest.raises(ValueError, match="cannot add 4 pairs to the candidates: the corpus holds 3 others"):
        grow(CANDIDATES, others, 4, seed=0)
    with pytest.raises(ValueError, match=r"candidate c\d is also the id of another pair"):
        grow(CANDIDATES, OTHERS.assign(candidate_id=[f"c{i}" for i in range(40)]), 40, seed=0)


PASSAGES = {
    "Whales": ["Whales sing of distant islands.", "Dr. Ash heard them."],
    "Ferries": ["Ferries cross the cold strait."],
    "Gulls": ["Gulls wait on wooden piers.", "They wait.", "They wait."],
}


def passages(folder: Path, copies: int = 1) -> Path:
    """A table of passages in several files, as the sampling stage writes it; copies differ in their last sentence."""
    folder.mkdir()
    for copy in range(copies):
        rows = [
            {
                "passage_id": f"{copy}-{title}#0",
                "title": title,
                "text": " ".join([*sentences, f"Copy {copy}."]),
                "sentence_lengths": [3] * (len(sentences) + 1),
            }
            for title, sentences in PASSAGES.items()
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"part-{copy}.parquet")
    return folder


def test_pairs_of_the_corpus_are_its_sentences_in_their_passages(tmp_path: Path) -> None:
    pairs = corpus_pairs(passages(tmp_path / "passages"), 50, 0, "en")
    assert pairs["candidate_id"].is_unique and pairs["candidate_id"].str.startswith("corpus:0-").all()
    assert list(pairs) == ["candidate_id", "passage_id", "title", "passage", "sentence"]
    pairs = pairs.sort_values("candidate_id")
    for title, sentences in PASSAGES.items():
        of_passage = pairs[pairs["title"] == title]
        assert of_passage["sentence"].tolist() == [*sentences, "Copy 0."]
        assert set(of_passage["passage"]) == {" ".join([*sentences, "Copy 0."])}
        assert set(of_passage["passage_id"]) == {f"corpus:0-{title}#0"}


def test_a_passage_that_falls_into_fewer_sentences_gives_its_last_one_once(tmp_path: Path) -> None:
    row = {"passage_id": "0#0", "title": "t", "text": "Of one sentence.", "sentence_lengths": [1, 2, 1]}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "part-0.parquet")
    pairs = corpus_pairs(tmp_path, 3, 0, "en")
    assert pairs["sentence"].tolist() == ["Of one sentence."] * 3
    assert len(grow(CANDIDATES.assign(title=""), pairs, 1, 0)) == len(CANDIDATES) + 1
    with pytest.raises(ValueError, match="the corpus holds 1 others"):
        grow(CANDIDATES.assign(title=""), pairs, 2, 0)


@pytest.mark.parametrize("seed", [0, 1])
def test_as_few_pairs_are_read_as_are_drawn(seed: int, tmp_path: Path) -> None:
    """Of a large corpus only a part is kept, and `grow` draws from it what it would draw from all."""
    folder = passages(tmp_path / "passages", copies=100)
    candidates = CANDIDATES.assign(title="t")
    few, every = (corpus_pairs(folder, count, seed, "en") for count in (20, 900))
    assert len(few) == 125 and len(every) == 900
    assert grow(candidates, few, 20, seed).equals(grow(candidates, every, 20, seed))
