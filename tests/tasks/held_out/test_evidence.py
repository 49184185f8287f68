"""Questions from held-out documents, by hand."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from contexture.tasks.held_out.evidence import CANDIDATE_SCHEMA, KINDS, HeldOutEvidence, HeldOutQuestion
from tests.tasks.held_out.toys import FERRY, PASSAGES, make_evidence, make_paragraph, select_kind

SENTENCES = ["Some boats leave at night for the islands.", "Oil is dear, and wool is not.", "See wool."]
LINKED = [
    make_paragraph("en:ferry", SENTENCES, {"boats": "en:ferry", "Oil": "en:lamp", "wool": "en:wool", "See": "en:wool"}),
    # A page again, a missing page, and a link without a target.
    make_paragraph(
        "en:quay", ["It stands where all the lamps are.", "Five words lead to nothing."], {"lamps": "en:lamp"}
    ),
    make_paragraph("en:quay", ["Two of the pages have gone."], {"pages": "en:gone", "gone": None}),
    # From a document that is not held out.
    make_paragraph("en:wool", ["It comes by ferry every other day."], {"ferry": "en:ferry"}),
]


def candidates(evidence: HeldOutEvidence) -> list[dict[str, Any]]:
    table = pq.read_table(evidence.candidates)
    assert table.schema == CANDIDATE_SCHEMA
    return list(table.to_pylist())


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> HeldOutEvidence:
    return make_evidence(tmp_path_factory.mktemp("evidence"), linked=LINKED)


def test_candidates_are_all_passages_and_some_rests(evidence: HeldOutEvidence) -> None:
    """Headings are a part of the text."""
    rows = candidates(evidence)
    assert [row["id"] for row in rows[: evidence.passages]] == [row[0] for row in PASSAGES]
    assert rows[0]["text"] == FERRY
    assert rows[5]["text"] == "Oil\nLamps burn yellow oil. The oil comes from the far islands."
    assert (evidence.passages, evidence.documents, evidence.held_out) == (9, 4, 2)
    assert evidence.unknown == frozenset()


def test_heading_questions(evidence: HeldOutEvidence) -> None:
    """Sections with the same heading are merged. Their passages are candidates without the heading."""
    questions, rows = select_kind(evidence, "headings"), candidates(evidence)
    assert {question.text: question.answers for question in questions} == {
        "Ferry Crew": {"en:ferry#3"},
        "Ferry Freight": {"en:ferry#1", "en:ferry#2", "en:ferry#4"},
        "Quay Gulls": {"en:quay#1"},
        "Quay Stones": {"en:quay#0"},
    }
    assert sorted(row for question in questions for row in question.rest_rows) == list(range(9, 15))
    for question in questions:
        assert {PASSAGES[row][0] for row in question.hidden_rows} == question.answers
        rests = [rows[row] for row in question.rest_rows]
        assert {rest["id"]: rest["text"] for rest in rests} == {
            row[0]: row[3] for row in PASSAGES if row[0] in question.answers
        }
        assert not question.by_document and question.source == ""


def test_sentence_questions(evidence: HeldOutEvidence) -> None:
    rows, questions = candidates(evidence), select_kind(evidence, "sentences")
    # Other passages have too few words, or are not held out.
    sources = [PASSAGES[row][0] for question in questions for row in question.hidden_rows]
    assert sorted(sources) == ["en:ferry#0", "en:ferry#1", "en:ferry#4", "en:quay#0"]
    assert sorted(row for question in questions for row in question.rest_rows) == [15, 16, 17, 18] and len(rows) == 19
    for question in questions:
        passage, rest = (rows[row] for (row,) in (question.hidden_rows, question.rest_rows))
        assert question.answers == {passage["id"]} and not question.by_document and question.source == ""
        assert rest == passage | {"text": rest["text"]}
        assert len(question.text.split()) >= 5 and question.text in passage["text"]
        assert rest["text"].split() == passage["text"].replace(question.text, "").split()


@pytest.mark.parametrize(
    ("text", "halves"),
    [
        (
            "Grey gulls steal what falls from open bales of wool.",
            {"Grey gulls steal what falls", "from open bales of wool."},
        ),
        ("灰色的海鸥偷走从敞开的羊毛包里掉下来的东西", {"灰色的海鸥偷走从敞开", "的羊毛包里掉下来的东西"}),
        ("Gulls steal what falls from open bales.", None),
        ("Grey gulls steal what falls from open bales. Grey gulls steal what falls.", None),
    ],
)
def test_single_sentences_give_halves(text: str, halves: set[str] | None, tmp_path: Path) -> None:
    """Each half must have five words or characters."""
    evidence = make_evidence(tmp_path, rows=[("zh:quay#0", "Quay", "", text, 0, True)])
    rows, questions = candidates(evidence), select_kind(evidence, "halves")
    parts = [{question.text, *(rows[row]["text"] for row in question.rest_rows)} for question in questions]
    assert parts == ([halves] if halves else [])


def test_halves_are_for_texts_without_other_questions(tmp_path: Path) -> None:
    single = [
        (f"en:gull#{n}", "Gull", "", f"Gull {n} steals what falls from open bales of wool.", 0, True) for n in range(9)
    ]
    sections = [(f"en:quay#{n}", "Quay", f"Stone {n}", "Of grey stones.", n, True) for n in range(10)]
    assert len(select_kind(make_evidence(tmp_path / "few", rows=[*single, *sections[1:]]), "halves")) == 9
    assert select_kind(make_evidence(tmp_path / "many", rows=[*single, *sections]), "halves") == []


def test_link_questions(evidence: HeldOutEvidence) -> None:
    """Links to the own page or a missing page do not count, and short sentences are skipped."""
    assert {question[1:] for question in select_kind(evidence, "links")} == {
        (SENTENCES[1], frozenset({"en:lamp", "en:wool"}), True, frozenset(), frozenset(), "en:ferry"),
        ("It stands where all the lamps are.", frozenset({"en:lamp"}), True, frozenset(), frozenset(), "en:quay"),
    }


def test_links_belong_to_the_sentence_that_contains_them(tmp_path: Path) -> None:
    """One sentence is repeated."""
    sentences = ["All boats go by the quay.", "All boats go by the quay.", "The wool goes by the quay, too."]
    row = make_paragraph("en:ferry", sentences, {"wool": "en:wool"})
    (question,) = select_kind(make_evidence(tmp_path, linked=[row]), "links")
    assert question.text == sentences[2]


def test_the_number_of_questions_is_limited(tmp_path: Path, evidence: HeldOutEvidence) -> None:
    few = make_evidence(tmp_path / "few", linked=LINKED, questions=1)
    for kind in KINDS[:3]:  # without halves
        assert [question[:4] for question in select_kind(few, kind)] == [select_kind(evidence, kind)[0][:4]]
    (section,) = select_kind(few, "headings")
    assert len(candidates(few)) == len(PASSAGES) + len(section.answers) + 1


def test_questions_do_not_depend_on_the_order_of_rows(tmp_path: Path, evidence: HeldOutEvidence) -> None:
    def by_texts(evidence: HeldOutEvidence) -> list[tuple[Any, ...]]:
        def texts(part: frozenset[int]) -> set[tuple[str, ...]]:
            return {tuple(rows[row].values()) for row in part}

        rows = candidates(evidence)
        return [
            (*question[:4], texts(question.hidden_rows), texts(question.rest_rows)) for question in evidence.questions
        ]

    parts = [slice(5, None), slice(0, 5)]
    other = make_evidence(tmp_path / "other", linked=LINKED[::-1], rows=PASSAGES[::-1], parts=parts)
    assert by_texts(other) == by_texts(evidence)
    assert [row["id"] for row in candidates(other)[:9]] != [row["id"] for row in candidates(evidence)[:9]]


def test_without_held_out_documents_there_are_only_user_questions(tmp_path: Path) -> None:
    rows = [(*row[:-1], False) for row in PASSAGES]
    evidence = make_evidence(tmp_path, [("who?", "lamp")], rows, LINKED)
    assert [question.kind for question in evidence.questions] == ["questions"]
    assert (evidence.held_out, evidence.documents, len(candidates(evidence))) == (0, 4, 9)


def test_a_users_questions(tmp_path: Path) -> None:
    """Answers are ids with or without the language, titles or passages, of any documents."""
    user_rows = [
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
    evidence = make_evidence(tmp_path, user_rows)
    assert select_kind(evidence, "questions") == [
        HeldOutQuestion("questions", text, frozenset(answers), by_document)
        for text, answers, by_document in (
            ("by id", {"en:lamp"}, True),
            ("by name", {"en:wool"}, True),
            ("by title", {"en:quay"}, True),
            ("by passage", {"en:ferry#3", "en:lamp#0"}, False),
            ("by both", {"en:ferry", "en:lamp"}, True),
            ("known in part", {"en:lamp"}, True),
        )
    ]
    assert evidence.unknown == {"nowhere", "lost"}


def test_names_of_tickets_and_of_several_documents(tmp_path: Path) -> None:
    """A document's name may look like a passage's; a title may belong to several documents."""
    rows = [(f"en:{name}#0", "Notes", "", "Some text.", 0, False) for name in ("ticket#12", "b")]
    user_rows = [("paper?", "ticket#12"), ("which?", "en:ticket#12#0"), ("where?", "Notes")]
    assert [question[2:4] for question in make_evidence(tmp_path, user_rows, rows).questions] == [
        ({"en:ticket#12"}, True),
        ({"en:ticket#12#0"}, False),
        ({"en:ticket#12", "en:b"}, True),
    ]


def test_scripts_without_spaces_have_questions(tmp_path: Path) -> None:
    sentences = "古い船は毎朝早く島へ行き夕方になると港に戻ります。", "港の灯は夜になると黄色い油で静かに燃えています。"
    (question,) = make_evidence(tmp_path, rows=[("ja:島#0", "島", "", "".join(sentences), 0, True)]).questions
    assert question.kind == "sentences" and question.text in sentences
