"""The language that is asked for, or another."""

import pytest

from contexture.text import languages
from contexture.text.languages import has_frequent_words, is_other_language, languages_of
from contexture.text.quality import Filters, drop_reason

ENGLISH = "The ferry was late, and they had to wait for it with all of their luggage on the quay."
ITALIAN = "Il traghetto era in ritardo e tutti aspettavano sul molo della città con i bagagli nella pioggia."
GREEK = "Το πλοίο από τον Πειραιά είχε καθυστέρηση και όλοι περίμεναν στο λιμάνι με τις αποσκευές τους."
MORE_ENGLISH = (
    "So went a song of fishermen, which travellers heard in every harbour town between Athens and Crete. Nobody knows "
    "who wrote it first, though several poets claimed its verses as their own work. Scholars have since compared some "
    "forty versions, printed during three centuries, without agreeing about a single line. What most of them share is "
    "a ship, a storm, and somebody waiting patiently at home while winter comes closer every day. Children still learn "
    "it at school today, where teachers explain how people lived before engines replaced sails around those islands."
)
NAMELESS = "Oulu Rovaniemi Kuopio Lahti Tampere Helsinki Turku Espoo Vantaa Pori Joensuu"


def test_frequent_words() -> None:
    assert has_frequent_words(ENGLISH, "en")
    assert has_frequent_words(GREEK, "el")
    assert not has_frequent_words(ENGLISH, "it")
    assert not has_frequent_words(ENGLISH, "xx")
    assert not has_frequent_words("the the the the", "en")


@pytest.mark.parametrize("text", [ENGLISH, GREEK, "Il molo."])
def test_the_model_is_not_asked_in_vain(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_model", lambda: pytest.fail("asked"))
    assert not is_other_language(text, "el" if text == GREEK else "en", 0.1)


def test_other_languages() -> None:
    assert is_other_language(ITALIAN, "en", 0.1)
    assert is_other_language(GREEK, "it", 0.1)
    assert is_other_language(ENGLISH, "el", 0.1)
    assert not is_other_language(ITALIAN, "it", 0.1)
    assert not is_other_language(ITALIAN, "no such language", 0.1)
    # foreign at its beginning only
    assert is_other_language(ITALIAN * 3, "en", 0.1)
    assert not is_other_language(f"{ITALIAN} {ITALIAN} {ITALIAN} {MORE_ENGLISH}", "en", 0.1)
    assert drop_reason(ITALIAN, "en", Filters()) == "wrong_language"
    assert drop_reason(ITALIAN, "en", Filters(wrong_language=None)) is None


def test_languages_are_found_by_passages() -> None:
    assert languages_of([ENGLISH]) == {"en": 1}
    assert languages_of(MORE_ENGLISH.split(". ")).keys() == {"en"}
    assert languages_of(["The tides.", "", NAMELESS[:30]]) == {}
