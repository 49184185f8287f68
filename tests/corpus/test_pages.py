"""Tables of exports on Spark: rows, counts, drops, and the same tables for any number of cores and splits."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from contexture.corpus import pages as corpus
from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import protocol
from contexture.corpus.sources.mediawiki import read_page_rows
from contexture.corpus.sources.protocol import add_sentences, document_row, empty_row
from contexture.corpus.sources.records import RawRecord
from contexture.text.mediawiki import Site
from contexture.text.paragraphs import Link, Paragraph, Parsed
from tests.corpus.make import (
    HEAD,
    TAIL,
    find_exports,
    make_article,
    make_export,
    make_page,
    partition_rows,
    write_compressed,
    write_multistream,
)

CONFIG = CorpusConfig(min_characters=10, files=3)

MIXED = [
    make_article(1),
    make_page(2, "Old harbour", "#REDIRECT [[harbour 1#x]]", redirect="harbour 1#x"),
    make_page(3, "Talk:Harbour 1", "A talk about the harbour.", ns=1),
    make_page(4, "Talk:Old", "#REDIRECT [[Talk:Harbour 1]]", ns=1, redirect="Talk:Harbour 1"),
    make_page(5, "Numbers", "* [[one]]\n* two\n\nShort.\n"),
    make_page(6, "Broken", "The page is broken.").replace("broken.", "broken & lost <"),
    make_page(7, "Deep", "{{" * 10_000 + "The text after ten thousand braces. It stays."),
    make_page(8, "Bomb", "The text.").replace("The text.", "&lol9;"),
    make_page(9, "Twice", "The older revision of it.", revision=10),
    make_page(9, "Twice", "The newer revision of it, with [[a]] link. Two sentences.", revision=11),
    make_page(9, "Twice", "The oldest revision of it.", revision=2),
    make_page(10, "Κάλλιστον", "Ένα [[Λιμάνι|λιμάνι]]α με 𝔘nicode — 船 εδώ. Τέλος."),
    "  <page>\n    <title>Left &amp; open</title>\n    <ns>0</ns>\n    <id>11</id>\n    <revision><id>1</id><text>cut",
    make_article(12),
    make_page(13, "List of harbours", "These are all the harbours of the world."),
    make_page(14, "Harbour (disambiguation)", "The word harbour can mean many things.\n{{disambiguation}}"),
]


def collect_rows(frame: DataFrame) -> dict[str, dict[str, Any]]:
    return {row.doc_id: row.asDict(recursive=True) for row in frame.collect() if row.dropped != "duplicate"}


@pytest.fixture(scope="module")
def mixed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = write_multistream(
        tmp_path_factory.mktemp("mixed") / "mixed.xml.bz2",
        HEAD.encode(),
        "".join(MIXED[:5]).encode(),
        "".join(MIXED[5:]).encode() + TAIL.encode(),
    )
    return corpus.read_pages(spark, find_exports(str(path)), CONFIG).cache()


@pytest.fixture(scope="module")
def mixed_rows(mixed: DataFrame) -> dict[str, dict[str, Any]]:
    return collect_rows(mixed)


@pytest.fixture(scope="module")
def mixed_partitions(mixed: DataFrame) -> list[list[dict[str, Any]]]:
    return partition_rows(mixed)


def test_an_article(mixed: DataFrame, mixed_rows: dict[str, dict[str, Any]]) -> None:
    assert mixed.schema == StructType.fromDDL(corpus.PAGES_SCHEMA)
    result = mixed_rows["en:1"]
    assert (result["lang"], result["title"], result["redirect"], result["dropped"]) == ("en", "Harbour 1", None, None)
    first, second = result["paragraphs"]
    assert (first["section_index"], first["section"], first["paragraph_index"]) == (0, "", 0)
    assert (second["section_index"], second["section"], second["paragraph_index"]) == (1, "History", 1)
    assert first["sentences"][0] == "Harbour 1 has boat number 0, painted in 0 colours."
    assert [second["text"][link["start"] : link["end"]] for link in second["links"]] == ["Fen", "boat", "boat", "boat"]
    assert [link["target"] for link in second["links"]] == ["Fen", "Boat", "Boat", "Boat"]


def test_the_other_pages(mixed: DataFrame, mixed_rows: dict[str, dict[str, Any]]) -> None:
    """Reasons of drops, kinds of pages, offsets in characters, and the newest of several revisions."""
    result = mixed_rows
    assert {doc_id: row["dropped"] for doc_id, row in result.items() if row["dropped"]} == {
        "en:3": "namespace",
        "en:4": "namespace",
        "en:5": "empty",
        "en:6": "malformed_xml",
        "en:8": "malformed_xml",
        "en:11": "truncated",
    }
    assert {doc_id for doc_id, row in result.items() if row["redirect"] is not None} == {"en:2"}
    assert [result[doc_id]["title"] for doc_id in ("en:6", "en:11")] == ["Broken", "Left & open"]
    assert result["en:5"]["paragraphs_dropped"] == {"list_item": 2, "too_short": 1}
    assert result["en:7"]["paragraphs"][0]["sentences"] == ["The text after ten thousand braces.", "It stays."]
    kinds = {doc_id: row["page_kind"] for doc_id, row in result.items() if row["page_kind"] != "article"}
    assert kinds == {"en:13": "list", "en:14": "disambiguation"}
    (paragraph,) = result["en:10"]["paragraphs"]
    (link,) = paragraph["links"]
    assert paragraph["text"][link["start"] : link["end"]] == "λιμάνια"
    assert paragraph["sentences"] == ["Ένα λιμάνια με 𝔘nicode — 船 εδώ.", "Τέλος."]
    assert result["en:9"]["paragraphs"][0]["text"].startswith("The newer")
    again = mixed.where("dropped = 'duplicate'").collect()
    assert [(row.doc_id, row.paragraphs, row.paragraphs_dropped) for row in again] == [("en:9", [], {})] * 2


def test_report(mixed: DataFrame) -> None:
    report = corpus.count_pages(mixed, CONFIG)
    assert report == {
        "pages_in": 16,
        "pages_out": 7,
        "redirects": 1,
        "paragraphs_found": 7,
        "dropped": {"duplicate": 2, "empty": 1, "malformed_xml": 2, "namespace": 2, "truncated": 1},
        "paragraphs_dropped": {"list_item": 2, "page_kind": 2, "too_short": 1},
    }


def test_paragraphs(mixed: DataFrame) -> None:
    frame = corpus.extract_paragraphs(mixed, CONFIG)
    fields = "doc_id title lang section_index section paragraph_index text sentences links kind"
    assert frame.schema.fieldNames() == fields.split()
    parts = partition_rows(frame)
    assert len(parts) == CONFIG.files
    for part in parts:
        assert part == sorted(part, key=lambda row: (row["doc_id"], row["paragraph_index"]))
    documents = sorted({row["doc_id"] for part in parts for row in part})
    assert documents == ["en:1", "en:10", "en:12", "en:7", "en:9"]  # no list, no disambiguation
    assert partition_rows(corpus.select_redirects(mixed)) == [
        [{"lang": "en", "title": "Old harbour", "target": "Harbour 1"}]
    ]


@pytest.mark.parametrize("suffix", [".xml", ".xml.gz", ".xml.xz", ".xml.bz2"])
def test_the_splits_do_not_change_the_table(
    spark: SparkSession,
    mixed_partitions: list[list[dict[str, Any]]],
    tmp_path: Path,
    suffix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "_MIN_SPLIT_BYTES", 100)
    path = write_compressed(tmp_path / f"mixed{suffix}", make_export(*MIXED))
    exports = find_exports(str(path))
    assert len(protocol.plan_splits(exports, spark.sparkContext.defaultParallelism)) > 1
    assert partition_rows(corpus.read_pages(spark, exports, CONFIG)) == mixed_partitions


def test_pages_of_several_files_and_languages(spark: SparkSession, tmp_path: Path) -> None:
    write_compressed(
        tmp_path / "a.xml.gz",
        make_export(make_article(1), make_page(2, "B", "The text of the first file.", revision=7)),
    )
    write_compressed(
        tmp_path / "b.xml.xz",
        make_export(make_page(2, "B", "The text of the second file.", revision=7), make_article(3)),
    )
    greek = make_export(make_page(2, "Β", "Το λιμάνι είναι παλιό, δηλ. αρχαίο. Πού είναι; Εδώ.")).replace(
        b'lang="en"', b'lang="el"'
    )
    write_compressed(tmp_path / "c.xml", greek)
    result = collect_rows(corpus.read_pages(spark, find_exports(str(tmp_path)), CONFIG))
    assert sorted(result) == ["el:2", "en:1", "en:2", "en:3"]
    assert result["en:2"]["paragraphs"][0]["text"] == "The text of the first file."
    sentences = ["Το λιμάνι είναι παλιό, δηλ. αρχαίο.", "Πού είναι;", "Εδώ."]
    assert result["el:2"]["paragraphs"][0]["sentences"] == sentences


def test_an_export_without_pages(spark: SparkSession, tmp_path: Path) -> None:
    pages = corpus.read_pages(spark, find_exports(str(write_compressed(tmp_path / "a.xml", make_export()))), CONFIG)
    none = dict.fromkeys(("pages_in", "pages_out", "redirects", "paragraphs_found"), 0)
    assert corpus.count_pages(pages, CONFIG) == none | {"dropped": {}, "paragraphs_dropped": {}}


PIECES = st.sampled_from(
    [b"<page>", b"</page>", b"<title>a</title>", b"<id>5</id>", b"<id>x</id>", b"<ns>0</ns>", b"\xff", b"&a;"]
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(PIECES | st.binary(max_size=9), max_size=12).map(b"".join),
    st.sampled_from(["whole", "truncated", "too_large"]),
)
def test_any_record_gives_a_row(xml: bytes, state: Any) -> None:
    result = list(read_page_rows(RawRecord(xml, 0, state), Site("en", "", {}), 1))
    assert len(result) == max(1, xml.count(b"<page>"))
    assert all(row["doc_id"].startswith("en:") and len(row["doc_id"]) > 3 for row in result)
    assert all(row["dropped"] for row in result[:-1])


def linking_page(doc_id: str, title: str, *targets: str, redirect: str | None = None, **other: Any) -> dict[str, Any]:
    links = [Link(target, i, i + 1) for i, target in enumerate(targets)]
    parsed = Parsed(1, [Paragraph(0, "", 0, "x" * len(targets), links)] if targets else [])
    row = add_sentences(document_row(empty_row(doc_id[3:], doc_id[:2], title), parsed), str.split)
    return row | {"redirect": redirect, "dropped": None, "paragraphs_dropped": {}} | other


PAGES_OF_TWO_WIKIS = [
    linking_page("en:1", "Ash", "Birch", "Oak", "Birk", "Elm", "Nowhere", "Birch", "Gone"),
    linking_page("en:2", "Birch", "Ash"),
    linking_page("en:3", "Birk", redirect="Birch"),
    linking_page("en:4", "Oak", redirect="Birk"),  # to a redirect
    linking_page("en:5", "Elm"),
    linking_page("en:6", "Elm"),  # the same title twice
    linking_page("en:7", "Gone", dropped="truncated"),
    linking_page("it:1", "Nowhere", "Ash", "Nowhere"),
]
EXPECTED = {"en:1": ["en:2", None, "en:2", "en:5", None, "en:2", None], "en:2": ["en:1"], "it:1": [None, "it:1"]}


@pytest.mark.parametrize("partitions", [1, 3])
def test_links_lead_to_documents(spark: SparkSession, partitions: int) -> None:
    frame = spark.createDataFrame(PAGES_OF_TWO_WIKIS, corpus.PAGES_SCHEMA).repartition(partitions)
    rows = {row.doc_id: row for row in corpus.resolve_links(frame).collect()}
    assert rows.keys() == EXPECTED.keys()  # the others have no paragraph
    result = {name: row.paragraph.links for name, row in rows.items()}
    assert {name: [link.doc_id for link in links] for name, links in result.items()} == EXPECTED
    assert [link.target for link in result["en:1"]] == ["Birch", "Oak", "Birk", "Elm", "Nowhere", "Birch", "Gone"]
    assert [(link.start, link.end) for link in result["en:2"]] == [(0, 1)]


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
