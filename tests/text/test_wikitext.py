"""Hard snippets of wikitext, and the paragraphs they must give: `⟨target|text⟩` marks a link."""

import pytest

from contexture.text.mediawiki import parse_site
from contexture.text.paragraphs import Paragraph
from contexture.text.wikitext import parse

SITE = parse_site(
    '<mediawiki xml:lang="it"><siteinfo><namespaces><namespace key="14">Categoria</namespace>'
    '<namespace key="4">Progetto</namespace></namespaces></siteinfo>'
)


def marked(paragraph: Paragraph) -> str:
    text = paragraph.text
    for link in reversed(paragraph.links):
        text = f"{text[: link.start]}⟨{link.target}|{text[link.start : link.end]}⟩{text[link.end :]}"
    return text


def paragraphs(wikitext: str) -> list[str]:
    return [marked(paragraph) for paragraph in parse(wikitext, SITE).paragraphs]


PROSE = {
    "white space folds": ("One  line\nand\tanother.\n\n\n\nNext&nbsp;one.", ["One line and another.", "Next one."]),
    "piped link": ("The [[old_harbour#East|docks ]] sleep.", ["The ⟨Old harbour|docks⟩ sleep."]),
    "trail": (
        "Two [[boat]]s, [[β]]ατα, [[船]]の.",
        ["Two ⟨Boat|boats⟩, ⟨Β|βατα⟩, ⟨船|船⟩の."],
    ),
    "space inside a link's text": ("a[[x| b ]]c", ["a ⟨X|b c⟩"]),
    "entities in links": ("[[Q&amp;A|Q&nbsp;&amp;&#32;A]]!", ["⟨Q&A|Q & A⟩!"]),
    "empty text of a link": ("See [[Harbour|]].", ["See ⟨Harbour|Harbour⟩."]),
    "template as text of a link": ("See [[Harbour|{{flag}}]].", ["See ⟨Harbour|Harbour⟩."]),
    "link to a section of this page": ("As [[#Early years|said above]].", ["As said above."]),
    "brackets of different paragraphs": ("one [[two\n\nthree]] four", ["one two", "three four"]),
    "nested links": ("a [[b|c [[d]] e]] f", ["a b|c ⟨D|d⟩ e f"]),
    "category shown": ("See [[:Categoria:Ports|the ports]].", ["See the ports."]),
    "other namespaces": ("Ask [[Progetto:Mare|the project]].", ["Ask the project."]),
    "interlanguage": ("Text.\n[[fr:Port]]\n[[zh-min-nan:Port]]", ["Text."]),
    "interlanguage shown": ("The [[:fr:Port|French page]].", ["The French page."]),
    "title with a colon": ("[[Harbour: A Story]]", ["⟨Harbour: A Story|Harbour: A Story⟩"]),
    "file with links, lists and a table": (
        "One.\n[[File:A.jpg|thumb|A [[b|c]]\n* d [[e]]\n* f\n{|\n| g\n|}\n\nh [http://a.b [i]] ]]\nTwo.",
        ["One.", "Two."],
    ),
    "file in a file": ("a [[File:A.jpg|b [[File:B.jpg|c [[d]] ]] e]] f", ["a f"]),
    "file as a link's text": ("a [[b|[[File:B.jpg|c]]]] d [[e|[[File:B.jpg]] f]]", ["a ⟨B|b⟩ d ⟨E|f⟩"]),
    "file never closed": ("[[File:A.jpg|thumb|a [[b]]\n\nText [[c]].", ["File:A.jpg|thumb|a ⟨B|b⟩", "Text ⟨C|c⟩."]),
    "parameter in a template": ("It is {{convert|{{{1}}}|km}} and {{nowrap|{{{2}}}}} far.", ["It is km and far."]),
    "templates that show text": (
        "The {{lang|it|''[[porto]]''}} is {{nowrap|[[Sea|very {{small|old}}]]}}{{'s}} {{unheard of|x}}.",
        ["The ⟨Porto|porto⟩ is ⟨Sea|very old⟩'s."],
    ),
    "template with a bar in a link": ("{{nowrap|a [[b|c]] d}} {{lang|fr|[[File:x|thumb|y]]e}}", ["a ⟨B|c⟩ d e"]),
    "template in a link's text": ("[[Harbour|the {{nowrap|old one}}]]s", ["⟨Harbour|the old ones⟩"]),
    "template in a link's target": ("[[{{lc:X}}|y]] [[a{{b}}|c]]", ["⟨X|y⟩ c"]),
    "kept in a dropped template": ("a {{box|{{nowrap|b}} [[c]]}} d", ["a d"]),
    "template named by a template": ("a {{ {{nowrap}}|b}} c", ["a c"]),
    "quotation": (
        "He said:\n{{quote|\nSail [[home]].\n|Ann}}\nSo we did.",
        ["He said:", "Sail ⟨Home|home⟩.", "So we did."],
    ),
    "quotation within a line": ("He said: {{Quote|text=Sail.|sign=Ann}}", ["He said:", "Sail."]),
    "bar and equals sign as templates": ("{{nowrap|a {{!}} b {{=}} c}}", ["a | b = c"]),
    "apostrophe as a template": ("The ''Swan''{{'}}s sails and ''Tern''{{'s}}.", ["The Swan's sails and Tern's."]),
    "braces that are text": ("the set {1, 2} and {x | {y}} z", ["the set {1, 2} and {x | {y z"]),
    "link across a template's end": ("a {{nowrap|[[b}} c]] d", ["a ⟨B c|b c⟩ d"]),
    "table across a template's end": ("a\n{{box|\n{| x\n}}\nb\n|}\nc", ["a", "b", "c"]),
    "template before text": ("{{Infobox}} '''Porto''' is old.", ["Porto is old."]),
    "brackets of several kinds left empty": (
        "Porto [{{a}}] is (/{{ipa|x}}/) old « {{b}} », “{{c}}” (born {{d}}) ({{a}}/{{b}}; {{c}}).",
        ["Porto is old, (born)."],
    ),
    "brackets left empty": ("Porto ({{lang|x}}) is ( {{a}}; {{b}}, ) old ({{c}}, a port).", ["Porto is old (a port)."]),
    "stray close": ("a }} b ]] c |} d", ["a b c |} d"]),
    "never closed template": ("{{Infobox\n| a = b\nText goes on. [[Boat]]", ["Infobox", "Text goes on. ⟨Boat|Boat⟩"]),
    "never closed link": ("a [[b {{c}} d.\n\nNext [[e]].", ["a b d.", "Next ⟨E|e⟩."]),
    "tables in tables in a list": ("* a\n:{|\n| b\n:{| c\n|-\n{|\n|}\n|}\n| d\n|} e", ["e"]),
    "table after a template": ("One.\n{{clear}}{| a\n| b\n|}\nTwo.", ["One.", "Two."]),
    "signs of a table within a line": ("set {|x|} and {| y |}.", ["set {|x|} and {| y |}."]),
    "html table in a wikitext table": ("{|\n| <table><tr><td>a</td></tr></table> b\n|}\nc", ["c"]),
    "template ending like a table": ("{{a\n|b=\n|}}\nText.", ["Text."]),
    "never closed table": ("{| class=x\n|-\n| cell\n! head || more\nText.", ["Text."]),
    "reference never closed": ("a<ref>b. c", ["ab. c"]),
    "comments": ("a<!-- [[b]] \n\n -->c\n<!-- d -->\ne", ["ac e"]),
    "comment never closed": ("a <!-- b", ["a b"]),
    "formulas": ("where <math>x_{1}}}</math> is <chem>H2O</chem>.", ["where x_1 is H2O."]),
    "formulas that are not text": ("where <math>\\begin{a}x</math> is (<ce>A ->[hv] B</ce>).", ["where is."]),
    "references with templates and links": (
        "a<ref name=\"x|y\">{{cite|t=[[b]]|u={{c}} }} ''d''\n* e</ref>{{sfn|F}}, g<ref group=n/><references/>.",
        ["a, g."],
    ),
    "comment in a template's name": ("a {{<!-- x -->nowrap|b<!-- | -->}} c", ["a b c"]),
    "comment in a link": ("[[a<!-- b -->c|d<!-- ]] -->e]]", ["⟨Ac|de⟩"]),
    "nowiki in a link": ("[[a|<nowiki>b]] c</nowiki>]]", ["⟨A|b]] c⟩"]),
    "nowiki in a template": ("{{lang|x|<nowiki>a|b}}</nowiki>}} c", ["a|b}} c"]),
    "gallery": ("a\n<gallery mode=x>\nFile:A.jpg|b [[c]]\n</gallery>\nd", ["a", "d"]),
    "code": ("a\n<source lang=c>int x[[1]];</source>\nb\n int y;\nc", ["a", "b", "c"]),
    "nowiki": ("Write <nowiki>[[a]] ''b'' {{c}} &amp; <ref> == </nowiki>.", ["Write [[a]] ''b'' {{c}} & <ref> == ."]),
    "nowiki, empty": ("a''''<nowiki/>''b", ["a'b"]),
    "double line break": ("one<br/> <BR>two<br>three", ["one", "two three"]),
    "not a tag": ("a < b, <c> and 1<2>0 <unknown x>", ["a < b, <c> and 1<2>0 <unknown x>"]),
    "entities": ("5&nbsp;&lt;&#32;6 &amp;nbsp; &#x2013; &unknown; A&B AT&T;", ["5 < 6 &nbsp; – &unknown; A&B AT&T;"]),
    "invisible characters": ("so\u00adft\u200b &shy;\ufeffx&#8203;y", ["soft xy"]),
    "apostrophe beside bold": ("L''''armonium''' è antico", ["L'armonium è antico"]),
    "apostrophe beside italics": ("l'''aria'' e '''il''' mare", ["l'aria e il mare"]),
    "list with brackets over lines": ("One:\n* two [[File:a|b\nc]]\n* three\nFour.", ["One:", "Four."]),
    "definitions": ("; a : b\n:; c\n::* d\nText.", ["Text."]),
    "rule": ("one\n----two", ["one", "two"]),
    "magic words": ("__NOTOC__One __ΧΩΡΙΣΠΠ__ and __init__.", ["One and __init__."]),
    "external links": (
        "[http://a.b/c label ''x''] [https://a.b] [//a.b c] [mailto:a@b d], [sic]",
        ["label x c d, [sic]"],
    ),
    "trail after a link of many brackets": (
        "[[Boat|{{small|boat}}]]s [[Sea|''s'']]''x'' [[A]]ΒΓ",
        ["⟨Boat|boats⟩ ⟨Sea|s⟩x ⟨A|A⟩ΒΓ"],
    ),
    "apostrophes in a target": ("[[a''b''c|d]] [[R&B ''e|f]]", ["⟨A''b''c|d⟩ ⟨R&B ''e|f⟩"]),
    "only a section": ("[[Harbour#East]], [[#East]] and [[#]]", ["⟨Harbour|Harbour#East⟩, #East and #"]),
    "external link left open": ("[http://a.b label\nsee [1] [[a]]", ["label see [1] ⟨A|a⟩"]),
    "white space alone": (" \n\t\n", []),
}


@pytest.mark.parametrize(("wikitext", "expected"), PROSE.values(), ids=PROSE.keys())
def test_prose(wikitext: str, expected: list[str]) -> None:
    assert paragraphs(wikitext) == expected


def test_sections_are_numbered_and_named() -> None:
    wikitext = (
        "Lead.\n\nStill lead.\n== Early ''years'' ==\nOne.\n===Sea <!-- x -->and [[boat]]s&nbsp;=== \n"
        "Two.\n==  ==\n== Empty ==\n====== Deep ======\nThree.\n= not a heading\n"
    )
    found = [(p.section_index, p.section, p.paragraph_index, p.text) for p in parse(wikitext, SITE).paragraphs]
    assert found == [
        (0, "", 0, "Lead."),
        (0, "", 1, "Still lead."),
        (1, "Early years", 2, "One."),
        (2, "Sea and boats", 3, "Two. == =="),
        (4, "Deep", 4, "Three. = not a heading"),
    ]


def test_what_is_left_out_is_counted() -> None:
    parsed = parse("A paragraph that is long.\n\nShort.\n* item\n* item\n:indented\n code()\n code()\n", SITE, 10)
    assert [paragraph.text for paragraph in parsed.paragraphs] == ["A paragraph that is long."]
    assert parsed.dropped == {"too_short": 1, "list_item": 3, "preformatted": 2}


LISTS = "A:\n* one [[a]]\n** {{nowrap|two}}\n#: three\n; term : meaning of it\n:\n* {{x}}\n<ul><li>four</li></ul>\nB."


def test_list_items_are_flagged_or_kept_as_prose() -> None:
    expected = ["A:", "one ⟨A|a⟩", "two", "three", "term: meaning of it", "four", "B."]
    for option, kind in (("flag", "list_item"), ("keep", "prose")):
        parsed = parse(LISTS, SITE, list_items=option)  # type: ignore[arg-type]
        assert [marked(paragraph) for paragraph in parsed.paragraphs] == expected
        assert [paragraph.kind for paragraph in parsed.paragraphs] == ["prose", *[kind] * 5, "prose"]
        assert parsed.dropped == {}
    dropped = parse(LISTS, SITE)
    assert [paragraph.text for paragraph in dropped.paragraphs] == ["A:", "B."]
    assert dropped.dropped == {"list_item": 7}


def test_a_table_of_templates_of_ones_own() -> None:
    table = 'it:\n  "{2} ({1})": [barca]\n  "": [nowrap]\n'
    (paragraph,) = parse("La {{Barca|1900|Bella}} {{nowrap|è}} qui.", SITE, templates=table).paragraphs
    assert paragraph.text == "La Bella (1900) qui."
