"""Made-up languages: words, order, names."""

import re
from collections import Counter
from itertools import combinations

import pytest

from contexture.demo.languages import (
    english_words,
    language_codes,
    make_lexicon,
    make_translator,
    move_verb_last,
    reverse_words,
    swap_neighbours,
)
from contexture.demo.novels import iter_sentences, make_novel, novel_file_name
from contexture.demo.sentence_tasks import task_files

CODES = language_codes(4)
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@pytest.fixture(scope="module")
def english() -> list[str]:
    """Sentences of novels and tasks, and questions."""
    texts = [sentence for index in range(12) for sentence in iter_sentences(make_novel(0, index))]
    files = dict(task_files(0))
    return texts + files["MR/rt-polarity.pos"] + [line.split(" ", 1)[1] for line in files["TREC/TREC_10.label"]]


def test_codes_are_in_the_private_range() -> None:
    assert language_codes(3) == ["qaa", "qab", "qac"]
    assert language_codes(520)[25:27] == ["qaz", "qba"] and language_codes(520)[-1] == "qtz"


@pytest.mark.parametrize("seed", [0, 7])
def test_words_of_languages_are_different(seed: int) -> None:
    lexicons = [make_lexicon(seed, code) for code in CODES]
    for words in lexicons:
        assert words.keys() == english_words()
        assert len(set(words.values())) == len(words) > 4000
        assert not english_words() & set(words.values())
    for first, second in combinations(lexicons, 2):
        assert len(set(first.values()) & set(second.values())) < 0.01 * len(first)
    assert make_lexicon(seed + 1, "qaa")["salt"] != lexicons[0]["salt"]


def test_orders() -> None:
    sold = ["the", "carpenter", "sold", "a", "boat", "to", "Orla"]
    assert reverse_words(sold) == ["Orla", "to", "boat", "a", "sold", "carpenter", "the"]
    assert swap_neighbours(sold) == ["carpenter", "the", "a", "sold", "to", "boat", "Orla"]
    assert move_verb_last(["she", *sold[2:]]) == ["she", "boat", "a", "to", "Orla", "sold"]
    assert move_verb_last(["the", "boat"]) == ["boat", "the"] and move_verb_last(["She"]) == ["She"]


@pytest.mark.parametrize("code", CODES)
def test_translations_are_reversible(code: str, english: list[str]) -> None:
    """Punctuation and names do not change, and clauses keep their words."""
    meaning = {made: word for word, made in make_lexicon(0, code).items()}
    translate, moved = make_translator(0, code), 0
    for text in english:
        translation = translate(text)
        assert WORD.sub("", translation) == WORD.sub("", text)
        english_words_of_text, translated_words = (
            [word.lower() for word in WORD.findall(line)] for line in (text, translation)
        )
        back = [meaning.get(word, word) for word in translated_words]
        assert Counter(back) == Counter(english_words_of_text)
        assert {word for word in english_words_of_text if word not in english_words()} <= set(
            WORD.findall(translation.lower())
        )
        assert not english_words().intersection(word for word in WORD.findall(translation) if word.islower())
        assert translation.lstrip("“")[0].isupper() or not text.lstrip("“")[0].isupper()
        moved += back != english_words_of_text
    assert moved > 0.99 * len(english)
    assert len({translate(text) for text in english}) == len(set(english))


def test_capitals_names_and_numbers() -> None:
    words = make_lexicon(0, "qaa")
    translate = make_translator(0, "qaa")
    of_word, old, feast, said, never, i = (words[word] for word in ("of", "old", "feast", "said", "never", "i"))
    assert translate("Feast of Orla") == f"Orla {of_word} {feast}"
    assert translate("Old feast") == f"{feast.capitalize()} {old}"
    assert translate("old feast") == f"{feast} {old}"
    assert translate("“I never,” said Orla") == f"“{never.capitalize()} {i},” Orla {said}"
    assert translate("“Old,” said Orla, “never.”") == f"“{old.capitalize()},” Orla {said}, “{never}.”"
    assert translate("Sedge said") == f"{said.capitalize()} Sedge"  # a surname that is also a word
    assert translate("1204 of 37!") == f"37 {of_word} 1204!"
    with pytest.raises(KeyError, match="xylophonist"):
        translate("an old xylophonist")


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_each_word_of_the_world_has_a_translation(seed: int) -> None:
    translate = make_translator(seed, "qab")
    for index in range(6):
        for chapter in make_novel(seed, index, "qab"):
            translate(chapter.heading)
            for paragraph in chapter.paragraphs:
                assert all(translate(sentence) for sentence in paragraph)
    names = [novel_file_name(seed, index, translate) for index in range(700)]
    assert len(set(names)) == 700 and all(name != novel_file_name(seed, 0) for name in names)
