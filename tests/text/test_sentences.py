"""Punkt with our own parameters: where it breaks, and that no character is lost."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.text.sentences import languages, load_language, splitter

CASES = [
    ("en", "Dr. Ash met Mr. Fen. They sailed."),
    ("en", "It lies in the U.S. It is old."),
    ("en", "It lies in the U.S. Congress district."),
    ("en", "The work of J. R. Fen and R.G. Ash is old."),
    ("en", "He likes vitamin C. The others do not."),
    ("en", "It is old (see p. 5; Ash et al. 1998, pp. 6–7). It is large."),
    ("en", "It cost approx. five pounds."),
    ("en", "It reads e.g. iPod."),
    ("en", 'He said "Go!" and left. "Why?" she asked.'),
    ("en", "It was sold in St. Fen for 3.5 million. Nobody came!"),
    ("en", "Is it old? Yes."),
    ("it", "Il sig. Rossi nacque nel 300 a.C. La città era piccola."),
    ("it", "Si veda cfr. cap. 3, pp. 5 e segg. per i dettagli. È antica."),
    ("el", "Γεννήθηκε το 300 π.Χ. στην Αθήνα. Η πόλη ήταν μικρή."),
    ("el", "Πού είναι; Εδώ, δηλ. στην πόλη."),
    ("xx", "One sentence. Another one."),
]
BREAKS = [
    ["Dr. Ash met Mr. Fen.", "They sailed."],
    ["It lies in the U.S.", "It is old."],
    ["It lies in the U.S. Congress district."],
    ["The work of J. R. Fen and R.G. Ash is old."],
    ["He likes vitamin C.", "The others do not."],
    ["It is old (see p. 5; Ash et al. 1998, pp. 6–7).", "It is large."],
    ["It cost approx. five pounds."],
    ["It reads e.g. iPod."],
    ['He said "Go!" and left.', '"Why?" she asked.'],
    ["It was sold in St. Fen for 3.5 million.", "Nobody came!"],
    ["Is it old?", "Yes."],
    ["Il sig. Rossi nacque nel 300 a.C.", "La città era piccola."],
    ["Si veda cfr. cap. 3, pp. 5 e segg. per i dettagli.", "È antica."],
    ["Γεννήθηκε το 300 π.Χ. στην Αθήνα.", "Η πόλη ήταν μικρή."],
    ["Πού είναι;", "Εδώ, δηλ. στην πόλη."],
    ["One sentence.", "Another one."],
]


@pytest.mark.parametrize(
    ("lang", "text", "sentences"), [(*case, want) for case, want in zip(CASES, BREAKS, strict=True)]
)
def test_breaks(lang: str, text: str, sentences: list[str]) -> None:
    assert splitter(lang).split(text) == sentences


PIECES = st.sampled_from(
    [
        "The",
        "ash",
        "R.G.",
        "U.S.",
        "a",
        "A.",
        ".",
        "..",
        "?",
        "!",
        ")",
        "(",
        '"',
        "”",
        "5",
        "3.5",
        ",",
        ";",
        "α",
        "船",
        "。",
        "-",
    ]
)
TEXT = st.lists(st.tuples(PIECES, st.sampled_from([" ", ""])), max_size=40).map(
    lambda parts: " ".join("".join(piece + space for piece, space in parts).split())
)


@settings(max_examples=300, deadline=None)
@given(TEXT | st.text(max_size=200), st.sampled_from([*languages(), "xx"]))
def test_sentences_are_substrings_in_order_that_cover_the_text(text: str, lang: str) -> None:
    spans = list(splitter(lang).spans(text))
    end = 0
    for start, stop in spans:
        assert text[end:start].strip() == ""
        assert start < stop
        end = stop
    assert text[end:].strip() == ""
    assert splitter(lang).split(text) == [text[start:stop] for start, stop in spans]


def test_a_long_text_is_split_in_windows_without_a_seam() -> None:
    sentences = [f"The sentence with number {n} ends." for n in range(5_000)]
    text = " ".join(sentences)
    assert len(text) > 100_000
    assert splitter("en").split(text) == sentences


@pytest.mark.parametrize("piece", ["A. ", "a.", "! ", "). ", "U.S. ", "a", "(", "\u2019."])
def test_time_is_linear(piece: str) -> None:
    times = []
    for count in (2_000, 8_000):
        start = time.process_time()
        splitter("en").split(piece * count)
        times.append(time.process_time() - start)
    assert times[1] < 4 * times[0] * 3 + 0.2


def test_languages_have_well_formed_parameters() -> None:
    assert {"el", "en", "it"} <= set(languages())
    for lang in languages():
        language = load_language(lang)
        assert set(language) == {"sentence_ends", "abbreviations", "common_words"}
        for words in (language["abbreviations"], language["common_words"]):
            assert words == sorted(set(words))
            assert all(word == word.lower().strip(". ") and " " not in word for word in words)


def test_no_file_beside_the_package_s_own_is_opened() -> None:
    assert load_language("../en")["abbreviations"] == []
