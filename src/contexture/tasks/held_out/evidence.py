"""Questions that held-out documents give away, each with what answers it, and the candidates that it is looked for in.

- headings: a page's title and the heading of a section → the passages of that section;
- links: a sentence with a link → the page that the link leads to; the sentence's own page is no candidate;
- sentences: a sentence of a passage → what is left of that passage without it;
- questions: a user's own → the document or passage that they name.
"""

from collections.abc import Callable, Iterator, Mapping
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
from contexture.text.quality import tokens
from contexture.text.sentences import splitter

#: Kinds of questions, in the order of the tables.
KINDS = ("headings", "links", "sentences", "questions")
#: Columns of the table of passages that are read, and of the candidates, of which `doc_id` tells the page.
PASSAGE = ["passage_id", "doc_id", "section_index", "title", "heading", "text", "held_out"]
CANDIDATES = "candidates.parquet"
CANDIDATE = pa.schema([(name, pa.string()) for name in ("id", "title", "text", "doc_id")])
#: A sentence of fewer words, or characters in scripts that put no spaces, asks for nothing.
_WORDS = 5


class Question(NamedTuple):
    """A question: its text, what answers it (ids of passages, or of documents), and what is no candidate of it.

    `own` is the row of the passage that a sentence was taken from, `rest` the row of what is left of it, `source` the
    document that a sentence with a link stands in.
    """

    kind: str
    text: str
    answers: frozenset[str]
    by_document: bool
    own: int = -1
    rest: int = -1
    source: str = ""


@dataclass(frozen=True)
class Evidence:
    """Questions, and the Parquet file of the candidates: all passages, then the rests of some."""

    questions: list[Question]
    candidates: Path
    #: Passages; rows of the file from here on are rests.
    passages: int
    documents: int
    #: Documents that are held out.
    held_out: int
    #: Answers of a user's questions that name no document.
    unknown: frozenset[str]
    #: How BM25 reads the text.
    words: Bm25Config


def gather(passages: Path, paragraphs: Path, asked: pd.DataFrame, settings: HeldOutSettings, folder: Path) -> Evidence:
    """Write the candidates to `folder` and draw some questions of each kind, by hashes of what they are of.

    Args:
        passages: folder of the table of passages; those of documents that are held out are in memory, no others.
        paragraphs: folder of the table of paragraphs, which has the places of links.
        asked: a user's questions, see `questions.COLUMNS`; no rows where there are none.
        settings: how many.
        folder: where the file of candidates is written.
    """
    named, most = _Named(asked), settings.questions
    held: list[dict[str, Any]] = []
    documents: set[str] = set()
    rows = 0
    with work_folder(folder) as work, pq.ParquetWriter(work / CANDIDATES, CANDIDATE) as writer:
        for batch in read_batches(passages, PASSAGE):
            writer.write_table(_candidates(batch), row_group_size=ROWS_A_GROUP)
            for row in batch.to_pylist():
                documents.add(row["doc_id"])
                named.see(row)
                if row["held_out"]:
                    held.append(row | {"row": rows})
                rows += 1
        questions = [*_headings(held, most), *_links(paragraphs, held, documents, most)]
        sentences, rests = _sentences(held, most, rows)
        if rests:
            writer.write_table(pa.Table.from_pylist(rests, CANDIDATE), row_group_size=ROWS_A_GROUP)
    out = {row["doc_id"] for row in held}
    every = [*questions, *sentences, *named.questions()]
    words = settings.search_words(passages)
    return Evidence(every, folder / CANDIDATES, rows, len(documents), len(out), named.unknown(), words)


def _candidates(batch: pa.RecordBatch) -> pa.Table:
    columns = [batch.column(name) for name in ("passage_id", "title", "text", "doc_id")]
    return pa.Table.from_arrays(columns, schema=CANDIDATE)


def _drawn(rows: list[Any], kind: str, most: int, name: Callable[[Any], str]) -> list[Any]:
    """Some of the rows, those whose names have the smallest hashes."""
    return sorted(rows, key=lambda row: (uniform("evidence", kind, name(row)), name(row)))[:most]


def _headings(held: list[dict[str, Any]], most: int) -> list[Question]:
    """Sections of one heading on a page count as one."""
    sections: dict[tuple[str, str, str], list[str]] = {}
    for row in held:
        if row["heading"]:
            sections.setdefault((row["doc_id"], row["title"], row["heading"]), []).append(row["passage_id"])
    chosen = _drawn(list(sections), "headings", most, repr)
    return [
        Question("headings", f"{title} {heading}".strip(), frozenset(sections[doc_id, title, heading]), False)
        for doc_id, title, heading in chosen
    ]


def _sentences(held: list[dict[str, Any]], most: int, rows: int) -> tuple[list[Question], list[dict[str, str]]]:
    """Questions, and the rests that answer them, which come behind the `rows` passages."""
    questions: list[Question] = []
    rests: list[dict[str, str]] = []
    for row in _drawn(held, "sentences", len(held), lambda one: str(one["passage_id"])):
        if len(questions) == most:
            break
        said = splitter(row["doc_id"].partition(":")[0]).split(row["text"])
        long = [sentence for sentence in said if len(tokens(sentence)) >= _WORDS]
        if not long:
            continue
        asked = _drawn(long, "sentence", 1, str)[0]
        left = " ".join(sentence for sentence in said if sentence != asked)
        if not left:
            continue
        rest = rows + len(rests)
        rests.append({"id": row["passage_id"], "title": row["title"], "text": left, "doc_id": row["doc_id"]})
        answers = frozenset([row["passage_id"]])
        questions.append(Question("sentences", asked, answers, False, own=row["row"], rest=rest))
    return questions, rests


def _links(paragraphs: Path, held: list[dict[str, Any]], documents: set[str], most: int) -> list[Question]:
    """A sentence with several links has all their pages for answers."""
    out = {row["doc_id"] for row in held}
    found: dict[tuple[str, str], set[str]] = {}
    for batch in read_batches(paragraphs, ["doc_id", "text", "sentences", "links"]) if out else ():
        for row in batch.to_pylist():
            if row["doc_id"] not in out:
                continue
            known = [one for one in row["links"] or () if one["doc_id"] in documents and one["doc_id"] != row["doc_id"]]
            for start, end, sentence in _places(row["text"], row["sentences"]) if known else ():
                for link in known:
                    if start <= link["start"] < end and len(tokens(sentence)) >= _WORDS:
                        found.setdefault((row["doc_id"], sentence), set()).add(link["doc_id"])
    chosen = _drawn(list(found), "links", most, repr)
    return [
        Question("links", sentence, frozenset(found[doc_id, sentence]), True, source=doc_id)
        for doc_id, sentence in chosen
    ]


def _places(text: str, sentences: list[str]) -> Iterator[tuple[int, int, str]]:
    """Where each sentence stands in its paragraph."""
    end = 0
    for sentence in sentences:
        start = text.find(sentence, end)
        if start >= 0:
            end = start + len(sentence)
            yield start, end, sentence


class _Named:
    """A user's questions; documents and passages are told as they pass by."""

    def __init__(self, asked: pd.DataFrame) -> None:
        self.asked: dict[str, list[str]] = {}
        for question, answer in asked.itertuples(index=False, name=None):
            self.asked.setdefault(question, []).append(answer)
        self.wanted = {answer for answers in self.asked.values() for answer in answers}
        # By name, the documents and passages that are called so: a document's id, and that of a passage, or "".
        self.there: dict[str, set[tuple[str, str]]] = {}

    def see(self, row: Mapping[str, Any]) -> None:
        """Note a passage, or its document, that is named."""
        if not self.wanted:
            return
        if row["passage_id"] in self.wanted:
            self.there.setdefault(row["passage_id"], set()).add((row["doc_id"], row["passage_id"]))
        for name in names_of(row["doc_id"], row["title"]):
            if name in self.wanted:
                self.there.setdefault(name, set()).add((row["doc_id"], ""))

    def questions(self) -> list[Question]:
        """Those of which an answer is known. Where any answer is a document, pages are ranked, otherwise passages."""
        found = []
        for text, answers in self.asked.items():
            there = {item for answer in answers for item in self.there.get(answer, ())}
            if there:
                by_document = not all(passage for _, passage in there)
                items = frozenset(doc_id if by_document else passage for doc_id, passage in there)
                found.append(Question("questions", text, items, by_document))
        return found

    def unknown(self) -> frozenset[str]:
        """Answers that name nothing."""
        return frozenset(self.wanted - set(self.there))
