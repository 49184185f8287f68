"""The demo world as files, in the formats that real data comes in."""

import bz2
import json
from contextlib import ExitStack
from pathlib import Path

from contexture.demo.config import DemoConfig
from contexture.demo.export import FOOTER, element, header
from contexture.demo.extras import Entry, article_id, extras
from contexture.demo.grammar import kinds
from contexture.demo.questions import HEADER, SPLITS, rows, split
from contexture.demo.retrieval import squad_article
from contexture.demo.wikitext import article
from contexture.demo.world import page

EXPORT = "demo-pages-articles.xml.bz2"
RETRIEVAL = "squad-demo.json"


def write_demo_world(config: DemoConfig, folder: Path) -> dict[str, int]:
    """Write a MediaWiki export, three files in the WikiQA format and one in that of SQuAD v1.1 into `folder`.

    The folder is made if need be. The same configuration gives the same bytes, and memory does not grow with the
    number of pages. A file has its name only when all of them are complete.

    Returns:
        Counts: `articles`, `pages` (all page elements), `retrieval_paragraphs` and `retrieval_questions`, and for
        each split `<split>_questions`, `<split>_candidates` and `<split>_answers`.

    Raises:
        OSError: the folder cannot be made or written; nothing half-written is left.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = [EXPORT, RETRIEVAL, *(f"WikiQA-{name}.tsv" for name in SPLITS)]
    parts = [folder / f".{name}.part" for name in names]
    try:
        counts = _write(config, *parts)
        for part, name in zip(parts, names, strict=True):
            part.replace(folder / name)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    return counts


def _write(config: DemoConfig, export: Path, retrieval: Path, *tables: Path) -> dict[str, int]:
    counts = {"articles": config.pages, "pages": 0, "retrieval_paragraphs": 0, "retrieval_questions": 0}
    counts |= {f"{name}_{what}": 0 for name in SPLITS for what in ("questions", "candidates", "answers")}
    with ExitStack() as stack:
        xml = stack.enter_context(bz2.open(export, "wt", encoding="utf-8", newline="\n"))
        tsv = {
            name: stack.enter_context(path.open("w", encoding="utf-8", newline="\n"))
            for name, path in zip(SPLITS, tables, strict=True)
        }
        squad = stack.enter_context(retrieval.open("w", encoding="utf-8", newline="\n"))
        xml.write(header())
        squad.write('{"version": "1.1", "data": [')
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
            questioned = squad_article(config, content)
            squad.write((",\n" if index else "\n") + json.dumps(questioned, ensure_ascii=False))
            counts["retrieval_paragraphs"] += len(questioned["paragraphs"])
            counts["retrieval_questions"] += sum(len(paragraph["qas"]) for paragraph in questioned["paragraphs"])
            if (index + 1) % len(kinds()) == 0 or index + 1 == config.pages:
                for entry in extras(config.seed, index // len(kinds()), config.pages):
                    xml.write(element(entry))
                    counts["pages"] += 1
        xml.write(FOOTER)
        squad.write("\n]}\n")
    return counts
