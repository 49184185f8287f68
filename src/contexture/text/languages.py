"""Which language a text is in, by a naive Bayes model; whether it is in one, by frequent words before that is asked.

Whether two texts are of one language, whichever it is, their trigrams tell.

The model, py3langid's, costs about 0.1 ms a text; frequent words of a language cost a few microseconds and settle most
texts in it.
"""

import functools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

#: A shorter text is often a name or a title, whose language no model can tell.
MIN_CHARACTERS = 50
# Characters: the beginning settles nearly all; where it is foreign (names, a quotation) more has to be read.
_LOOKED_AT = (200, 2_000)
_FIRST_WORDS, _ENOUGH = 40, 3

# The model's probability of a language from which on it counts as found.
_SURE = 0.9

# Frequent words of three letters and more that the other languages here do not have.
_FREQUENT = {
    "de": "der die und das den von ist des mit dem sich auf für eine wurde als auch einer nach nicht aus bei oder",
    "el": "και του της την από για στην στο στη των που τον είναι ένα μια τις τους στον ήταν αυτό όπως",
    "en": "the and was that with for from his which are were this has had not their its been have they also",
    "es": "los las del por para una como más fue entre sus pero este esta también desde según sobre hasta",
    "fr": "les des une dans est par pour qui sur avec plus pas sont ses aux cette été comme entre ces mais",
    "it": "della che del per una nel alla sono dei con non gli delle come nella anche dal più suo stato dalla",
}


def languages_of(texts: Iterable[str]) -> Counter[str]:
    """By language (codes of ISO 639-1, "en"), how many passages are in it for certain; texts in a row make a passage.

    A passage ends with the text that brings it to two hundred characters.
    """
    return Counter(lang for passage in _passages(texts) if (lang := _language_of(passage)) is not None)


def in_one_language(left: Iterable[str], right: Iterable[str], languages: Collection[str]) -> bool:
    """Whether most passages of both sides are in the same language for certain.

    Never where the model does not know all the `languages` that they are told to be of: it takes a dialect, or a
    language that it has not seen, for the nearest that it has.
    """
    if not _model()[0].issuperset(languages):
        return False
    found = [languages_of(texts) for texts in (left, right)]
    one, other = ({lang for lang, _ in counts.most_common(1)} for counts in found)
    return bool(one) and one == other


def _passages(texts: Iterable[str]) -> Iterator[str]:
    held: list[str] = []
    for text in texts:
        held.append(text)
        if sum(map(len, held)) >= _LOOKED_AT[0]:
            yield "\n".join(held)
            held.clear()
    if sum(map(len, held)) >= MIN_CHARACTERS:
        yield "\n".join(held)


def _language_of(text: str) -> str | None:
    # Frequent words alone tell nothing: those of Spanish are in Portuguese prose, too, and those of Italian in Catalan.
    lang, probability = _model()[1](text[: _LOOKED_AT[1]])[0]
    return lang if probability >= _SURE or has_frequent_words(text, lang) else None


def is_other_language(text: str, lang: str, probability: float) -> bool:
    """Whether the probability that a text is in `lang` (a code of ISO 639-1, "en") is below `probability`.

    False for texts that say too little and for languages that the model does not know.
    """
    if len(text) < MIN_CHARACTERS or has_frequent_words(text, lang):
        return False
    known, rank = _model()
    return lang in known and all(dict(rank(text[:length]))[lang] < probability for length in _LOOKED_AT)


def has_frequent_words(text: str, lang: str) -> bool:
    """Whether at least three different frequent words of a language are among the first forty of a text."""
    return len(_frequent(lang).intersection(text.lower().split(None, _FIRST_WORDS)[:_FIRST_WORDS])) >= _ENOUGH


def likeness(left: Iterable[str], right: Iterable[str]) -> float:
    """Cosine of two texts' counts of character trigrams, by which Cavnar and Trenkle (1994) know languages; 0 to 1.

    The sides of Tatoeba's pairs with English, a thousand sentences, are at 0.43 at most; paraphrases in one language
    above 0.95; so may be two that are called dialects.
    """
    counts = [_trigrams(texts) for texts in (left, right)]
    product = sum(count * counts[1][gram] for gram, count in counts[0].items())
    size = math.prod(math.sqrt(sum(count * count for count in one.values())) for one in counts)
    return product / size if size else 0.0


def _trigrams(texts: Iterable[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for text in texts:
        padded = f" {text.lower()} "
        found.update(padded[start : start + 3] for start in range(len(padded) - 2))
    return found


@functools.cache
def _frequent(lang: str) -> frozenset[str]:
    return frozenset(_FREQUENT.get(lang, "").split())


@functools.cache
def _model() -> tuple[frozenset[str], Callable[[str], list[tuple[str, float]]]]:
    """The languages that the model knows, and the function that gives a text's probability for each."""
    # Here, as it costs most of a second, and few need it.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    return frozenset(identifier.labels), identifier.rank
