"""Towers: their inputs, their files, and that sentence-transformers reads them alike."""

from pathlib import Path

import numpy as np
import pytest
import torch

from contexture.encoders.config import BagOfWordsTowers, EncoderConfig, PairLayoutConfig, TransformerTowers
from contexture.encoders.embedding import embed
from contexture.encoders.layout import Sentences, Specials, chunks_of_like_length, text_layout
from contexture.encoders.tower_files import load_towers, save_towers
from contexture.encoders.towers import TwoTowers, build_towers
from contexture.vocabulary.tokenizers import VocabularyConfig, load_tokenizer, train_tokenizer

SPECIALS = Specials(cls=1, sep=2, pad=0)
LAYOUT = PairLayoutConfig(query_tokens=16, document_tokens=32)
SMALL = EncoderConfig(hidden_size=16, layers=2, heads=2, intermediate_size=32)
TEXT = "whales sing of distant islands while ferries cross the cold strait and gulls wait on wooden piers"


def sentences(*rows: list[list[int]]) -> Sentences:
    lengths = np.array([[len(part) for part in row] for row in rows])
    return Sentences(np.array([token for row in rows for part in row for token in part]), lengths)


def test_one_and_two_parts() -> None:
    batch = text_layout(sentences([[5, 6]], [[7]]), SPECIALS, 16)
    assert batch["input_ids"].tolist() == [[1, 5, 6, 2], [1, 7, 2, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    batch = text_layout(sentences([[5], [6, 7, 8]], [[], [9]]), SPECIALS, 16)
    assert batch["input_ids"].tolist() == [[1, 5, 2, 6, 7, 8, 2], [1, 2, 9, 2, 0, 0, 0]]
    assert batch["position_ids"][0].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert not batch["token_type_ids"].any()


def test_what_is_too_long_is_cut_at_the_end_of_each_part() -> None:
    batch = text_layout(sentences([[5] * 9, [6] * 9], [[5], [6] * 9]), SPECIALS, 9)
    assert batch["input_ids"].tolist() == [[1, 5, 5, 5, 2, 6, 6, 6, 2], [1, 5, 2, 6, 6, 6, 6, 6, 2]]
    assert text_layout(sentences([[5] * 20]), SPECIALS, 8)["input_ids"].tolist() == [[1, 5, 5, 5, 5, 5, 5, 2]]


@pytest.mark.parametrize("budget", [1, 7, 30, 1000])
def test_chunks_hold_each_row_once_and_keep_to_the_budget(budget: int) -> None:
    lengths = np.random.default_rng(0).integers(1, 20, 40)
    chunks = chunks_of_like_length(lengths, budget)
    assert sorted(np.concatenate(chunks)) == list(range(40))
    for chunk in chunks:
        assert len(chunk) == 1 or len(chunk) * lengths[chunk].max() <= budget
    ends = [lengths[chunk].max() for chunk in chunks]
    assert ends == sorted(ends)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vocabulary") / "tokenizer"
    train_tokenizer([TEXT] * 3, VocabularyConfig(size=300), folder)
    return folder


def towers(kind: str, shared: bool, tokenizer: Path, pooling: str = "cls") -> TwoTowers:
    torch.manual_seed(1)
    config = (
        BagOfWordsTowers("bag_of_words", 16, 16, 8, shared)
        if kind == "bag_of_words"
        else TransformerTowers(SMALL, "transformer", 8, pooling, shared)  # type: ignore[arg-type]
    )
    return build_towers(config, LAYOUT, load_tokenizer(tokenizer)[1])


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", ["transformer", "bag_of_words"])
def test_saved_towers_are_the_same(kind: str, shared: bool, tokenizer: Path, tmp_path: Path) -> None:
    made = towers(kind, shared, tokenizer).eval()
    assert (made.query is made.document) == shared
    save_towers(made, tokenizer, tmp_path)
    found = load_towers(tmp_path).eval()
    assert (found.query is found.document) == shared
    for name, tensor in made.state_dict().items():
        torch.testing.assert_close(found.state_dict()[name], tensor, atol=0, rtol=0)


@pytest.mark.parametrize("damage", ["towers.json", "model.safetensors", "2_Dense/model.safetensors"])
def test_damaged_files_are_named(damage: str, tokenizer: Path, tmp_path: Path) -> None:
    save_towers(towers("transformer", True, tokenizer), tokenizer, tmp_path)
    file = tmp_path / damage
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(ValueError, match=f"{tmp_path.name} holds no whole towers"):
        load_towers(tmp_path)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_sentence_transformers_gives_the_same_vectors(pooling: str, tokenizer: Path, tmp_path: Path) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    made = towers("transformer", True, tokenizer, pooling)
    save_towers(made, tokenizer, tmp_path)
    peer = sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu")
    words = TEXT.split()
    vocabulary = load_tokenizer(tokenizer)[0]
    titles = [" ".join(words[i : i + 2]) for i in range(6)]
    passages = [" ".join(words[i : i + 3 * (i + 1)] * 2) for i in range(6)]

    def ids(text: str) -> list[int]:
        found: list[int] = vocabulary.encode(text, add_special_tokens=False).ids
        return found

    ours = embed(made.query, sentences(*([ids(text)] for text in titles)), specials(tokenizer), 32)
    np.testing.assert_allclose(peer.encode(titles), ours, atol=1e-5)
    documents = sentences(*([ids(t), ids(p)] for t, p in zip(titles, passages, strict=True)))
    ours = embed(made.document, documents, specials(tokenizer), 32)
    theirs = peer.encode([f"{t} [SEP] {p}" for t, p in zip(titles, passages, strict=True)])
    cosine = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert cosine.min() >= 0.9999


def specials(tokenizer: Path) -> Specials:
    tokens = load_tokenizer(tokenizer)[1]
    return Specials(cls=tokens.cls, sep=tokens.sep, pad=tokens.pad)
