"""Codes of languages of three letters and two."""

import pytest

from contexture.text.language_codes import two_letters, without_region


@pytest.mark.parametrize(
    ("code", "two"),
    [("deu", "de"), ("de", "de"), ("cmn", "zh"), ("pes", "fa"), ("swh", "sw"), ("nob", "no")],
)
def test_codes_of_three_letters(code: str, two: str) -> None:
    """Also of a language of a group, as Tatoeba's files are called."""
    assert two_letters(code) == two


@pytest.mark.parametrize("code", ["en", "EN", "en-GB", "en_us", "eng"])
def test_regions_and_case_make_no_difference(code: str) -> None:
    assert without_region(code) == "en"
