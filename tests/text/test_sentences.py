"""Sentence splitting: breaks, and no lost characters."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.text.punkt import has_abbreviation_form
from contexture.text.sentences import Splitter, get_splitter, list_languages, load_parameters
from tests.text import gold


@pytest.mark.parametrize(("lang", "marked"), gold.read_table("sentences"))
def test_breaks(lang: str, marked: str) -> None:
    sentences = [sentence.strip() for sentence in marked.split("|")]
    assert get_splitter(lang).split(marked.replace(" |", "").replace("|", "")) == sentences


PIECES = 'The ash R.G. U.S. a A. . .. ... … ? ! ) ( [ ] " ” « » 「 」 5 3.5 , ; ; α с. 船 。 ！ は । ። ։ क - – 1.'
TEXT = st.lists(st.tuples(st.sampled_from(PIECES.split()), st.sampled_from([" ", ""])), max_size=40).map(
    lambda parts: " ".join("".join(piece + space for piece, space in parts).split())
)


@settings(max_examples=500, deadline=None)
@given(TEXT | st.text(max_size=200), st.sampled_from([*list_languages(), "xx"]))
def test_sentences_are_substrings_in_order_that_cover_the_text(text: str, lang: str) -> None:
    spans = list(get_splitter(lang).find_spans(text))
    end = 0
    for start, stop in spans:
        assert text[end:start].strip() == ""
        assert start < stop
        assert text[start:stop].strip() == text[start:stop]
        end = stop
    assert text[end:].strip() == ""
    assert get_splitter(lang).split(text) == [text[start:stop] for start, stop in spans]


def test_a_long_text_has_no_seams() -> None:
    sentences = [f"The sentence with number {n} ends." for n in range(5_000)]
    text = " ".join(sentences)
    assert len(text) > 100_000
    assert get_splitter("en").split(text) == sentences


@pytest.mark.parametrize("unit", ["A. ", "! ", "). ", "U.S. ", "a", "(", "\u2019.", "... ", "1. ", "« ", "「あ。", " "])
def test_time_is_linear(unit: str) -> None:
    split = get_splitter("ja" if ord(unit[0]) > 0x3000 else "en").split
    split("'Dr. Ash.'")  # NLTK is loaded
    times = []
    for count in (3_000, 24_000):
        start = time.process_time()
        split(unit * count)
        times.append(time.process_time() - start)
    assert times[1] < 8 * times[0] * 3 + 0.2


def test_parameters_can_be_given() -> None:
    language = load_parameters("xx") | {"abbreviations": ["zzz"], "after_numbers": ["moon"]}
    assert Splitter(language).split("The zzz. Ash came on the 5. Moon. He left.") == [
        "The zzz. Ash came on the 5. Moon.",
        "He left.",
    ]


def test_languages_have_well_formed_parameters() -> None:
    assert " ".join(list_languages()) == "ar bn de el en es fr hi hy it ja nl pt ru zh"
    for lang in list_languages():
        language = load_parameters(lang)
        assert set(language) == {"sentence_ends", "abbreviations", "common_words", "after_numbers"}
        assert "." in language["sentence_ends"]
        for words in (language["abbreviations"], language["common_words"], language["after_numbers"]):
            assert words == sorted(set(words))
            assert all(word == word.lower().strip(". ") and " " not in word for word in words)
        if lang not in ("bn", "hi"):  # their letters come with marks that Punkt knows no words with
            assert all(map(has_abbreviation_form, language["abbreviations"]))


def test_only_files_of_the_package_are_opened() -> None:
    assert load_parameters("../en")["abbreviations"] == []
