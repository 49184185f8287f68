"""The models of conf/paper, built without allocating weights, have the published numbers of parameters."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import RobertaConfig, RobertaForMaskedLM

from contexture.config import Parameters
from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import EncoderConfig, GruConfig, LayoutConfig, Lengths, TableSizes, TransformerConfig
from contexture.encoders.heads import EvidenceHead
from contexture.encoders.transformer import Transformer, check_fits, resize_token_types
from contexture.objectives.cmlm import ConditionalMaskedLanguageModel
from contexture.objectives.cross_thought import CrossThought
from contexture.objectives.settings import SkipThoughtConfig
from contexture.objectives.skip_thought import SkipThought
from contexture.reporting.published import read_published
from contexture.streams.base import combine_needs
from contexture.training.prepare import required_table_sizes
from contexture.vocabulary.tokenizers import SpecialTokens
from contexture.vocabulary.vocabulary import Vocabulary
from tests.environments import checked

#: The sizes that the published weights of this name come with.
ROBERTA_BASE = {
    "vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1,
}  # fmt: skip
ROBERTA_TOKENS = SpecialTokens(cls=0, sep=2, pad=1, mask=50264, unk=3, vocab_size=50265)
PUBLISHED = 124_055_040
PUBLISHED_JOINT_AE = 124_062_720


def count(*modules: torch.nn.Module) -> int:
    return sum(p.numel() for module in modules for p in module.parameters())


def trained(*modules: torch.nn.Module) -> int:
    return sum(p.numel() for module in modules for p in module.parameters() if p.requires_grad)


def count_layer(hidden: int) -> int:
    """Return the parameters of a Transformer layer: attention, feed-forward layers, and their biases and norms."""
    return 4 * hidden * (hidden + 1) + 2 * hidden * 4 * hidden + 5 * hidden + 4 * hidden


@pytest.fixture(scope="module")
def paper() -> Parameters:
    return checked("paper")


@pytest.mark.parametrize(("variant", "head_size"), [("mspp_ie", 768 * 2 + 2), ("mspp_ae", 2 * 768 * 2 + 2)])
def test_parameters_of_the_paper(variant: str, head_size: int, paper: Parameters) -> None:
    run = paper.systems["mspp"].pretraining(variant)
    assert isinstance(run.encoder, TransformerConfig) and run.encoder.init_from == "roberta-base"
    assert run.encoder.embedding_size is None and run.encoder.shared
    objective: Any = run.recipe.objective("mspp")
    with torch.device("meta"):
        network = Transformer(RobertaForMaskedLM(RobertaConfig(**ROBERTA_BASE)), run.encoder, ROBERTA_TOKENS)
        assert count(network.base) == PUBLISHED
        resize_token_types(network.model, combine_needs(run.streams, run.lengths).types)
        head = EvidenceHead(objective.head, 768, objective.style)
    assert {p.device.type for p in network.parameters()} == {"meta"}
    assert count(head) == head_size
    joint = count(network.base, head)
    assert joint == PUBLISHED + 5 * 768 + head_size
    if variant == "mspp_ae":
        # 766 fewer than published: one more token type (768) and a head without its two biases would give their figure.
        assert joint + 768 - 2 == PUBLISHED_JOINT_AE


def test_the_layout_of_the_paper_fits_its_model(paper: Parameters) -> None:
    run = paper.systems["mspp"].pretraining("mspp_ie")
    needed = combine_needs(run.streams, run.lengths)
    assert (needed.positions, needed.types) == (6 * 64, 6)
    check_fits(RobertaConfig(**ROBERTA_BASE), needed.positions, ROBERTA_TOKENS, "roberta-base")
    with pytest.raises(ValueError, match="has 514 positions, this system needs 770"):
        check_fits(
            RobertaConfig(**ROBERTA_BASE),
            LayoutConfig(candidates=5, sentence_tokens=128).width,
            ROBERTA_TOKENS,
            "roberta-base",
        )


def encoder_of(config: EncoderConfig, lengths: Lengths, words: int, vector_size: int = 1, **options: Any) -> Encoder:
    """Build an encoder for `words` words, without weights."""
    tokens = SpecialTokens(pad=0, unk=1, cls=2, sep=3, mask=4, vocab_size=words)
    vocabulary = Vocabulary(Path("nowhere"), Tokenizer(models.WordLevel()), tokens, words)
    vocabulary.__dict__["vectors"] = np.broadcast_to(np.zeros(1, dtype=np.float32), (words, vector_size))
    with torch.device("meta"):
        return build_encoder(config, lengths, vocabulary, **options)


def test_parameters_of_two_towers(paper: Parameters) -> None:
    """Section 4.2: both towers are one BERT-base of 110M parameters; BoW-MLP has 128M, nearly all embeddings."""
    config, words, hidden, size = paper.systems["two_tower"], 30_522, 768, 512
    run = config.pretraining("ict_bfs_wlp")
    needs = combine_needs(run.streams, run.lengths)
    towers = encoder_of(run.encoder, run.lengths, words, table_sizes=needs)
    layer = count_layer(hidden)
    tables = (words + needs.positions + needs.types + 2) * hidden
    assert towers.query is towers.document and (needs.positions, needs.types) == (288, 1)
    assert count(towers) == tables + 12 * layer + (hidden + 1) * size
    assert round(count(towers) / 1e6) == 109
    assert config.encoder_name("ict_bfs_wlp") != config.encoder_name("bow_mlp_ict_bfs_wlp")
    bag = encoder_of(config.pretraining("bow_mlp_ict_bfs_wlp").encoder, run.lengths, words)
    assert count(bag) == words * 4096 + 4097 * 512 + 513 * 512
    assert words * 4096 == 125_018_112 and round(count(bag) / 1e6) == 127


@pytest.mark.parametrize(("run", "layers", "hidden", "views"), [
    ("cmlm", 12, 768, 15), ("cmlm_n20", 12, 768, 20), ("cmlm_n1", 12, 768, 1), ("cmlm_large", 24, 1024, 15),
])  # fmt: skip
def test_parameters_of_cmlm(run: str, layers: int, hidden: int, views: int, paper: Parameters) -> None:
    """Section 3, appendix C: BERT-base or -large; N − 1 perceptrons of h·2h + 2h·2h + 2h·h weights, and biases."""
    words, config = 30_522, paper.systems["cmlm"].pretraining(run)
    needs = combine_needs(config.streams, config.lengths)
    encoder = encoder_of(config.encoder, config.lengths, words, table_sizes=needs, head=True)
    layer = count_layer(hidden)
    assert needs.positions == 256
    assert count(encoder.document.base) == (words + 256 + 1 + 2) * hidden + layers * layer
    with torch.device("meta"):
        objective = ConditionalMaskedLanguageModel(config.recipe.objective("cmlm"), encoder)  # type: ignore[arg-type]
    perceptron = hidden * 2 * hidden + 2 * hidden * 2 * hidden + 2 * hidden * hidden + 5 * hidden
    assert count(objective) == (views - 1) * perceptron
    optimizer = config.settings.optimizer
    assert (optimizer.kind, optimizer.learning_rate, optimizer.warmup_steps) == ("lamb", 1e-3, 10_000)
    assert (optimizer.beta2, optimizer.schedule) == (0.999, "linear")
    assert config.settings.batch_sizes(run, config.streams)["sequence_pairs"] == 2048
    assert config.recipe.steps == 1_000_000


@pytest.mark.parametrize(("run", "special"), [("ct_1_64", 1), ("ct_5_64", 5)])
def test_parameters_of_cross_thought(run: str, special: int, paper: Parameters) -> None:
    """Section 4.2: RoBERTa-base from new weights; N − 1 more embeddings, N layers across sequences, and a last one."""
    words, hidden, config = 50_265, 768, paper.systems["cross_thought"].pretraining(run)
    needs = combine_needs(config.streams, config.lengths)
    encoder = encoder_of(config.encoder, config.lengths, words, table_sizes=needs, head=True)
    layer = count_layer(hidden)
    assert (needs.positions, needs.types) == (565, 1)
    assert count(encoder.document.base) == (words + special - 1 + 565 + 1 + 2) * hidden + 12 * layer
    assert encoder.cross is not None and count(encoder.cross) == special * layer
    with torch.device("meta"):
        objective = CrossThought(config.recipe.objective("cross_thought"), encoder)  # type: ignore[arg-type]
    assert count(objective) == layer
    optimizer = config.settings.optimizer
    assert (optimizer.learning_rate, optimizer.warmup_steps) == (5e-4, 10_000)
    assert config.settings.batch_sizes(run, config.streams)["sequence_samples"] == 128
    assert config.recipe.steps == 125_000


def test_masked_lm_160g_is_roberta_base_as_published(paper: Parameters) -> None:
    """Section 4.3. Its table has 512 positions, fewer than the 565 of the encoders that the system trains."""
    config = paper.systems["cross_thought"]
    run = config.pretraining("mlm_160g")
    assert isinstance(run.encoder, TransformerConfig) and run.encoder.init_from == config.tokenizer == "roberta-base"
    assert (run.encoder.pooling, run.recipe.steps, run.recipe.start) == ("cls", 0, None)
    assert (
        required_table_sizes(config.pretraining("untrained"))
        == required_table_sizes(config.pretraining("mlm_64"))
        == TableSizes(565)
    )
    needs = required_table_sizes(run) | TableSizes(max(run.lengths.query, run.lengths.document))
    assert needs == TableSizes(512)
    check_fits(RobertaConfig(**ROBERTA_BASE), needs.positions, ROBERTA_TOKENS, "roberta-base")
    for task in ("pairs", "ranking"):
        assert "mlm_160g" in config.task_variants(task)
    assert config.all_variants["mlm_160g"].finetuned
    published = read_published("contexture.systems.cross_thought")
    [row] = [row for row in published.tables["table_2"].rows if row.variant == "mlm_160g"]
    assert row.label == published.labels["mlm_160g"] == "Masked LM (160G)"


@pytest.fixture(scope="module")
def quick_thoughts(paper: Parameters) -> dict[str, Encoder]:
    """Each run of conf/paper that trains by Quick-Thoughts."""
    config, words = paper.systems["quick_thoughts"], paper.words
    assert words.size == 50_000 and (config.lengths.query, config.lengths.document) == (50, 50)
    return {
        run: encoder_of(config.pretraining(run).encoder, config.lengths, words.size, words.vector_size)
        for run in ("uni", "bi", "bow", "fixed")
    }


@pytest.mark.parametrize("run", ["uni", "bi", "bow", "fixed"])
def test_parameters_of_quick_thoughts(run: str, quick_thoughts: dict[str, Encoder]) -> None:
    """6H(H+W+1) + 2VW (appendix C); PyTorch's GRU has a second bias for each gate, which adds 6H.

    A bidirectional encoder has h = H/2 units in each direction: 12h(h+W+1) + 2VW, and 12h for the second biases. One
    over fixed words has no embeddings, and one without a GRU has nothing else.
    """
    words, size, half, word_size, vector_size = 50_000, 1200, 600, 620, 300
    published = {
        "uni": 6 * size * (size + word_size + 1) + 2 * words * word_size,
        "bi": 12 * half * (half + word_size + 1) + 2 * words * word_size,
        "bow": 2 * words * vector_size,
        "fixed": 12 * half * (half + vector_size + 1),
    }
    second_biases = {"uni": 6 * size, "bi": 12 * half, "bow": 0, "fixed": 12 * half}
    assert trained(quick_thoughts[run]) == published[run] + second_biases[run]
    biases = [p.numel() for name, p in quick_thoughts[run].named_parameters() if "bias_hh" in name]
    assert sum(biases) == second_biases[run]


def test_vectors_of_quick_thoughts_have_the_published_lengths(
    quick_thoughts: dict[str, Encoder], paper: Parameters
) -> None:
    config = paper.systems["quick_thoughts"]
    lengths = {
        variant: sum(quick_thoughts[run].dimension for run in config.run_names(variant))
        for variant in config.all_variants
        if variant != "skip_thought" and not variant.startswith("untrained")
    }
    assert lengths == {"uni": 2400, "bi": 2400, "combine": 4800, "mc": 4800, "bow": 600}
    assert not any(encoder.config.unit for encoder in quick_thoughts.values())


def test_skip_thought_has_three_times_the_parameters() -> None:
    """Appendix C: 19.8M and 57.7M at H = 1,000, W = 300 and V = 20,000.

    Skip-Thought has 9H(H+W+1) + VW + 2HV; PyTorch's second biases add 9H, those of its two softmaxes 2V.
    """
    size, word_size, words, lengths = 1000, 300, 20_000, Lengths(50, 50)
    sizes: dict[str, Any] = {"kind": "gru", "word_size": word_size, "embedding_size": size}
    neighbours = 6 * size * (size + word_size + 1) + 2 * words * word_size
    assert trained(encoder_of(GruConfig(**sizes, shared=False), lengths, words)) == neighbours + 6 * size
    encoder = encoder_of(GruConfig(**sizes), lengths, words)
    with torch.device("meta"):
        decoders = SkipThought(SkipThoughtConfig(), encoder)
    generator = 9 * size * (size + word_size + 1) + words * word_size + 2 * size * words
    assert trained(encoder, decoders) == generator + 9 * size + 2 * words
    assert (round(neighbours / 1e6, 1), round(generator / 1e6, 1)) == (19.8, 57.7)
