import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from contexture.vocabulary import word_vectors
from contexture.vocabulary.word_vectors import WordVectors, align_vectors, read_word_vectors

GLOVE = "the +.5 -1 2e-1\nParis 1E0 2. 3\n. . 4 5 6\nthé 7 8 9\n"
WORDS = ["the", "Paris", ". .", "thé"]
NUMBERS = np.array([[0.5, -1, 0.2], [1, 2, 3], [4, 5, 6], [7, 8, 9]], np.float32)


def write(folder: Path, text: str | bytes, name: str = "vectors.txt") -> Path:
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def binary(words: list[str], numbers: np.ndarray, line_break: bytes, count: int | None = None) -> bytes:
    head = f"{len(words) if count is None else count} {numbers.shape[1]}\n".encode()
    parts = [w.encode() + b" " + struct.pack("<3f", *row) + line_break for w, row in zip(words, numbers, strict=True)]
    return head + b"".join(parts)


def check(result: WordVectors, words: list[str], numbers: np.ndarray) -> None:
    assert result.words == words
    assert result.vectors.dtype == np.float32
    assert np.array_equal(result.vectors, numbers)


@pytest.mark.parametrize("name", ["glove.txt", "glove.txt.gz", "glove.300d"])
@pytest.mark.parametrize("head", ["", "4 3\n"])
@pytest.mark.parametrize("end", ["\n", " \n", "\r\n"])
def test_text(tmp_path: Path, name: str, head: str, end: str) -> None:
    path = write(tmp_path, (head + GLOVE).replace("\n", end), name)
    for limit in (None, 9):
        check(read_word_vectors(path, limit=limit), WORDS, NUMBERS)
    check(read_word_vectors(path, limit=2), WORDS[:2], NUMBERS[:2])


@pytest.mark.parametrize("name", ["google.bin", "google.bin.gz"])
@pytest.mark.parametrize("line_break", [b"\n", b""])
def test_binary(tmp_path: Path, name: str, line_break: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "_MAX_WORD_BYTES", 8)
    # Blanks in the bytes of numbers (0x20202020) do not end a word.
    numbers = np.array([[1, 2, 3], struct.unpack("<3f", b" " * 12), [4, 5, 6]], np.float32)
    path = write(tmp_path, binary(["the", "New_York", "é"], numbers, line_break), name)
    for size in (*range(21, 45), 1 << 22):
        monkeypatch.setattr(word_vectors, "_READ_BYTES", size)
        check(read_word_vectors(path), ["the", "New_York", "é"], numbers)
    check(read_word_vectors(path, limit=2), ["the", "New_York"], numbers[:2])


def test_lines_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "_BLOCK_LINES", 3)
    numbers = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
    lines = [f"w{n} {' '.join(map(repr, row.tolist()))}\n" for n, row in enumerate(numbers)]
    check(read_word_vectors(write(tmp_path, "".join(lines))), [f"w{n}" for n in range(10)], numbers)
    lines[7] = "w7 1 2 x 4\n"
    with pytest.raises(ValueError, match=r"vectors.txt, line 8: 'x' is no number"):
        read_word_vectors(write(tmp_path, "".join(lines)))


def test_the_first_vector_of_a_word_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a 1 2\nb 3 4\na 5 6\na 7 8\nc 9 0\n")
    for lines in (1, 2, 4096):
        monkeypatch.setattr(word_vectors, "_BLOCK_LINES", lines)
        check(read_word_vectors(path), ["a", "b", "c"], np.array([[1, 2], [3, 4], [9, 0]], np.float32))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\nb 1\nc 1 2\n", r"line 2: expected a word and 2 numbers, got 2 fields \('b 1'\); fix or delete"),
        ("a 1 2\nb 1 2 3\n", r"line 2: expected a word and 2 numbers, got 4 fields"),
        ("a 1 2\nb 1  2\n", r"line 2: expected a word and 2 numbers"),
        ("a 1 2 3\nb 1  3\n", r"line 2: '' is no number"),
        ("a 1 2\n\nb 1 2\n", r"line 2: expected a word and 2 numbers, got 0 fields"),
        ("2 2\na 1 2\nb 1 2 3\n", r"line 3: expected a word and 2 numbers"),
        ("a 1 2\n 1 2\n", r"line 2: no word before the numbers"),
        ("a 1 2\nb 1 two\n", r"line 2: 'two' is no number"),
        ("a 1 2\nb 1-2 3\n", r"line 2: '1-2' is no number"),
        ("a 1 2\nb nan 3\n", r"line 2: 'nan' is not finite"),
        ("a 1 2\nb 1 1e99\n", r"line 2: '1e99' is not finite"),
        ("3 2\na 1 2\nb 1 2\n", r"line 1: 3 words announced, but the file has 2"),
        ("1 2\na 1 2\nb 1 2\n", r"line 1: 1 words announced, but the file has 2"),
        ("one\n", r"line 1: expected a word and its numbers, or 'count dimension'"),
        ("", r"vectors.txt: no word vectors"),
    ],
)
def test_broken_text(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        read_word_vectors(write(tmp_path, text))
    assert str(tmp_path / "vectors.txt") in str(raised.value)


def test_broken_binary(tmp_path: Path) -> None:
    whole = binary(["a", "b"], NUMBERS[:2], b"\n")
    for data, message in (
        (whole[:-5], r"word 2 of 2: cut off \(after 1 whole words\)"),
        (binary(["a", "b"], NUMBERS[:2], b"\n", count=3), r"word 3 of 3: cut off"),
        (binary(["a", "b"], NUMBERS[:2], b"\n", count=1), r"more data after the 1 words of its first line"),
        (binary(["a", "b"], np.array([[1, 2, 3], [1, np.inf, 3]]), b"\n"), r"word 2: a number that is not finite"),
        (b"\x00\x01\x02\n" * 9, r"does not begin with 'count dimension'"),
    ):
        with pytest.raises(ValueError, match=message):
            read_word_vectors(write(tmp_path, data, "v.bin"))


def test_truncated_and_missing_files(tmp_path: Path) -> None:
    path = write(tmp_path, GLOVE * 500, "v.txt.gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"v.txt.gz, after word \d+: damaged or cut off"):
        read_word_vectors(path)
    with pytest.raises(FileNotFoundError, match=r"nothing.txt: no such file"):
        read_word_vectors(tmp_path / "nothing.txt")


def test_align_vectors_falls_back_to_lower_case() -> None:
    vectors = WordVectors(["paris", "The", "the", "Us"], np.arange(8, dtype=np.float32).reshape(4, 2))
    vocabulary = {"[UNK]": 0, "Paris": 1, "The": 2, "the": 3, "us": 4}
    expected = [[0, 0], [0, 1], [2, 3], [4, 5], [0, 0], [0, 0]]
    assert align_vectors(vectors, vocabulary, 6).tolist() == expected
