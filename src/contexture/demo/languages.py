"""Made-up languages: translations of English with other words and another word order.

A language has a word for every English word of the world, made of a root for the stem and an ending. Names, numbers and
punctuation are not translated. Translations are reversible word by word.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from contexture.demo.grammar import words
from contexture.demo.names import pick, seeded_random, shuffle

#: A clause is a sequence of words without punctuation.
_WORD = r"[^\W_]+(?:['’-][^\W_]+)*"
_CLAUSE = re.compile(rf"{_WORD}(?: {_WORD})*")
#: Common English endings.
_ENDINGS = ("", "s", "ed", "ing", "ly", "'s")
_STEM = re.compile(rf"(.+?)((?<=...)(?:{'|'.join(_ENDINGS[1:])}))?")
_ARTICLES = frozenset({"a", "an", "the"})
_CONSONANTS, _VOWELS = "bcdfghjklmnpqrstvwxyz", "aeiou"
#: Number of consonants that begin, and that may end, a syllable. One more consonant begins endings only.
_NUM_OPENING, _NUM_CLOSING = 9, 2
#: Maximal letters of stems with one syllable, and with two; longer stems have three.
_MAX_SHORT_LETTERS, _MAX_MIDDLE_LETTERS = 2, 7


def language_codes(count: int) -> list[str]:
    """Return the codes of the first `count` languages, from the private range of ISO 639: qaa, qab, qac …"""
    return [f"q{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(count)]


def reverse_words(clause: list[str]) -> list[str]:
    """Return the words in reverse order."""
    return clause[::-1]


def move_verb_last(clause: list[str]) -> list[str]:
    """Return the clause with its second word, often the verb, at the end, and articles after their nouns."""
    words = list(clause)
    for i in range(len(words) - 2, -1, -1):
        if words[i] in _ARTICLES:
            words[i : i + 2] = words[i : i + 2][::-1]
    return words[:1] + words[2:] + words[1:2]


def swap_neighbours(clause: list[str]) -> list[str]:
    """Return the clause with each pair of words swapped."""
    return [word for i in range(0, len(clause), 2) for word in clause[i : i + 2][::-1]]


#: Word orders, assigned to the languages in turn.
WORD_ORDERS: tuple[Callable[[list[str]], list[str]], ...] = (reverse_words, move_verb_last, swap_neighbours)


def make_translator(seed: int, code: str) -> Callable[[str], str]:
    """Return a function that translates English text of the world, deterministic by seed and code.

    A clause is capitalized if the English one is, unless it begins with a name in the middle of the text. The function
    raises KeyError for words that are not in the world.
    """
    dictionary = make_lexicon(seed, code)
    order = WORD_ORDERS[_language_number(code) % len(WORD_ORDERS)]

    def translate_clause(match: re.Match[str]) -> str:
        """Return the translation of a matched clause."""
        first, *rest = match[0].split(" ")
        is_name = _is_name(first)
        is_start = not any(map(str.isalnum, match.string[: match.start()]))
        has_capital = first[0].isupper() and (is_start or not is_name)
        english = [first if is_name else first.lower(), *("i" if word == "I" else word for word in rest)]
        translation = " ".join(dictionary[word] if word.islower() else word for word in order(english))
        return translation[0].upper() + translation[1:] if has_capital else translation

    return lambda text: _CLAUSE.sub(translate_clause, text)


@lru_cache(maxsize=8)
def make_lexicon(seed: int, code: str) -> Mapping[str, str]:
    """Return the dictionary of a language: English word → its word; all are different, and none is English."""
    rng = seeded_random(seed, "language", code)
    *opening, mark = shuffle(_CONSONANTS, rng)[: _NUM_OPENING + 1]
    closing = ("", *shuffle(opening, rng)[:_NUM_CLOSING])
    endings = dict(zip(_ENDINGS, ("", *(mark + vowel for vowel in shuffle(_VOWELS, rng))), strict=True))
    roots: dict[str, str] = {}
    used = set(english_words())
    for stem in sorted({_split_ending(word)[0] for word in english_words()}):
        draws = seeded_random(seed, "language", code, stem)  # so that new English words do not change the others
        while stem not in roots:
            count = _num_syllables(stem)
            syllables = (pick(opening, draws) + pick(_VOWELS, draws) + pick(closing, draws) for _ in range(count))
            if (root := "".join(syllables)) not in used:
                roots[stem] = root
                used.add(root)
    return {word: roots[stem] + endings[end] for word in english_words() for stem, end in [_split_ending(word)]}


@lru_cache(maxsize=1)
def english_words() -> frozenset[str]:
    """Return the lower-case words of the world's sentences, without people's names that are no words."""
    folder = files("contexture.demo")
    blocks = [path.read_text(encoding="utf-8") for path in _yaml_files(folder) + _yaml_files(folder / "topics")]
    unique = {word for block in blocks for word in re.findall(_WORD, block)}
    return frozenset(word.lower() for word in unique - _people_names() if not any(map(str.isdigit, word)))


@lru_cache(maxsize=1)
def _people_names() -> frozenset[str]:
    """Return the first names and surnames of the world's people."""
    return frozenset(str(name.parts[0]) for key in ("woman", "man", "surname") for name in words().lists[key])


def _yaml_files(folder: Traversable) -> list[Traversable]:
    """Return the YAML files directly in a folder."""
    return [path for path in folder.iterdir() if path.name.endswith(".yml")]


def _split_ending(word: str) -> tuple[str, str]:
    """Return stem and ending of an English word: ("mend", "ing"); the ending may be ""."""
    match = _STEM.fullmatch(word)
    assert match
    return match[1], match[2] or ""


def _num_syllables(stem: str) -> int:
    """Return the number of syllables, 1 to 3, of the made-up root for an English stem, by its length."""
    return 1 + (len(stem) > _MAX_SHORT_LETTERS) + (len(stem) > _MAX_MIDDLE_LETTERS)


def _language_number(code: str) -> int:
    """Return the number of a language from its code: 0 for qaa, 1 for qab …"""
    return (ord(code[1]) - 97) * 26 + ord(code[2]) - 97


def _is_name(word: str) -> bool:
    """Return whether the first word of a clause is a name of a person or place, or a number."""
    return word in _people_names() or word.lower() not in english_words()
