"""Pages of a MediaWiki export (schema 0.11): articles, redirects, lists, broken pages and others."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha1
from random import Random
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from contexture.demo.grammar import compile_template, kinds, render, words
from contexture.demo.names import page_stem, pick, seeded_random
from contexture.demo.world import (
    Article,
    ArticleSection,
    Outline,
    Sentence,
    fill_templates,
    has_redirect,
    make_lead,
    make_outline,
    region_name,
)

#: Number of page ids per region: first those of its articles, then those of its other pages.
IDS_PER_REGION = 50
#: Namespaces by number, from −2.
_NAMESPACES = [
    *("Media", "Special", "", "Talk", "User", "User talk", "Project", "Project talk", "File", "File talk", "MediaWiki"),
    *("MediaWiki talk", "Template", "Template talk", "Help", "Help talk", "Category", "Category talk"),
]
_SCHEMA = "http://www.mediawiki.org/xml/export-0.11"
FOOTER = "</mediawiki>\n"

_BOOK = compile_template("{surname}, {woman}, ''[Letters/Travels] from {region}'', {year}, p. {count}")
_CAPTION = compile_template("[The country near/An old map of] {town}")
_RELATED = compile_template("* {town}\n* {person}\n* {river}, {guild}")


@dataclass(frozen=True, slots=True)
class ExportEntry:
    """One page of an export."""

    id: int
    title: str
    namespace: int
    text: str
    redirect: str | None = None


def article_id(index: int) -> int:
    """Return the page id of article `index`."""
    region, position = divmod(index, len(kinds()))
    return region * IDS_PER_REGION + position + 1


def extra_entries(seed: int, region: int, pages: int) -> Iterator[ExportEntry]:
    """Yield the pages of a region that are no articles, in a world of `pages` articles."""
    first = region * len(kinds())
    members = range(first, min(first + len(kinds()), pages))
    next_id = region * IDS_PER_REGION + len(kinds())
    for number, page in enumerate(_extra_pages(seed, region, members), start=1):
        yield ExportEntry(next_id + number, *page)


def _extra_pages(seed: int, region: int, members: range) -> Iterator[tuple[str, int, str, str | None]]:
    """Yield title, namespace, text and redirect target of each page that is no article."""
    name = region_name(seed, region)
    outlines = [make_outline(seed, index) for index in members]
    for outline in outlines:
        if has_redirect(outline.index):
            yield outline.alias, 0, f"#REDIRECT [[{outline.title}]]\n\n{{{{R from other name}}}}", outline.title
    # Redirects to a redirect and to a section, as in real dumps.
    yield f"Ancient {outlines[0].title}", 0, f"#redirect [[{outlines[0].alias}]]", outlines[0].alias
    target = f"{outlines[-1].title}#See also"
    yield f"{name} studies", 0, f"#REDIRECT [[{target}]]", target
    senses = "\n".join(f"* [[{outline.title}]], a {outline.kind.name} of {name}" for outline in outlines[:3])
    text = f"'''{name}''' may refer to:\n\n{senses}\n\n{{{{disambiguation}}}}"
    yield f"{name} (disambiguation)", 0, text, None
    towns = "\n".join(f"* [[{outline.title}]]" for outline in outlines if outline.kind.name == "town")
    yield f"List of towns in {name}", 0, f"This is a list of the towns of {name}.\n\n{towns}", None
    yield f"Category:{name}", 14, f"Pages on '''{name}'''.\n\n[[Category:Regions]]", None
    text = "== Sources ==\nDoes anybody know a better source for this? ~~~~\n: No. ~~~~"
    yield f"Talk:{outlines[0].title}", 1, text, None
    yield f"Template:{name}", 10, f"<noinclude>About {name}.</noinclude>{{{{{{1|}}}}}}", None
    opening = " ".join(sentence.text for sentence in make_lead(outlines[-1]))
    yield f"{page_stem(seed, members[0]).capitalize()} notes", 0, _break_markup(region, opening), None


def _break_markup(region: int, text: str) -> str:
    """Return `text` in broken markup of wikitext, of a kind that depends on the region; one kind is empty."""
    return (
        f"{{{{Infobox town\n| name = never closed\n| area = {{{{convert|3|ha}}\n\n{text}",
        "",
        f"{text}<ref>A note that nobody closed.\n\n{text}",
        f'{{| class="wikitable"\n! No end\n|-\n| of the table\n\n{text}',
        f"{text} }}}} ]] |}} '''''\n\n== Half a heading\n[[Unclosed link and {text}",
        "{{" * 100 + "deep" + "}}" * 60 + f"\n\n{text}",
    )[region % 6]


def make_wikitext(page: Article) -> str:
    """Return an article as wikitext: notices, infobox, sections, see also, references and categories."""
    outline = page.outline
    rng = seeded_random(outline.seed, outline.index, "wikitext")
    lead, *sections = page.sections
    blocks = [_make_infobox(outline, rng) + "\n" + _make_paragraph(lead.paragraphs[0], outline, rng)]
    if rng.random() < 0.3:
        blocks.insert(0, f"{{{{About|the {outline.kind.name}}}}}\n{{{{Use British English|date=May 2021}}}}")
    if rng.random() < 0.3:
        (caption,) = fill_templates(outline, [_CAPTION], outline.slots, None, rng)
        blocks.append(f"[[File:{outline.title}.jpg|thumb|right|{caption}]]")
    for section in sections:
        blocks += _make_section(section, outline, rng)
    if rng.random() < 0.3:
        blocks.append(_make_table(rng))
    blocks.append("== See also ==\n" + fill_templates(outline, [_RELATED], outline.slots, None, rng)[0])
    blocks.append("== References ==\n{{Reflist|30em}}")
    category = region_name(outline.seed, outline.region)
    blocks.append(f"[[Category:{category}]]\n[[Category:{outline.kind.name.capitalize()}s|{outline.title}]]")
    return "\n\n".join(blocks)


def _make_section(section: ArticleSection, outline: Outline, rng: Random) -> list[str]:
    """Return the wikitext blocks of a section: its heading, and subheadings and paragraphs."""
    blocks = [f"== {section.heading} =="]
    for subheading, paragraph in zip(section.subheadings, section.paragraphs, strict=True):
        if subheading:
            blocks.append(f"==={subheading}===")
        blocks.append(_make_paragraph(paragraph, outline, rng))
    return blocks


def _make_paragraph(sentences: tuple[Sentence, ...], outline: Outline, rng: Random) -> str:
    """Return the wikitext of a paragraph, with notes after some sentences."""
    return " ".join(sentence.text + _make_note(outline, rng) for sentence in sentences)


def _make_note(outline: Outline, rng: Random) -> str:
    """Return a reference, a template or a comment to put after a sentence; mostly ""."""
    if rng.random() > 0.15:
        return ""
    book = render(_BOOK, outline.slots, rng)
    number = int(rng.random() * 100)
    return pick(
        (
            f"<ref>{book}</ref>",
            f'<ref name="note{number}">{{{{cite book |title={outline.title} |quote={book} }}}}</ref>',
            f'<ref name="note{number}" />',
            "{{citation needed|date=May 2021}}",
            f"<!-- see {book} -->",
        ),
        rng,
    )


def _make_infobox(outline: Outline, rng: Random) -> str:
    """Return the wikitext of an article's infobox."""
    lines = fill_templates(outline, outline.kind.infobox, outline.slots, None, rng)
    coordinates = f"{{{{coord|{int(rng.random() * 90)}|N|{int(rng.random() * 180)}|E|display=inline}}}}"
    fields = [f"name = {outline.title}", *lines, f"coordinates = {coordinates}"]
    return "\n".join([f"{{{{Infobox {outline.kind.name}", *(f"| {field}" for field in fields), "}}"])


def _make_table(rng: Random) -> str:
    """Return the wikitext of a table of random counts by year."""
    years = sorted({render(pick(words().lists["year"], rng), {}, rng) for _ in range(4)})
    rows = "".join(f"|-\n| {year} || {int(rng.random() * 9000)}\n" for year in years)
    return f'{{| class="wikitable sortable"\n|+ Counts by year\n! Year !! Number\n{rows}|}}'


def export_header() -> str:
    """Return the XML of an export before its first page: site and namespaces."""
    namespaces = "\n".join(
        f'      <namespace key="{key}" case="first-letter"' + (f">{name}</namespace>" if name else " />")
        for key, name in enumerate(_NAMESPACES, start=-2)
    )
    return f"""\
<mediawiki xmlns="{_SCHEMA}/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="{_SCHEMA}/ {_SCHEMA}.xsd" version="0.11" xml:lang="en">
  <siteinfo>
    <sitename>Demo World</sitename>
    <dbname>demowiki</dbname>
    <base>https://demo.example.org/wiki/Main_Page</base>
    <generator>MediaWiki 1.42.0</generator>
    <case>first-letter</case>
    <namespaces>
{namespaces}
    </namespaces>
  </siteinfo>
"""


def render_entry(entry: ExportEntry) -> str:
    """Return the XML of a page with one revision."""
    data = entry.text.encode()
    digest = _base36(sha1(data, usedforsecurity=False).digest())
    revision = 1_000_000 + entry.id
    redirect = f"\n    <redirect title={quoteattr(entry.redirect)} />" if entry.redirect else ""
    attributes = f'bytes="{len(data)}" sha1="{digest}"'
    body = f'<text {attributes} xml:space="preserve">{escape(entry.text)}</text>' if data else f"<text {attributes} />"
    return f"""\
  <page>
    <title>{escape(entry.title)}</title>
    <ns>{entry.namespace}</ns>
    <id>{entry.id}</id>{redirect}
    <revision>
      <id>{revision}</id>
      <parentid>{revision - 500_000}</parentid>
      <timestamp>2021-05-{entry.id % 28 + 1:02}T{entry.id % 24:02}:{entry.id % 60:02}:00Z</timestamp>
      <contributor>
        <username>Editor {entry.id % 90}</username>
        <id>{entry.id % 90 + 1}</id>
      </contributor>
      <comment>/* Sources */ mending &lt;ref&gt; &amp; links</comment>
      <origin>{revision}</origin>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      {body}
      <sha1>{digest}</sha1>
    </revision>
  </page>
"""


def _base36(digest: bytes) -> str:
    """Return a digest as 31 digits to the base 36, like MediaWiki's SHA-1."""
    return np.base_repr(int.from_bytes(digest), 36).lower().rjust(31, "0")
