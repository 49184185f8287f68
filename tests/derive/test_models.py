"""Questions and margins of tiny models, and models that cannot be used."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from contexture.derive.config import QueriesConfig, check_path, check_weights
from contexture.derive.margins import CrossEncoder, add_margins
from contexture.derive.published import load_published
from contexture.derive.queries import QueryWriter, write_queries
from contexture.encoders.config import Lengths
from contexture.vocabulary.tokenizers import load_tokenizer
from tests.derive.toys import make_passage, save_cross_encoder, save_query_writer, write_passages
from tests.training.toys import WORDS, encode_words, write_hard_pairs

TEXTS = [" ".join(WORDS[start : start + 5]) for start in range(20)]


@pytest.fixture(scope="module")
def query_writer(tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_query_writer(tmp_path_factory.mktemp("t5") / "t5", tokenizer)


@pytest.fixture(scope="module")
def cross_encoder(tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_cross_encoder(tmp_path_factory.mktemp("bert") / "bert", tokenizer)


def test_questions_are_a_function_of_the_seed(query_writer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(per_passage: int, seed: int) -> list[list[str]]:
        return QueryWriter(QueriesConfig(str(query_writer), per_passage), seed).write(TEXTS)

    greedy = write(1, 0)
    assert greedy == write(1, 1) and all(len(questions) <= 1 for questions in greedy) and any(greedy)
    state = torch.get_rng_state()
    sampled = write(3, 0)
    assert torch.equal(torch.get_rng_state(), state)  # nobody else's random numbers change
    assert sampled == write(3, 0) != write(3, 1)
    assert max(map(len, sampled)) > 1 and all(len(set(questions)) == len(questions) <= 3 for questions in sampled)


def test_questions_become_pairs(query_writer: Path, tokenizer: Path, tmp_path: Path) -> None:
    rows = [
        make_passage(f"en:{number}#0", WORDS[number], text, tokenizer, held_out=number % 5 == 0)
        for number, text in enumerate(TEXTS)
    ]
    passages, lengths = write_passages(rows, tmp_path / "passages"), Lengths(query=6, document=7)
    writer = QueryWriter(QueriesConfig(str(query_writer), 2, passages=9), 0)
    counts = write_queries(passages, writer, load_tokenizer(tokenizer)[0], lengths, tmp_path / "queries")
    pairs = pq.read_table(tmp_path / "queries").to_pylist()
    assert counts == {"passages": 9, "questions": len(pairs)} and len(pairs) > 9
    by_id = {row["passage_id"]: row for row in rows}
    for pair in pairs:
        passage = by_id[pair["document"]]
        assert not passage["held_out"] and 0 < len(pair["query"]) <= 4
        title = passage["title_tokens"]
        assert pair["title"] == title and pair["passage"] == passage["tokens"][: max(1, 4 - len(title))]
        assert pair["document_pairs"] == sum(other["document"] == pair["document"] for other in pairs)
    assert len(list((tmp_path / "queries").iterdir())) == 1


def test_margins_are_differences_of_scores(cross_encoder: Path, tokenizer: Path, tmp_path: Path) -> None:
    rows = []
    for number, passage in enumerate(TEXTS):
        words = passage.split()
        row = {"query": encode_words(words[:2], tokenizer), "title": encode_words(words[:1], tokenizer)}
        texts = [TEXTS[number - 1].split(), TEXTS[number - 2].split()]
        row |= {"passage": encode_words(words, tokenizer), "document": passage, "document_pairs": 1}  # type: ignore[dict-item]
        negatives = [encode_words(text, tokenizer) for text in texts]
        row |= {"negative_titles": [[], []], "negative_passages": negatives, "negative_documents": ["a", "b"]}  # type: ignore[dict-item]
        rows.append(row | {"margins": []})  # type: ignore[dict-item]
    write_hard_pairs(rows, tmp_path / "ict")
    model = CrossEncoder(str(cross_encoder))
    table = add_margins(pq.read_table(tmp_path / "ict"), model, load_tokenizer(tokenizer)[0])
    for number, margins in enumerate(table["margins"].to_pylist()):
        query = " ".join(TEXTS[number].split()[:2])
        documents = [f"{TEXTS[number].split()[0]} {TEXTS[number]}", TEXTS[number - 1], TEXTS[number - 2]]
        scores = [float(model.score([query], [document])[0]) for document in documents]
        np.testing.assert_allclose(margins, [scores[0] - scores[1], scores[0] - scores[2]], atol=1e-5)
    assert len(set(table["margins"].to_pylist()[0])) == 2


def test_the_checksum_depends_on_weights(tokenizer: Path, cross_encoder: Path, tmp_path: Path) -> None:
    def checksum(folder: Path) -> str:
        return load_published("key", str(folder), AutoModelForSequenceClassification).checksum

    assert checksum(cross_encoder) == checksum(save_cross_encoder(tmp_path / "same", tokenizer))
    assert checksum(cross_encoder) != checksum(save_cross_encoder(tmp_path / "other", tokenizer, seed=1))


def test_models_that_cannot_be_used(tokenizer: Path, query_writer: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"derive\.margins\.model: .* has 2 logits; give a cross-encoder with one"):
        CrossEncoder(str(save_cross_encoder(tmp_path / "two", tokenizer, labels=2)))
    with pytest.raises(ValueError, match=r"derive\.queries\.model: .*none/at/all cannot be loaded .* safetensors"):
        QueryWriter(QueriesConfig("none/at/all"), 0)
    for name in (tmp_path / "none", "./none", "none/at/all"):
        with pytest.raises(ValueError, match="there is no such folder; give the folder of a model, or its name"):
            check_path(str(name))
    assert check_path("owner/name") is None and check_path(str(tmp_path)) == tmp_path
    check_weights(str(query_writer))
    check_weights("owner/name")
    pickled = tmp_path / "pickled"
    pickled.mkdir()
    (pickled / "config.json").write_text((query_writer / "config.json").read_text())
    (pickled / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ValueError, match=r"pickled: config\.json or \*\.safetensors is missing; save"):
        check_weights(str(pickled))
    with pytest.raises(ValueError, match=r"derive\.queries\.model: .*pickled cannot be loaded"):
        QueryWriter(QueriesConfig(str(pickled)), 0)
