"""Towers over a set of candidates: vectors made once, and made anew for other towers or texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contexture.encoders.embedding import embed
from contexture.encoders.tower_files import checksum
from contexture.metrics.vectors import open_vectors
from contexture.tasks.retrieval import model as retrieval_model
from contexture.tasks.retrieval.data import encode_reqa
from contexture.tasks.retrieval.model import (
    corpus_pairs,
    embed_candidates,
    embed_questions,
    question_ranks_of,
    texts_checksum,
)
from contexture.tasks.retrieval.ranks import grow
from contexture.vocabulary.tokenizers import load_tokenizer
from tests.tasks.retrieval.test_passage_search import LAYOUT, PASSAGES, contents, toy_passages, toy_towers

Tables = tuple[pd.DataFrame, pd.DataFrame]


@pytest.fixture(scope="module")
def towers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_towers(tmp_path_factory.mktemp("model") / "towers")


@pytest.fixture(scope="module")
def tables(towers: Path) -> Tables:
    """Each sentence in its passage; every question is about three words of one."""
    sentences = list(PASSAGES.values())
    candidates = pd.DataFrame(
        {"candidate_id": list(PASSAGES), "sentence": sentences, "passage": [f"{text} {text}" for text in sentences]}
    )
    questions = pd.DataFrame(
        {
            "question_id": [f"q{title}" for title in PASSAGES],
            "question": [" ".join(text.split()[1:4]) for text in sentences],
            "answers": [[title] for title in PASSAGES],
        }
    )
    return encode_reqa(questions, candidates, load_tokenizer(towers)[0], LAYOUT)


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts were embedded at a time, from here on."""
    counts: list[int] = []
    real = embed

    def counting(tower: Any, texts: Any, *others: Any) -> Any:
        counts.append(len(texts.lengths))
        return real(tower, texts, *others)

    monkeypatch.setattr(retrieval_model, "embed", counting)
    return counts


def test_answers_are_found(towers: Path, tables: Tables, tmp_path: Path) -> None:
    ranks = question_ranks_of(towers, *tables, tmp_path / "made" / "vectors")
    assert ranks["question_id"].tolist() == [f"q{title}" for title in PASSAGES]
    assert ranks["rank"].tolist() == ranks["sentence_rank"].tolist() == [1] * 4


def test_ranks_are_those_of_all_inner_products(towers: Path, tables: Tables, tmp_path: Path) -> None:
    questions, candidates = tables
    wrong = questions.assign(answers=questions["answers"].tolist()[::-1])
    scores = embed_questions(towers, questions) @ embed_candidates(towers, candidates, tmp_path / "v")[:].T
    answers = [3, 2, 1, 0]
    expected = [int((row > row[answer]).sum()) + 1 for row, answer in zip(scores, answers, strict=True)]
    found = question_ranks_of(towers, wrong, candidates, tmp_path / "v")["rank"]
    # Passages without a word of the question score 0 alike: their order is that of the table.
    assert all(rank >= best for rank, best in zip(found, expected, strict=True))
    assert found.between(2, 4).all()


def test_vectors_are_made_once(towers: Path, tables: Tables, tmp_path: Path, embedded: list[int]) -> None:
    first = embed_candidates(towers, tables[1], tmp_path / "v")
    again = embed_candidates(towers, tables[1].reset_index(drop=True), tmp_path / "v")
    assert embedded == [4]
    assert np.array_equal(first[:], again[:])
    assert again.identity == {"towers": checksum(towers), "texts": texts_checksum(tables[1])}


def test_other_towers_and_other_texts_are_embedded_anew(
    towers: Path, tables: Tables, tmp_path: Path, embedded: list[int]
) -> None:
    candidates = tables[1]
    embed_candidates(towers, candidates, tmp_path / "v")
    other = toy_towers(tmp_path / "other", scale=3.0)
    made = embed_candidates(other, candidates, tmp_path / "v")
    assert embedded == [4, 4] and made.identity["towers"] == checksum(other)
    for changed in (candidates.iloc[::-1], candidates.iloc[:3], candidates.assign(candidate_id=list("abcd"))):
        made = embed_candidates(other, changed, tmp_path / "v")
        assert made.identity["texts"] == texts_checksum(changed) and len(made) == len(changed)
    assert embedded == [4, 4, 4, 3, 4]


def test_ids_and_parts_do_not_run_together() -> None:
    def candidates(sentence: list[int], passage: list[int]) -> pd.DataFrame:
        return pd.DataFrame({"candidate_id": ["a"], "sentence_tokens": [sentence], "passage_tokens": [passage]})

    assert texts_checksum(candidates([1, 2], [3])) != texts_checksum(candidates([1], [2, 3]))
    assert texts_checksum(candidates([1], [2])) == texts_checksum(candidates([1], [2]))


def test_no_candidates_are_refused_and_nothing_is_overwritten(towers: Path, tables: Tables, tmp_path: Path) -> None:
    questions, candidates = tables
    for folder in (tmp_path / "v", tmp_path / "new"):
        if folder.name == "v":
            embed_candidates(towers, candidates, folder)
        before = contents(tmp_path)
        with pytest.raises(ValueError, match="no candidates"):
            question_ranks_of(towers, questions, candidates.iloc[:0], folder)
        assert contents(tmp_path) == before
    assert len(open_vectors(tmp_path / "v")) == 4


def test_damaged_towers_are_named_before_vectors_are_touched(towers: Path, tables: Tables, tmp_path: Path) -> None:
    embed_candidates(towers, tables[1], tmp_path / "v")
    before = contents(tmp_path / "v")
    other = toy_towers(tmp_path / "other", scale=3.0)
    (other / "model.safetensors").write_bytes((other / "model.safetensors").read_bytes()[:99])
    with pytest.raises(ValueError, match="other holds no whole towers"):
        question_ranks_of(other, *tables, tmp_path / "v")
    assert contents(tmp_path / "v") == before


def with_sentences(folder: Path) -> Path:
    """Passages of two sentences, the first of two tokens."""
    for file in folder.glob("*.parquet"):
        table = pq.read_table(file)
        lengths = [[2, len(tokens) - 2] for tokens in table["tokens"].to_pylist()]
        pq.write_table(table.append_column("sentence_lengths", pa.array(lengths)), file)
    return folder


def test_pairs_of_the_corpus(towers: Path, tmp_path: Path) -> None:
    """Each sentence of a passage with the passage, as text and as ids that are cut."""
    folder = with_sentences(toy_passages(tmp_path / "passages", towers))
    pairs = corpus_pairs(folder, towers, LAYOUT, 8, 0)
    assert len(pairs) == 8 and pairs["candidate_id"].is_unique
    assert pairs["candidate_id"].str.startswith("corpus:").all()
    vocabulary = load_tokenizer(towers)[0]
    for row in pairs.to_dict("records"):
        assert row["passage"] == PASSAGES[row["title"]]
        assert row["passage_tokens"] == vocabulary.encode(row["passage"], add_special_tokens=False).ids
        assert row["sentence"] == vocabulary.decode(row["sentence_tokens"])
    assert pairs.groupby("passage_id")["sentence_tokens"].sum().map(len).tolist() == [
        len(vocabulary.encode(text, add_special_tokens=False).ids) for text in PASSAGES.values()
    ]


def test_long_pairs_of_the_corpus_are_cut(towers: Path, tmp_path: Path) -> None:
    long = {"passage_id": "0#0", "title": "t", "text": "x", "tokens": list(range(50)), "sentence_lengths": [2, 48]}
    pq.write_table(pa.Table.from_pylist([long]), tmp_path / "part-0.parquet")
    pairs = corpus_pairs(tmp_path, towers, LAYOUT, 2, 0).set_index("candidate_id")
    assert pairs["sentence_tokens"].to_dict() == {"corpus:0#0/0": [0, 1], "corpus:0#0/1": list(range(2, 34))}
    assert pairs["passage_tokens"].tolist() == [list(range(32))] * 2


@pytest.mark.parametrize("seed", [0, 1])
def test_as_few_pairs_are_read_as_are_drawn(seed: int, towers: Path, tables: Tables, tmp_path: Path) -> None:
    """Of a large corpus only a part is kept, and `grow` draws from it what it would draw from all."""
    folder = with_sentences(toy_passages(tmp_path / "passages", towers))
    for copy in range(100):
        for number in range(2):
            table = pq.read_table(folder / f"part-{number}.parquet")
            for column in ("passage_id", "text"):
                values = [f"{value} {copy}" for value in table[column].to_pylist()]
                table = table.set_column(table.column_names.index(column), column, pa.array(values))
            pq.write_table(table, folder / f"copy-{copy}-{number}.parquet")
    candidates = tables[1].assign(passage_id="p", title="t")
    few, every = (corpus_pairs(folder, towers, LAYOUT, count, seed) for count in (20, 800))
    assert len(few) == 125 and len(every) == 808
    assert grow(candidates, few, 20, seed).equals(grow(candidates, every, 20, seed))
