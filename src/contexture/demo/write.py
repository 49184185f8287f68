"""The demo world as files, in the formats that real data comes in."""

import bz2
from contextlib import ExitStack
from pathlib import Path

from contexture.demo.config import DemoConfig
from contexture.demo.export import FOOTER, element, header
from contexture.demo.extras import Entry, article_id, extras
from contexture.demo.grammar import kinds
from contexture.demo.questions import HEADER, SPLITS, rows, split
from contexture.demo.wikitext import article
from contexture.demo.world import page

EXPORT = "demo-pages-articles.xml.bz2"


def write_demo_world(config: DemoConfig, folder: Path) -> dict[str, int]:
    """Write a MediaWiki export and three files in the WikiQA format into `folder`, which is made if need be.

    The same configuration gives the same bytes, and memory does not grow with the number of pages. A file has its
    name only when all of them are complete.

    Returns:
        Counts: `articles`, `pages` (all page elements), and for each split `<split>_questions`,
        `<split>_candidates` and `<split>_answers`.

    Raises:
        OSError: the folder cannot be made or written; nothing half-written is left.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = [EXPORT, *(f"WikiQA-{name}.tsv" for name in SPLITS)]
    parts = [folder / f".{name}.part" for name in names]
    try:
        counts = _write(config, *parts)
        for part, name in zip(parts, names, strict=True):
            part.replace(folder / name)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    return counts


def _write(config: DemoConfig, export: Path, *tables: Path) -> dict[str, int]:
    counts = {"articles": config.pages, "pages": 0}
    counts |= {f"{name}_{what}": 0 for name in SPLITS for what in ("questions", "candidates", "answers")}
    with ExitStack() as stack:
        xml = stack.enter_context(bz2.open(export, "wt", encoding="utf-8", newline="\n"))
        tsv = {
            name: stack.enter_context(path.open("w", encoding="utf-8", newline="\n"))
            for name, path in zip(SPLITS, tables, strict=True)
        }
        xml.write(header())
        for file in tsv.values():
            file.write(HEADER)
        for index in range(config.pages):
            content = page(config.seed, index)
            xml.write(element(Entry(article_id(index), content.outline.title, 0, article(content))))
            counts["pages"] += 1
            name = split(config, index)
            last = None
            for row in rows(config, content):
                tsv[name].write("\t".join(row) + "\n")
                counts[f"{name}_questions"] += row[0] != last
                counts[f"{name}_candidates"] += 1
                counts[f"{name}_answers"] += int(row[-1])
                last = row[0]
            if (index + 1) % len(kinds()) == 0 or index + 1 == config.pages:
                for entry in extras(config.seed, index // len(kinds()), config.pages):
                    xml.write(element(entry))
                    counts["pages"] += 1
        xml.write(FOOTER)
    return counts
