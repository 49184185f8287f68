"""Mining compared with a slow loop, and what is left out."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from contexture.derive.config import NegativesConfig
from contexture.derive.negatives import (
    NegativeMiner,
    add_negatives,
    interleave,
    sample_pairs,
    score_limits,
    select_negatives,
)
from contexture.derive.passages import TEXT_COLUMNS
from contexture.encoders.config import Lengths
from contexture.encoders.files import save_encoder
from contexture.retrieval.candidates import Retriever
from contexture.streams.pairs.batches import COLUMNS
from contexture.streams.rows import EmptyExamplesError
from contexture.vocabulary.tokenizers import load_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary
from tests.derive.toys import make_pair, make_passage, write_passages, write_task
from tests.encoders.toys import build
from tests.training.toys import WORDS

LENGTHS = Lengths(query=12, document=16)


@pytest.fixture(scope="module")
def retriever(tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Retriever:
    folder = tmp_path_factory.mktemp("encoder") / "encoder"
    save_encoder(build("static", vocabulary=Vocabulary.load(tokenizer), lengths=LENGTHS), folder)
    return Retriever([str(folder)], TEXT_COLUMNS)


@pytest.fixture(scope="module")
def passages(tokenizer: Path) -> list[dict[str, Any]]:
    """Documents of two passages; each links to another one, and some are held out."""
    draw, rows = Random(0), []
    for document in range(30):
        for number in range(2):
            text = " ".join(draw.choices(WORDS, k=draw.randint(3, 20)))
            links = [f"en:{draw.randrange(30)}"] if number else []
            values: dict[str, Any] = {"links": links, "held_out": document % 7 == 6}
            rows.append(make_passage(f"en:{document}#{number}", draw.choice(WORDS), text, tokenizer, **values))
    return rows


@pytest.fixture(scope="module")
def pairs(passages: list[dict[str, Any]], tokenizer: Path) -> pa.Table:
    draw = Random(1)
    rows = [
        make_pair(" ".join(draw.sample(passage["text"].split(), 2)), passage, tokenizer, title=number % 3 > 0)
        for number, passage in enumerate(passages)
        if not passage["held_out"]
    ]
    return pa.Table.from_pylist(rows).select(COLUMNS)


def make_miner(
    passages: list[dict[str, Any]], retriever: Retriever, tokenizer: Path, folder: Path, **settings: Any
) -> NegativeMiner:
    index_dir = folder / "index"
    index_dir.mkdir()
    passages_dir = write_passages(passages, folder / "passages")
    return NegativeMiner(passages_dir, retriever, load_tokenizer(tokenizer)[0], NegativesConfig(**settings), index_dir)


def mine_slowly(
    miner: NegativeMiner, pair: dict[str, Any], passages: Sequence[dict[str, Any]], config: NegativesConfig
) -> list[str]:
    """Return the ids of negatives by the definition, over all passages."""
    decode = miner.tokenizer.decode
    query = decode(pair["query"])
    vector = miner.retriever.embed_queries([query])[0]
    vectors = miner.retriever.embed_documents([(passage["title"], passage["text"]) for passage in passages])
    document = miner.retriever.embed_documents([(decode(pair["title"]), decode(pair["passage"]))])[0]
    scores = vectors @ vector
    positive = float(document @ vector)
    by_words = [row for row in miner.bm25.search([query], config.depth)[1][0].tolist() if row >= 0]
    by_vectors = sorted(range(len(passages)), key=lambda row: (-scores[row], row))[: config.depth]
    source = pair["document"].partition("#")[0]
    linked = {source}
    for passage in passages:
        for target in passage["links"]:
            if source in (target, passage["doc_id"]):
                linked |= {target, passage["doc_id"]}
    chosen: list[str] = []
    for rank in range(config.depth):
        for ranking in (by_words, by_vectors):
            if rank < len(ranking):
                passage, score = passages[ranking[rank]], scores[ranking[rank]]
                within = score <= positive - (1 - config.max_score_share) * abs(positive)
                if within and passage["doc_id"] not in linked and passage["passage_id"] not in chosen:
                    chosen.append(passage["passage_id"])
    return chosen[: config.count] if len(chosen) >= config.count else []


@pytest.mark.parametrize(
    "settings", [{}, {"count": 3, "depth": 6}, {"max_score_share": 0.5, "depth": 12}, {"count": 20, "depth": 60}]
)
def test_negatives_are_those_of_a_slow_loop(
    settings: dict[str, Any],
    passages: list[dict[str, Any]],
    pairs: pa.Table,
    retriever: Retriever,
    tokenizer: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("contexture.derive.negatives.PAIRS_PER_BATCH", 7)
    miner = make_miner(passages, retriever, tokenizer, tmp_path, **settings)
    kept = [passage for passage in passages if not passage["held_out"]]
    expected = [mine_slowly(miner, pair, kept, miner.config) for pair in pairs.to_pylist()]
    rows = miner.mine(pairs)
    assert [[kept[row]["passage_id"] for row in line if row >= 0] for line in rows] == expected
    np.testing.assert_array_equal(miner.mine(pairs), rows)
    table = add_negatives(pairs, rows, miner.passages, LENGTHS).to_pylist()
    assert [row["negative_documents"] for row in table] == list(filter(None, expected))
    assert settings != {"count": 20, "depth": 60} or 0 < len(table) < len(pairs)  # pairs with fewer are dropped
    by_id = {passage["passage_id"]: passage for passage in passages}
    for row in table:
        for number, name in enumerate(row["negative_documents"]):
            title = by_id[name]["title_tokens"] if row["title"] else []
            assert row["negative_titles"][number] == title and row["margins"] == []
            assert row["negative_passages"][number] == by_id[name]["tokens"][: 16 - 3 - len(title)]


def test_rankings_alternate() -> None:
    rows = interleave(np.array([[4, 2, -1], [0, 1, 2]]), np.array([[2, 5], [0, 3]]))
    assert [[row for row in line if row >= 0] for line in rows.tolist()] == [[4, 2, 5], [0, 1, 3, 2]]


def test_limits_are_below_the_score_of_the_document() -> None:
    queries, documents = np.ones((2, 1), np.float32), np.array([[2.0], [-2.0]], np.float32)
    np.testing.assert_allclose(score_limits(queries, documents, 0.9), [1.8, -2.2], rtol=1e-6)


def test_similar_passages_and_excluded_documents_are_left_out() -> None:
    rows = np.array([[0, 1, -1, 2, 3], [0, 1, 2, 3, -1]])
    scores = np.array([[9, 1, -np.inf, 1, 1], [9, 9, 9, 1, -np.inf]], np.float32)
    documents = np.array([10, 11, 12, 13], np.uint64)
    negatives = select_negatives(rows, scores, np.array([5, 5], np.float32), documents, [{12}, {10}], 2)
    assert negatives.tolist() == [[1, 3], [-1, -1]]


def test_pairs_are_sampled_as_they_are_mixed(pairs: pa.Table, tmp_path: Path) -> None:
    rows = [pair | {"pair_id": str(number)} for number, pair in enumerate(pairs.to_pylist())]
    for task, part in {"ict": rows[:40], "bfs": rows[40:50], "wlp": []}.items():
        write_task(part, tmp_path / task)
    tasks = ["ict", "bfs", "wlp"]

    def count(mixture: Any, number: int) -> dict[str, int]:
        return {task: len(table) for task, table in sample_pairs(tmp_path, tasks, mixture, number, 0).items()}

    assert count("pooled", 25) == {"ict": 20, "bfs": 5} and count("uniform", 16) == {"ict": 8, "bfs": 8}
    assert count("uniform", 1000) == {"ict": 40, "bfs": 10}
    first, again, other = (sample_pairs(tmp_path, ["ict"], "pooled", 9, seed)["ict"] for seed in (0, 0, 1))
    assert first == again != other
    with pytest.raises(EmptyExamplesError, match="no pairs in these files"):
        sample_pairs(tmp_path, ["wlp"], "pooled", 9, 0)


def test_a_corpus_without_passages_fails(retriever: Retriever, tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match="contains no passages"):
        NegativeMiner(tmp_path / "none", retriever, load_tokenizer(tokenizer)[0], NegativesConfig(), tmp_path)
