"""Models of sentences, compared with independent computations, and their names and folders."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from contexture.encoders import base, models, precision
from contexture.encoders.base import Encoder
from contexture.encoders.files import save_encoder
from contexture.encoders.models import (
    ConcatenatedModels,
    SentenceTransformersModel,
    WordAverage,
    _model_checksum,
    load_model,
)
from contexture.vocabulary.tokenizers import VocabularyConfig, load_tokenizer, train_tokenizer
from contexture.vocabulary.words import WordsConfig, train_words
from tests.encoders.toys import build, subwords
from tests.tasks.sentences.sentence_toys import CountingModel

TEXTS = ["whales sing", "Ferries cross the cold strait .", "a gull waits", "lamps", "oil lamps burn yellow oil " * 3]


@pytest.fixture(autouse=True)
def fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Published models embed in fp32, whatever is faster here."""
    monkeypatch.setattr(precision, "is_bf16_faster", lambda: False)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vocabulary of words with vectors of length 2: whales (1, 0), sing (3, 4), all others none."""
    folder = tmp_path_factory.mktemp("words")
    train_words(TEXTS * 2, WordsConfig(size=40), folder)
    tokenizer, tokens = load_tokenizer(folder)
    vectors = np.zeros((tokens.vocab_size, 2), np.float32)
    vectors[tokenizer.token_to_id("whales")] = 1, 0
    vectors[tokenizer.token_to_id("sing")] = 3, 4
    np.save(folder / "word_vectors.npy", vectors)
    return folder


def tiny_bert(folder: Path) -> Path:
    """Save a random BERT of two layers with mean pooling in the format of sentence-transformers."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    train_tokenizer([" ".join(TEXTS)] * 3, VocabularyConfig(size=300), folder / "bert")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=load_tokenizer(folder / "bert")[1].vocab_size, **sizes)
    BertModel(config).save_pretrained(folder / "bert")
    model = sentence_transformers.SentenceTransformer(str(folder / "bert"), device="cpu")  # adds the mean
    model.max_seq_length = 12
    model.save(str(folder / "tiny-bert"))
    return folder / "tiny-bert"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("published"))


def test_the_average_of_words(words: Path) -> None:
    model = WordAverage(words)
    assert model.dimension == 2
    vectors = model.embed(["whales sing", "the cold whales", "sing sing, whales!", "the cold unheard-of strait", ""])
    np.testing.assert_allclose(vectors, [[2, 2], [1, 0], [7 / 3, 8 / 3], [0, 0], [0, 0]], rtol=1e-6)
    assert vectors.dtype == np.float32
    # Two parts: the mean over the words of both, for every role.
    np.testing.assert_allclose(model.embed([("sing sing,", "whales!"), "sing"], "query"), [[7 / 3, 8 / 3], [3, 4]])
    assert model.embed([]).shape == (0, 2)


def test_word_vectors_that_do_not_fit(words: Path, tmp_path: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((words / name).read_bytes())
    for vectors, message in (
        (None, r"word_vectors\.npy is missing or damaged"),
        (np.zeros((3, 2), np.float32), r"word_vectors\.npy: 3 rows for \d+ words; run the vocabulary stage"),
        (np.zeros((3, 2)), r"expected float32 in 2 dimensions, got float64 \(3, 2\)"),
        (np.array([[{}]], dtype=object), r"word_vectors\.npy is missing or damaged"),
    ):
        if vectors is not None:
            np.save(tmp_path / "word_vectors.npy", vectors)
        with pytest.raises(ValueError, match=message):
            WordAverage(tmp_path)


def test_vectors_of_several_models_are_concatenated() -> None:
    lengths, signs = CountingModel("lengths", [1.0, 2.0]), CountingModel("signs", [-1.0])
    both = ConcatenatedModels([lengths, signs])
    assert (both.name, both.dimension) == ("lengths+signs", 3)
    assert both.identity == {"combined": [lengths.identity, signs.identity]}
    np.testing.assert_array_equal(both.embed(["ab", "a"]), [[2, 4, -2], [1, 2, -1]])
    with pytest.raises(ValueError, match="no models to concatenate"):
        ConcatenatedModels([])


def test_vectors_are_those_of_the_library(published: Path) -> None:
    model = SentenceTransformersModel(str(published))
    assert (model.name, model.dimension) == ("tiny-bert", 16)
    vectors = model.embed(TEXTS)
    np.testing.assert_allclose(vectors, model.model.encode(TEXTS, batch_size=1), atol=1e-6)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).min() > 0.01  # nothing was normalised
    assert model.embed([]).shape == (0, 16)
    np.testing.assert_array_equal(
        model.embed([("whales sing", "a gull waits")]), model.embed(["whales sing a gull waits"])
    )
    # Without the library: mean of BERT's states over the tokens, special ones included, cut to 12.
    bert = model.model[0].model
    ids = load_tokenizer(published)[0].encode(TEXTS[1]).ids[:12]
    with torch.no_grad():
        mean = bert(torch.tensor([ids])).last_hidden_state[0].mean(0)
    np.testing.assert_allclose(vectors[1], mean, atol=1e-5)


def test_vectors_in_bf16(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of the library under autocast, nearly those in fp32, and fp32 numbers."""
    model = SentenceTransformersModel(str(published))
    exact = model.embed(TEXTS)
    monkeypatch.setattr(precision, "is_bf16_faster", lambda: True)
    rounded = model.embed(TEXTS)
    with torch.autocast("cpu", torch.bfloat16):
        np.testing.assert_allclose(rounded, model.model.encode(TEXTS, batch_size=1), atol=2e-2)
    assert rounded.dtype == np.float32 and not np.array_equal(rounded, exact)
    cosines = (rounded * exact).sum(axis=1) / np.linalg.norm(rounded, axis=1) / np.linalg.norm(exact, axis=1)
    assert cosines.min() > 0.999


@pytest.mark.parametrize(("bf16_seconds", "expected"), [(0.5, True), (1.0, False)])
def test_bf16_is_used_where_products_are_faster(
    monkeypatch: pytest.MonkeyPatch, bf16_seconds: float, expected: bool
) -> None:
    monkeypatch.undo()  # of the fixture fp32
    seconds = {torch.float32: 1.0, torch.bfloat16: bf16_seconds}
    monkeypatch.setattr(precision, "_measure_product", seconds.__getitem__)
    precision.is_bf16_faster.cache_clear()
    assert precision.is_bf16_faster() is expected
    precision.is_bf16_faster.cache_clear()


def test_the_product_of_matrices_is_measured() -> None:
    assert 0 < precision._measure_product(torch.float32) < 10


def test_texts_of_similar_length_share_a_batch(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long texts are cut to 12 tokens before they are grouped, and vectors keep the order of the texts."""
    monkeypatch.setattr(base, "MAX_CPU_BATCH_TOKENS", 48)
    monkeypatch.setattr(models, "MAX_BATCH_TEXTS", 7)
    model = SentenceTransformersModel(str(published))
    texts = [TEXTS[4], "lamps", TEXTS[4] * 2, "lamps", "lamps"] * 3
    shapes: list[tuple[int, int]] = []
    model.model[0].register_forward_pre_hook(lambda _, inputs: shapes.append(tuple(inputs[0]["input_ids"].shape)))
    vectors = model.embed(texts)
    tokenizer = load_tokenizer(published)[0]
    lengths = [min(12, len(tokenizer.encode(text).ids)) for text in texts]
    assert sum(rows for rows, _ in shapes) == len(texts)
    assert sum(rows * width for rows, width in shapes) == sum(lengths)  # no padding
    assert max(rows * width for rows, width in shapes) <= 48 < sum(lengths)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_allclose(vector, model.model.encode(text), atol=1e-6)


def test_models_without_a_tokenizer_of_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setattr(models, "MAX_UNMEASURED_TEXTS", 2)
    encoder = build("static", vocabulary=subwords())
    save_encoder(encoder, tmp_path)
    texts = ["kana kave", "lona", "kana", "mina runa", "kave"]
    np.testing.assert_allclose(SentenceTransformersModel(str(tmp_path)).embed(texts), encoder.embed(texts), atol=1e-6)


def test_another_weight_or_length_is_another_model(published: Path) -> None:
    model = SentenceTransformersModel(str(published))
    again = SentenceTransformersModel(str(published))
    assert model.identity == again.identity
    json.dumps(model.identity)
    again.model.max_seq_length = 9
    shorter = _model_checksum(again.model)
    again.model.max_seq_length = 12
    assert _model_checksum(again.model) == model.identity["sentence_transformers"] != shorter
    with torch.no_grad():
        next(again.model.parameters())[0, 0] += 1
    assert _model_checksum(again.model) != model.identity["sentence_transformers"]


def test_the_prompts_of_a_role_are_used(published: Path) -> None:
    model = SentenceTransformersModel(str(published))
    model.model.prompts = {"query": "whales: ", "passage": "lamps: "}
    model.model.default_prompt_name = None
    for role, prompt in (("query", "whales: "), ("document", "lamps: "), (None, "")):
        expected = model.model.encode([prompt + TEXTS[0]], prompt="")
        np.testing.assert_allclose(model.embed(TEXTS[:1], role), expected, atol=1e-6)
    model.model.prompts = {"title": "gulls: "}
    np.testing.assert_allclose(model.embed(TEXTS[:1], "query"), model.model.encode(TEXTS[:1]), atol=1e-6)


def test_a_folder_is_recognised_by_its_files(words: Path, published: Path, tmp_path: Path) -> None:
    assert isinstance(load_model(words), WordAverage)
    assert isinstance(load_model(str(published)), SentenceTransformersModel)
    both = load_model(f"{words}+{published}")
    assert isinstance(both, ConcatenatedModels)
    assert both.dimension == 18
    # A folder with `encoder.json` and word vectors is an encoder.
    save_encoder(build("gru"), tmp_path / "e")
    (tmp_path / "e" / "word_vectors.npy").write_bytes((words / "word_vectors.npy").read_bytes())
    model = load_model(tmp_path / "e")
    assert isinstance(model, Encoder) and not model.training and model.name == "e"


@pytest.mark.parametrize("name", ["nowhere/at/all", "./nowhere", "/nowhere", "nowhere/"])
def test_a_missing_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="there is no such folder"):
        load_model(name)
    with pytest.raises(ValueError, match=f"{tmp_path}: this folder holds no model"):
        load_model(tmp_path)


def test_weights_are_not_unpickled(published: Path, tmp_path: Path) -> None:
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    (weights,) = tmp_path.rglob("model.safetensors")
    weights.unlink()
    torch.save({}, weights.with_name("pytorch_model.bin"))
    with pytest.raises(ValueError, match=r"cannot load this model .*safetensors"):
        load_model(str(tmp_path))


def test_the_package_may_be_missing(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ValueError, match="pip install sentence-transformers"):
        load_model(str(published))
