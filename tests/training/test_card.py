"""The cards of models, written by the entry point: their facts, and that what they say of loading holds."""

import json
import re
from pathlib import Path

import pytest

from contexture.commands.main import main
from contexture.encoders.models import load_model
from contexture.systems.config import SystemConfig
from contexture.training.text import write_text_of
from tests.tasks.answer_selection import toys as answers
from tests.training.toys import configured, quick_thoughts, system, two_towers


def pretrained(config: SystemConfig, run: str, folder: Path, examples: Path, vocabulary: Path) -> tuple[str, Path]:
    """The card of a run, and its folder."""
    (folder / "config.json").write_text(json.dumps(config.to_dict()))
    output = folder / "data" / "toy" / "pretrained" / run / "seed-0"
    arguments = ["--config", str(folder / "config.json"), "--run", run, "--examples", str(examples)]
    main(["train", "pretrain", *arguments, "--vocabulary", str(vocabulary), "--output", str(output)])
    return (output / "README.md").read_text(encoding="utf-8"), output


def run_code(card: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the card's Python in the folder; how many pieces there were."""
    monkeypatch.chdir(folder)
    codes = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    for code in codes:
        exec(code, {})
    return len(codes)


def row(card: str, name: str) -> str:
    (value,) = re.findall(rf"^\| {name} \| (.*) \|$", card, re.MULTILINE)
    return value


def test_the_card_of_a_transformer_and_of_what_is_fine_tuned_of_it(
    examples: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text_of(examples / "joint", "pages.xml.bz2, novel.txt")
    card, folder = pretrained(system(), "mspp_ie", tmp_path, examples, tokenizer)
    assert card.startswith("# toy/mspp_ie\n")
    assert row(card, "dimension") == str(load_model(folder).dimension) == "16"
    assert row(card, "architecture").startswith("transformer, shared True, ") and "layers 1" in card
    assert row(card, "text") == "pages.xml.bz2, novel.txt"
    assert row(card, "objectives") == "mlm, mspp for 4 steps; mspp (weight 0.5) for 2 steps"
    assert row(card, "steps taken") == "6" and re.fullmatch(r"[\d,]+ tokens, .* FLOPs, .* seconds", row(card, "cost"))
    assert run_code(card, folder, monkeypatch) == 3
    model = tmp_path / "data/toy/finetuned/answer_selection/mspp_ie/seed-0/toys"
    model.parent.mkdir(parents=True)
    arguments = ["--config", str(tmp_path / "config.json"), "--variant", "mspp_ie", "--task", "answer_selection"]
    data = answers.write_data(tmp_path / "answers")
    main(["train", "finetune", *arguments, "--data", str(data), "--encoders", str(folder), "--output", str(model)])
    card = (model / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# toy/mspp_ie/answer_selection/toys\n")
    assert row(card, "fine-tuned from") == "toy/mspp_ie" and "tokens" in row(card, "cost")
    assert "to choose the sentence that answers" in card
    assert run_code(card, model, monkeypatch) == 4


def test_the_card_of_a_static_encoder(
    examples: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = two_towers().to_dict()
    static = {"kind": "static", "embedding_size": 8, "pooling": "mean"}
    config = configured(**plain | {"encoders": plain["encoders"] | {"bag": static}})
    card, folder = pretrained(config, "bag", tmp_path, examples, tokenizer)
    assert row(card, "dimension") == "8" and row(card, "objectives") == "in_batch_negatives for 6 steps"
    assert row(card, "system") == "toy" and row(card, "examples") == "pairs (tasks ict, mixture uniform)"
    assert "SentenceTransformer('.')" in card and "AutoModel" not in card
    assert run_code(card, folder, monkeypatch) == 2


@pytest.mark.parametrize(("run", "cost"), [("uni", "seconds"), ("random", "nothing was trained")])
def test_the_card_of_an_encoder_that_no_other_library_has(
    run: str, cost: str, word_examples: Path, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card, folder = pretrained(quick_thoughts(), run, tmp_path, word_examples, words)
    assert row(card, "architecture").startswith("gru, ") and row(card, "dimension") == "16"
    assert row(card, "cost").endswith(cost)
    assert "Neither sentence-transformers nor transformers has this architecture." in card
    assert run_code(card, folder, monkeypatch) == 1
