"""Detect languages with frequent words or, more slowly, the naive Bayes model of py3langid."""

import functools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

#: Shorter texts are often names or titles, whose language no model can detect.
MIN_CHARS = 50
# The first 200 characters suffice unless they are foreign (names, a quotation).
_READ_CHARS = (200, 2_000)
_NUM_FIRST_WORDS, _MIN_FREQUENT_WORDS = 40, 3
_MIN_PROBABILITY = 0.9  # of a detected language

# Frequent words with at least three letters that the other languages here do not have.
_FREQUENT_WORDS = {
    "de": "der die und das den von ist des mit dem sich auf für eine wurde als auch einer nach nicht aus bei oder",
    "el": "και του της την από για στην στο στη των που τον είναι ένα μια τις τους στον ήταν αυτό όπως",
    "en": "the and was that with for from his which are were this has had not their its been have they also",
    "es": "los las del por para una como más fue entre sus pero este esta también desde según sobre hasta",
    "fr": "les des une dans est par pour qui sur avec plus pas sont ses aux cette été comme entre ces mais",
    "it": "della che del per una nel alla sono dei con non gli delle come nella anche dal più suo stato dalla",
}


def detect_languages(texts: Iterable[str]) -> Counter[str]:
    """Return by language (ISO 639-1, "en") the number of passages whose language is certain.

    A passage consists of consecutive texts with at least 200 characters in total.
    """
    return Counter(lang for passage in _join_passages(texts) if (lang := _detect_language(passage)) is not None)


def is_same_language(left: Iterable[str], right: Iterable[str], languages: Collection[str]) -> bool:
    """Return whether the most frequent detected language of both sides is the same.

    False unless the model knows all `languages`: it confuses unknown languages with similar ones.
    """
    if not _load_model()[0].issuperset(languages):
        return False
    first, second = (detect_languages(texts).most_common(1) for texts in (left, right))
    return bool(first and second) and first[0][0] == second[0][0]


def _join_passages(texts: Iterable[str]) -> Iterator[str]:
    """Yield passages: consecutive texts, joined until they have 200 characters; the last needs only 50."""
    passage: list[str] = []
    num_chars = 0
    for text in filter(None, texts):
        passage.append(text)
        num_chars += len(text)
        if num_chars >= _READ_CHARS[0]:
            yield "\n".join(passage)
            passage.clear()
            num_chars = 0
    if num_chars >= MIN_CHARS:
        yield "\n".join(passage)


def _detect_language(text: str) -> str | None:
    """Return the most probable language of a text; None if it is uncertain."""
    # Frequent words alone prove nothing: Portuguese has those of Spanish, Catalan those of Italian.
    lang, probability = _load_model()[1](text[: _READ_CHARS[1]])[0]
    return lang if probability >= _MIN_PROBABILITY or has_frequent_words(text, lang) else None


def is_other_language(text: str, lang: str, probability: float) -> bool:
    """Return whether the probability that a text is in `lang` is lower than `probability`.

    False for short texts and unknown languages.
    """
    if len(text) < MIN_CHARS or has_frequent_words(text, lang):
        return False
    known, rank = _load_model()
    return lang in known and all(dict(rank(text[:length]))[lang] < probability for length in _READ_CHARS)


def has_frequent_words(text: str, lang: str) -> bool:
    """Return whether the first forty words of a text contain at least three different frequent words of a language."""
    return (
        len(_frequent_words(lang).intersection(text.lower().split(None, _NUM_FIRST_WORDS)[:_NUM_FIRST_WORDS]))
        >= _MIN_FREQUENT_WORDS
    )


def trigram_similarity(left: Iterable[str], right: Iterable[str]) -> float:
    """Return the cosine similarity, 0 to 1, of the character trigrams of two sides (Cavnar and Trenkle 1994).

    Tatoeba's pairs with English reach at most 0.43; paraphrases in one language, and some dialects, exceed 0.95.
    """
    counts = [_count_trigrams(texts) for texts in (left, right)]
    product = sum(count * counts[1][gram] for gram, count in counts[0].items())
    size = math.prod(math.sqrt(sum(count * count for count in grams.values())) for grams in counts)
    return product / size if size else 0.0


def _count_trigrams(texts: Iterable[str]) -> Counter[str]:
    """Return the counts of character trigrams in lower-case texts, with a space before and after each."""
    padded = (f" {text.lower()} " for text in texts)
    return Counter(text[start : start + 3] for text in padded for start in range(len(text) - 2))


@functools.cache
def _frequent_words(lang: str) -> frozenset[str]:
    """Return the frequent words of a language that the other listed languages lack; empty for most languages."""
    return frozenset(_FREQUENT_WORDS.get(lang, "").split())


@functools.cache
def _load_model() -> tuple[frozenset[str], Callable[[str], list[tuple[str, float]]]]:
    """Return the languages of the model, and the function that computes their probabilities for a text."""
    # The import takes most of a second and is rarely needed.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    return frozenset(identifier.labels), identifier.rank
