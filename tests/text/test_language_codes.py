"""Codes of languages of three letters and two."""

import pytest

from contexture.text.language_codes import two_letters


@pytest.mark.parametrize(
    ("code", "two"),
    [("deu", "de"), ("de", "de"), ("cmn", "zh"), ("pes", "fa"), ("swh", "sw"), ("nob", "no")],
)
def test_codes_of_three_letters(code: str, two: str) -> None:
    """Also of a language of a group, as Tatoeba's files are called."""
    assert two_letters(code) == two
