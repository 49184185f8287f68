"""A toy text: passages with headings, paragraphs with links, some documents held out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.tasks.held_out import questions
from contexture.tasks.held_out.config import HeldOutSettings
from contexture.tasks.held_out.evidence import HeldOutEvidence, HeldOutQuestion, gather_evidence

COLUMNS = ["passage_id", "title", "heading", "text", "section_index", "held_out"]
PASSAGE = pa.schema(
    [
        *((name, pa.string()) for name in ("passage_id", "doc_id", "title", "heading", "text")),
        ("section_index", pa.int32()),
        ("held_out", pa.bool_()),
    ]
)
LINK = pa.struct([("target", pa.string()), ("start", pa.int32()), ("end", pa.int32()), ("doc_id", pa.string())])
PARAGRAPH = pa.schema(
    [("doc_id", pa.string()), ("text", pa.string()), ("sentences", pa.list_(pa.string())), ("links", pa.list_(LINK))]
)

FERRY = "The old ferry crosses the strait. It carries lamps and wool to the islands. Why?"
#: Two sections are called Freight, one passage has no heading, and one has a single sentence.
PASSAGES = [
    ("en:ferry#0", "Ferry", "", FERRY, 0, True),
    ("en:ferry#1", "Ferry", "Freight", "Wool is loaded first at the quay. Then come the lamps.", 1, True),
    ("en:ferry#2", "Ferry", "Freight", "The hold takes forty bales of dry wool.", 1, True),
    ("en:ferry#3", "Ferry", "Crew", "Short one. Too short.", 2, True),
    ("en:ferry#4", "Ferry", "Freight", "Late freight waits for the next boat. It is dear.", 3, True),
    ("en:lamp#0", "Lamp", "Oil", "Lamps burn yellow oil. The oil comes from the far islands.", 0, False),
    ("en:wool#0", "Wool", "", "Wool keeps the crew warm in winter. Sheep give it.", 0, False),
    ("en:quay#0", "Quay", "Stones", "The quay was built of grey stones. Gulls wait there all day.", 0, True),
    ("en:quay#1", "Quay", "Gulls", "Gulls steal what falls from open bales.", 1, True),
]


def write_passages(
    folder: Path, rows: Sequence[tuple[Any, ...]] = PASSAGES, parts: Sequence[slice] = (slice(None),)
) -> Path:
    """Write the table of passages with a file per part."""
    records = [dict(zip(COLUMNS, row, strict=True)) | {"doc_id": row[0].rpartition("#")[0]} for row in rows]
    folder.mkdir(parents=True)
    for number, part in enumerate(parts):
        pq.write_table(pa.Table.from_pylist(records[part], PASSAGE), folder / f"part-{number}.parquet")
    return folder


def make_paragraph(doc_id: str, sentences: Sequence[str], links: dict[str, str | None]) -> dict[str, Any]:
    """Return a paragraph; `links` is word → target document or None."""
    text = " ".join(sentences)
    records = [
        {"target": word, "start": text.index(word), "end": text.index(word) + len(word), "doc_id": target}
        for word, target in links.items()
    ]
    return {"doc_id": doc_id, "text": text, "sentences": list(sentences), "links": records}


def write_paragraphs(folder: Path, rows: Sequence[dict[str, Any]] = ()) -> Path:
    """Write the table of paragraphs."""
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(list(rows), PARAGRAPH), folder / "part-0.parquet")
    return folder


def make_evidence(
    folder: Path,
    users: Sequence[tuple[str, str]] = (),
    rows: Sequence[tuple[Any, ...]] = PASSAGES,
    linked: Sequence[dict[str, Any]] = (),
    parts: Sequence[slice] = (slice(None),),
    **settings: Any,
) -> HeldOutEvidence:
    """Write the tables and gather their evidence."""
    tables = write_passages(folder / "passages", rows, parts), write_paragraphs(folder / "paragraphs", linked)
    user_rows = pd.DataFrame(list(users), columns=questions.QUESTION_COLUMNS)
    return gather_evidence(*tables, user_rows, HeldOutSettings(**settings), folder / "evidence")


def select_kind(evidence: HeldOutEvidence, kind: str) -> list[HeldOutQuestion]:
    return [question for question in evidence.questions if question.kind == kind]
