"""Write the demo world in the formats of real data."""

import bz2
import json
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from contexture.demo.claims import claim_rows
from contexture.demo.config import DemoConfig
from contexture.demo.export import (
    FOOTER,
    ExportEntry,
    article_id,
    export_header,
    extra_entries,
    make_wikitext,
    render_entry,
)
from contexture.demo.grammar import kinds
from contexture.demo.languages import language_codes, make_translator
from contexture.demo.novels import chapter_text, make_novel, novel_file_name, translate_chapter
from contexture.demo.questions import SPLITS, WIKIQA_HEADER, choose_split, squad_article, wikiqa_rows
from contexture.demo.sentence_tasks import count_rows, inference_files, task_files
from contexture.demo.translations import translated_files
from contexture.demo.world import make_article
from contexture.folders import work_folder

EXPORT_FILE = "demo-pages-articles.xml.bz2"
SQUAD_FILE = "squad-demo.json"
BOOKS_DIR = "books"
SENTEVAL_DIR = "senteval"
SNLI_DIR = "pairs"
FEVER_DIR = "fever"
LANGUAGES_DIR = "languages"


def write_demo_world(config: DemoConfig, folder: Path) -> dict[str, int]:
    """Write a MediaWiki export, questions, novels and sentence tasks to `folder`.

    Questions are three files in the WikiQA format and one in that of SQuAD v1.1. `BOOKS_DIR` has a file per novel,
    `SENTEVAL_DIR` the layout of SentEval's `data/downstream`, `SNLI_DIR` the files of SNLI, and `FEVER_DIR` claims with
    retrieved evidence, a file per split. With languages, `LANGUAGES_DIR` has their novels and `translated_files`.

    The same configuration gives the same bytes, and memory does not grow with the number of pages or novels. An
    existing folder is replaced when the new one is complete.

    Returns:
        Counts: `articles`, `pages` (all page elements), `retrieval_paragraphs` and `retrieval_questions`, for each
        split `<split>_questions`, `<split>_candidates`, `<split>_answers` and `<split>_claims`, then `novels`,
        `novel_sentences`, `sentence_task_rows` and `pair_rows`; with languages also `language_novels`,
        `language_novel_sentences`, and the number of lines of each other part, such as `language_bitext`.

    Raises:
        OSError: the folder cannot be written.
    """
    with work_folder(folder) as work_dir:
        counts = _write_articles(config, work_dir) | _write_novels(config, work_dir / BOOKS_DIR)
        counts["sentence_task_rows"] = sum(
            count_rows(name, _write_lines(work_dir / SENTEVAL_DIR / name, lines))
            for name, lines in task_files(config.seed)
        )
        counts["pair_rows"] = sum(
            _write_lines(work_dir / SNLI_DIR / name, lines) for name, lines in inference_files(config.seed)
        )
        if config.languages:
            counts |= _write_languages(config, work_dir / LANGUAGES_DIR)
    return counts


def _write_novels(config: DemoConfig, folder: Path, code: str | None = None) -> dict[str, int]:
    """Write the novels in English, or in the language of `code`; return the numbers of novels and sentences."""
    folder.mkdir(parents=True)
    series = [code] if code else []
    translate = make_translator(config.seed, code) if code else str
    sentences = 0
    for index in range(config.novels):
        with _create_file(folder / novel_file_name(config.seed, index, translate)) as file:
            for chapter in make_novel(config.seed, index, *series):
                file.write(chapter_text(translate_chapter(chapter, translate)))
                sentences += sum(map(len, chapter.paragraphs))
    return {"novels": config.novels, "novel_sentences": sentences}


def _write_languages(config: DemoConfig, folder: Path) -> dict[str, int]:
    """Write novels, parallel sentences and tasks in all made-up languages; return counts by part."""
    counts: Counter[str] = Counter()
    for code in language_codes(config.languages):
        novels = _write_novels(config, folder / BOOKS_DIR / code, code)
        counts.update({f"language_{key}": number for key, number in novels.items()})
    for name, lines in translated_files(config):
        counts[f"language_{name.split('/')[0]}"] += _write_lines(folder / name, lines)
    return counts


def _create_file(path: Path) -> TextIO:
    """Create a text file and its folder, and return it open for writing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w", encoding="utf-8", newline="\n")


def _write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write a file and return its number of lines."""
    with _create_file(path) as file:
        return sum(1 for line in lines if file.write(f"{line}\n"))


def _write_articles(config: DemoConfig, folder: Path) -> dict[str, int]:
    """Write the export, and questions and claims about its articles; return counts of what was written."""
    counts = {"articles": config.pages, "pages": 0, "retrieval_paragraphs": 0, "retrieval_questions": 0}
    counts |= {f"{name}_{key}": 0 for name in SPLITS for key in ("questions", "candidates", "answers", "claims")}
    with ExitStack() as stack:
        xml = stack.enter_context(bz2.open(folder / EXPORT_FILE, "wt", encoding="utf-8", newline="\n"))
        tables = {name: stack.enter_context(_create_file(folder / f"WikiQA-{name}.tsv")) for name in SPLITS}
        claims = {name: stack.enter_context(_create_file(folder / FEVER_DIR / f"{name}.jsonl")) for name in SPLITS}
        squad = stack.enter_context(_create_file(folder / SQUAD_FILE))
        xml.write(export_header())
        squad.write('{"version": "1.1", "data": [')
        for file in tables.values():
            file.write(WIKIQA_HEADER)
        for index in range(config.pages):
            content = make_article(config.seed, index)
            entries = [ExportEntry(article_id(index), content.outline.title, 0, make_wikitext(content))]
            if (index + 1) % len(kinds()) == 0 or index + 1 == config.pages:
                entries += extra_entries(config.seed, index // len(kinds()), config.pages)
            xml.writelines(map(render_entry, entries))
            counts["pages"] += len(entries)
            name = choose_split(config, index)
            candidates = list(wikiqa_rows(config, content))
            tables[name].writelines("\t".join(row) + "\n" for row in candidates)
            counts[f"{name}_questions"] += len({row[0] for row in candidates})
            counts[f"{name}_candidates"] += len(candidates)
            counts[f"{name}_answers"] += sum(int(row[-1]) for row in candidates)
            for claim in claim_rows(config, content):
                claims[name].write(json.dumps(claim, ensure_ascii=False) + "\n")
                counts[f"{name}_claims"] += 1
            entry = squad_article(config, content)
            squad.write((",\n" if index else "\n") + json.dumps(entry, ensure_ascii=False))
            counts["retrieval_paragraphs"] += len(entry["paragraphs"])
            counts["retrieval_questions"] += sum(len(paragraph["qas"]) for paragraph in entry["paragraphs"])
        xml.write(FOOTER)
        squad.write("\n]}\n")
    return counts
