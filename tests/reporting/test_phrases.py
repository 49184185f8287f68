from pathlib import Path

from contexture.reporting.phrases import describe_held_out, join_names, list_files, lower_first


def test_many_files_are_shown_as_first_three_and_count() -> None:
    assert list_files(["a/b.txt", Path("c.txt")]) == "b.txt, c.txt"
    assert list_files([f"novels/{n}.txt" for n in range(7000)]) == "0.txt, 1.txt, 2.txt … (7,000 files)"
    assert list_files([]) == ""
    assert list_files(["/a/en/texts", "/a/fr/texts", "wiki.xml"]) == "en/texts, fr/texts, wiki.xml"


def test_lists_and_capitals() -> None:
    assert [join_names(names) for names in ([], ["a"], ["a", "b", "c"])] == ["", "a", "a, b and c"]
    assert [lower_first(label) for label in ("Word average", "BM25", "MLM + ICT")] == [
        "word average",
        "BM25",
        "MLM + ICT",
    ]


def test_held_out_documents_are_described() -> None:
    assert describe_held_out(None) == "Evaluation documents are not excluded from the text."
    evaluation = {"tasks": "answer_selection", "documents": 12, "paragraphs": 1300, "missing": {}}
    excluded = "12 documents (1,300 paragraphs) are excluded from the text for answer_selection."
    assert describe_held_out(evaluation) == excluded
    missing = "No documents are excluded for retrieval: the files are missing."
    assert describe_held_out(evaluation | {"missing": {"retrieval": "not here"}}) == f"{excluded} {missing}"
    assert describe_held_out(evaluation | {"tasks": "", "missing": {"retrieval": "not here"}}) == missing
