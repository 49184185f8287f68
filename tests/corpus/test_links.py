"""Links lead to the documents that a reader would come to."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from contexture.corpus.links import resolve_links
from contexture.corpus.pages import PAGES


def page(doc_id: str, title: str, *targets: str, redirect: str | None = None, **other: Any) -> dict[str, Any]:
    links = [{"target": target, "start": i, "end": i + 1} for i, target in enumerate(targets)]
    paragraph = {
        "section_index": 0,
        "section": "",
        "paragraph_index": 0,
        "text": "x" * len(targets),
        "sentences": ["x" * len(targets)],
        "links": links,
        "kind": "prose",
    }
    return {
        "doc_id": doc_id,
        "lang": doc_id[:2],
        "title": title,
        "page_kind": "article",
        "redirect": redirect,
        "dropped": None,
        "paragraphs": [paragraph] if targets else [],
        "paragraphs_dropped": {},
    } | other


PAGES_OF_TWO_WIKIS = [
    page("en:1", "Ash", "Birch", "Oak", "Birk", "Elm", "Nowhere", "Birch", "Gone"),
    page("en:2", "Birch", "Ash"),
    page("en:3", "Birk", redirect="Birch"),
    page("en:4", "Oak", redirect="Birk"),  # to a redirect
    page("en:5", "Elm"),
    page("en:6", "Elm"),  # the same title twice
    page("en:7", "Gone", dropped="truncated"),
    page("it:1", "Nowhere", "Ash", "Nowhere"),
]
EXPECTED = {
    "en:1": ["en:2", None, "en:2", "en:5", None, "en:2", None],
    "en:2": ["en:1"],
    "it:1": [None, "it:1"],
}


@pytest.mark.parametrize("partitions", [1, 3])
def test_links_lead_to_documents(spark: SparkSession, partitions: int) -> None:
    table = spark.createDataFrame(PAGES_OF_TWO_WIKIS, PAGES).repartition(partitions)
    rows = {row.doc_id: row for row in resolve_links(table).collect()}
    assert rows.keys() == EXPECTED.keys()  # the others have no paragraph
    found = {name: row.paragraph.links for name, row in rows.items()}
    assert {name: [link.doc_id for link in links] for name, links in found.items()} == EXPECTED
    assert [link.target for link in found["en:1"]] == ["Birch", "Oak", "Birk", "Elm", "Nowhere", "Birch", "Gone"]
    assert [(link.start, link.end) for link in found["en:2"]] == [(0, 1)]
