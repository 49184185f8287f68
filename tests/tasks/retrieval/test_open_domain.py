"""Pairs of the corpus that are added to the candidates."""

from pathlib import Path

import pandas as pd
import pytest

from contexture.folders import UNFINISHED
from contexture.retrieval import parquet_rows
from contexture.tasks.retrieval import open_domain
from contexture.tasks.retrieval.open_domain import add_corpus_pairs, draw_pairs
from contexture.tasks.retrieval.ranks import gold_rows
from tests.tasks.retrieval.test_ranks import CANDIDATES, batches, question_table

PASSAGES = {
    "Whales": ["Whales sing of distant islands.", "Dr. Ash heard them."],
    "Ferries": ["Ferries cross the cold strait."],
    "Gulls": ["Gulls wait on wooden piers.", "They wait.", "They wait."],
}
COLUMNS = ["candidate_id", "sentence", "passage"]


def write_passages(folder: Path, copies: int = 1, order: int = 1) -> Path:
    """Write a table of passages in several files; copies differ in their last sentence."""
    folder.mkdir()
    for copy in range(copies):
        rows = [
            (f"{copy}-{title}#0", title, " ".join([*sentences, f"Copy {copy}."]), [3] * (len(sentences) + 1))
            for title, sentences in PASSAGES.items()
        ]
        table = pd.DataFrame(rows[::order], columns=["passage_id", "title", "text", "sentence_lengths"])
        table.to_parquet(folder / f"part-{copy * order + copies:03d}.parquet")
    return folder


def list_pairs(folder: Path) -> pd.DataFrame:
    """Return all pairs of `write_passages` in corpus order."""
    table = pd.concat([pd.read_parquet(file) for file in sorted(folder.iterdir())])
    rows = []
    for passage in table.itertuples():
        sentences = PASSAGES[str(passage.title)]
        last = str(passage.text).removeprefix(" ".join(sentences) + " ")
        for number, sentence in enumerate([*sentences, last]):
            rows.append((f"corpus:{passage.passage_id}/{number}", sentence, passage.text))
    return pd.DataFrame(rows, columns=COLUMNS)


def add_pairs(folder: Path, count: int, seed: int = 0, candidates: pd.DataFrame = CANDIDATES) -> pd.DataFrame:
    """Add pairs of `folder / "passages"` to the candidates."""
    candidates.to_parquet(folder / "known.parquet")
    return pd.read_parquet(
        add_corpus_pairs(folder / "known.parquet", folder / "passages", count, seed, "en", folder / "grown")
    )


def test_the_open_domain_adds_wrong_candidates(tmp_path: Path) -> None:
    pairs = list_pairs(write_passages(tmp_path / "passages", copies=8))
    result = add_pairs(tmp_path, 10, seed=1)
    pd.testing.assert_frame_equal(result[:5], CANDIDATES[COLUMNS])
    assert result["candidate_id"].is_unique and len(result) == 15 and list(result) == COLUMNS
    assert gold_rows(question_table(["c4"]), batches(result))[0][0].tolist() == [4]
    added = pairs.set_index("candidate_id").loc[result["candidate_id"][5:]].reset_index()
    pd.testing.assert_frame_equal(added, result[5:].reset_index(drop=True))
    pd.testing.assert_frame_equal(add_pairs(tmp_path, 6, seed=1), result[:11])  # a smaller count gives the first pairs
    assert add_pairs(tmp_path, 10, seed=2)["candidate_id"].tolist() != result["candidate_id"].tolist()
    # The order is that of the draw numbers.
    names = added["candidate_id"].tolist()
    assert names == sorted(names, key=lambda name: open_domain.draw_number(1, name))
    sooner = {
        name
        for name in pairs["candidate_id"]
        if open_domain.draw_number(1, name) < open_domain.draw_number(1, names[-1])
    }
    assert all("Gulls#0/" in name for name in sooner - set(names))  # another pair of the passage has the same text
    (tmp_path / "other").mkdir()
    write_passages(tmp_path / "other" / "passages", copies=8, order=-1)  # rows and files in reverse order
    pd.testing.assert_frame_equal(add_pairs(tmp_path / "other", 10, seed=1), result)


def test_duplicates_are_not_added(tmp_path: Path) -> None:
    """Each passage about gulls has a repeated sentence."""
    pairs = list_pairs(write_passages(tmp_path / "passages", copies=2))
    known = pairs[:3].assign(candidate_id=["k0", "k1", "k2"])
    added = add_pairs(tmp_path, 13, candidates=known)[3:]
    assert not added.duplicated(["sentence", "passage"]).any()
    expected = pairs[3:].drop_duplicates(["sentence", "passage"])
    assert set(added["sentence"] + added["passage"]) == set(expected["sentence"] + expected["passage"])
    content = (tmp_path / "grown" / "candidates.parquet").read_bytes()
    with pytest.raises(ValueError, match="cannot add 14 pairs to the candidates: the corpus has 13 others"):
        add_pairs(tmp_path, 14, candidates=known)
    assert (tmp_path / "grown" / "candidates.parquet").read_bytes() == content  # the old file is kept


def test_repeated_ids_raise(tmp_path: Path) -> None:
    folder = write_passages(tmp_path / "passages")
    with pytest.raises(ValueError, match="two pairs have the id corpus:0-Whales#0/0"):
        add_pairs(tmp_path, 8, candidates=CANDIDATES.assign(candidate_id=["corpus:0-Whales#0/0", *"abcd"]))
    table = pd.read_parquet(folder)
    table.assign(text=table["text"] + " Twice.").to_parquet(folder / "part-999.parquet")
    with pytest.raises(ValueError, match="two pairs have the id"):
        add_pairs(tmp_path, 12)


def test_a_passage_with_fewer_sentences_than_before_adds_its_last_one_once(tmp_path: Path) -> None:
    row = {"passage_id": "0#0", "title": "t", "text": "Of one sentence.", "sentence_lengths": [1, 2, 1]}
    (tmp_path / "passages").mkdir()
    pd.DataFrame([row]).to_parquet(tmp_path / "passages" / "part-0.parquet")
    assert add_pairs(tmp_path, 1)["sentence"].tolist() == [*CANDIDATES["sentence"], "Of one sentence."]
    with pytest.raises(ValueError, match="the corpus has 1 others"):
        add_pairs(tmp_path, 2)


@pytest.mark.parametrize("seed", [0, 1])
def test_results_do_not_depend_on_batch_sizes(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_passages(tmp_path / "passages", copies=40)
    all_pairs = draw_pairs(folder, 400, seed)
    assert len(all_pairs) == 360
    expected = add_pairs(tmp_path, 30, seed)
    monkeypatch.setattr(parquet_rows, "ROWS_PER_BATCH", 2)
    monkeypatch.setattr(open_domain, "PAIRS_PER_BATCH", 7)
    few = draw_pairs(folder, 50, seed)
    assert len(few) == 50 and sorted(few["draw"]) == sorted(all_pairs["draw"])[:50]
    pd.testing.assert_frame_equal(add_pairs(tmp_path, 30, seed), expected)


def test_an_interrupted_draw_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_passages(tmp_path / "passages")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(open_domain, "_check_ids", die)  # the last step
        with pytest.raises(KeyboardInterrupt):
            add_pairs(tmp_path, 5)
    assert not (tmp_path / "grown").exists()
    assert len(add_pairs(tmp_path, 5)) == 10
    assert not list(tmp_path.glob(f"*{UNFINISHED}"))
    assert [file.name for file in (tmp_path / "grown").iterdir()] == ["candidates.parquet"]
