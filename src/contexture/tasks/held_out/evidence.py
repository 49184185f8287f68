"""Make questions with answers from held-out documents, and the candidates among which they are searched.

- headings: title and section heading → the passages of the section;
- links: a sentence with a link → the target page; the page of the sentence is no candidate;
- sentences: a sentence of a passage → the rest of the passage;
- questions: a user's question → the documents or passages that the user names.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.folders import work_folder
from contexture.retrieval.parquet_rows import ROWS_PER_GROUP, read_batches
from contexture.splits import uniform
from contexture.tasks.held_out.config import HeldOutSettings
from contexture.tasks.held_out.questions import document_names
from contexture.text.quality import split_words
from contexture.text.sentences import get_splitter

#: Kinds of questions, in the order of the tables.
KINDS = ("headings", "links", "sentences", "questions")
#: Columns of the table of passages that are read.
PASSAGE_COLUMNS = ["passage_id", "doc_id", "section_index", "title", "heading", "text", "held_out"]
CANDIDATES_FILE = "candidates.parquet"
CANDIDATE_SCHEMA = pa.schema([(name, pa.string()) for name in ("id", "title", "text", "doc_id")])
#: Minimal words of a sentence as a question, or characters in scripts without spaces.
_MIN_WORDS = 5

#: A document's id, and a passage's id or "".
_Item = tuple[str, str]


class HeldOutQuestion(NamedTuple):
    """A question; `answers` are ids of documents if `by_document`, otherwise of passages.

    `passage_row` is the passage of a sentence, which is no candidate; `rest_row` is its rest, which is one. `source` is
    the document of a sentence with a link, which is no candidate.
    """

    kind: str
    text: str
    answers: frozenset[str]
    by_document: bool
    passage_row: int = -1
    rest_row: int = -1
    source: str = ""


@dataclass(frozen=True)
class HeldOutEvidence:
    """Questions, and the Parquet file of candidates: all passages, then rests of passages."""

    questions: list[HeldOutQuestion]
    candidates: Path
    #: Number of passages; later rows are rests.
    passages: int
    documents: int
    #: Number of held-out documents.
    held_out: int
    #: Answers of the user that name no document.
    unknown: frozenset[str]


def gather_evidence(
    passages: Path, paragraphs: Path, user_rows: pd.DataFrame, settings: HeldOutSettings, folder: Path
) -> HeldOutEvidence:
    """Write the candidates to `folder`; return questions drawn from held-out documents, and those of the user.

    `passages` and `paragraphs` are the folders of these tables, `user_rows` has `questions.QUESTION_COLUMNS`. Only
    passages of held-out documents are in memory.
    """
    count = settings.questions
    held_rows: list[dict[str, Any]] = []
    documents: set[str] = set()
    items_by_name: dict[str, set[_Item]] = {answer: set() for answer in user_rows["answer"]}
    rows = 0
    with work_folder(folder) as work_dir, pq.ParquetWriter(work_dir / CANDIDATES_FILE, CANDIDATE_SCHEMA) as writer:
        for batch in read_batches(passages, PASSAGE_COLUMNS):
            columns = [batch.column(name) for name in ("passage_id", "title", "text", "doc_id")]
            writer.write_table(pa.Table.from_arrays(columns, schema=CANDIDATE_SCHEMA), row_group_size=ROWS_PER_GROUP)
            for row in batch.to_pylist():
                documents.add(row["doc_id"])
                for name, item in _passage_names(row) if items_by_name else ():
                    if name in items_by_name:
                        items_by_name[name].add(item)
                if row["held_out"]:
                    held_rows.append(row | {"row": rows})
                rows += 1
        questions = [
            *_make_heading_questions(held_rows, count),
            *_make_link_questions(paragraphs, held_rows, documents, count),
        ]
        sentences, rests = _make_sentence_questions(held_rows, count, rows)
        if rests:
            writer.write_table(pa.Table.from_pylist(rests, CANDIDATE_SCHEMA), row_group_size=ROWS_PER_GROUP)
    questions += [*sentences, *_make_user_questions(user_rows, items_by_name)]
    num_held = len({row["doc_id"] for row in held_rows})
    unknown = frozenset(name for name, items in items_by_name.items() if not items)
    return HeldOutEvidence(questions, folder / CANDIDATES_FILE, rows, len(documents), num_held, unknown)


def _passage_names(passage: Mapping[str, Any]) -> Iterator[tuple[str, _Item]]:
    """Yield the names of a passage and of its document with their items."""
    yield passage["passage_id"], (passage["doc_id"], passage["passage_id"])
    for name in document_names(passage["doc_id"], passage["title"]):
        yield name, (passage["doc_id"], "")


def _draw_rows(rows: Sequence[Any], kind: str, count: int, name: Callable[[Any], str]) -> list[Any]:
    """Return the rows whose names have the smallest hashes."""
    return sorted(rows, key=lambda row: (uniform("evidence", kind, name(row)), name(row)))[:count]


def _make_heading_questions(held_rows: list[dict[str, Any]], count: int) -> list[HeldOutQuestion]:
    """Merge sections of a page with the same heading."""
    sections: dict[tuple[str, str, str], list[str]] = {}
    for row in held_rows:
        if row["heading"]:
            sections.setdefault((row["doc_id"], row["title"], row["heading"]), []).append(row["passage_id"])
    return [
        HeldOutQuestion("headings", f"{title} {heading}".strip(), frozenset(sections[doc_id, title, heading]), False)
        for doc_id, title, heading in _draw_rows(list(sections), "headings", count, repr)
    ]


def _make_sentence_questions(
    held_rows: list[dict[str, Any]], count: int, rows: int
) -> tuple[list[HeldOutQuestion], list[dict[str, str]]]:
    """Return questions, and the rests that answer them, which follow the `rows` passages."""
    questions: list[HeldOutQuestion] = []
    rests: list[dict[str, str]] = []
    for row in _draw_rows(held_rows, "sentences", len(held_rows), lambda passage: str(passage["passage_id"])):
        if len(questions) == count:
            break
        sentences = get_splitter(row["doc_id"].partition(":")[0]).split(row["text"])
        drawn = _draw_rows([sentence for sentence in sentences if _is_long(sentence)], "sentence", 1, str)
        rest = " ".join(sentence for sentence in sentences if sentence not in drawn)
        if not drawn or not rest:
            continue
        answers = frozenset([row["passage_id"]])
        question = HeldOutQuestion(
            "sentences", drawn[0], answers, False, passage_row=row["row"], rest_row=rows + len(rests)
        )
        questions.append(question)
        rests.append({"id": row["passage_id"], "title": row["title"], "text": rest, "doc_id": row["doc_id"]})
    return questions, rests


def _make_link_questions(
    paragraphs: Path, held_rows: list[dict[str, Any]], documents: set[str], count: int
) -> list[HeldOutQuestion]:
    """Make questions from sentences with links; all linked pages are answers."""
    sources = {row["doc_id"] for row in held_rows}
    pages: dict[tuple[str, str], set[str]] = {}
    for batch in read_batches(paragraphs, ["doc_id", "text", "sentences", "links"]) if sources else ():
        for row in batch.to_pylist():
            source = row["doc_id"]
            if source not in sources:
                continue
            links = [link for link in row["links"] or () if link["doc_id"] in documents and link["doc_id"] != source]
            for start, end, sentence in _sentence_spans(row["text"], row["sentences"]) if links else ():
                linked = {link["doc_id"] for link in links if start <= link["start"] < end}
                if linked and _is_long(sentence):
                    pages.setdefault((source, sentence), set()).update(linked)
    return [
        HeldOutQuestion("links", sentence, frozenset(pages[source, sentence]), True, source=source)
        for source, sentence in _draw_rows(list(pages), "links", count, repr)
    ]


def _is_long(sentence: str) -> bool:
    return len(split_words(sentence)) >= _MIN_WORDS


def _sentence_spans(text: str, sentences: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and text of each sentence in its paragraph."""
    end = 0
    for sentence in sentences:
        start = text.find(sentence, end)
        if start >= 0:
            end = start + len(sentence)
            yield start, end, sentence


def _make_user_questions(user_rows: pd.DataFrame, items_by_name: Mapping[str, set[_Item]]) -> Iterator[HeldOutQuestion]:
    """Yield questions with a known answer; if an answer is a document, documents are ranked, otherwise passages."""
    for text, answers in user_rows.groupby("question", sort=False)["answer"]:
        items = {item for answer in answers for item in items_by_name[answer]}
        if items:
            by_document = not all(passage for _, passage in items)
            ids = frozenset(doc_id if by_document else passage for doc_id, passage in items)
            yield HeldOutQuestion("questions", str(text), ids, by_document)
