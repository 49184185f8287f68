"""Punkt gives the same sentences as NLTK for any text."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tokenize.punkt import PunktSentenceTokenizer

from contexture.text.punkt import Punkt
from contexture.text.sentences import load_parameters
from tests.text import gold
from tests.text.nltk_punkt import make_nltk_punkt

PARAMETERS = [
    (["dr", "u.s", "etc", "al", "h.d-z", "st"], ["the", "a", "it", "was"], [], ".?!"),
    (["dr", "u.s", "π.χ"], ["the", "ο"], ["march", "the"], ".?!;\u037e…"),
    ([], [], [], ".?!।。"),
]
PUNKTS = [(Punkt(*parameters), make_nltk_punkt(*parameters)) for parameters in PARAMETERS]
WORDS = (
    "Dr dr U.S u.s St x-dr h.d-z the The THE a A it It was ash Ash March J K j.k J.-H Ο ο π.Χ ΑΣ ǅ 船 क्या é é ² Ⅷ ½ _ "
    "1 12 1,000 3.5 -4 1998 5-6 1. ٣ 10% 5th ,5 1.-"
)
MARKS = ".?!,;:()[]{}\"'`“”‘’„«»-–—…。।@*#&/\\"
MORE_MARKS = ["...", "..", ". .", "--", "!!", ".)", '."', ".”", ". . .", ".,", ". ", ". ", "? ", ".\n"]
SPACES = [" ", " ", " ", " ", "  ", "\n", "\t", "\xa0", "\u3000", "\r\n", "\x85"]
TEXT = st.lists(st.sampled_from([*WORDS.split(), *MARKS, *MORE_MARKS, *SPACES]), max_size=30).map("".join)


@settings(max_examples=1_000, deadline=None)
@given(TEXT | st.text(alphabet='.?!aAé1 ,-"()\n”', max_size=30) | st.text(max_size=40), st.sampled_from(PUNKTS))
def test_sentences_are_nltk_s(text: str, punkts: tuple[Punkt, PunktSentenceTokenizer]) -> None:
    ours, nltk = punkts
    assert ours.find_spans(text) == list(nltk.span_tokenize(text))


@pytest.mark.slow
@pytest.mark.parametrize("lang", gold.DUMPS)
def test_sentences_of_real_text_are_nltk_s(shared_data: Path, lang: str) -> None:
    language = load_parameters(lang)
    for after_numbers in ([], ["agosto", "july", "μαΐου"]):
        parameters = language["abbreviations"], language["common_words"], after_numbers, language["sentence_ends"]
        ours, nltk = Punkt(*parameters), make_nltk_punkt(*parameters)
        for _, text in gold.read_paragraphs(shared_data, lang):
            assert ours.find_spans(text) == list(nltk.span_tokenize(text))
