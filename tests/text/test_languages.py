"""Detection and codes of languages."""

import pytest

from contexture.text import languages
from contexture.text.language_codes import strip_region, two_letter_code
from contexture.text.languages import detect_languages, has_frequent_words, is_other_language
from contexture.text.quality import Filters, drop_reason
from tests.text import gold

ENGLISH, ITALIAN, GREEK, MORE_ENGLISH, PORTUGUESE, CATALAN, DUTCH = gold.read_table("languages").values()
NAMELESS = "Oulu Rovaniemi Kuopio Lahti Tampere Helsinki Turku Espoo Vantaa Pori Joensuu"


def test_frequent_words() -> None:
    assert has_frequent_words(ENGLISH, "en")
    assert has_frequent_words(GREEK, "el")
    assert not has_frequent_words(ENGLISH, "it")
    assert not has_frequent_words(ENGLISH, "xx")
    assert not has_frequent_words("the the the the", "en")


@pytest.mark.parametrize(("text", "lang"), [(ENGLISH, "en"), (GREEK, "el"), ("Il molo.", "en")])
def test_frequent_words_and_short_texts_do_not_need_the_model(
    text: str, lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(languages, "_load_model", lambda: pytest.fail("the model was loaded"))
    assert not is_other_language(text, lang, 0.1)


def test_other_languages() -> None:
    foreign = [(ITALIAN, "en"), (GREEK, "it"), (ENGLISH, "el"), (ITALIAN * 3, "en")]
    assert all(is_other_language(text, lang, 0.1) for text, lang in foreign)
    foreign_start = f"{ITALIAN} {ITALIAN} {ITALIAN} {MORE_ENGLISH}"
    same = [(ITALIAN, "it"), (ITALIAN, "no such language"), (foreign_start, "en")]
    assert not any(is_other_language(text, lang, 0.1) for text, lang in same)
    assert drop_reason(ITALIAN, "en", Filters()) == "wrong_language"
    assert drop_reason(ITALIAN, "en", Filters(wrong_language=None)) is None


def test_languages_are_detected_by_passages() -> None:
    assert detect_languages([ENGLISH]) == {"en": 1}
    assert detect_languages(MORE_ENGLISH.split(". ")).keys() == {"en"}
    assert detect_languages(["The tides.", "", NAMELESS[:30]]) == {}
    assert detect_languages([*[""] * 3_000, ENGLISH]) == {"en": 1}  # blank lines are no text


@pytest.mark.parametrize(
    ("text", "lang", "near"), [(PORTUGUESE, "pt", "es"), (CATALAN, "ca", "it"), (DUTCH, "nl", "de")]
)
def test_frequent_words_of_another_language_do_not_decide(text: str, lang: str, near: str) -> None:
    assert has_frequent_words(text, near) and not has_frequent_words(text, lang)
    assert detect_languages([text]) == {lang: 1}


def test_frequent_words_confirm_the_model() -> None:
    """For the model, this text with many names is English with a probability of 0.898."""
    text = "Maître Lefèvre and Monsieur Dupré had no visa from Dakar, that was the hitch with Abidjan."
    assert detect_languages([text]) == {"en": 1}


def test_codes() -> None:
    """Codes include languages of groups, as in names of Tatoeba's files. Regions and case are ignored."""
    codes = ["deu", "de", "cmn", "pes", "swh", "nob"]
    assert [two_letter_code(code) for code in codes] == ["de", "de", "zh", "fa", "sw", "no"]
    assert {strip_region(code) for code in ("en", "EN", "en-GB", "en_us", "eng")} == {"en"}
