"""Made-up languages beside the world's English: the same facts and people in other words and another order.

A language has a word for every English word of the world: a root for its stem, and endings of its own for a plural or
a past. Names, numbers and marks stay as they are. Nothing is lost: a sentence can be turned back, word by word.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from contexture.demo.grammar import words
from contexture.demo.names import pick, seeded_random, shuffle

#: Words with nothing but blanks between them; every mark ends a clause.
_WORD = r"[^\W_]+(?:['’-][^\W_]+)*"
_CLAUSE = re.compile(rf"{_WORD}(?: {_WORD})*")
#: A stem and an ending that English has often.
_ENDINGS = ("", "s", "ed", "ing", "ly", "'s")
_STEM = re.compile(rf"(.+?)((?<=...)(?:{'|'.join(_ENDINGS[1:])}))?")
_ARTICLES = frozenset({"a", "an", "the"})
_CONSONANTS, _VOWELS = "bcdfghjklmnpqrstvwxyz", "aeiou"
#: Consonants of a language's roots, and those that may close a syllable. One more begins all endings and no root.
_NUM_OPENING, _NUM_CLOSING = 9, 2
#: Stems of at most so many letters have one syllable, and two; longer ones have three.
_MAX_SHORT_LETTERS, _MAX_MIDDLE_LETTERS = 2, 7


def language_codes(count: int) -> list[str]:
    """The codes of the first `count` languages, of those that ISO 639 leaves to private use: qaa, qab, qac …"""
    return [f"q{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(count)]


def reverse_words(clause: list[str]) -> list[str]:
    """The last word first."""
    return clause[::-1]


def move_verb_last(clause: list[str]) -> list[str]:
    """The second word last, which often is the verb, and an article behind its noun."""
    words = list(clause)
    for i in range(len(words) - 2, -1, -1):
        if words[i] in _ARTICLES:
            words[i : i + 2] = words[i : i + 2][::-1]
    return words[:1] + words[2:] + words[1:2]


def swap_neighbours(clause: list[str]) -> list[str]:
    """The second word, the first, the fourth, the third …"""
    return [word for i in range(0, len(clause), 2) for word in clause[i : i + 2][::-1]]


#: What happens to the English words of a clause, for one language after another.
WORD_ORDERS: tuple[Callable[[list[str]], list[str]], ...] = (reverse_words, move_verb_last, swap_neighbours)


def make_translator(seed: int, code: str) -> Callable[[str], str]:
    """What turns an English text of the world into a language: a function of seed, code and text.

    A clause begins with a capital where the English does, unless that is a name's in the middle of the text. Raises
    KeyError for words that the world does not have.
    """
    dictionary = make_lexicon(seed, code)
    order = WORD_ORDERS[_language_number(code) % len(WORD_ORDERS)]

    def translate_clause(match: re.Match[str]) -> str:
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
    """A language's word for each English one, another for each, and none that is English."""
    rng = seeded_random(seed, "language", code)
    *opening, mark = shuffle(_CONSONANTS, rng)[: _NUM_OPENING + 1]
    closing = ("", *shuffle(opening, rng)[:_NUM_CLOSING])
    endings = dict(zip(_ENDINGS, ("", *(mark + vowel for vowel in shuffle(_VOWELS, rng))), strict=True))
    roots: dict[str, str] = {}
    used = set(english_words())
    for stem in sorted({_split_ending(word)[0] for word in english_words()}):
        draws = seeded_random(seed, "language", code, stem)  # a new word elsewhere changes none of the others
        while stem not in roots:
            count = _num_syllables(stem)
            syllables = (pick(opening, draws) + pick(_VOWELS, draws) + pick(closing, draws) for _ in range(count))
            if (root := "".join(syllables)) not in used:
                roots[stem] = root
                used.add(root)
    return {word: roots[stem] + endings[end] for word in english_words() for stem, end in [_split_ending(word)]}


@lru_cache(maxsize=1)
def english_words() -> frozenset[str]:
    """The words of the world's sentences, in lower case; names of people are none unless they are words, too."""
    folder = files("contexture.demo")
    blocks = [path.read_text(encoding="utf-8") for path in _yaml_files(folder) + _yaml_files(folder / "topics")]
    unique = {word for block in blocks for word in re.findall(_WORD, block)}
    return frozenset(word.lower() for word in unique - _people_names() if not any(map(str.isdigit, word)))


@lru_cache(maxsize=1)
def _people_names() -> frozenset[str]:
    return frozenset(str(name.parts[0]) for key in ("woman", "man", "surname") for name in words().lists[key])


def _yaml_files(folder: Traversable) -> list[Traversable]:
    return [path for path in folder.iterdir() if path.name.endswith(".yml")]


def _split_ending(word: str) -> tuple[str, str]:
    match = _STEM.fullmatch(word)
    assert match
    return match[1], match[2] or ""


def _num_syllables(stem: str) -> int:
    return 1 + (len(stem) > _MAX_SHORT_LETTERS) + (len(stem) > _MAX_MIDDLE_LETTERS)


def _language_number(code: str) -> int:
    return (ord(code[1]) - 97) * 26 + ord(code[2]) - 97


def _is_name(word: str) -> bool:
    """Whether a clause's first word is a person's name, or no word of the world: the name of a place, a number."""
    return word in _people_names() or word.lower() not in english_words()
