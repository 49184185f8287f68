"""The models of conf/paper, built without allocating weights, have the published numbers of parameters."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from pydantic import TypeAdapter
from transformers import RobertaConfig, RobertaForMaskedLM

from contexture.encoders.config import GruSentences, SentenceEncoderConfig, SentenceLayoutConfig
from contexture.encoders.heads import EvidenceHead
from contexture.encoders.sentence_encoders import SentenceEncoders, build_sentence_encoders
from contexture.encoders.transformer import TransformerEncoder, check_fits, resize_token_types
from contexture.objectives.config import SkipThoughtConfig
from contexture.objectives.skip_thought import SkipThought
from contexture.pipeline_registry import SYSTEMS
from contexture.vocabulary.tokenizers import SpecialTokens

CONF = Path(__file__).resolve().parents[1] / "conf"
#: The sizes that the published weights of this name come with.
ROBERTA_BASE = {
    "vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1,
}  # fmt: skip
PUBLISHED = 124_055_040
PUBLISHED_JOINT_AE = 124_062_720


def count(*modules: torch.nn.Module) -> int:
    return sum(p.numel() for module in modules for p in module.parameters())


def load(environment: str, file: str) -> dict:
    return yaml.safe_load((CONF / environment / "parameters" / file).read_text())


@pytest.mark.parametrize(("variant", "head_size"), [("mspp_ie", 768 * 2 + 2), ("mspp_ae", 2 * 768 * 2 + 2)])
def test_parameters_of_the_paper(variant: str, head_size: int) -> None:
    mspp, base = load("paper", "mspp.yml")["mspp"], load("base", "mspp.yml")["mspp"]
    assert mspp["encoder"]["init_from"] == "roberta-base"
    with torch.device("meta"):
        encoder = TransformerEncoder(RobertaForMaskedLM(RobertaConfig(**ROBERTA_BASE)))
        assert count(encoder.model.base_model) == PUBLISHED
        resize_token_types(encoder.model, base["layout"]["candidates"] + 1)
        head = EvidenceHead(mspp["pretrain"]["runs"][variant]["objectives"]["mspp"]["head"], 768)
    assert {p.device.type for p in encoder.parameters()} == {"meta"}
    assert count(head) == head_size
    joint = count(encoder.model.base_model, head)
    assert joint == PUBLISHED + 5 * 768 + head_size
    if variant == "mspp_ae":
        # 766 fewer than published: one more token type (768) and a head without its two biases would give their figure.
        assert joint + 768 - 2 == PUBLISHED_JOINT_AE


def test_the_layout_of_the_paper_fits_its_model() -> None:
    from contexture.encoders.config import LayoutConfig

    tokens = SpecialTokens(cls=0, sep=2, pad=1, mask=50264, unk=3, vocab_size=50265)
    layout = LayoutConfig(**load("base", "mspp.yml")["mspp"]["layout"])
    check_fits(RobertaConfig(**ROBERTA_BASE), layout.width, tokens, "roberta-base")
    with pytest.raises(ValueError, match="has 514 positions, the layout needs 770"):
        check_fits(RobertaConfig(**ROBERTA_BASE), LayoutConfig(5, 128).width, tokens, "roberta-base")


def sentence_encoders(config: Any, words: int, vector_size: int = 1, pair: bool = True) -> SentenceEncoders:
    tokens = SpecialTokens(pad=0, unk=1, cls=2, sep=3, mask=4, vocab_size=words)
    vectors = np.broadcast_to(np.zeros(1, dtype=np.float32), (words, vector_size))
    with torch.device("meta"):
        return build_sentence_encoders(config, SentenceLayoutConfig(), tokens, words, vectors, pair)


def trained(*modules: torch.nn.Module) -> int:
    return sum(p.numel() for module in modules for p in module.parameters() if p.requires_grad)


@pytest.fixture(scope="module")
def quick_thoughts() -> dict[str, SentenceEncoders]:
    """Each run of conf/paper that trains by Quick-Thoughts."""
    paper, sources = load("paper", "quick_thoughts.yml")["quick_thoughts"], load("paper", "sources.yml")["words"]
    base = load("base", "quick_thoughts.yml")["quick_thoughts"]["pretrain"]["runs"]
    assert sources["size"] == 50_000 and paper["layout"]["sentence_words"] == 50
    found = {}
    for run in ("uni", "bi", "bow", "fixed"):
        config: Any = TypeAdapter(SentenceEncoderConfig).validate_python(paper["encoders"][base[run]["encoder"]])
        found[run] = sentence_encoders(config, sources["size"], sources["vector_size"])
    return found


@pytest.mark.parametrize("run", ["uni", "bi", "bow", "fixed"])
def test_parameters_of_quick_thoughts(run: str, quick_thoughts: dict[str, SentenceEncoders]) -> None:
    """6H(H+W+1) + 2VW (appendix C); PyTorch's GRU has a second bias for each gate, which adds 6H.

    A bidirectional encoder has h = H/2 units in each direction: 12h(h+W+1) + 2VW, and 12h for the second biases. One
    over fixed words has no embeddings of its own, and one without a GRU has nothing else.
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


def test_vectors_of_quick_thoughts_have_the_published_lengths(quick_thoughts: dict[str, SentenceEncoders]) -> None:
    frozen = SYSTEMS["quick_thoughts"].frozen
    lengths = {
        variant: sum(quick_thoughts[run].size for run in runs)
        for variant, runs in frozen.items()
        if variant not in ("skip_thought", "random")
    }
    assert lengths == {"uni": 2400, "bi": 2400, "combine": 4800, "mc": 4800, "bow": 600}


def test_skip_thought_has_three_times_the_parameters() -> None:
    """Appendix C: 19.8M and 57.7M at H = 1,000, W = 300 and V = 20,000.

    Skip-Thought has 9H(H+W+1) + VW + 2HV; PyTorch's second biases add 9H, those of its two softmaxes 2V.
    """
    size, word_size, words = 1000, 300, 20_000
    config = GruSentences(word_size=word_size, embedding_size=size)
    neighbours = 6 * size * (size + word_size + 1) + 2 * words * word_size
    assert trained(sentence_encoders(config, words)) == neighbours + 6 * size
    encoder = sentence_encoders(config, words, pair=False)
    tokens = SpecialTokens(pad=0, unk=1, cls=2, sep=3, mask=4, vocab_size=words)
    with torch.device("meta"):
        decoders = SkipThought(SkipThoughtConfig(), encoder, tokens)
    generator = 9 * size * (size + word_size + 1) + words * word_size + 2 * size * words
    assert trained(encoder, decoders) == generator + 9 * size + 2 * words
    assert (round(neighbours / 1e6, 1), round(generator / 1e6, 1)) == (19.8, 57.7)
