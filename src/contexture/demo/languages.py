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
from contexture.demo.names import pick, shuffled, source

#: Words with nothing but blanks between them; every mark ends a clause.
_WORD = r"[^\W_]+(?:['’-][^\W_]+)*"
_CLAUSE = re.compile(rf"{_WORD}(?: {_WORD})*")
#: A stem and an ending that English has often.
_ENDINGS = ("", "s", "ed", "ing", "ly", "'s")
_STEM = re.compile(rf"(.+?)((?<=...)(?:{'|'.join(_ENDINGS[1:])}))?")
_ARTICLES = frozenset({"a", "an", "the"})
_CONSONANTS, _VOWELS = "bcdfghjklmnpqrstvwxyz", "aeiou"
#: Consonants of a language's roots, and those that may close a syllable. One more begins all endings and no root.
_OPENING, _CLOSING = 9, 2
#: Stems of at most so many letters have one syllable, and two; longer ones have three.
_SHORT, _MIDDLE = 2, 7


def codes(count: int) -> list[str]:
    """The codes of the first `count` languages, of those that ISO 639 leaves to private use: qaa, qab, qac …"""
    return [f"q{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(count)]


def reversed_clause(clause: list[str]) -> list[str]:
    """The last word first."""
    return clause[::-1]


def verb_last(clause: list[str]) -> list[str]:
    """The second word last, which often is the verb, and an article behind its noun."""
    words = list(clause)
    for i in range(len(words) - 2, -1, -1):
        if words[i] in _ARTICLES:
            words[i : i + 2] = words[i : i + 2][::-1]
    return words[:1] + words[2:] + words[1:2]


def neighbours_exchanged(clause: list[str]) -> list[str]:
    """The second word, the first, the fourth, the third …"""
    return [word for i in range(0, len(clause), 2) for word in clause[i : i + 2][::-1]]


#: What happens to the English words of a clause, for one language after another.
ORDERS: tuple[Callable[[list[str]], list[str]], ...] = (reversed_clause, verb_last, neighbours_exchanged)


def translator(seed: int, code: str) -> Callable[[str], str]:
    """What turns an English text of the world into a language: a function of seed, code and text.

    A clause begins with a capital where the English does, unless that is a name's in the middle of the text. Raises
    KeyError for words that the world does not have.
    """
    dictionary = lexicon(seed, code)
    order = ORDERS[_number(code) % len(ORDERS)]

    def clause(match: re.Match[str]) -> str:
        first, *rest = match[0].split(" ")
        name = _is_name(first)
        begins = not any(map(str.isalnum, match.string[: match.start()]))
        capital = first[0].isupper() and (begins or not name)
        english = [first if name else first.lower(), *("i" if word == "I" else word for word in rest)]
        said = " ".join(dictionary[word] if word.islower() else word for word in order(english))
        return said[0].upper() + said[1:] if capital else said

    return lambda text: _CLAUSE.sub(clause, text)


@lru_cache(maxsize=8)
def lexicon(seed: int, code: str) -> Mapping[str, str]:
    """A language's word for each English one, another for each, and none that is English."""
    rng = source(seed, "language", code)
    *opening, mark = shuffled(_CONSONANTS, rng)[: _OPENING + 1]
    closing = ("", *shuffled(opening, rng)[:_CLOSING])
    endings = dict(zip(_ENDINGS, ("", *(mark + vowel for vowel in shuffled(_VOWELS, rng))), strict=True))
    roots: dict[str, str] = {}
    used = set(english_words())
    for stem in sorted({_parts(word)[0] for word in english_words()}):
        draws = source(seed, "language", code, stem)  # a new word elsewhere changes none of the others
        while stem not in roots:
            count = _syllables(stem)
            syllables = (pick(opening, draws) + pick(_VOWELS, draws) + pick(closing, draws) for _ in range(count))
            if (root := "".join(syllables)) not in used:
                roots[stem] = root
                used.add(root)
    return {word: roots[stem] + endings[end] for word in english_words() for stem, end in [_parts(word)]}


@lru_cache(maxsize=1)
def english_words() -> frozenset[str]:
    """The words of the world's sentences, in lower case; names of people are none unless they are words, too."""
    folder = files("contexture.demo")
    blocks = [path.read_text(encoding="utf-8") for path in _yaml(folder) + _yaml(folder / "topics")]
    unique = {word for block in blocks for word in re.findall(_WORD, block)}
    return frozenset(word.lower() for word in unique - _people() if not any(map(str.isdigit, word)))


@lru_cache(maxsize=1)
def _people() -> frozenset[str]:
    return frozenset(str(name.parts[0]) for key in ("woman", "man", "surname") for name in words().lists[key])


def _yaml(folder: Traversable) -> list[Traversable]:
    return [path for path in folder.iterdir() if path.name.endswith(".yml")]


def _parts(word: str) -> tuple[str, str]:
    match = _STEM.fullmatch(word)
    assert match
    return match[1], match[2] or ""


def _syllables(stem: str) -> int:
    return 1 + (len(stem) > _SHORT) + (len(stem) > _MIDDLE)


def _number(code: str) -> int:
    return (ord(code[1]) - 97) * 26 + ord(code[2]) - 97


def _is_name(word: str) -> bool:
    """Whether a clause's first word is a person's name, or no word of the world: the name of a place, a number."""
    return word in _people() or word.lower() not in english_words()
