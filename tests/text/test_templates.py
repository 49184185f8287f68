"""Templates that show text: the table's own language, what our table shows, and faulty tables."""

import pytest

from contexture.text.templates import compile_rule, load_templates, read_arguments

SHOWN = {
    "en": {
        # numbers with units
        "{{convert|10|km|mi}}": "10 km",
        "{{Convert|5|to|10|sqkm|sqmi|0}}": "5 to 10 km²",
        "{{convert|5|-|7|-|9|C}}": "5–7–9 °C",
        "{{cvt|5|ft|8|in|m}}": "5 ft 8 in",
        "{{convert|10}}": "10",
        "{{convert}}": "\x05",
        "{{formatnum:4000}}": "4,000",
        "{{formatnum: {{#expr: 1 + 2|x}} }}": "\x05",
        "{{val|6.241|0.003|e=18|u=C}}": "6.241±0.003×10^18 C",
        "{{val|30000|ul=kg|upl=m}}": "30,000 kg/m",
        "{{val|1|-|3}}": "1–3",
        "{{frac|3}}": "1/3",
        "{{sfrac}}": "\x05",
        "{{e|24}}": "×10^24",
        # dates and ages
        "{{Birth date and age|1900|01|02}}": "2 January 1900",
        "{{death date and age|1980|5|6|1900|7|2}}": "6 May 1980 (aged 79)",
        "{{start date|May 1980}}": "May 1980",
        "{{age|1900|1|2}}": "\x05",
        "{{As of|2011|3}}": "As of March 2011",
        "{{as of|2011|lc=y}}": "as of 2011",
        "{{as of|2011|since=y|alt=so far}}": "so far",
        "{{circa|300}}": "c. 300",
        "{{OldStyleDate|2 May|1905|20 April}}": "2 May 1905 [O.S. 20 April]",
        # languages
        "{{lang-el|λόγος}}": "λόγος",
        "{{lang-ru|слово|slovo}}": "слово, slovo",
        "{{transl|ar|ALA|kitāb}}": "kitāb",
        "{{nihongo|sword|刀|katana}}": "sword (刀, katana)",
        "{{nihongo|sword}}": "sword",
        "{{ill|A town|de|Eine Stadt}}": "A town",
        "{{ill|de|A town|Eine Stadt}}": "A town",
        "{{IPA-de|a}}": "\x05",
        # looks and signs
        "{{nowrap|a {{small|[[b|c]]}}}}": "a [[b|c]]",
        "{{sic|recieve}}": "recieve",
        "{{spaced ndash}}": " – ",
        "{{=}}": "&#61;",
        "{{chem|C|8|-}}": "C8-",
        "B{{music|Flat}}": "B♭",
        "{{USS|Swan|AB-1|6}}": "USS Swan",
        "{{main|Other page}}": "\x05",
        "{{ \n nowrap_ \n|x}}": "x",
    },
    "it": {
        "{{M|1|M|Hz}}": "1 MHz",
        "{{formatnum:299792.458}}": "299 792,458",
        "{{citazione necessaria|Si dice così}}": "Si dice così",
        "{{nihongo|spada|刀,|katana}}": "spada (刀, katana)",
    },
    "el": {
        "{{μονάδα|50000}}": "50.000",
        "{{redwd|Ομάδα|Q1|Ομάδων}}": "Ομάδων",
        "{{ημερομηνία γέννησης|1900|1|2}}": "2 Ιανουαρίου 1900",
    },
    "de": {"{{formatnum:4000.5}}": "4.000,5", "{{birth date|1900|1|2}}": "2. Januar 1900"},
    "fr": {"{{unité|10|km}}": "10 km", "{{date|2|janvier|1900}}": "2 janvier 1900", "{{s|XIX}}": "XIXe siècle"},
    "es": {"{{fecha|2|1|1900}}": "2 de enero de 1900"},
    "fi": {"{{birth date|1900|1|2}}": "1900-01-02"},
}


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
    "en: [a": "no YAML",
    "- a": "languages, or `any`",
    "en: [a]": "'en' in a table",
    "en: {x: a}": "en: 'x'",
    "en: {x: [A]}": "'A' is no name",
    "en: {x: [1]}": "1 is no name",
    "en: {'=nothing': [a]}": "no such function; there are age",
    "en: {'{1}{1}': [a]}": "named twice",
    "en: {'{}': [a]}": "without a name",
    "en: {'[a[b]]': [a]}": "square brackets",
    "en: {'a]': [a]}": "square brackets",
    "en: {'[a': [a]}": "not closed",
}


@pytest.mark.parametrize(("table", "message"), FAULTY.items())
def test_faulty_tables_are_refused(table: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_templates("en", table)


def test_a_table_of_ones_own_goes_before_ours() -> None:
    table = """
    any: {"<{1}>": [nowrap]}
    en: {"": [small], "{1}!": ["boat", "sail-*"]}
    el: {"{1}?": [boat]}
    """
    templates = load_templates("en", table)
    text = "{{nowrap|a}} {{small|b}} {{boat|c}} {{Sail-x|d}} {{big|e}}"
    assert templates.expand(text) == "<a> \x05 c! d! e"


def test_nesting_stops_somewhere() -> None:
    templates = load_templates("en")
    assert templates.expand("{{nowrap|" * 16 + "x" + "}}" * 16) == "x"
    assert templates.expand("{{nowrap|" * 300 + "x" + "}}" * 300) == "\x05"
