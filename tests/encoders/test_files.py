"""Saved encoders: loading, errors for damaged files, and the same vectors in sentence-transformers."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers.utils import logging

from contexture.encoders.base import Encoder
from contexture.encoders.config import ROLES, CrossConfig, Lengths, TransformerConfig
from contexture.encoders.files import load_encoder, save_encoder
from contexture.encoders.layout import text_layout
from contexture.encoders.saved import SETTINGS_FILE, WEIGHTS_FILE, encoder_checksum, is_encoder
from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary

from .toys import KINDS, TRAINED, build, sentences, subwords, words

TEXTS = ["kana kave kadi", "lona", "rupo seve sedi kana lona kapo", "sena sega kana"]
LENGTHS = Lengths(query=8, document=12)
SIZES: dict[str, Any] = {"hidden_size": 16, "layers": 2, "heads": 2, "intermediate_size": 32}


def build_and_save(kind: str, folder: Path, **changed: Any) -> Encoder:
    encoder = build(kind, lengths=LENGTHS, **changed)
    save_encoder(encoder, folder)
    return encoder


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_encoder_equals_the_saved_one(kind: str, shared: bool, tmp_path: Path) -> None:
    saved = build_and_save(kind, tmp_path / "saved", shared=shared, plain="both")
    assert is_encoder(tmp_path / "saved") and not is_encoder(tmp_path)
    loaded = load_encoder(tmp_path / "saved")
    assert (loaded.query is loaded.document) == shared
    assert (loaded.config, loaded.lengths, loaded.vocabulary.trained) == (saved.config, LENGTHS, TRAINED)
    assert not loaded.training
    learns = [{name for name, p in encoder.named_parameters() if p.requires_grad} for encoder in (saved, loaded)]
    assert learns[0] == learns[1]
    assert sum(p.numel() for p in loaded.parameters()) == sum(p.numel() for p in saved.parameters())
    expected = saved.state_dict()
    for name, tensor in loaded.state_dict().items():
        torch.testing.assert_close(tensor, expected[name], atol=0, rtol=0)
    for role in (None, *ROLES):
        np.testing.assert_array_equal(loaded.embed(TEXTS, role), saved.embed(TEXTS, role))


def test_an_encoder_is_identified_by_its_folder_and_its_weights(tmp_path: Path) -> None:
    """Other settings change the identity; weights of another encoder are rejected."""
    build_and_save("gru", tmp_path / "first")
    shutil.copytree(tmp_path / "first", tmp_path / "copy")
    build_and_save("gru", tmp_path / "other", seed=1)
    build_and_save("gru", tmp_path / "plain", plain="query")
    names = ("first", "copy", "other", "plain")
    encoders = {name: load_encoder(tmp_path / name) for name in names}
    assert tuple(encoder.name for encoder in encoders.values()) == names
    identities = [json.dumps(encoder.identity) for encoder in encoders.values()]
    assert encoders["first"].identity == {"encoder": encoder_checksum(tmp_path / "first")}
    assert identities[0] == identities[1] and len(set(identities)) == 3
    shutil.copyfile(tmp_path / "other" / WEIGHTS_FILE, tmp_path / "first" / WEIGHTS_FILE)
    with pytest.raises(ValueError, match=r"first holds no whole encoder .*not those that were saved"):
        load_encoder(tmp_path / "first")


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_and_missing_files_are_named_by_their_folder(kind: str, shared: bool, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    build_and_save(kind, whole, shared=shared)
    folders = [""] if shared else ["query/", "document/"]
    names = {
        "transformer_cls": [WEIGHTS_FILE, "config.json", f"2_Dense/{WEIGHTS_FILE}"],
        "transformer_mean": [WEIGHTS_FILE, "config.json"],
        "transformer_cross": [f"0_Transformer/{WEIGHTS_FILE}", "cross.safetensors"],
    }.get(kind, [WEIGHTS_FILE])
    files = [SETTINGS_FILE, "tokenizer.json", "tokenizer_config.json", "words.json"]
    files += [f"{part}{name}" for part in folders for name in names]
    for number, name in enumerate(files):
        for damage in ("cut", "missing"):
            folder = tmp_path / f"{damage}{number}"
            shutil.copytree(whole, folder)
            file = folder / name
            if damage == "cut":
                file.write_bytes(file.read_bytes()[: min(40, file.stat().st_size // 2)])
            elif name == "words.json":
                continue  # without it a vocabulary is one of subwords
            else:
                file.unlink()
            with pytest.raises(ValueError, match=rf"{folder.name} holds no whole encoder \(.*train it again"):
                load_encoder(folder)


@pytest.mark.parametrize("text", ["[]", "null", "{}", '{"encoder": {"kind": "lstm"}, "lengths": {}}', ""])
def test_damaged_settings(text: str, tmp_path: Path) -> None:
    build_and_save("bag_of_words", tmp_path / "saved")
    (tmp_path / "saved" / SETTINGS_FILE).write_text(text)
    for name in ("saved", "nowhere"):
        with pytest.raises(ValueError, match=f"{name} holds no whole encoder"):
            load_encoder(tmp_path / name)


@pytest.mark.parametrize("shared", [True, False])
def test_a_head_is_kept_or_added(shared: bool, tmp_path: Path) -> None:
    torch.manual_seed(5)
    changed: dict[str, Any] = {"shared": shared, "vocabulary": subwords()}
    with_head = build_and_save("transformer_cls", tmp_path / "with", head=True, **changed)
    without = build_and_save("transformer_cls", tmp_path / "without", **changed)
    again, added, still, removed = (
        load_encoder(tmp_path / name, head)
        for name, head in (("with", None), ("without", True), ("without", None), ("with", False))
    )
    assert [encoder.document.has_head for encoder in (again, added, still, removed)] == [True, True, False, False]
    batch = text_layout(sentences([20, 21, 22]), added.specials, 10)
    with torch.no_grad():
        for saved, loaded in ((with_head, again), (without, added), (without, still)):
            assert torch.equal(loaded.transformer.states(batch), saved.transformer.states(batch))
        states = added.transformer.states(batch)[0]
        assert torch.equal(again.transformer.token_logits(states), with_head.transformer.token_logits(states))
        logits = added.transformer.token_logits(states)
        assert logits.shape == (5, subwords().tokens.vocab_size) and torch.isfinite(logits).all()
    model = added.document.model
    assert model.cls.predictions.decoder.weight is model.bert.embeddings.word_embeddings.weight
    for role in ROLES:
        np.testing.assert_array_equal(added.embed(TEXTS, role), without.embed(TEXTS, role))
    # An added head is saved, too.
    save_encoder(added, tmp_path / "added")
    with torch.no_grad():
        assert torch.equal(load_encoder(tmp_path / "added").transformer.token_logits(states), logits)


def test_the_vocabulary_is_saved_with_the_encoder(tmp_path: Path) -> None:
    build_and_save("gru", tmp_path / "words")
    build_and_save("transformer_mean", tmp_path / "subwords", shared=False, vocabulary=subwords())
    for folder, expected in (("words", words()), ("subwords", subwords()), ("subwords/query", subwords())):
        copy = Vocabulary.load(tmp_path / folder)
        assert (copy.tokens, copy.trained) == (expected.tokens, expected.trained)
        assert copy.tokenizer.to_str() == expected.tokenizer.to_str()
    assert not list(tmp_path.rglob("word_vectors.npy"))


TEXT = "whales sing of distant islands while ferries cross the cold strait and gulls wait on wooden piers"


@pytest.fixture(scope="module")
def sea(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    folder = tmp_path_factory.mktemp("sea")
    train_tokenizer([TEXT] * 3, VocabularyConfig(size=300), folder)
    return Vocabulary.load(folder)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("size", [8, None])
@pytest.mark.parametrize("pooling", ["cls", "mean", "max", "last"])
def test_sentence_transformers_gives_the_same_vectors(
    pooling: Any, size: int | None, shared: bool, sea: Vocabulary, tmp_path: Path
) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    config = TransformerConfig(**SIZES, pooling=pooling, embedding_size=size, shared=shared)
    saved = build(config, 1, lengths=Lengths(query=16, document=32), vocabulary=sea)
    save_encoder(saved, tmp_path)
    query, document = (
        sentence_transformers.SentenceTransformer(str(tmp_path if shared else tmp_path / role), device="cpu")
        for role in ROLES
    )
    words_list = TEXT.split()
    titles = [" ".join(words_list[i : i + 2]) for i in range(6)]
    passages = [" ".join(words_list[i : i + 3 * (i + 1)] * 2) for i in range(6)]
    np.testing.assert_allclose(query.encode(titles), saved.embed(titles, "query"), atol=1e-5)
    if not shared:  # cut at the length of its role
        np.testing.assert_allclose(query.encode([TEXT * 2]), saved.embed([TEXT * 2], "query"), atol=1e-5)
    ours = saved.embed(list(zip(titles, passages, strict=True)), "document")
    theirs = document.encode([f"{t} [SEP] {p}" for t, p in zip(titles, passages, strict=True)])
    np.testing.assert_allclose(theirs, ours, atol=1e-5)


@pytest.mark.parametrize("embeddings", ["own", "one"])
@pytest.mark.parametrize("tokens", [1, 2, 5])
def test_sentence_transformers_supports_several_special_tokens(
    tokens: int, embeddings: Any, sea: Vocabulary, tmp_path: Path
) -> None:
    """With the library's modules only; loading restores the vocabulary without the special tokens."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    cross = CrossConfig(tokens, embeddings)
    saved = build(TransformerConfig(**SIZES, pooling="cls", cross=cross), 1, vocabulary=sea, head=True)
    save_encoder(saved, tmp_path)
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu")
    texts = [*TEXT.split(), TEXT, "whales sing", TEXT * 3]
    ours = saved.embed(texts)
    assert ours.shape == (len(texts), 16 * tokens)
    encoded = theirs.encode(texts)
    np.testing.assert_allclose(encoded, ours, atol=1e-5)
    again = load_encoder(tmp_path)
    assert again.vocabulary.tokenizer.to_str() == sea.tokenizer.to_str()
    np.testing.assert_array_equal(again.embed(texts), ours)
    assert again.cross is not None and saved.cross is not None
    vectors = torch.from_numpy(ours)
    first, second = again.cross.log_attention(vectors, vectors), saved.cross.log_attention(vectors, vectors)
    torch.testing.assert_close(first, second)


def test_unused_and_new_weights_are_not_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    save_encoder(build("transformer_mean", head=True), tmp_path / "with")
    save_encoder(build("transformer_mean"), tmp_path / "without")
    bars = logging.is_progress_bar_enabled(), logging.get_verbosity()
    capfd.readouterr()
    load_encoder(tmp_path / "with", head=False)
    load_encoder(tmp_path / "without", head=True)
    assert capfd.readouterr() == ("", "")
    assert (logging.is_progress_bar_enabled(), logging.get_verbosity()) == bars
