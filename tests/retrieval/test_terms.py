"""Terms of BM25: words of many languages, elisions, stems, stop words and pairs of characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexture.retrieval.config import Bm25Config
from contexture.retrieval.terms import STEMMERS, Analyzer


def terms(text: str, language: str = "en", **settings: bool) -> list[str]:
    return list(Analyzer(Bm25Config(language=language, **settings)).terms(text))


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "The bridges' stones, O'Neil's mill: we'll don’t", "bridg stone neil mill we don"),
        ("en", "fs.readFile(path, 3.5) — snake_case C", "fs readfil path 3 5 snake_cas c"),
        ("de", "Die Straßen und GÄRTEN", "strass gart"),
        ("fr", "L’eau qu'il buvait", "eau buv"),
        ("it", "dell'acqua fredda", "acqua fredd"),
        ("el", "οι ΑΝΘΡΩΠΟΙ", "οι ανθρωπ"),
        ("xx", "The bridges", "the bridges"),
        ("en", "ﬁne ２０ Å", "fine 20 å"),
        ("hi", "किताबें", "किताब"),
        ("zh", "长江大桥 in 2024", "长江 江大 大桥 in 2024"),
        ("ja", "東京タワー", "東京 京タ タワ ワー"),
        ("ko", "서울 강", "서울 강"),
        ("th", "น้ำใจ", "น้ ้ํ ํา าใ ใจ"),
        ("en", "tea 茶 tea", "tea 茶 tea"),
    ],
)
def test_terms_of_languages(language: str, text: str, expected: str) -> None:
    assert terms(text, language) == expected.split()


def test_stemming_and_stop_words_are_options() -> None:
    text = "the bridges"
    assert terms(text, stemming=False) == ["bridges"]
    assert terms(text, stop_words=False) == ["the", "bridg"]


@given(st.text(), st.sampled_from(sorted(STEMMERS)))
def test_terms_do_not_depend_on_case_spaces_and_earlier_texts(text: str, language: str) -> None:
    analyzer = Analyzer(Bm25Config(language=language))
    expected = list(analyzer.terms(text))
    assert all(expected) and list(analyzer.terms(f" {text.casefold()}\n")) == expected == terms(text, language)


@given(st.text(st.sampled_from("北京大学"), min_size=1))
def test_a_run_of_n_characters_has_n_minus_1_pairs(run: str) -> None:
    pairs = terms(run, "zh")
    assert len(pairs) == max(1, len(run) - 1) and run == pairs[0] + "".join(pair[1:] for pair in pairs[1:])
