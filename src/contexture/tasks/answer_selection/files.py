"""Files of questions with candidate sentences, in the published forms of answer selection.

One reader, told by what a file begins with:

- WikiQA (Yang, Yih and Meek, 2015): a table with the columns QuestionID, Question, …, Label. TREC-QA is also passed
  on in this form.
- TREC-QA (Wang, Smith and Mitamura, 2007) as jacana distributes it (Yao et al., 2013): `<QApairs id='32.1'>` with a
  `<question>` and `<positive>` and `<negative>` blocks, of which the first line is the text, a tab between tokens, and
  the others are its analysis. It looks like XML and is none.
- The same as JSON lines: `{"question": …, "candidates": [{"sentence": …, "label": 1}, …]}`.
- The same as a folder with a line a candidate in each of a.toks (questions), b.toks (candidates), sim.txt (labels) and
  id.txt (questions' ids).
- ASNQ (Garg, Vu and Moschitti, 2020): lines of question, sentence and label, no header. The label is 4 for a sentence
  of the long answer that holds the short one, which alone is right; 1 to 3 are the kinds of wrong ones.

A question with its candidates is read at a time, so that files of any length can be.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain, groupby, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pandas as pd

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.text_files import json_of, open_text, undamaged

SPLITS = ("train", "dev", "test")

#: Columns of WikiQA's files.
_COLUMNS = ("QuestionID", "Question", "SentenceID", "Sentence", "Label", "DocumentTitle")
_WIKIQA_REMEDY = (
    "Download the WikiQA corpus from Microsoft (https://www.microsoft.com/download/details.aspx?id=52419), "
    "unpack it and name the folder that holds WikiQA-train.tsv, WikiQA-dev.tsv and WikiQA-test.tsv "
    "(or the same gzipped), or files of your own in that format."
)
#: Of the files of a folder of tokens: questions, candidates, labels, ids.
TOKENS = ("a.toks", "b.toks", "sim.txt", "id.txt")
#: What ASNQ calls its labels, and the one that is right.
_ASNQ_LABELS, _ASNQ_RIGHT = ("1", "2", "3", "4"), "4"
_QA_PAIRS = re.compile(r"""<QApairs id=(?:'([^']*)'|"([^"]*)")>""")
_BLOCKS = ("question", "positive", "negative")


class Candidate(NamedTuple):
    """A sentence that may answer."""

    id: str
    text: str
    label: int  # 1: it does
    title: str = ""  # of its document


class Question(NamedTuple):
    """A question and candidates that stand together in the file."""

    id: str
    text: str
    candidates: list[Candidate]
    renamed: bool = False  # because its id is that of a question before it


#: A line of a file and its number.
_Line = tuple[int, str]


def read_wikiqa(source: Path | Mapping[str, Path]) -> pd.DataFrame:
    """Read train, dev and test: a folder with `WikiQA-<split>.tsv` or `.tsv.gz`, or the files by split.

    Returns:
        One row a candidate, in file order: split, question_id, question, candidate_id, candidate, label (0 or 1),
        title, position (0.. within the question).

    Raises:
        BenchmarkMissing: the folder or one of the files is absent.
        ValueError: a file is not in the format; the text names file, line and remedy.
    """
    files = source if isinstance(source, Mapping) else {split: _find_wikiqa(source, split) for split in SPLITS}
    rows = [
        (split, question.id, question.text, one.id, one.text, one.label, one.title, position)
        for split, path in files.items()
        for question in _wikiqa_questions(path)
        for position, one in enumerate(question.candidates)
    ]
    columns = ["split", "question_id", "question", "candidate_id", "candidate", "label", "title", "position"]
    return pd.DataFrame(rows, columns=columns)


def read_questions(path: Path) -> Iterator[Question]:
    """The questions of a file, or of a folder of tokens, in its order.

    In WikiQA's form the candidates of a question must stand together, and be told apart by their ids. In a folder of
    tokens lines that follow one another with the same id and question are one, in the pseudo-XML a block is; where an
    id comes again, `#2` and so on is put behind it. In ASNQ's form a question is its text: where it comes again, so
    does its id, and the candidates are numbered on.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is in none of the forms, or damaged; the text names file, line and remedy.
    """
    if path.is_dir():
        with undamaged(path):
            yield from _token_questions(path)
        return
    with undamaged(path), open_text(path) as file:
        yield from _told_questions(path, enumerate((line.rstrip("\r\n") for line in file), start=1))


def _find_wikiqa(folder: Path, split: str) -> Path:
    plain = folder / f"WikiQA-{split}.tsv"
    for path in (plain, plain.with_suffix(".tsv.gz")):
        if path.is_file():
            return path
    raise BenchmarkMissing("WikiQA", plain, _WIKIQA_REMEDY)


def _wikiqa_questions(path: Path) -> Iterator[Question]:
    try:
        with undamaged(path), open_text(path) as file:
            yield from _table_questions(path, enumerate((line.rstrip("\r\n") for line in file), start=1))
    except FileNotFoundError as error:
        raise BenchmarkMissing("WikiQA", path, _WIKIQA_REMEDY) from error


def _told_questions(path: Path, lines: Iterator[_Line]) -> Iterator[Question]:
    """By what the first line that is not empty says."""
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        raise ValueError(f"{path} is empty; fetch it again")
    both = chain([first], lines)
    fields = first[1].split("\t")
    if first[1].lstrip().startswith("{"):
        yield from _json_questions(path, both)
    elif first[1].startswith("<"):
        yield from _pseudo_xml_questions(path, both)
    elif len(fields) == 3:
        yield from _asnq_questions(path, both)
    elif set(fields) & set(_COLUMNS):
        yield from _table_questions(path, both)
    else:
        raise ValueError(
            f"{path}, line {first[0]}: {first[1][:60]!r} begins none of the forms: WikiQA's table with a header, "
            "TREC-QA's pseudo-XML, JSON lines, ASNQ's question, sentence and label from 1 to 4 with tabs between them; "
            "see docs/mspp.md"
        )


def _table_questions(path: Path, lines: Iterator[_Line]) -> Iterator[Question]:
    """WikiQA's form."""
    number, first = next(lines, (1, ""))
    header = first.split("\t")
    missing = [column for column in _COLUMNS if column not in header]
    if missing:
        raise ValueError(
            f"{path}, line {number}: no column {', '.join(missing)}; the first line must name the tab-separated "
            "columns QuestionID Question DocumentID DocumentTitle SentenceID Sentence Label"
        )
    seen: set[str] = set()
    for question in _together(path, _table_rows(path, lines, header)):
        if question.id in seen:
            raise ValueError(
                f"{path}: question {question.id} comes again, with another text or after others; let the candidates of "
                "a question stand together, and give each question a QuestionID of its own"
            )
        seen.add(question.id)
        yield question


def _table_rows(path: Path, lines: Iterator[_Line], header: list[str]) -> Iterator[tuple[str, str, Candidate]]:
    """Question id, question and candidate of every row."""
    places = [header.index(column) for column in _COLUMNS]
    for number, line in lines:
        if not line:
            continue
        fields = line.split("\t")
        if len(fields) != len(header):
            raise ValueError(
                f"{path}, line {number}: {len(fields)} fields where the header has {len(header)}; "
                "remove tabs and line breaks inside the fields"
            )
        known, question, candidate, text, label, title = (fields[place] for place in places)
        if label not in ("0", "1"):
            raise ValueError(f"{path}, line {number}: Label is {label!r}; it must be 0 or 1")
        yield known, question, Candidate(candidate, text, int(label), title)


def _together(path: Path, rows: Iterable[tuple[str, str, Candidate]]) -> Iterator[Question]:
    """Rows that follow one another with the same id and text as one question."""
    for (known, text), of_question in groupby(rows, key=lambda row: row[:2]):
        candidates = [row[2] for row in of_question]
        ids = {one.id for one in candidates}
        if len(ids) < len(candidates):
            twice = next(one.id for place, one in enumerate(candidates) if one.id in {c.id for c in candidates[:place]})
            raise ValueError(
                f"{path}: question {known} has two candidates {twice}; "
                "give every candidate of a question a SentenceID of its own"
            )
        yield Question(known, text, candidates)


def _told_apart(known: str, seen: dict[str, int]) -> str:
    """The id of a question, or, where there was one, the same with #2 and so on behind it; `seen`: how often."""
    name = known
    while name in seen:
        seen[known] += 1
        name = f"{known}#{seen[known]}"
    seen[name] = 1
    return name


def _pseudo_xml_questions(path: Path, lines: Iterator[_Line]) -> Iterator[Question]:
    seen: dict[str, int] = {}
    question: Question | None = None
    for number, line in lines:
        tag, place = line.strip(), f"{path}, line {number}"
        if tag in ("", "<root>", "</root>"):
            continue
        if found := _QA_PAIRS.fullmatch(tag):
            if question is not None:
                raise ValueError(f"{place}: {tag} begins before </QApairs> ended question {question.id}")
            known = found[1] or found[2] or ""
            name = _told_apart(known, seen)
            question = Question(name, "", [], name != known)
        elif question is None or tag not in (*(f"<{name}>" for name in _BLOCKS), "</QApairs>"):
            raise ValueError(
                f"{place}: {line[:60]!r} where <QApairs id='…'>, <question>, <positive>, <negative> or </QApairs> "
                "should stand; give TREC-QA's pseudo-XML as jacana distributes it"
            )
        elif tag == "</QApairs>":
            yield question
            question = None
        else:
            text = _block(path, number, lines, tag)
            if tag == "<question>":
                question = question._replace(text=text)
            elif not question.text:
                raise ValueError(f"{place}: question {question.id} has no text before its first candidate")
            else:
                label = int(tag == "<positive>")
                question.candidates.append(Candidate(str(len(question.candidates)), text, label))
    if question is not None:
        raise ValueError(f"{path}: the file ends within question {question.id}; fetch it again")


def _block(path: Path, begun: int, lines: Iterator[_Line], tag: str) -> str:
    """The text of a block that begins with line `begun`: its first line. Others, up to its end, are its analysis."""
    text, end = "", tag.replace("<", "</")
    others = ("<QApairs ", "</QApairs>", *(f"<{name}>" for name in _BLOCKS))
    for number, line in lines:
        if line.strip() == end:
            return text
        if line.startswith(others):
            raise ValueError(f"{path}, line {number}: {line.strip()} before {end}; fetch the file again")
        if number == begun + 1:
            text = " ".join(line.split())
    raise ValueError(f"{path}: the file ends within {tag} of line {begun}; fetch it again")


def _json_questions(path: Path, lines: Iterator[_Line]) -> Iterator[Question]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            row = json_of(line)
            candidates = [_json_candidate(place, one) for place, one in enumerate(row["candidates"])]
            question = row["question"]
            if not isinstance(question, str):
                raise TypeError("question is no text")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path}, line {number}: no JSON object with question and candidates, each of these with sentence and "
                f"label 0 or 1 ({type(error).__name__}: {error}); fetch the file again"
            ) from None
        yield Question(str(number), question, candidates)


def _json_candidate(place: int, one: Any) -> Candidate:
    if not isinstance(one["sentence"], str):
        raise TypeError("sentence is no text")
    if one["label"] not in (0, 1):
        raise ValueError(f"label {one['label']!r}")
    return Candidate(str(place), one["sentence"], int(one["label"]))


def _token_questions(folder: Path) -> Iterator[Question]:
    if missing := [name for name in TOKENS if not (folder / name).is_file()]:
        raise ValueError(f"{folder} has no {', '.join(missing)}; a folder of tokens has {', '.join(TOKENS)}")
    with ExitStack() as stack:
        files = [stack.enter_context(open_text(folder / name)) for name in TOKENS]
        seen: dict[str, int] = {}
        for question in _together(folder, _token_rows(folder, files)):
            name = _told_apart(question.id, seen)
            yield question._replace(id=name, renamed=name != question.id)


def _token_rows(folder: Path, files: list[TextIO]) -> Iterator[tuple[str, str, Candidate]]:
    for number, fields in enumerate(zip_longest(*files), start=1):
        if None in fields:
            ended = [name for name, field in zip(TOKENS, fields, strict=True) if field is None]
            raise ValueError(
                f"{folder}: {', '.join(ended)} ended before line {number}, which {', '.join(TOKENS)} must all have; "
                "fetch the folder again"
            )
        question, text, label, known = (field.strip() for field in fields)
        if label not in ("0", "1"):
            raise ValueError(f"{folder / TOKENS[2]}, line {number}: the label is {label!r}; it must be 0 or 1")
        yield known, question, Candidate(str(number), text, int(label))


def _asnq_questions(path: Path, lines: Iterator[_Line]) -> Iterator[Question]:
    known: dict[str, list[int]] = {}  # text → its number, and how many candidates it has had
    for text, of_question in groupby(_asnq_rows(path, lines), key=lambda row: row[0]):
        told = known.setdefault(text, [len(known) + 1, 0])
        candidates = [Candidate(str(told[1] + n), row[1], row[2]) for n, row in enumerate(of_question)]
        told[1] += len(candidates)
        yield Question(str(told[0]), text, candidates)


def _asnq_rows(path: Path, lines: Iterator[_Line]) -> Iterator[tuple[str, str, int]]:
    for number, line in lines:
        if not line:
            continue
        fields = line.split("\t")
        if len(fields) != 3 or fields[2] not in _ASNQ_LABELS:
            raise ValueError(
                f"{path}, line {number}: {line[:60]!r} is not question, sentence and a label from 1 to 4, a tab "
                "between them; fetch ASNQ again"
            )
        yield fields[0], fields[1], int(fields[2] == _ASNQ_RIGHT)
