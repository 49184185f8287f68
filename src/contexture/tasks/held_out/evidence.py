"""Questions that held-out documents give away, each with its answers, and the candidates among which they are searched.

- headings: a page's title and the heading of a section → the passages of that section;
- links: a sentence with a link → the page that the link leads to; the sentence's own page is no candidate;
- sentences: a sentence of a passage → what is left of that passage without it;
- questions: a user's own → the document or passage that they name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.folders import work_folder
from contexture.retrieval.config import Bm25Config
from contexture.retrieval.parquet_rows import ROWS_A_GROUP, read_batches
from contexture.splits import uniform
from contexture.tasks.held_out.config import HeldOutSettings
from contexture.tasks.held_out.questions import names_of
from contexture.text.quality import split_words
from contexture.text.sentences import get_splitter

#: Kinds of questions, in the order of the tables.
KINDS = ("headings", "links", "sentences", "questions")
#: Columns of the table of passages that are read, and of the candidates, whose `doc_id` names the page.
PASSAGE = ["passage_id", "doc_id", "section_index", "title", "heading", "text", "held_out"]
CANDIDATES = "candidates.parquet"
CANDIDATE = pa.schema([(name, pa.string()) for name in ("id", "title", "text", "doc_id")])
#: The least words of a sentence that is asked, or characters in scripts without spaces.
_MIN_WORDS = 5

#: An item that a name stands for: a document's id, and a passage's or "".
_Item = tuple[str, str]


class Question(NamedTuple):
    """A question: its text, its answers (ids of passages, or of documents), and rows that are no candidates of it.

    `passage_row` is that of the passage that a sentence was taken from, `rest_row` that of its other sentences,
    `source` the document of a sentence with a link.
    """

    kind: str
    text: str
    answers: frozenset[str]
    by_document: bool
    passage_row: int = -1
    rest_row: int = -1
    source: str = ""


@dataclass(frozen=True)
class Evidence:
    """Questions, and the Parquet file of the candidates: all passages, then the rests of some of them."""

    questions: list[Question]
    candidates: Path
    #: Number of passages; rows of the file from here on are rests.
    passages: int
    documents: int
    #: Number of documents that are held out.
    held_out: int
    #: Answers of a user's questions that name no document.
    unknown: frozenset[str]
    #: How BM25 reads the text.
    words: Bm25Config


def gather(
    passages: Path, paragraphs: Path, user_rows: pd.DataFrame, settings: HeldOutSettings, folder: Path
) -> Evidence:
    """Write the candidates to `folder` and draw questions of each kind, by hashes of their sources.

    `passages` and `paragraphs` are the folders of these tables, `user_rows` has a user's questions, see
    `questions.COLUMNS`. Only passages of held-out documents are in memory.
    """
    count = settings.questions
    held: list[dict[str, Any]] = []
    documents: set[str] = set()
    named: dict[str, set[_Item]] = {answer: set() for answer in user_rows["answer"]}
    rows = 0
    with work_folder(folder) as work, pq.ParquetWriter(work / CANDIDATES, CANDIDATE) as writer:
        for batch in read_batches(passages, PASSAGE):
            columns = [batch.column(name) for name in ("passage_id", "title", "text", "doc_id")]
            writer.write_table(pa.Table.from_arrays(columns, schema=CANDIDATE), row_group_size=ROWS_A_GROUP)
            for row in batch.to_pylist():
                documents.add(row["doc_id"])
                for name, item in _names(row) if named else ():
                    if name in named:
                        named[name].add(item)
                if row["held_out"]:
                    held.append(row | {"row": rows})
                rows += 1
        questions = [*_headings(held, count), *_links(paragraphs, held, documents, count)]
        sentences, rests = _sentences(held, count, rows)
        if rests:
            writer.write_table(pa.Table.from_pylist(rests, CANDIDATE), row_group_size=ROWS_A_GROUP)
    questions += [*sentences, *_users_questions(user_rows, named)]
    num_held = len({row["doc_id"] for row in held})
    unknown = frozenset(name for name, items in named.items() if not items)
    words = settings.get_bm25_config(passages)
    return Evidence(questions, folder / CANDIDATES, rows, len(documents), num_held, unknown, words)


def _names(passage: Mapping[str, Any]) -> Iterator[tuple[str, _Item]]:
    """Names by which a user may mean a passage or its document."""
    yield passage["passage_id"], (passage["doc_id"], passage["passage_id"])
    for name in names_of(passage["doc_id"], passage["title"]):
        yield name, (passage["doc_id"], "")


def _draw(rows: Sequence[Any], kind: str, count: int, name: Callable[[Any], str]) -> list[Any]:
    """Rows whose names have the smallest hashes."""
    return sorted(rows, key=lambda row: (uniform("evidence", kind, name(row)), name(row)))[:count]


def _headings(held: list[dict[str, Any]], count: int) -> list[Question]:
    """Sections of one heading on a page count as one."""
    sections: dict[tuple[str, str, str], list[str]] = {}
    for row in held:
        if row["heading"]:
            sections.setdefault((row["doc_id"], row["title"], row["heading"]), []).append(row["passage_id"])
    return [
        Question("headings", f"{title} {heading}".strip(), frozenset(sections[doc_id, title, heading]), False)
        for doc_id, title, heading in _draw(list(sections), "headings", count, repr)
    ]


def _sentences(held: list[dict[str, Any]], count: int, rows: int) -> tuple[list[Question], list[dict[str, str]]]:
    """Questions, and the rests that answer them, which follow the `rows` passages."""
    questions: list[Question] = []
    rests: list[dict[str, str]] = []
    for row in _draw(held, "sentences", len(held), lambda passage: str(passage["passage_id"])):
        if len(questions) == count:
            break
        sentences = get_splitter(row["doc_id"].partition(":")[0]).split(row["text"])
        drawn = _draw([sentence for sentence in sentences if _is_long(sentence)], "sentence", 1, str)
        rest = " ".join(sentence for sentence in sentences if sentence not in drawn)
        if not drawn or not rest:
            continue
        answers = frozenset([row["passage_id"]])
        question = Question("sentences", drawn[0], answers, False, passage_row=row["row"], rest_row=rows + len(rests))
        questions.append(question)
        rests.append({"id": row["passage_id"], "title": row["title"], "text": rest, "doc_id": row["doc_id"]})
    return questions, rests


def _links(paragraphs: Path, held: list[dict[str, Any]], documents: set[str], count: int) -> list[Question]:
    """A sentence with several links has all their pages as answers."""
    sources = {row["doc_id"] for row in held}
    pages: dict[tuple[str, str], set[str]] = {}
    for batch in read_batches(paragraphs, ["doc_id", "text", "sentences", "links"]) if sources else ():
        for row in batch.to_pylist():
            source = row["doc_id"]
            if source not in sources:
                continue
            links = [link for link in row["links"] or () if link["doc_id"] in documents and link["doc_id"] != source]
            for start, end, sentence in _spans(row["text"], row["sentences"]) if links else ():
                linked = {link["doc_id"] for link in links if start <= link["start"] < end}
                if linked and _is_long(sentence):
                    pages.setdefault((source, sentence), set()).update(linked)
    return [
        Question("links", sentence, frozenset(pages[source, sentence]), True, source=source)
        for source, sentence in _draw(list(pages), "links", count, repr)
    ]


def _is_long(sentence: str) -> bool:
    return len(split_words(sentence)) >= _MIN_WORDS


def _spans(text: str, sentences: list[str]) -> Iterator[tuple[int, int, str]]:
    """Start and end of each sentence in its paragraph."""
    end = 0
    for sentence in sentences:
        start = text.find(sentence, end)
        if start >= 0:
            end = start + len(sentence)
            yield start, end, sentence


def _users_questions(user_rows: pd.DataFrame, named: Mapping[str, set[_Item]]) -> Iterator[Question]:
    """Questions with a known answer. If any answer is a document, pages are ranked, otherwise passages."""
    for text, answers in user_rows.groupby("question", sort=False)["answer"]:
        items = {item for answer in answers for item in named[answer]}
        if items:
            by_document = not all(passage for _, passage in items)
            ids = frozenset(doc_id if by_document else passage for doc_id, passage in items)
            yield Question("questions", str(text), ids, by_document)
