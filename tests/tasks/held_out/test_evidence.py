"""Questions of held-out documents, by hand."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from contexture.retrieval.config import Bm25Config
from contexture.tasks.held_out.config import HeldOutSettings
from contexture.tasks.held_out.evidence import CANDIDATE, KINDS, Evidence, Question
from tests.tasks.held_out.toys import PASSAGES, gathered, of_kind, paragraph, passages

SENTENCES = ["Some boats leave at night for the islands.", "Oil is dear, and wool is not.", "See wool."]
LINKED = [
    paragraph("en:ferry", SENTENCES, {"boats": "en:ferry", "Oil": "en:lamp", "wool": "en:wool", "See": "en:wool"}),
    # The same page once more, a page that is not there, one that leads to nothing.
    paragraph("en:quay", ["It stands where all the lamps are.", "Five words lead to nothing."], {"lamps": "en:lamp"}),
    paragraph("en:quay", ["Two of the pages have gone."], {"pages": "en:gone", "gone": None}),
    # Of a document that was learned from.
    paragraph("en:wool", ["It comes by ferry every other day."], {"ferry": "en:ferry"}),
]


def candidates(evidence: Evidence) -> list[dict[str, Any]]:
    table = pq.read_table(evidence.candidates)
    assert table.schema == CANDIDATE
    return list(table.to_pylist())


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    return gathered(tmp_path, linked=LINKED)


def test_all_passages_are_candidates_with_some_rests_behind_them(evidence: Evidence) -> None:
    rows = candidates(evidence)
    assert [row["id"] for row in rows[: evidence.passages]] == [row[0] for row in PASSAGES]
    assert [row["text"] for row in rows[: evidence.passages]] == [row[3] for row in PASSAGES]
    assert (evidence.passages, evidence.documents, evidence.held_out) == (9, 4, 2)
    assert evidence.unknown == frozenset() and evidence.words == Bm25Config(1.5, 0.75, "english")


def test_a_heading_asks_for_the_passages_of_its_section(evidence: Evidence) -> None:
    """That of two sections of one name, for those of both."""
    assert {(one.text, one.answers) for one in of_kind(evidence, "headings")} == {
        ("Ferry Freight", frozenset({"en:ferry#1", "en:ferry#2", "en:ferry#4"})),
        ("Ferry Crew", frozenset({"en:ferry#3"})),
        ("Quay Stones", frozenset({"en:quay#0"})),
        ("Quay Gulls", frozenset({"en:quay#1"})),
    }
    assert len(of_kind(evidence, "headings")) == 4
    assert all(one[3:] == (False, -1, -1, "") for one in of_kind(evidence, "headings"))


def test_a_sentence_asks_for_the_rest_of_its_passage(evidence: Evidence) -> None:
    rows, found = candidates(evidence), of_kind(evidence, "sentences")
    # The others have one sentence, or none of five words, or were learned from.
    own = [PASSAGES[one.own][0] for one in found]
    assert sorted(own) == ["en:ferry#0", "en:ferry#1", "en:ferry#4", "en:quay#0"]
    assert sorted(one.rest for one in found) == [9, 10, 11, 12] and len(rows) == 13
    for one in found:
        passage, rest = rows[one.own], rows[one.rest]
        assert one.answers == {passage["id"]} and not one.by_document and one.source == ""
        assert {name: rest[name] for name in ("id", "title", "doc_id")} == {
            name: passage[name] for name in ("id", "title", "doc_id")
        }
        assert len(one.text.split()) >= 5 and one.text in passage["text"]
        assert rest["text"].split() == passage["text"].replace(one.text, "").split()


def test_a_sentence_with_links_asks_for_their_pages(evidence: Evidence) -> None:
    """Neither for its own page, nor one that is not there; a sentence of three words asks for nothing."""
    assert {one[1:] for one in of_kind(evidence, "links")} == {
        (SENTENCES[1], frozenset({"en:lamp", "en:wool"}), True, -1, -1, "en:ferry"),
        ("It stands where all the lamps are.", frozenset({"en:lamp"}), True, -1, -1, "en:quay"),
    }


def test_a_link_belongs_to_the_sentence_that_it_stands_in(tmp_path: Path) -> None:
    """Where a sentence stands twice, and begins like another."""
    said = ["All boats go by the quay.", "All boats go by the quay.", "The wool goes by the quay, too."]
    row = paragraph("en:ferry", said, {"wool": "en:wool"})
    (one,) = of_kind(gathered(tmp_path, linked=[row]), "links")
    assert one.text == said[2]


def test_no_more_than_are_asked_for(tmp_path: Path, evidence: Evidence) -> None:
    few = gathered(tmp_path / "few", linked=LINKED, questions=1)
    for kind in KINDS[:3]:
        assert of_kind(few, kind) == of_kind(evidence, kind)[:1]
    assert len(candidates(few)) == 10


def test_the_order_of_the_rows_does_not_matter(tmp_path: Path, evidence: Evidence) -> None:
    def told(found: Evidence) -> list[tuple[Any, ...]]:
        rows = candidates(found)
        return [
            (*one[:4], rows[one.own]["id"] if one.own >= 0 else "", rows[one.rest]["text"] if one.rest >= 0 else "")
            for one in found.questions
        ]

    parts = [slice(5, None), slice(0, 5)]
    other = gathered(tmp_path / "other", linked=LINKED[::-1], rows=PASSAGES[::-1], parts=parts)
    assert told(other) == told(evidence)
    assert [row["id"] for row in candidates(other)[:9]] != [row["id"] for row in candidates(evidence)[:9]]


def test_where_nothing_is_held_out_nothing_is_asked(tmp_path: Path) -> None:
    rows = [(*row[:-1], False) for row in PASSAGES]
    found = gathered(tmp_path, rows=rows, linked=LINKED, own=[("who?", "lamp")])
    assert [one.kind for one in found.questions] == ["questions"]
    assert (found.held_out, found.documents, len(candidates(found))) == (0, 4, 9)


def test_questions_of_ones_own(tmp_path: Path) -> None:
    """By id with and without the language, by title, by passage; whether or not the documents are held out."""
    own = [
        ("by id", "en:lamp"),
        ("by name", "wool"),
        ("by title", "Quay"),
        ("by passage", "en:ferry#3"),
        ("by passage", "en:lamp#0"),
        ("by both", "en:ferry#3"),
        ("by both", "lamp"),
        ("known in part", "nowhere"),
        ("known in part", "lamp"),
        ("unknown", "lost"),
    ]
    found = gathered(tmp_path, own)
    assert of_kind(found, "questions") == [
        Question("questions", "by id", frozenset({"en:lamp"}), True),
        Question("questions", "by name", frozenset({"en:wool"}), True),
        Question("questions", "by title", frozenset({"en:quay"}), True),
        Question("questions", "by passage", frozenset({"en:ferry#3", "en:lamp#0"}), False),
        Question("questions", "by both", frozenset({"en:ferry", "en:lamp"}), True),
        Question("questions", "known in part", frozenset({"en:lamp"}), True),
    ]
    assert found.unknown == {"nowhere", "lost"}


def test_a_document_may_be_called_like_a_passage(tmp_path: Path) -> None:
    """Tickets are."""
    rows = [("en:ticket#12#0", "", "", "The printer is out of paper.", 0, False)]
    found = gathered(tmp_path, [("paper?", "ticket#12"), ("which?", "en:ticket#12#0")], rows=rows)
    assert [(one.answers, one.by_document) for one in found.questions] == [
        (frozenset({"en:ticket#12"}), True),
        (frozenset({"en:ticket#12#0"}), False),
    ]


def test_titles_that_several_documents_have_name_them_all(tmp_path: Path) -> None:
    rows = [(f"en:{name}#0", "Notes", "", "Some text.", 0, False) for name in "ab"]
    (one,) = gathered(tmp_path, [("where?", "Notes")], rows=rows).questions
    assert one.answers == {"en:a", "en:b"}


def test_scripts_that_put_no_spaces_have_questions_too(tmp_path: Path) -> None:
    sentences = "古い船は毎朝早く島へ行き夕方になると港に戻ります。", "港の灯は夜になると黄色い油で静かに燃えています。"
    (one,) = gathered(tmp_path, rows=[("ja:島#0", "島", "", "".join(sentences), 0, True)]).questions
    assert one.kind == "sentences" and one.text in sentences


def test_function_words_are_those_of_the_main_language(tmp_path: Path) -> None:
    def read(name: str, *languages: str) -> Bm25Config:
        rows = [(f"{lang}:a{number}#0", "", "", "x", 0, False) for number, lang in enumerate(languages)]
        return HeldOutSettings(k1=2.0, b=0.5).search_words(passages(tmp_path / name, rows))

    assert read("german", "en", "de", "de") == Bm25Config(2.0, 0.5, "german")
    assert read("unknown", "qaa", "qaa", "en").stop_words is None
    assert read("none").stop_words is None
