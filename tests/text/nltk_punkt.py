"""NLTK's Punkt with the same parameters, as the reference."""

from collections.abc import Collection

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

from contexture.text.punkt import NUMBER, has_abbreviation_form, nltk_language_variables

OCCURS_IN_LOWER_CASE = 1 << 6  # in the midst of a sentence


def make_nltk_punkt(
    abbreviations: Collection[str], common_words: Collection[str], after_numbers: Collection[str], ends: str
) -> PunktSentenceTokenizer:
    """Return NLTK's tokenizer for the parameters of `Punkt`."""
    parameters = PunktParameters()
    parameters.abbrev_types.update(filter(has_abbreviation_form, abbreviations))
    parameters.collocations.update((NUMBER, word) for word in after_numbers)
    parameters.ortho_context.update(dict.fromkeys(common_words, OCCURS_IN_LOWER_CASE))
    return PunktSentenceTokenizer(parameters, lang_vars=nltk_language_variables(ends))
