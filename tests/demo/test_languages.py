"""Made-up languages: words, order, and what stays as it is."""

import re
from collections import Counter
from itertools import combinations

import pytest

from contexture.demo.languages import (
    codes,
    english_words,
    lexicon,
    neighbours_exchanged,
    reversed_clause,
    translator,
    verb_last,
)
from contexture.demo.novels import file_name, novel, sentences
from contexture.demo.sentence_tasks import task_files

CODES = codes(4)
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@pytest.fixture(scope="module")
def english() -> list[str]:
    """Sentences of novels; texts of a task, and questions."""
    texts = [sentence for index in range(12) for sentence in sentences(novel(0, index))]
    files = dict(task_files(0))
    return texts + files["MR/rt-polarity.pos"] + [line.split(" ", 1)[1] for line in files["TREC/TREC_10.label"]]


def test_codes_are_those_of_private_use() -> None:
    assert codes(3) == ["qaa", "qab", "qac"]
    assert codes(520)[25:27] == ["qaz", "qba"] and codes(520)[-1] == "qtz"


@pytest.mark.parametrize("seed", [0, 7])
def test_no_two_words_become_one_and_none_is_english_or_of_another_language(seed: int) -> None:
    lexicons = [lexicon(seed, code) for code in CODES]
    for words in lexicons:
        assert words.keys() == english_words()
        assert len(set(words.values())) == len(words) > 4000
        assert not english_words() & set(words.values())
    for first, second in combinations(lexicons, 2):
        assert len(set(first.values()) & set(second.values())) < 0.01 * len(first)
    assert lexicon(seed + 1, "qaa")["salt"] != lexicons[0]["salt"]


def test_orders() -> None:
    sold = ["the", "carpenter", "sold", "a", "boat", "to", "Orla"]
    assert reversed_clause(sold) == ["Orla", "to", "boat", "a", "sold", "carpenter", "the"]
    assert neighbours_exchanged(sold) == ["carpenter", "the", "a", "sold", "to", "boat", "Orla"]
    assert verb_last(["she", *sold[2:]]) == ["she", "boat", "a", "to", "Orla", "sold"]
    assert verb_last(["the", "boat"]) == ["boat", "the"] and verb_last(["She"]) == ["She"]


@pytest.mark.parametrize("code", CODES)
def test_what_is_said_can_be_read_back(code: str, english: list[str]) -> None:
    """Marks stay where they are; between them are the clause's own words, names as they were."""
    meaning = {made: word for word, made in lexicon(0, code).items()}
    translate, moved = translator(0, code), 0
    for text in english:
        said = translate(text)
        assert WORD.sub("", said) == WORD.sub("", text)
        english_text, after = ([word.lower() for word in WORD.findall(line)] for line in (text, said))
        back = [meaning.get(word, word) for word in after]
        assert Counter(back) == Counter(english_text)
        assert {word for word in english_text if word not in english_words()} <= set(WORD.findall(said.lower()))
        assert not english_words().intersection(word for word in WORD.findall(said) if word.islower())
        assert said.lstrip("“")[0].isupper() or not text.lstrip("“")[0].isupper()
        moved += back != english_text
    assert moved > 0.99 * len(english)
    assert len({translate(text) for text in english}) == len(set(english))


def test_capitals_names_and_numbers() -> None:
    words = lexicon(0, "qaa")
    translate = translator(0, "qaa")
    of, old, feast, said, never, i = (words[word] for word in ("of", "old", "feast", "said", "never", "i"))
    assert translate("Feast of Orla") == f"Orla {of} {feast}"
    assert translate("Old feast") == f"{feast.capitalize()} {old}"
    assert translate("old feast") == f"{feast} {old}"
    assert translate("“I never,” said Orla") == f"“{never.capitalize()} {i},” Orla {said}"
    assert translate("“Old,” said Orla, “never.”") == f"“{old.capitalize()},” Orla {said}, “{never}.”"
    assert translate("Sedge said") == f"{said.capitalize()} Sedge"  # a surname, though sedge is a word, too
    assert translate("1204 of 37!") == f"37 {of} 1204!"
    with pytest.raises(KeyError, match="xylophonist"):
        translate("an old xylophonist")


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_every_word_of_the_world_has_one_in_every_language(seed: int) -> None:
    translate = translator(seed, "qab")
    for index in range(6):
        for chapter in novel(seed, index, "qab"):
            translate(chapter.heading)
            for paragraph in chapter.paragraphs:
                assert all(translate(sentence) for sentence in paragraph)
    names = [file_name(seed, index, translate) for index in range(700)]
    assert len(set(names)) == 700 and all(name != file_name(seed, 0) for name in names)
