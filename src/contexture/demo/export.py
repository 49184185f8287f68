"""The pages of a MediaWiki export (schema 0.11): articles, redirects, lists, broken pages and the like."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha1
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from contexture.demo.grammar import kinds
from contexture.demo.names import stem
from contexture.demo.world import has_redirect, lead, outline, region_name

#: Page ids are handed out in blocks of this size, one for each region: its articles first, then its other pages.
IDS_PER_REGION = 50
#: Namespaces by number, from −2.
_NAMESPACES = [
    *("Media", "Special", "", "Talk", "User", "User talk", "Project", "Project talk", "File", "File talk", "MediaWiki"),
    *("MediaWiki talk", "Template", "Template talk", "Help", "Help talk", "Category", "Category talk"),
]
_SCHEMA = "http://www.mediawiki.org/xml/export-0.11"
FOOTER = "</mediawiki>\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """One page of an export."""

    id: int
    title: str
    namespace: int
    text: str
    redirect: str | None = None


def article_id(index: int) -> int:
    """The page id of article `index`."""
    region, position = divmod(index, len(kinds()))
    return region * IDS_PER_REGION + position + 1


def extras(seed: int, region: int, pages: int) -> Iterator[Entry]:
    """The other pages of a region of a world of `pages` articles."""
    first = region * len(kinds())
    members = range(first, min(first + len(kinds()), pages))
    next_id = region * IDS_PER_REGION + len(kinds())
    for number, page in enumerate(_pages(seed, region, members), start=1):
        yield Entry(next_id + number, *page)


def _pages(seed: int, region: int, members: range) -> Iterator[tuple[str, int, str, str | None]]:
    """Title, namespace, text and target of each page that is no article."""
    name = region_name(seed, region)
    outlines = [outline(seed, index) for index in members]
    for about in outlines:
        if has_redirect(about.index):
            yield about.alias, 0, f"#REDIRECT [[{about.title}]]\n\n{{{{R from other name}}}}", about.title
    # A redirect to a redirect, and one to a section: real dumps have both.
    yield f"Ancient {outlines[0].title}", 0, f"#redirect [[{outlines[0].alias}]]", outlines[0].alias
    target = f"{outlines[-1].title}#See also"
    yield f"{name} studies", 0, f"#REDIRECT [[{target}]]", target
    senses = "\n".join(f"* [[{about.title}]], a {about.kind.name} of {name}" for about in outlines[:3])
    text = f"'''{name}''' may refer to:\n\n{senses}\n\n{{{{disambiguation}}}}"
    yield f"{name} (disambiguation)", 0, text, None
    towns = "\n".join(f"* [[{about.title}]]" for about in outlines if about.kind.name == "town")
    yield f"List of towns in {name}", 0, f"This is a list of the towns of {name}.\n\n{towns}", None
    yield f"Category:{name}", 14, f"Pages on '''{name}'''.\n\n[[Category:Regions]]", None
    text = "== Sources ==\nDoes anybody know a better source for this? ~~~~\n: No. ~~~~"
    yield f"Talk:{outlines[0].title}", 1, text, None
    yield f"Template:{name}", 10, f"<noinclude>About {name}.</noinclude>{{{{{{1|}}}}}}", None
    opening = " ".join(sentence.text for sentence in lead(outlines[-1]))
    yield f"{stem(seed, members[0]).capitalize()} notes", 0, _broken(region, opening), None


def _broken(region: int, text: str) -> str:
    """A page as careless editors leave them, of another sort in each region."""
    return (
        f"{{{{Infobox town\n| name = never closed\n| area = {{{{convert|3|ha}}\n\n{text}",
        "",
        f"{text}<ref>A note that nobody closed.\n\n{text}",
        f'{{| class="wikitable"\n! No end\n|-\n| of the table\n\n{text}',
        f"{text} }}}} ]] |}} '''''\n\n== Half a heading\n[[Unclosed link and {text}",
        "{{" * 100 + "deep" + "}}" * 60 + f"\n\n{text}",
    )[region % 6]


def header() -> str:
    """The opening of an export: everything before the first page."""
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


def element(entry: Entry) -> str:
    """One page with its only revision."""
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
    return np.base_repr(int.from_bytes(digest), 36).lower().rjust(31, "0")
