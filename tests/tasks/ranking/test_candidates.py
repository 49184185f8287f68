"""Random candidates."""

import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import TypeAdapter

from contexture.tasks.ranking.config import Pools, RankingSet
from contexture.tasks.ranking.data import draw_candidates, read_split, read_texts
from tests.tasks.ranking import toys

TEXTS = [f"text {number:02d}" for number in range(40)]


def draw(ids: list[str], right: list[list[int]], texts: list[str], pools: Pools) -> list[list[int]]:
    return [rows.tolist() for rows in draw_candidates(ids, right, texts, pools)]


def test_right_texts_and_others_are_drawn_once_each() -> None:
    ids, right = [f"q{number}" for number in range(300)], [[number % 40] for number in range(300)]
    drawn = draw(ids, right, TEXTS, Pools(10, 10))
    assert all(len(set(rows)) == 10 and set(gold) <= set(rows) for rows, gold in zip(drawn, right, strict=True))
    assert len(set(map(tuple, drawn))) > 250  # each question has others
    counts = pd.Series([row for rows in drawn for row in rows]).value_counts()
    assert len(counts) == 40 and counts.min() > 40 and counts.max() < 115  # 75 on average


def test_several_right_texts_and_those_without_a_text() -> None:
    (rows,) = draw(["q"], [[3, -1, 30, 3]], TEXTS, Pools(5, 5))
    assert len(set(rows)) == 5 and {3, 30} <= set(rows)
    assert draw(["q"], [[7]], TEXTS[:8], Pools(8, 8)) == [list(range(8))]


def test_the_order_does_not_reveal_the_right_text() -> None:
    """Rows are in the order of the texts; the right one is equally often at each position."""
    ids, right = [f"q{number}" for number in range(1600)], [[(7 * number) % 40] for number in range(1600)]
    drawn = draw(ids, right, TEXTS, Pools(4, 4))
    assert all(rows == sorted(rows) for rows in drawn)
    positions = pd.Series([rows.index(gold[0]) for rows, gold in zip(drawn, right, strict=True)]).value_counts()
    assert positions.min() > 350 and positions.max() < 450


def test_the_draw_is_stable_under_the_order_of_questions_and_texts() -> None:
    ids, right = [f"q{number}" for number in range(30)], [[number] for number in range(30)]
    shuffled = TEXTS.copy()
    random.Random(1).shuffle(shuffled)
    gold = [[shuffled.index(TEXTS[number])] for number in range(30)]
    pools = Pools(5, 9)
    first = dict(zip(ids, draw(ids, right, TEXTS, pools), strict=True))
    second = dict(zip(ids[::-1], draw(ids[::-1], gold[::-1], shuffled, pools), strict=True))
    for name in ids:
        assert [TEXTS[row] for row in first[name]] == [shuffled[row] for row in second[name]]


@pytest.mark.parametrize("pools", [Pools(4, 11), Pools(11, 4)])
def test_both_pools_hold_the_right_text(pools: Pools) -> None:
    ids, right = [f"q{number}" for number in range(50)], [[number % 40] for number in range(50)]
    for rows, gold in zip(draw(ids, right, TEXTS, pools), right, strict=True):
        assert len(set(rows)) == 11 and gold[0] in rows[:4]
        assert rows[:4] == sorted(rows[:4]) and rows[4:] == sorted(rows[4:])


def test_a_set_with_random_candidates(tmp_path: Path) -> None:
    """File order does not change the texts of a question."""
    files = {split: str(toys.squad(tmp_path / f"{split}.json", 60)) for split in ("train", "test")}
    forward = {"format": "squad", "files": files, "pool": 5, "candidates": "random"}
    backward = forward | {"files": {split: files[split] for split in ("test", "train")}}
    report = toys.read(tmp_path / "read", {"forward": forward, "backward": backward})
    note = "the candidates of a question are its right texts and others drawn at random from all texts, 5 in total"
    assert {f"forward: {note}", f"backward: {note}"} <= set(report["notes"])
    counts = report["counts"]["forward"]
    assert counts["test questions"] == 60 and not [name for name in counts if "not among theirs" in name]
    seen = []
    for name in ("forward", "backward"):
        questions, texts = read_split(tmp_path / "read" / name, "test"), read_texts(tmp_path / "read" / name)
        candidates = [[texts[row] for row in rows] for rows in questions.candidates]
        seen.append(dict(zip(questions.ids, candidates, strict=True)))
        assert all(set(right) <= set(rows) for rows, right in zip(questions.candidates, questions.right, strict=True))
    assert seen[0] == seen[1] and set(map(len, seen[0].values())) == {5}


def test_a_format_with_candidates_may_have_random_ones(tmp_path: Path) -> None:
    folder = toys.wikiqa(
        tmp_path / "wikiqa", test=[("t", "an ash", 0), ("t", "an oak", 1), ("u", "an elm", 1), ("u", "a fir", 0)]
    )
    toys.read(tmp_path / "read", {"w": {"format": "wikiqa", "files": str(folder), "pool": 4, "candidates": "random"}})
    assert [sorted(rows) for rows in read_split(tmp_path / "read/w", "test").candidates] == [[0, 1, 2, 3]] * 2


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (50, "50 random candidates are more than the 3 texts of the set; set pool to 3 or less"),
        (1, "a question has 2 right texts, more than its 1 candidates; set pool to 2 or more"),
        ({"frozen": 1, "finetuned": 3}, "2 right texts, more than its 1 candidates; set pool to 2 or more"),
    ],
)
def test_errors_name_the_pool_that_fits(pool: Any, message: str, tmp_path: Path) -> None:
    rows = [{"context": text, "question": "Who?", "answer": "a"} for text in ("a b", "b a")]
    rows.append({"context": "c", "question": "What?", "answer": "c"})
    (tmp_path / "all.json").write_text(json.dumps(rows), encoding="utf-8")
    files = {"test": str(tmp_path / "all.json")}
    ranking_set = {"format": "squad", "files": files, "pool": pool, "candidates": "random"}
    with pytest.raises(ValueError, match=f"all.json.*pool: .*{message}"):
        toys.read(tmp_path / "read", {"mine": ranking_set})
    assert not (tmp_path / "read").exists()


@pytest.mark.parametrize("kind", ["squad", "hotpotqa"])
def test_random_candidates_need_a_pool(kind: str) -> None:
    with pytest.raises(ValueError, match="candidates: random needs `pool`"):
        TypeAdapter(RankingSet).validate_python({"format": kind, "files": "b", "candidates": "random"})
