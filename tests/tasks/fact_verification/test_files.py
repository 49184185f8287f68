"""FEVER's formats and invalid files."""

import gzip
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from contexture.tasks.fact_verification.files import (
    PUBLISHED,
    Claim,
    Evidence,
    detokenize_fever,
    find_wiki_sentences,
    format_title,
    read_claims,
)
from contexture.tasks.missing import BenchmarkMissing

TEXTS = {"claim": "The X is red .", "label": "REFUTES", "evidence": ["It is -LRB- blue -RRB- .", "`` Red '' is not ."]}
RELEASE = {
    "id": 7, "verifiable": "VERIFIABLE", "label": "SUPPORTS", "claim": "Soul Food is a film.",
    "evidence": [[[1, 2, "Soul_Food_-LRB-film-RRB-", 0], [1, 2, "Fox", 3]], [[4, 5, "Soul_Food_-LRB-film-RRB-", 0]]],
}  # fmt: skip
UNDECIDED = {
    "id": 8, "verifiable": "NOT VERIFIABLE", "label": "NOT ENOUGH INFO", "claim": "No.",
    "evidence": [[[9, None, None, None]]],
}  # fmt: skip
RETRIEVED = {
    "id": 9, "claim": "He played .", "label": "NOT ENOUGH INFO",
    "evidence": [["Colin_LRBplayerRRB", 6, "He LRB LSB k RSB RRB stayed .", 0.97], ["Colin", 1, "He left .", -1]],
}  # fmt: skip


def put(path: Path, *rows: Any) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def changed(text: str) -> bytes:
    """Return gzip data with an invalid block type."""
    data = bytearray(gzip.compress(text.encode(), mtime=0))
    data[10] |= 0b111
    return bytes(data)


def test_texts(tmp_path: Path) -> None:
    claims, form = read_claims(put(tmp_path / "a.jsonl", "", TEXTS, TEXTS | {"id": "own", "evidence": []}))
    assert form == "texts"
    evidence = (Evidence("", 0, "It is ( blue ) ."), Evidence("", 1, '" Red " is not .'))
    assert claims == [Claim("2", "The X is red .", "REFUTES", evidence), Claim("own", "The X is red .", "REFUTES", ())]


def test_release_evidence_is_unique_and_ordered(tmp_path: Path) -> None:
    claims, form = read_claims(put(tmp_path / "a.jsonl", RELEASE, UNDECIDED))
    assert form == "release"
    evidence = (Evidence("Soul_Food_-LRB-film-RRB-", 0, None), Evidence("Fox", 3, None))
    assert claims == [
        Claim("7", "Soul Food is a film.", "SUPPORTS", evidence), Claim("8", "No.", "NOT ENOUGH INFO", ())
    ]  # fmt: skip


def test_retrieved_evidence_without_hyphens(tmp_path: Path) -> None:
    file = tmp_path / "bert.json.gz"
    file.write_bytes(gzip.compress(json.dumps(RETRIEVED).encode()))
    [claim], form = read_claims(file)
    assert form == "retrieved"
    assert claim.evidence == (Evidence("Colin (player)", 6, "He ( [ k ] ) stayed ."), Evidence("Colin", 1, "He left ."))


def test_tokens_become_characters() -> None:
    assert detokenize_fever("-LSB- a -RSB- -LCB- b -RCB- 1-COLON-2 `` c ''  d") == '[ a ] { b } 1:2 " c " d'
    assert detokenize_fever("LRB ALRBY COLONEL") == "LRB ALRBY COLONEL"
    assert detokenize_fever("LRB ALRBY COLONEL", bare=True) == "( ALRBY COLONEL"
    assert format_title("Star_Trek-COLON-_Picard") == "Star Trek: Picard"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", r"line 2: invalid JSON \("),
        ("[" * 200_000, r"line 2: invalid JSON \("),
        (TEXTS | {"claim": "half \ud800"}, r"line 2: invalid JSON \("),
        ("[1]", "line 2: not a JSON object with a text `claim`"),
        (TEXTS | {"claim": " "}, "line 2: not a JSON object with a text `claim`"),
        ({key: TEXTS[key] for key in ("claim", "evidence")}, "line 2: no label; FEVER's test sets have none"),
        (TEXTS | {"label": "MAYBE"}, "line 2: label is 'MAYBE'; it must be SUPPORTS, REFUTES, NOT"),
        (TEXTS | {"evidence": "It is blue."}, "line 2: no list `evidence`"),
        (TEXTS | {"evidence": ["a", 1]}, r'line 2: `evidence` must be .* not \["a", 1\]'),
        (TEXTS | {"evidence": [["page", 1, "text"]]}, "line 2: `evidence` must be"),
        (TEXTS | {"evidence": [[[1, 2, "page", None]]]}, "line 2: `evidence` must be"),
        (RETRIEVED, "line 2: evidence in the format 'retrieved', but earlier lines have 'texts'"),
    ],
)
def test_invalid_lines_raise_with_file_and_line(row: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"bad.jsonl, {message}"):
        read_claims(put(tmp_path / "bad.jsonl", TEXTS, row))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.jsonl", b"\n", "is empty"),
        ("cut.jsonl.gz", gzip.compress(json.dumps(TEXTS).encode() * 99, mtime=0)[:60], "cut.jsonl.gz is damaged"),
        ("changed.jsonl.gz", changed(json.dumps(TEXTS)), "changed.jsonl.gz is damaged"),
    ],
)
def test_empty_or_damaged_files_raise(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_claims(tmp_path / name)


def test_missing_files_raise(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkMissing, match=r"none.jsonl. Fetch FEVER"):
        read_claims(tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match=r"is a folder; name a file"):
        read_claims(tmp_path)


def test_published_file_names_require_published_counts(tmp_path: Path) -> None:
    message = r"2 claims \(SUPPORTS 1, REFUTES 0, NOT ENOUGH INFO 1\), but the published file of this name has "
    with pytest.raises(ValueError, match=message + r"9,999 claims \(SUPPORTS 3,333, REFUTES 3,333"):
        read_claims(put(tmp_path / "paper_dev.jsonl", RELEASE, UNDECIDED))
    with pytest.raises(ValueError, match=r"1 claims .*, but the published file of this name has 145,406 claims: fetch"):
        read_claims(put(tmp_path / "bert_train.json", RETRIEVED))
    assert len(read_claims(put(tmp_path / "train.jsonl", TEXTS))[0]) == 1  # another format has no published counts
    assert sum(PUBLISHED["release"]["train.jsonl"]) == 145_449


def test_sentences_are_looked_up_page_by_page(tmp_path: Path) -> None:
    cafe = unicodedata.normalize("NFC", "Café")
    put(
        tmp_path / "wiki-001.jsonl",
        {"id": "", "text": "", "lines": ""},
        {"id": "Fox", "text": "…", "lines": "0\tA fox .\tAnimal\n1\t\n2\tIt runs .\n3\tLast"},
    )
    (tmp_path / "wiki-002.jsonl.gz").write_bytes(
        gzip.compress(json.dumps({"id": unicodedata.normalize("NFD", "Café"), "lines": "0\tHot ."}).encode())
    )
    wanted = {("Fox", 0), ("Fox", 1), ("Fox", 9), (cafe, 0), ("Cat", 0)}
    assert dict(find_wiki_sentences(tmp_path, wanted)) == {("Fox", 0): "A fox .", ("Fox", 1): "", (cafe, 0): "Hot ."}
    put(tmp_path / "wiki-001.jsonl", {"id": "Fox", "lines": "0\tA"}, {"text": ""})
    with pytest.raises(ValueError, match=r"wiki-001.jsonl, line 2: not a JSON object with id and lines"):
        list(find_wiki_sentences(tmp_path, wanted))
    (tmp_path / "wiki-001.jsonl").write_text('\n{"id": "Fox", "lines": "0\\tHalf \\ud800"}\n')
    with pytest.raises(ValueError, match=r"wiki-001.jsonl, line 2: not a JSON object .*surrogates not allowed"):
        list(find_wiki_sentences(tmp_path, wanted))
    for damaged in (changed("{}"), gzip.compress(b"{}", mtime=0)[:-4], gzip.compress(b"\xff")):
        put(tmp_path / "wiki-001.jsonl", {"id": "Fox", "lines": "\u00b2\tnot a number\n0\tA"})
        (tmp_path / "wiki-002.jsonl.gz").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"wiki-002.jsonl.gz is damaged"):
            list(find_wiki_sentences(tmp_path, wanted))
    (tmp_path / "wiki-002.jsonl.gz").unlink()
    assert dict(find_wiki_sentences(tmp_path, wanted)) == {("Fox", 0): "A"}
    with pytest.raises(BenchmarkMissing, match="wiki-pages is not here"):
        list(find_wiki_sentences(tmp_path / "none", wanted))


def test_real_files(shared_data: Path) -> None:
    folder = shared_data / "fact_verification" / "fever"
    claims, form = read_claims(folder / "paper_dev.jsonl")
    assert (len(claims), form) == (9_999, "release")
    for split in ("validation", "test"):
        claims, form = read_claims(folder / "athnlp_with_evidence" / f"{split}.jsonl")
        assert (len(claims), form, {claim.label for claim in claims}) == (6_666, "texts", {"SUPPORTS", "REFUTES"})
        assert not any(token in claim.text for c in claims for claim in c.evidence for token in ("-LRB-", "``"))  # type: ignore[operator]
