"""Encoders on disk: what is loaded is what was saved, damage is named, and sentence-transformers reads them alike."""

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

SAID = ["kana kave kadi", "lona", "rupo seve sedi kana lona kapo", "sena sega kana"]
LENGTHS = Lengths(query=8, document=12)
SIZES: dict[str, Any] = {"hidden_size": 16, "layers": 2, "heads": 2, "intermediate_size": 32}


def saved(kind: str, folder: Path, **changed: Any) -> Encoder:
    encoder = build(kind, lengths=LENGTHS, **changed)
    save_encoder(encoder, folder)
    return encoder


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_loaded_is_what_was_saved(kind: str, shared: bool, tmp_path: Path) -> None:
    made = saved(kind, tmp_path / "made", shared=shared, plain="both")
    assert is_encoder(tmp_path / "made") and not is_encoder(tmp_path)
    loaded = load_encoder(tmp_path / "made")
    assert (loaded.query is loaded.document) == shared
    assert (loaded.config, loaded.lengths, loaded.vocabulary.trained) == (made.config, LENGTHS, TRAINED)
    assert not loaded.training
    learns = [{name for name, p in encoder.named_parameters() if p.requires_grad} for encoder in (made, loaded)]
    assert learns[0] == learns[1]
    assert sum(p.numel() for p in loaded.parameters()) == sum(p.numel() for p in made.parameters())
    expected = made.state_dict()
    for name, tensor in loaded.state_dict().items():
        torch.testing.assert_close(tensor, expected[name], atol=0, rtol=0)
    for role in (None, *ROLES):
        np.testing.assert_array_equal(loaded.embed(SAID, role), made.embed(SAID, role))


def test_an_encoder_is_identified_by_its_folder_and_its_weights(tmp_path: Path) -> None:
    """The same weights with other settings make other vectors; weights of another encoder are rejected."""
    saved("gru", tmp_path / "first")
    shutil.copytree(tmp_path / "first", tmp_path / "copy")
    saved("gru", tmp_path / "other", seed=1)
    saved("gru", tmp_path / "plain", plain="query")
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
    saved(kind, whole, shared=shared)
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
                continue  # a vocabulary without it is one of subwords
            else:
                file.unlink()
            with pytest.raises(ValueError, match=rf"{folder.name} holds no whole encoder \(.*train it again"):
                load_encoder(folder)


@pytest.mark.parametrize("text", ["[]", "null", "{}", '{"encoder": {"kind": "lstm"}, "lengths": {}}', ""])
def test_settings_that_are_none(text: str, tmp_path: Path) -> None:
    saved("bag_of_words", tmp_path / "made")
    (tmp_path / "made" / SETTINGS_FILE).write_text(text)
    for name in ("made", "nowhere"):
        with pytest.raises(ValueError, match=f"{name} holds no whole encoder"):
            load_encoder(tmp_path / name)


@pytest.mark.parametrize("shared", [True, False])
def test_a_head_is_kept_or_added(shared: bool, tmp_path: Path) -> None:
    torch.manual_seed(5)
    changed: dict[str, Any] = {"shared": shared, "vocabulary": subwords()}
    with_head = saved("transformer_cls", tmp_path / "with", head=True, **changed)
    without = saved("transformer_cls", tmp_path / "without", **changed)
    again, added, still, removed = (
        load_encoder(tmp_path / name, head)
        for name, head in (("with", None), ("without", True), ("without", None), ("with", False))
    )
    assert [encoder.document.has_head for encoder in (again, added, still, removed)] == [True, True, False, False]
    batch = text_layout(sentences([20, 21, 22]), added.specials, 10)
    with torch.no_grad():
        for made, loaded in ((with_head, again), (without, added), (without, still)):
            assert torch.equal(loaded.transformer.states(batch), made.transformer.states(batch))
        states = added.transformer.states(batch)[0]
        assert torch.equal(again.transformer.token_logits(states), with_head.transformer.token_logits(states))
        logits = added.transformer.token_logits(states)
        assert logits.shape == (5, subwords().tokens.vocab_size) and torch.isfinite(logits).all()
    model = added.document.model
    assert model.cls.predictions.decoder.weight is model.bert.embeddings.word_embeddings.weight
    for role in ROLES:
        np.testing.assert_array_equal(added.embed(SAID, role), without.embed(SAID, role))
    # What is added is kept as well.
    save_encoder(added, tmp_path / "added")
    with torch.no_grad():
        assert torch.equal(load_encoder(tmp_path / "added").transformer.token_logits(states), logits)


def test_the_vocabulary_goes_along(tmp_path: Path) -> None:
    saved("gru", tmp_path / "words")
    saved("transformer_mean", tmp_path / "subwords", shared=False, vocabulary=subwords())
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


def min_cosine(ours: Any, theirs: Any) -> float:
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return float(((ours * theirs).sum(1) / norms).min())


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("size", [8, None])
@pytest.mark.parametrize("pooling", ["cls", "mean", "max", "last"])
def test_sentence_transformers_gives_the_same_vectors(
    pooling: Any, size: int | None, shared: bool, sea: Vocabulary, tmp_path: Path
) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    config = TransformerConfig(**SIZES, pooling=pooling, embedding_size=size, shared=shared)
    made = build(config, 1, lengths=Lengths(query=16, document=32), vocabulary=sea)
    save_encoder(made, tmp_path)
    query, document = (
        sentence_transformers.SentenceTransformer(str(tmp_path if shared else tmp_path / role), device="cpu")
        for role in ROLES
    )
    said = TEXT.split()
    titles = [" ".join(said[i : i + 2]) for i in range(6)]
    passages = [" ".join(said[i : i + 3 * (i + 1)] * 2) for i in range(6)]
    np.testing.assert_allclose(query.encode(titles), made.embed(titles, "query"), atol=1e-5)
    if not shared:  # cut at the length of its role
        np.testing.assert_allclose(query.encode([TEXT * 2]), made.embed([TEXT * 2], "query"), atol=1e-5)
    ours = made.embed(list(zip(titles, passages, strict=True)), "document")
    theirs = document.encode([f"{t} [SEP] {p}" for t, p in zip(titles, passages, strict=True)])
    assert min_cosine(ours, theirs) >= 0.9999


@pytest.mark.parametrize("embeddings", ["own", "one"])
@pytest.mark.parametrize("tokens", [1, 2, 5])
def test_sentence_transformers_puts_several_special_tokens_before_a_text(
    tokens: int, embeddings: Any, sea: Vocabulary, tmp_path: Path
) -> None:
    """Of modules that the library has, without code of ours; ours are read again with their vocabulary as it was."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    cross = CrossConfig(tokens, embeddings)
    made = build(TransformerConfig(**SIZES, pooling="cls", cross=cross), 1, vocabulary=sea, head=True)
    save_encoder(made, tmp_path)
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu")
    texts = [*TEXT.split(), TEXT, "whales sing", TEXT * 3]
    ours = made.embed(texts)
    assert ours.shape == (len(texts), 16 * tokens)
    encoded = theirs.encode(texts)
    np.testing.assert_allclose(encoded, ours, atol=1e-5)
    again = load_encoder(tmp_path)
    assert again.vocabulary.tokenizer.to_str() == sea.tokenizer.to_str()
    np.testing.assert_array_equal(again.embed(texts), ours)
    assert again.cross is not None and made.cross is not None
    vectors = torch.from_numpy(ours)
    torch.testing.assert_close(again.cross.attention(vectors, vectors), made.cross.attention(vectors, vectors))


def test_nothing_is_said_of_weights_that_are_left_out_or_new(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    save_encoder(build("transformer_mean", head=True), tmp_path / "with")
    save_encoder(build("transformer_mean"), tmp_path / "without")
    bars = logging.is_progress_bar_enabled(), logging.get_verbosity()
    capfd.readouterr()
    load_encoder(tmp_path / "with", head=False)
    load_encoder(tmp_path / "without", head=True)
    assert capfd.readouterr() == ("", "")
    assert (logging.is_progress_bar_enabled(), logging.get_verbosity()) == bars
