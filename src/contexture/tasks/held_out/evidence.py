"""Make questions with answers from held-out documents, and the candidates among which they are searched.

- headings: title and section heading → the passages of the section, without the heading;
- links: a sentence with a link → the target page; the page of the sentence is no candidate;
- sentences: a sentence of a passage → the rest of the passage;
- halves: half of a passage of a single sentence → the other half; only if the text gives too few other questions;
- questions: a user's question → the documents or passages that the user names.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.folders import work_folder
from contexture.retrieval.parquet_rows import ROWS_PER_GROUP, read_batches
from contexture.retrieval.passages import searched_text
from contexture.splits import uniform
from contexture.tasks.held_out.config import HeldOutSettings
from contexture.tasks.held_out.questions import document_names
from contexture.text.quality import split_words
from contexture.text.sentences import get_splitter

#: Kinds of questions, in the order of the tables.
KINDS = ("headings", "links", "sentences", "halves", "questions")
#: Minimal questions of a kind for its evaluation.
MIN_QUESTIONS = 10
#: Columns of the table of passages that are read.
PASSAGE_COLUMNS = ["passage_id", "doc_id", "section_index", "title", "heading", "text", "held_out"]
CANDIDATES_FILE = "candidates.parquet"
CANDIDATE_SCHEMA = pa.schema([(name, pa.string()) for name in ("id", "title", "text", "doc_id")])
#: Minimal words of a sentence as a question, or characters in scripts without spaces.
_MIN_WORDS = 5
_EQUAL_CHANCE = 0.5

#: A document's id, and a passage's id or "".
_Item = tuple[str, str]


class HeldOutQuestion(NamedTuple):
    """A question; `answers` are ids of documents if `by_document`, otherwise of passages.

    `hidden_rows` are passages that are no candidates; in their stead, `rest_rows` are: these passages without the
    question. `source` is the document of a sentence with a link, which is no candidate.
    """

    kind: str
    text: str
    answers: frozenset[str]
    by_document: bool
    hidden_rows: frozenset[int] = frozenset()
    rest_rows: frozenset[int] = frozenset()
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
    passages_dir: Path, paragraphs_dir: Path, user_questions: pd.DataFrame, settings: HeldOutSettings, output_dir: Path
) -> HeldOutEvidence:
    """Write the candidates to `output_dir`; return questions drawn from held-out documents, and those of the user.

    `passages_dir` and `paragraphs_dir` have the tables of the corpus. `user_questions` has the columns
    `questions.QUESTION_COLUMNS`, one row per answer. Only passages of held-out documents are in memory.
    """
    count = settings.questions
    held_rows: list[dict[str, Any]] = []
    documents: set[str] = set()
    items_by_name: dict[str, set[_Item]] = {answer: set() for answer in user_questions["answer"]}
    rows = 0
    with work_folder(output_dir) as work_dir, pq.ParquetWriter(work_dir / CANDIDATES_FILE, CANDIDATE_SCHEMA) as writer:
        for batch in read_batches(passages_dir, PASSAGE_COLUMNS):
            passages = batch.to_pylist()
            _write_candidates(writer, passages)
            for row in passages:
                documents.add(row["doc_id"])
                for name, item in _passage_names(row) if items_by_name else ():
                    if name in items_by_name:
                        items_by_name[name].add(item)
                if row["held_out"]:
                    held_rows.append(row | {"row": rows})
                rows += 1
        headings, rests = _make_heading_questions(held_rows, count, rows)
        links = _make_link_questions(paragraphs_dir, held_rows, documents, count)
        sentences, sentence_rests = _make_rest_questions("sentences", held_rows, count, rows + len(rests))
        questions, rests = [*headings, *links, *sentences], [*rests, *sentence_rests]
        if max(map(len, (headings, links, sentences))) < MIN_QUESTIONS:
            halves, other_halves = _make_rest_questions("halves", held_rows, count, rows + len(rests))
            questions, rests = [*questions, *halves], [*rests, *other_halves]
        _write_candidates(writer, rests)
    questions += _make_user_questions(user_questions, items_by_name)
    num_held = len({row["doc_id"] for row in held_rows})
    unknown = frozenset(name for name, items in items_by_name.items() if not items)
    return HeldOutEvidence(questions, output_dir / CANDIDATES_FILE, rows, len(documents), num_held, unknown)


def _passage_names(passage: Mapping[str, Any]) -> Iterator[tuple[str, _Item]]:
    """Yield the names of a passage and of its document with their items."""
    yield passage["passage_id"], (passage["doc_id"], passage["passage_id"])
    for name in document_names(passage["doc_id"], passage["title"]):
        yield name, (passage["doc_id"], "")


def _draw_rows(rows: Sequence[Any], kind: str, count: int, name: Callable[[Any], str]) -> list[Any]:
    """Return the rows whose names have the smallest hashes."""
    return sorted(rows, key=lambda row: (uniform("evidence", kind, name(row)), name(row)))[:count]


def _make_heading_questions(
    held_rows: list[dict[str, Any]], count: int, first_rest: int
) -> tuple[list[HeldOutQuestion], list[dict[str, Any]]]:
    """Return questions, and the passages that answer them without their headings, as rows from `first_rest` on.

    Sections of a page with the same heading are merged.
    """
    sections: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in held_rows:
        if row["heading"]:
            sections.setdefault((row["doc_id"], row["title"], row["heading"]), []).append(row)
    questions: list[HeldOutQuestion] = []
    rests: list[dict[str, Any]] = []
    for section in _draw_rows(list(sections), "headings", count, repr):
        passages = sections[section]
        rest_rows = range(first_rest + len(rests), first_rest + len(rests) + len(passages))
        answers, hidden_rows = ({row[key] for row in passages} for key in ("passage_id", "row"))
        text = " ".join(filter(None, section[1:]))
        question = HeldOutQuestion(
            "headings", text, frozenset(answers), False, frozenset(hidden_rows), frozenset(rest_rows)
        )
        questions.append(question)
        rests += [row | {"heading": ""} for row in passages]
    return questions, rests


def _make_rest_questions(
    kind: Literal["sentences", "halves"], held_rows: list[dict[str, Any]], count: int, first_rest: int
) -> tuple[list[HeldOutQuestion], list[dict[str, Any]]]:
    """Return questions, and the rests of passages that answer them, as rows from `first_rest` on."""
    split = _draw_sentence if kind == "sentences" else _halve
    questions: list[HeldOutQuestion] = []
    rests: list[dict[str, Any]] = []
    for row in _draw_rows(held_rows, "sentences", len(held_rows), lambda passage: str(passage["passage_id"])):
        if len(questions) == count:
            break
        text, rest = split(get_splitter(row["doc_id"].partition(":")[0]).split(row["text"]))
        if not text or not rest:
            continue
        answers, rest_rows = frozenset([row["passage_id"]]), frozenset([first_rest + len(rests)])
        questions.append(HeldOutQuestion(kind, text, answers, False, frozenset([row["row"]]), rest_rows))
        rests.append(row | {"text": rest})
    return questions, rests


def _draw_sentence(sentences: list[str]) -> tuple[str, str]:
    """Return a long sentence of a passage, "" if there is none, and the other sentences."""
    drawn = _draw_rows([sentence for sentence in sentences if _is_long(sentence)], "sentence", 1, str)
    return "".join(drawn), " ".join(sentence for sentence in sentences if sentence not in drawn)


def _halve(sentences: list[str]) -> tuple[str, str]:
    """Return the halves of a single sentence, in random order; ("", "") for several or fewer than ten words."""
    words = split_words(sentences[0])
    if len(sentences) != 1 or len(words) < 2 * _MIN_WORDS:
        return "", ""
    separator = " " if len(words) == len(sentences[0].split()) else ""
    halves = separator.join(words[: len(words) // 2]), separator.join(words[len(words) // 2 :])
    return halves if uniform("evidence", "halves", sentences[0]) < _EQUAL_CHANCE else (halves[1], halves[0])


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


def _write_candidates(writer: pq.ParquetWriter, passages: Sequence[Mapping[str, Any]]) -> None:
    """Write passages as candidates; the heading is a part of the text."""
    columns = [
        [row["passage_id"] for row in passages],
        *zip(*(searched_text(row["title"], row["heading"], row["text"]) for row in passages), strict=True),
        [row["doc_id"] for row in passages],
    ]
    if passages:
        table = pa.table(list(map(pa.array, columns)), schema=CANDIDATE_SCHEMA)
        writer.write_table(table, row_group_size=ROWS_PER_GROUP)


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


def _make_user_questions(
    user_questions: pd.DataFrame, items_by_name: Mapping[str, set[_Item]]
) -> Iterator[HeldOutQuestion]:
    """Yield questions with a known answer; if an answer is a document, documents are ranked, otherwise passages."""
    for text, answers in user_questions.groupby("question", sort=False)["answer"]:
        items = {item for answer in answers for item in items_by_name[answer]}
        if items:
            by_document = not all(passage for _, passage in items)
            ids = frozenset(doc_id if by_document else passage for doc_id, passage in items)
            yield HeldOutQuestion("questions", str(text), ids, by_document)
