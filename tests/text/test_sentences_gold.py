"""Sentence splitting on real text with manually marked boundaries: F1 of at least 0.98."""

from pathlib import Path

import pytest

from contexture.text.punkt_training import train_parameters
from contexture.text.sentences import Splitter, load_parameters
from tests.text import gold

LEAST = {"en": 0.99, "it": 0.98, "el": 0.98}


@pytest.mark.parametrize("lang", LEAST)
def test_marks(lang: str) -> None:
    decisions = gold.read_decisions(lang)
    assert len(decisions) >= 200
    assert len({decision.anchor for decision in decisions}) == len(decisions)
    assert sum(decision.kind != "random" for decision in decisions) > 100  # most are hard ones
    assert 0.2 < sum(not decision.boundary for decision in decisions) / len(decisions) < 0.5
    assert 0.4 < sum(decision.half == "held_out" for decision in decisions) / len(decisions) < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("lang", LEAST)
def test_boundaries(shared_data: Path, lang: str) -> None:
    texts = list(gold.read_paragraphs(shared_data, lang))
    for language in (load_parameters(lang), train_parameters((text for _, text in texts), lang)):
        scores = gold.score_splitter(texts, lang, Splitter(language).find_spans)
        assert scores["all"].lost <= 0.05 * len(gold.read_decisions(lang))
        assert {half: score.f1 >= LEAST[lang] for half, score in scores.items()} == dict.fromkeys(scores, True), scores
