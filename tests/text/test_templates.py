"""Templates that show text: patterns, the package's table, and invalid tables."""

import pytest

from contexture.text.templates import compile_rule, load_templates, read_arguments
from tests.text import gold

SHOWN = gold.read_table("templates")


@pytest.mark.parametrize(
    ("lang", "wikitext", "expected"),
    [(lang, wikitext, expected) for lang, cases in SHOWN.items() for wikitext, expected in cases.items()],
)
def test_our_table(lang: str, wikitext: str, expected: str) -> None:
    assert load_templates(lang).expand(wikitext) == expected


PATTERNS = {
    ("{2}", "a|b"): "b",
    ("{2}", "a"): "",
    ("{text|1}", "a|text=b"): "b",
    ("{text|1}", "a|text="): "a",
    ("{*}", "a|b||c"): "abc",
    ("{2*; }", "a|b||c;"): "b; c",
    ("{1}[ ({2})]", "a"): "a",
    ("{1}[ ({2})]", "a|b"): "a (b)",
    ("x[ {1}]", ""): "x",
    ("x {1}", ""): "",
    (r"\[{1}\] \{x", "a"): "[a] {x",
    ("", "a"): "",
    ("{1} {2}", "a| 2 = b |3=c"): "a b",
    ("{1}", "[http://x?a=b c]"): "[http://x?a=b c]",
    ("{2}", "[[a|b]] [[c|[[d|e]]]]|f"): "f",
    ("{1}", "[[a|b"): "[[a|b",
}


@pytest.mark.parametrize(("pattern", "arguments", "expected"), [(*key, text) for key, text in PATTERNS.items()])
def test_patterns(pattern: str, arguments: str, expected: str) -> None:
    assert compile_rule(pattern)(read_arguments(arguments), "en") == expected


FAULTY = {
    "en: [a": "not YAML",
    "- a": "languages, or `any`",
    "en: [a]": "'en' in the table",
    "en: {x: a}": "en: 'x'",
    "en: {x: [A]}": "'A' is not a name",
    "en: {x: [1]}": "1 is not a name",
    "en: {'=nothing': [a]}": "no such function; there are age",
    "en: {'{1}{1}': [a]}": "named twice",
    "en: {'{}': [a]}": "without a name",
    "en: {'[a[b]]': [a]}": "square brackets",
    "en: {'a]': [a]}": "square brackets",
    "en: {'[a': [a]}": "not closed",
}


@pytest.mark.parametrize(("table", "message"), FAULTY.items())
def test_invalid_tables_raise(table: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_templates("en", table)


def test_a_user_table_overrides_the_package() -> None:
    table = """
    any: {"<{1}>": [nowrap]}
    en: {"": [small], "{1}!": ["boat", "sail-*"]}
    el: {"{1}?": [boat]}
    """
    templates = load_templates("en", table)
    text = "{{nowrap|a}} {{small|b}} {{boat|c}} {{Sail-x|d}} {{big|e}}"
    assert templates.expand(text) == "<a> \x05 c! d! e"


def test_nesting_is_limited() -> None:
    templates = load_templates("en")
    assert templates.expand("{{nowrap|" * 16 + "x" + "}}" * 16) == "x"
    assert templates.expand("{{nowrap|" * 300 + "x" + "}}" * 300) == "\x05"
