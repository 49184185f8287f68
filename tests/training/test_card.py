"""Cards of models: their details, and that their code runs."""

import json
import re
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from contexture.commands.main import main
from contexture.encoders.models import load_model
from contexture.systems.config import SystemConfig
from contexture.training.corpus_info import CorpusInfo, write_corpus_info
from tests.tasks.answer_selection import toys as answers
from tests.training.toys import make_system, quick_thoughts, system, two_towers


def pretrain(config: SystemConfig, run: str, folder: Path, examples: Path, vocabulary: Path) -> tuple[str, Path]:
    (folder / "config.json").write_text(json.dumps(config.to_dict()))
    output = folder / "data" / "toy" / "pretrained" / run / "seed-0"
    arguments = ["--config", str(folder / "config.json"), "--run", run, "--examples", str(examples)]
    main(["train", "pretrain", *arguments, "--vocabulary", str(vocabulary), "--output", str(output)])
    return (output / "README.md").read_text(encoding="utf-8"), output


def run_code(card: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the card's code blocks in the folder and return their number."""
    monkeypatch.chdir(folder)
    codes = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    for code in codes:
        exec(code, {})
    return len(codes)


def find_row(card: str, name: str) -> str:
    (value,) = re.findall(rf"^\| {name} \| (.*) \|$", card, re.MULTILINE)
    return value


def test_cards_of_a_transformer_and_its_fine_tuned_model(
    examples: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpus_info(examples / "joint", CorpusInfo("pages.xml.bz2, novel.txt", ["en", "de"], "CC-BY-SA-4.0"))
    card, folder = pretrain(system(), "mspp_ie", tmp_path, examples, tokenizer)
    assert "\n# toy/mspp_ie\n" in card
    metadata = ModelCard.load(folder / "README.md").data
    assert (metadata.language, metadata.license, metadata.base_model) == (["en", "de"], "cc-by-sa-4.0", None)
    assert metadata.tags == ["contexture", "feature-extraction", "sentence-similarity"]
    assert (metadata.library_name, metadata.pipeline_tag) == ("sentence-transformers", "sentence-similarity")
    assert "licence cc-by-sa-4.0" in card
    assert find_row(card, "dimension") == str(load_model(folder).dimension) == "16"
    assert find_row(card, "architecture").startswith("transformer, shared True, ") and "layers 1" in card
    assert find_row(card, "text") == "pages.xml.bz2, novel.txt"
    assert find_row(card, "objectives") == "mlm, mspp for 4 steps; mspp (weight 0.5) for 2 steps"
    assert find_row(card, "steps taken") == "6" and re.fullmatch(
        r"[\d,]+ tokens, .* FLOPs, .* seconds", find_row(card, "cost")
    )
    assert run_code(card, folder, monkeypatch) == 3
    model = tmp_path / "data/toy/finetuned/answer_selection/mspp_ie/seed-0/toys"
    model.parent.mkdir(parents=True)
    arguments = ["--config", str(tmp_path / "config.json"), "--variant", "mspp_ie", "--task", "answer_selection"]
    data = answers.write_data(tmp_path / "answers")
    main(["train", "finetune", *arguments, "--data", str(data), "--encoders", str(folder), "--output", str(model)])
    card = (model / "README.md").read_text(encoding="utf-8")
    assert "\n# toy/mspp_ie/answer_selection/toys\n" in card
    metadata = ModelCard.load(model / "README.md").data
    assert (metadata.language, metadata.license) == (["en", "de"], "cc-by-sa-4.0")
    assert find_row(card, "fine-tuned from") == "toy/mspp_ie" and "tokens" in find_row(card, "cost")
    assert "to choose the sentence that answers" in card
    assert run_code(card, model, monkeypatch) == 4


def test_the_card_of_a_static_encoder(
    examples: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = two_towers().to_dict()
    static = {"kind": "static", "embedding_size": 8, "pooling": "mean"}
    config = make_system(**plain | {"encoders": plain["encoders"] | {"bag": static}})
    card, folder = pretrain(config, "bag", tmp_path, examples, tokenizer)
    assert find_row(card, "dimension") == "8" and find_row(card, "objectives") == "in_batch_negatives for 6 steps"
    assert find_row(card, "system") == "toy" and find_row(card, "examples") == "pairs (tasks ict, mixture uniform)"
    assert "SentenceTransformer('.')" in card and "AutoModel" not in card
    assert run_code(card, folder, monkeypatch) == 2


@pytest.mark.parametrize(("run", "cost"), [("uni", "seconds"), ("untrained", "nothing was trained")])
def test_the_card_of_an_encoder_without_a_library(
    run: str, cost: str, word_examples: Path, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card, folder = pretrain(quick_thoughts(), run, tmp_path, word_examples, words)
    assert find_row(card, "architecture").startswith("gru, ") and find_row(card, "dimension") == "16"
    assert find_row(card, "cost").endswith(cost)
    metadata = ModelCard.load(folder / "README.md").data
    assert (metadata.language, metadata.license, metadata.library_name) == (None, "unknown", None)
    assert "Neither sentence-transformers nor transformers has this architecture." in card
    assert run_code(card, folder, monkeypatch) == 1
