"""The models of conf/paper, built without allocating weights, have the published numbers of parameters."""

from pathlib import Path

import pytest
import torch
import yaml
from transformers import RobertaConfig, RobertaForMaskedLM

from contexture.encoders.heads import EvidenceHead
from contexture.encoders.transformer import TransformerEncoder, check_fits, resize_token_types
from contexture.text.vocabulary import SpecialTokens

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
