"""The closest known name in error messages."""

import pytest

from contexture.messages import MAX_LISTED_NAMES, explain_unknown, suggest


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pretrian", "; did you mean 'pretrain'?"),
        ("MSPP", "; did you mean 'mspp'?"),  # apart from case
        ("Quick-Thoughts", "; did you mean 'quick_thoughts'?"),
        ("xyz", "; known: mspp, pretrain, quick_thoughts, seeds, speed"),
        ("seedz", "; did you mean 'seeds'?"),  # rather than speed, which is as similar
    ],
)
def test_the_closest_name_or_all_names_are_given(name: str, expected: str) -> None:
    assert suggest(name, {"pretrain", "mspp", "quick_thoughts", "seeds", "speed"}) == expected


def test_messages_about_several_names_and_long_or_empty_lists() -> None:
    assert (
        explain_unknown("run", ["mml", "x"], ["mlm"])
        == "unknown run 'mml'; did you mean 'mlm'? unknown run 'x'; known: mlm"
    )
    names = [f"name{number:02}" for number in range(MAX_LISTED_NAMES + 3)]
    assert suggest("x", names).endswith(f"{names[MAX_LISTED_NAMES - 1]} and 3 more")
    assert suggest("x", []) == "; there are none"
