from pathlib import Path

from contexture.reporting.phrases import all_of, named, within_sentence


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
