"""How faithful is the text? Contexture compared with wikiextractor and mwparserfromhell, page by page, in one table.

    python -m venv peers && peers/bin/pip install -r benchmarks/requirements.txt pyyaml
    PYTHONPATH=src peers/bin/python benchmarks/fidelity.py DUMP… [--show KIND] [--pages N]

Takes about a minute for 10 MB of wikitext, most of it mwparserfromhell's. Measured on the articles of each dump:

left-over markup    share of paragraphs that still hold brackets, tags, entities or bold quotes.
words kept          of the words that mwparserfromhell keeps in prose, the share that the tool keeps too, page by page,
                    as multisets. Its prose is what its `strip_code` shows of the page's lines, without tables,
                    headings, references, galleries, files with their captions, categories and interlanguage links, and
                    without lines of lists, indented ones and preformatted ones, which are no prose here, and
                    without lines where mwparserfromhell itself leaves markup or the cells of a table.
words more          words that the tool has and mwparserfromhell has not, relative to mwparserfromhell's: the text of
                    templates, mostly.
holes               share of sentences with empty brackets, doubled punctuation or a space before a comma or full stop
                    that the source does not have itself. Sentences are split alike for all, at .!?; before white space.
links               of the links to articles in that prose, with target and visible text as mwparserfromhell sees them:
                    the share found, and of those found the share whose offsets cut out exactly that text. Left out are
                    links whose text is a template's, which mwparserfromhell does not show.
MB/s                wikitext per second of one core; for Contexture with sections, paragraphs and links.

`--show markup|words|holes|links` prints what was found, for reading.
"""

import argparse
import bz2
import collections
import contextlib
import gzip
import html
import io
import itertools
import logging
import lzma
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mwparserfromhell
from mwparserfromhell.nodes import Argument, Comment, ExternalLink, Heading, HTMLEntity, Tag, Template, Text, Wikilink
from wikiextractor.extract import Extractor

from contexture.text.mediawiki import Site, WikiPage, normalize_title, parse_page, parse_site
from contexture.text.wikitext import parse

MARKUP = re.compile(r"\{\{|\}\}|\[\[|\]\]|<ref|</|\{\||\|\}|'''|&[a-z]+;|\bthumb\|")
HOLE = re.compile(r"\([\s,;:/–-]*\)|\[\s*\]|[(\[]\s*[,;:]|[,;:]\s*[,;:)]|,\s*\.(?!\.)|\w\s+[,.](?=\s|$)|“”|«\s*»")
WORD = re.compile(r"[^\W_]+")
SENTENCE = re.compile(r"(?<=[.!?;])\s+")
OPEN = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}


def pages(path: Path) -> tuple[Site, Iterator[WikiPage]]:
    """The site and the articles of an export, redirects left out."""
    text = OPEN.get(path.suffix, open)(path, "rt", encoding="utf-8")
    head = "".join(itertools.takewhile(lambda line: "<page>" not in line, text))
    site = parse_site(head)

    def read() -> Iterator[WikiPage]:
        lines = ["<page>\n"]
        with contextlib.suppress(EOFError):
            for line in text:
                lines.append(line)
                if "</page>" in line:
                    xml = "".join(lines)
                    page = parse_page(xml[xml.index("<page>") :].rstrip(), site)
                    if page.namespace == 0 and page.redirect is None:
                        yield page
                    lines = []

    return site, read()


@dataclass
class Result:
    """What a tool makes of a page: paragraphs, and links as (target, text), if it has any."""

    paragraphs: list[str]
    links: list[tuple[str, str]] = field(default_factory=list)


# --- The three tools -------------------------------------------------------------------------------------------------


def contexture(page: WikiPage, site: Site) -> Result:
    paragraphs = parse(page.text, site).paragraphs
    links = [(link.target, p.text[link.start : link.end]) for p in paragraphs for link in p.links]
    return Result([p.text for p in paragraphs], links)


def wikiextractor(page: WikiPage, site: Site) -> Result:
    extractor = Extractor(page.page_id, page.revision_id, "", page.title, io.StringIO(page.text))
    lines = extractor.clean_text(page.text, expand_templates=False, html_safe=False)
    return Result([" ".join(line.split()) for line in lines if line.strip()])


BREAK, LIST = "\n", "\n\x01"
HIDDEN = {"ref", "references", "table", "gallery", "li", "dd", "dt", "ul", "ol", "dl", "math", "timeline", "imagemap"}
BLOCKS = {"div", "p", "center", "blockquote", "hr", "poem", "h1", "h2", "h3", "h4"}


class Prose:
    """What mwparserfromhell shows of a page's prose, and its links there with the place where their text starts."""

    def __init__(self, page: WikiPage, site: Site) -> None:
        self.site = site
        self.pieces: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.walk(mwparserfromhell.parse(page.text).nodes)

    def walk(self, nodes: list[Any]) -> None:
        for node, after in itertools.zip_longest(nodes, nodes[1:]):
            if isinstance(node, Text):
                self.pieces.append(str(node.value))
            elif isinstance(node, HTMLEntity):
                self.pieces.append(node.normalize())
            elif isinstance(node, Heading):
                self.pieces.append(BREAK)
            elif isinstance(node, Wikilink):
                self.link(node, str(after.value) if isinstance(after, Text) else "")
            elif isinstance(node, ExternalLink):
                if not node.brackets:
                    self.pieces.append(str(node.url))
                elif node.title is not None:
                    self.walk(node.title.nodes)
            elif isinstance(node, Tag):
                self.tag(node)
            elif not isinstance(node, Comment | Template | Argument):
                raise TypeError(type(node))

    def tag(self, tag: Tag) -> None:
        name = str(tag.tag).strip().lower()
        if tag.wiki_markup in ("*", "#", ":", ";"):
            self.pieces.append("\x01" if self.pieces[-1:] != [BREAK] else LIST)
        elif name in HIDDEN or not mwparserfromhell.definitions.is_visible(tag.tag):
            self.pieces.append(BREAK if name in ("table", "gallery", "ul", "ol", "dl") else "")
        else:
            self.pieces.append(BREAK if name in BLOCKS else " " if name == "br" else "")
            self.walk(tag.contents.nodes if tag.contents is not None else [])
            self.pieces.append(BREAK if name in BLOCKS else "")

    def link(self, link: Wikilink, after: str) -> None:
        title = str(link.title)
        prefix, colon, _ = title.partition(":")
        namespace = self.site.namespace(title) if colon else 0
        language = colon and re.fullmatch(r"[a-z]{2,3}(-[a-z-]+)?|simple", prefix)
        if namespace in (6, -2, 14) or (language and link.text is None):
            return
        visible = link.text if link.text is not None and str(link.text).strip() else link.title
        start = len(self.pieces)
        self.walk(visible.nodes)
        text = "".join(self.pieces[start:]) + "".join(itertools.takewhile(str.islower, after))
        target = normalize_title(title)
        templates = any(isinstance(node, Template) for node in visible.nodes)
        if namespace == 0 and target and not colon and not templates:
            self.pieces.insert(start, f"\x02{len(self.links)}\x03")
            self.links.append((target, " ".join(text.split())))

    def result(self) -> Result:
        kept, links = [], []
        for line in "".join(self.pieces).split("\n"):
            if line.startswith((" ", "|", "!", "{|")) or "\x01" in line or MARKUP.search(line):
                continue
            links += [self.links[int(number)] for number in re.findall("\x02([0-9]+)\x03", line)]
            text = " ".join(re.sub("\x02[0-9]+\x03", "", line).split())
            if text:
                kept.append(re.sub("[\u200b\u200e\u200f\u2060\ufeff\xad]", "", text))
        return Result(kept, links)


def from_hell(page: WikiPage, site: Site) -> Result:
    return Prose(page, site).result()


TOOLS: dict[str, Callable[[WikiPage, Site], Result]] = {
    "contexture": contexture,
    "wikiextractor": wikiextractor,
    "mwparserfromhell": from_hell,
}

# --- What is measured ------------------------------------------------------------------------------------------------


@dataclass
class Score:
    """Sums over the pages of one dump."""

    seconds: float = 0.0
    paragraphs: int = 0
    markup: int = 0
    words: int = 0
    kept: int = 0
    extra: int = 0
    sentences: int = 0
    holes: int = 0
    links: int = 0
    links_found: int = 0
    links_exact: int = 0
    examples: dict[str, collections.Counter[str]] = field(
        default_factory=lambda: collections.defaultdict(collections.Counter)
    )

    def add(self, result: Result, reference: Result, source: str) -> None:
        self.paragraphs += len(result.paragraphs)
        for text in result.paragraphs:
            if match := MARKUP.search(text):
                self.markup += 1
                self.examples["markup"][text[max(0, match.start() - 40) : match.end() + 40]] += 1
            for sentence in SENTENCE.split(text):
                self.sentences += 1
                if hole := next((hole for hole in HOLE.finditer(sentence) if not in_source(hole, source)), None):
                    self.holes += 1
                    self.examples["holes"][sentence[max(0, hole.start() - 60) : hole.end() + 30]] += 1
        ours, theirs = words(result), words(reference)
        self.words += theirs.total()
        self.kept += (ours & theirs).total()
        self.extra += (ours - theirs).total()
        self.examples["words"] += theirs - ours
        result_links, wanted = collections.Counter(result.links), collections.Counter(reference.links)
        targets = collections.Counter(link[0] for link in result.links)
        wanted_targets = collections.Counter(link[0] for link in reference.links)
        self.links += wanted.total()
        self.links_found += (targets & wanted_targets).total()
        self.links_exact += (result_links & wanted).total()
        self.examples["links"] += collections.Counter(map(repr, (wanted - result_links).elements()))


def words(result: Result) -> collections.Counter[str]:
    return collections.Counter(word for text in result.paragraphs for word in WORD.findall(text))


def in_source(hole: re.Match[str], source: str) -> bool:
    """Whether the writer left the hole: the same characters stand in the wikitext, its quotes and brackets apart."""
    return hole[0] + hole.string[hole.end() : hole.end() + 3] in source


def bare(wikitext: str) -> str:
    return " ".join(re.sub(r"\[\[[^\[\]|]*\||\]\]|\[\[|''+|<!--.*?-->|<[^<>]*>", "", html.unescape(wikitext)).split())


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3f} %" if whole else "–"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("dumps", nargs="+", type=Path)
    arguments.add_argument("--show", choices=["markup", "words", "holes", "links"], help="examples of Contexture's")
    arguments.add_argument("--pages", type=int, default=None, help="only the first so many articles of each")
    options = arguments.parse_args()
    logging.disable(logging.WARNING)  # wikiextractor's
    print("| dump | tool | left-over markup | words kept | words more | holes | links found | links exact | MB/s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path in options.dumps:
        site, articles = pages(path)
        scores = {tool: Score() for tool in TOOLS}
        size = 0
        for page in itertools.islice(articles, options.pages):
            size += len(page.text.encode())
            results = {}
            for tool, run in TOOLS.items():
                start = time.process_time()
                results[tool] = run(page, site)
                scores[tool].seconds += time.process_time() - start
            source = bare(page.text)
            for tool, result in results.items():
                scores[tool].add(result, results["mwparserfromhell"], source)
        for tool, score in scores.items():
            links = ("–", "–")
            if tool != "wikiextractor":
                links = (percent(score.links_found, score.links), percent(score.links_exact, score.links_found))
            row = (
                percent(score.markup, score.paragraphs),
                percent(score.kept, score.words),
                percent(score.extra, score.words),
                percent(score.holes, score.sentences),
                *links,
                f"{size / 1e6 / score.seconds:.1f}",
            )
            print(f"| {site.lang} | {tool} | {' | '.join(row)} |", flush=True)
        if options.show:
            for example, count in scores["contexture"].examples[options.show].most_common(60):
                print(f"{count:6} {example}")


if __name__ == "__main__":
    main()
