"""Trained parameters of sentence splitting, independent of the order of the texts."""

import random

import pytest

from contexture.text.punkt_training import train_parameters
from contexture.text.sentences import Splitter, load_parameters

NOUNS = ["ship", "tower", "river", "garden", "bridge", "letter", "market", "window", "forest", "harbour"]
VERBS = ["stands", "rests", "waits", "shines", "turns", "falls", "rises", "sleeps"]


def texts(seed: int = 0) -> list[str]:
    """Return paragraphs of an artificial language with the abbreviation "zq." and the common word "meanwhile"."""
    draw = random.Random(seed)
    made_up = []
    for _ in range(300):
        noun, other, verb = draw.choice(NOUNS), draw.choice(NOUNS), draw.choice(VERBS)
        made_up.append(
            f"Here the {noun} {verb} by zq. {draw.randint(1, 99)} of the {other} and meanwhile it {verb}. "
            f"Meanwhile the {other} {verb}. On the 5. Moonday the {noun} {verb}, zq. {other} or not."
        )
    return made_up


def test_trained_parameters() -> None:
    language = train_parameters(texts(), "xx")
    assert set(language) == set(load_parameters("xx"))
    assert language["abbreviations"] == ["zq"]
    assert language["after_numbers"] == ["moonday"]
    assert {"meanwhile"} <= set(language["common_words"])
    assert "moonday" not in language["common_words"]
    assert Splitter(language).split("It lies by zq. Ash. It came on the 5. Moonday by zq. Meanwhile it rained.") == [
        "It lies by zq. Ash.",
        "It came on the 5. Moonday by zq.",
        "Meanwhile it rained.",
    ]


def test_the_order_of_the_texts_does_not_matter() -> None:
    made_up = texts()
    first = train_parameters(iter(made_up), "xx", characters=20_000)
    random.Random(1).shuffle(made_up)
    assert train_parameters(made_up, "xx", characters=20_000) == first
    assert train_parameters(made_up, "xx", characters=1)["abbreviations"] == []  # a sample is read


def test_the_language_s_own_list_is_kept() -> None:
    listed, learned = load_parameters("en"), train_parameters([*texts(), "There is no ship at all, no. " * 50], "en")
    assert "zq" in learned["abbreviations"]
    assert set(listed["abbreviations"]) <= set(learned["abbreviations"])
    assert set(listed["common_words"]) <= set(learned["common_words"])


@pytest.mark.parametrize("nothing", [[], ["", "  "]])
def test_no_text_raises(nothing: list[str]) -> None:
    with pytest.raises(ValueError, match="no text in the language 'en'"):
        train_parameters(nothing, "en")
