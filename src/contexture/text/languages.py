"""The language of a text, by the naive Bayes model of py3langid (0.1 ms a text) or by frequent words (microseconds)."""

import functools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

#: A shorter text is often a name or a title, whose language no model can tell.
MIN_CHARS = 50
# The beginning settles nearly all; where it is foreign (names, a quotation) more has to be read.
_READ_CHARS = (200, 2_000)
_NUM_FIRST_WORDS, _MIN_FREQUENT_WORDS = 40, 3
_MIN_PROBABILITY = 0.9  # of the model, from which on a language counts as found

# Frequent words of three letters and more that the other languages here do not have.
_FREQUENT_WORDS = {
    "de": "der die und das den von ist des mit dem sich auf für eine wurde als auch einer nach nicht aus bei oder",
    "el": "και του της την από για στην στο στη των που τον είναι ένα μια τις τους στον ήταν αυτό όπως",
    "en": "the and was that with for from his which are were this has had not their its been have they also",
    "es": "los las del por para una como más fue entre sus pero este esta también desde según sobre hasta",
    "fr": "les des une dans est par pour qui sur avec plus pas sont ses aux cette été comme entre ces mais",
    "it": "della che del per una nel alla sono dei con non gli delle come nella anche dal più suo stato dalla",
}


def detect_languages(texts: Iterable[str]) -> Counter[str]:
    """By language (ISO 639-1, "en"), how many passages are in it for certain.

    Texts in a row make a passage, up to the one that brings it to two hundred characters.
    """
    return Counter(lang for passage in _join_passages(texts) if (lang := _detect_language(passage)) is not None)


def is_same_language(left: Iterable[str], right: Iterable[str], languages: Collection[str]) -> bool:
    """Whether most passages of both sides are in the same language for certain.

    False unless the model knows all `languages`: it takes an unknown language for the nearest that it knows.
    """
    if not _load_model()[0].issuperset(languages):
        return False
    first, second = (detect_languages(texts).most_common(1) for texts in (left, right))
    return bool(first and second) and first[0][0] == second[0][0]


def _join_passages(texts: Iterable[str]) -> Iterator[str]:
    passage: list[str] = []
    for text in texts:
        passage.append(text)
        if sum(map(len, passage)) >= _READ_CHARS[0]:
            yield "\n".join(passage)
            passage.clear()
    if sum(map(len, passage)) >= MIN_CHARS:
        yield "\n".join(passage)


def _detect_language(text: str) -> str | None:
    # Frequent words alone tell nothing: those of Spanish are in Portuguese prose, too, and those of Italian in Catalan.
    lang, probability = _load_model()[1](text[: _READ_CHARS[1]])[0]
    return lang if probability >= _MIN_PROBABILITY or has_frequent_words(text, lang) else None


def is_other_language(text: str, lang: str, probability: float) -> bool:
    """Whether the probability that a text is in `lang` is below `probability`.

    False for short texts and unknown languages.
    """
    if len(text) < MIN_CHARS or has_frequent_words(text, lang):
        return False
    known, rank = _load_model()
    return lang in known and all(dict(rank(text[:length]))[lang] < probability for length in _READ_CHARS)


def has_frequent_words(text: str, lang: str) -> bool:
    """Whether at least three different frequent words of a language are among the first forty of a text."""
    return (
        len(_frequent_words(lang).intersection(text.lower().split(None, _NUM_FIRST_WORDS)[:_NUM_FIRST_WORDS]))
        >= _MIN_FREQUENT_WORDS
    )


def trigram_similarity(left: Iterable[str], right: Iterable[str]) -> float:
    """Cosine of two texts' counts of character trigrams (Cavnar and Trenkle 1994), 0 to 1.

    Tatoeba's pairs with English reach 0.43 at most; paraphrases in one language, and some dialects, exceed 0.95.
    """
    counts = [_count_trigrams(texts) for texts in (left, right)]
    product = sum(count * counts[1][gram] for gram, count in counts[0].items())
    size = math.prod(math.sqrt(sum(count * count for count in grams.values())) for grams in counts)
    return product / size if size else 0.0


def _count_trigrams(texts: Iterable[str]) -> Counter[str]:
    padded = (f" {text.lower()} " for text in texts)
    return Counter(text[start : start + 3] for text in padded for start in range(len(text) - 2))


@functools.cache
def _frequent_words(lang: str) -> frozenset[str]:
    return frozenset(_FREQUENT_WORDS.get(lang, "").split())


@functools.cache
def _load_model() -> tuple[frozenset[str], Callable[[str], list[tuple[str, float]]]]:
    """The languages that the model knows, and the function that gives a text's probability for each."""
    # The import costs most of a second, and few need it.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    return frozenset(identifier.labels), identifier.rank
