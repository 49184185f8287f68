from pathlib import Path

from contexture.reporting.phrases import describe_held_out, join_names, list_files, lower_first


def test_many_files_are_told_as_how_many_and_the_first_three() -> None:
    assert list_files(["a/b.txt", Path("c.txt")]) == "b.txt, c.txt"
    assert list_files([f"novels/{n}.txt" for n in range(7000)]) == "0.txt, 1.txt, 2.txt … (7,000 files)"
    assert list_files([]) == ""


def test_lists_and_capitals() -> None:
    assert [join_names(names) for names in ([], ["a"], ["a", "b", "c"])] == ["", "a", "a, b and c"]
    assert [lower_first(label) for label in ("Word average", "BM25", "MLM + ICT")] == [
        "word average",
        "BM25",
        "MLM + ICT",
    ]


def test_what_was_kept_out_of_the_text() -> None:
    assert describe_held_out(None) == "The documents that questions are about were not kept out of the text."
    found = {"tasks": "answer_selection", "documents": 12, "paragraphs": 1300, "missing": {}}
    said = "12 documents (1,300 paragraphs) were kept out of the text for answer_selection."
    assert describe_held_out(found) == said
    lacking = "Nothing could be kept out of the text for retrieval: the files were missing."
    assert describe_held_out(found | {"missing": {"retrieval": "not here"}}) == f"{said} {lacking}"
    assert describe_held_out(found | {"tasks": "", "missing": {"retrieval": "not here"}}) == lacking
