"""Rows to Arrow: the same as pyarrow's own way, which is slower."""

import pyarrow as pa
import pytest

from contexture.corpus.pages import record_batch
from contexture.corpus.sources.protocol import Row, add_sentences, blank, document
from contexture.text.paragraphs import Link, Paragraph, Parsed
from contexture.text.sentences import splitter

LINK = pa.struct([("target", pa.string()), ("start", pa.int32()), ("end", pa.int32())])
STRING = pa.string()
PARAGRAPH = pa.struct(
    {"section": STRING, "text": STRING, "sentences": pa.list_(STRING), "links": pa.list_(LINK), "kind": STRING}
)
SCHEMA = pa.schema(
    {
        "doc_id": STRING,
        "dropped": STRING,
        "paragraphs": pa.list_(PARAGRAPH),
        "paragraphs_dropped": pa.map_(STRING, pa.int32()),
        "revision": pa.int64(),
    }
)


def row(name: str, *links: list[Link]) -> Row:
    found = [Paragraph(0, "A", i, f"The boats of {i}. They lie. Ω𝔘", given) for i, given in enumerate(links)]
    read = document(blank(name, "en", ""), Parsed(1, found, {"too_short": 1} if links else {}))
    return add_sentences(read, splitter("en").split)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [blank("a", "en", "", "truncated", 5)],
        [row("a", [])],
        [row("a", [Link("B", 0, 3), Link("C", 4, 9)], [], [Link("D", 1, 2)]), row("b"), row("c", [Link("E", 0, 1)])],
    ],
)
def test_it_is_the_same_as_from_dictionaries(rows: list[Row]) -> None:
    plain = [
        given | {"paragraphs": [p | {"links": [link._asdict() for link in p["links"]]} for p in given["paragraphs"]]}
        for given in rows
    ]
    found = record_batch(rows, SCHEMA)
    assert found == pa.RecordBatch.from_pylist(plain, schema=SCHEMA)
    found.validate(full=True)
