"""The reader of Natural Questions: both formats, the selection of annotations, and errors."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.retrieval.natural_questions import read_natural_questions
from contexture.tasks.retrieval.reqa import reqa_tables
from tests.tasks.retrieval.gold import gold_tuples

PAGE = (
    '<!DOCTYPE html>\n<H1>Café Ümlaut</H1> <P>Opened in 1902 ( see<B>Rue Née</B>). Its <A HREF="x y">owner</A>, '
    "Léa&#32;Ash<SUP>2</SUP>, sold it . It closed.</P> <Table><Tr><Td>1902</Td></Tr></Table> <P>Elsewhere 7 rivers "
    "meet.</P>"
)
PARAGRAPH = "Opened in 1902 ( seeRue Née). Its owner, Léa Ash2, sold it . It closed."


def tokens() -> list[dict[str, Any]]:
    """Return words, punctuation and tags of the page with byte offsets; the head is no token, as in the real data."""
    start = PAGE.index("<H1>")
    matches = [match for match in re.finditer(r"<[^>]*>|[^\s<>.,()]+|[.,()]", PAGE) if match.start() >= start]
    return [
        {
            "token": match[0],
            "start_byte": len(PAGE[: match.start()].encode()),
            "end_byte": len(PAGE[: match.end()].encode()),
            "html_token": match[0].startswith("<"),
        }
        for match in matches
    ]


def span(first: str, last: str, nth: int = 0) -> dict[str, int]:
    """Return the span from the nth token `first` to the next token `last`."""
    texts = [token["token"] for token in tokens()]
    start = [i for i, text in enumerate(texts) if text == first][nth]
    end = texts.index(last, start) + 1
    bytes_ = {"start_byte": tokens()[start]["start_byte"], "end_byte": tokens()[end - 1]["end_byte"]}
    return {"start_token": start, "end_token": end, **bytes_}


FIRST = span("<P>", "</P>")
SECOND = span("<P>", "</P>", 1)
TABLE = span("<Table>", "</Table>")
NONE = {"start_token": -1, "end_token": -1, "start_byte": -1, "end_byte": -1}
OWNER = span("Léa&#32;Ash", "2")


def annotation(long: dict[str, int], *short: dict[str, int]) -> dict[str, Any]:
    return {"long_answer": long, "short_answers": list(short), "yes_no_answer": "NONE"}


def record(*annotations: dict[str, Any], question: str = "who owned it") -> dict[str, Any]:
    return {
        "example_id": 5,
        "question_text": question,
        "document_title": "Café Ümlaut",
        "document_url": "https://en.example.org/w/index.php?title=Caf%C3%A9_%C3%9Cmlaut&amp;oldid=1",
        "document_html": PAGE,
        "document_tokens": tokens(),
        "annotations": list(annotations),
    }


def simplified(full: dict[str, Any]) -> dict[str, Any]:
    text = " ".join(token["token"].replace(" ", "_") for token in full["document_tokens"])
    kept = {key: full[key] for key in ("example_id", "question_text", "document_url", "annotations")}
    return kept | {"document_text": text}


def write(path: Path, *records: object) -> Path:
    data = b"".join(json.dumps(line).encode() + b"\n" for line in records)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def gold(path: Path) -> list[list[str]]:
    tuples = gold_tuples(*reqa_tables(read_natural_questions(path)))[["title", "question", "sentence"]]
    rows: list[list[str]] = tuples.to_numpy().tolist()
    return rows


def test_the_original_format(tmp_path: Path):
    path = write(tmp_path / "nq-train-00.jsonl.gz", record(annotation(FIRST, OWNER)))
    (passage,) = read_natural_questions(path)
    assert passage.text == PARAGRAPH and passage.title == "Café Ümlaut"
    assert passage.questions[0].starts == (PARAGRAPH.index("Léa"),)
    assert gold(path) == [["Café Ümlaut", "who owned it", "Its owner, Léa Ash2, sold it ."]]


def test_byte_offsets_replace_missing_tokens(tmp_path: Path):
    in_bytes = [{key: answer[key] for key in ("start_byte", "end_byte")} for answer in (FIRST, OWNER)]
    records = record(annotation(*in_bytes)), record(annotation(FIRST, OWNER))
    first, second = read_natural_questions(write(tmp_path / "both.jsonl", *records))
    assert first == second


def test_the_simplified_format(tmp_path: Path):
    path = write(tmp_path / "simplified.jsonl.gz", simplified(record(annotation(FIRST, OWNER))))
    (passage,) = read_natural_questions(tmp_path)
    assert passage.text == "Opened in 1902 (see Rue Née). Its owner, Léa Ash 2, sold it. It closed."
    assert gold(path) == [["Café Ümlaut", "who owned it", "Its owner, Léa Ash 2, sold it."]]


@pytest.mark.parametrize("simple", [False, True])
def test_only_one_short_answer_within_a_paragraph_counts(tmp_path: Path, simple: bool):
    year, seven = span("1902", "1902"), span("7", "rivers")
    cell = span("1902", "1902", 1)
    records = [
        record(annotation(NONE), question="no answer"),
        record(annotation(FIRST), question="no short answer"),
        record(annotation(FIRST, year, OWNER), question="two parts"),
        record(annotation(TABLE, cell), question="a table"),
        record(annotation(FIRST, seven), question="outside"),
        record(annotation(NONE, year), question="no long answer"),
        record(annotation(FIRST, FIRST), question="the tag too"),
        record(annotation(FIRST, year), annotation(SECOND, seven), annotation(FIRST, OWNER), question="several"),
    ]
    path = write(tmp_path / "dev.jsonl", *map(simplified, records) if simple else records)
    first_words = [(question, sentence.split()[0]) for _, question, sentence in gold(path)]
    assert first_words == [
        ("the tag too", "Opened"),
        ("several", "Opened"),
        ("several", "Its"),
        ("several", "Elsewhere"),
    ]


def test_lines_are_read_one_by_one(tmp_path: Path):
    path = write(tmp_path / "train.jsonl.gz", record(annotation(FIRST, OWNER)), {"annotations": "none"})
    passages = read_natural_questions(path)
    assert next(passages).text == PARAGRAPH
    with pytest.raises(ValueError, match=r"train\.jsonl\.gz, line 2: no list under the key 'annotations'; a line must"):
        next(passages)


def test_missing_files_raise_with_a_remedy(tmp_path: Path):
    for source in (tmp_path, tmp_path / "train.jsonl.gz"):
        with pytest.raises(BenchmarkMissing, match=r"Natural Questions is not here: looked for .*\. Download"):
            list(read_natural_questions(source))


def without(key: str) -> bytes:
    return json.dumps({name: value for name, value in record(annotation(FIRST, OWNER)).items() if name != key}).encode()


KEYS = ["question_text", "document_title", "document_html", "document_tokens", "annotations"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        *[("train.jsonl", without(key), rf"line 1: no \w+ under the key '{key}'") for key in KEYS],
        ("train.jsonl", b"\n\n{]\n", "line 3, column 2: broken JSON"),
        ("train.jsonl", b'\n{"a": "\xff"}\n', "line 2, byte 7: not UTF-8"),
        ("cut.jsonl.gz", gzip.compress(b"\n" * 99, mtime=0)[:-3], "after line 99: damaged or cut off"),
        ("cut.jsonl.gz", b"no gzip", "after line 0: damaged or cut off"),
    ],
)
def test_broken_lines_and_files_raise_with_their_position(tmp_path: Path, name: str, data: bytes, message: str):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=rf"{name}, {message}"):
        list(read_natural_questions(tmp_path))
