"""The MediaWiki export format, schema 0.11."""

from hashlib import sha1
from xml.sax.saxutils import escape, quoteattr

from contexture.demo.extras import Entry

_NAMESPACES = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Project",
    5: "Project talk",
    6: "File",
    7: "File talk",
    8: "MediaWiki",
    9: "MediaWiki talk",
    10: "Template",
    11: "Template talk",
    12: "Help",
    13: "Help talk",
    14: "Category",
    15: "Category talk",
}
_SCHEMA = "http://www.mediawiki.org/xml/export-0.11"
FOOTER = "</mediawiki>\n"


def header() -> str:
    """The opening of an export: everything before the first page."""
    namespaces = "\n".join(
        f'      <namespace key="{key}" case="first-letter"' + (f">{name}</namespace>" if name else " />")
        for key, name in _NAMESPACES.items()
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
    number, digits = int.from_bytes(digest), ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits.rjust(31, "0")
