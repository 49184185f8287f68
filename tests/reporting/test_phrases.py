from pathlib import Path

from contexture.reporting.phrases import all_of, kept_out, named, within_sentence


def test_many_files_are_told_as_how_many_and_the_first_three() -> None:
    assert named(["a/b.txt", Path("c.txt")]) == "b.txt, c.txt"
    assert named([f"novels/{n}.txt" for n in range(7000)]) == "0.txt, 1.txt, 2.txt … (7,000 files)"
    assert named([]) == ""


def test_lists_and_capitals() -> None:
    assert [all_of(names) for names in ([], ["a"], ["a", "b", "c"])] == ["", "a", "a, b and c"]
    assert [within_sentence(label) for label in ("Word average", "BM25", "MLM + ICT")] == [
        "word average",
        "BM25",
        "MLM + ICT",
    ]


def test_what_was_kept_out_of_the_text() -> None:
    assert kept_out(None) == "The documents that questions are about were not kept out of the text."
    found = {"tasks": "answer_selection", "documents": 12, "paragraphs": 1300, "missing": {}}
    said = "12 documents (1,300 paragraphs) were kept out of the text for answer_selection."
    assert kept_out(found) == said
    lacking = "Nothing could be kept out of the text for retrieval: the files were missing."
    assert kept_out(found | {"missing": {"retrieval": "not here"}}) == f"{said} {lacking}"
    assert kept_out(found | {"tasks": "", "missing": {"retrieval": "not here"}}) == lacking
