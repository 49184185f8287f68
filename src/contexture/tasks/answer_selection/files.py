"""Read questions with candidate sentences in the published formats of answer selection.

The beginning of a file determines its format:

- WikiQA (Yang, Yih and Meek, 2015): a table with the columns QuestionID, Question, …, Label; TREC-QA also exists so.
- TREC-QA (Wang, Smith and Mitamura, 2007) as pseudo-XML of jacana (Yao et al., 2013): `<QApairs id='32.1'>` with
  `<question>`, `<positive>` and `<negative>` blocks. The first line of a block is its text, tokens separated by tabs;
  the others are annotations.
- TREC-QA as JSON lines: `{"question": …, "candidates": [{"sentence": …, "label": 1}, …]}`.
- TREC-QA as a folder of a.toks (questions), b.toks (candidates), sim.txt (labels) and id.txt (question ids), one line
  per candidate.
- ASNQ (Garg, Vu and Moschitti, 2020): lines of question, sentence and label, without header. Label 4 is a right
  answer (a sentence of the long answer with the short answer); 1 to 3 are kinds of wrong ones.

One question with its candidates is in memory at a time.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, groupby, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from contexture.tasks.text_files import catch_damage, open_text, parse_json

SPLITS = ("train", "dev", "test")

#: Columns of WikiQA's files.
_COLUMNS = ("QuestionID", "Question", "SentenceID", "Sentence", "Label", "DocumentTitle")
#: The files of a folder of tokens: questions, candidates, labels, ids.
TOKEN_FILES = ("a.toks", "b.toks", "sim.txt", "id.txt")
#: ASNQ's labels, and the one of right answers.
_ASNQ_LABELS, _ASNQ_RIGHT = ("1", "2", "3", "4"), "4"
_QA_PAIRS = re.compile(r"""<QApairs id=(?:'([^']*)'|"([^"]*)")>""")
_BLOCKS = ("<question>", "<positive>", "<negative>")


class Candidate(NamedTuple):
    """A candidate sentence."""

    id: str
    text: str
    label: int  # 1: right
    title: str = ""  # of its document


class Question(NamedTuple):
    """A question and consecutive candidates."""

    id: str
    text: str
    candidates: list[Candidate]
    renamed: bool = False  # whether an earlier question has the same id


#: A line of a file and its number.
_Line = tuple[int, str]


def read_questions(path: Path) -> Iterator[Question]:
    """Yield the questions of a file or token folder in file order.

    WikiQA: the candidates of a question must be consecutive and have distinct ids. Token folder and pseudo-XML:
    consecutive lines with the same id and question, or a block, are one question; repeated ids get the suffixes `#2`,
    `#3`, …. ASNQ: equal texts are one question; its candidates are numbered through the file.

    Raises:
        FileNotFoundError: no such file.
        ValueError: unknown format or damage, with file, line and remedy.
    """
    with catch_damage(path):
        if path.is_dir():
            yield from _read_token_files(path)
            return
        with open_text(path) as file:
            yield from _read_file_lines(path, enumerate((line.rstrip("\r\n") for line in file), start=1))


def _read_file_lines(path: Path, lines: Iterator[_Line]) -> Iterator[Question]:
    """Yield the questions of a file, in the format of its first non-empty line."""
    number, first = next(((number, line) for number, line in lines if line.strip()), (0, ""))
    if not number:
        raise ValueError(f"{path} is empty; fetch it again")
    fields, rest = first.split("\t"), chain([(number, first)], lines)
    if first.lstrip().startswith("{"):
        yield from _read_json(path, rest)
    elif first.startswith("<"):
        yield from _read_pseudo_xml(path, rest)
    elif len(fields) == 3:
        yield from _read_asnq(path, rest)
    elif set(fields) & set(_COLUMNS):
        yield from _read_table(path, rest)
    else:
        raise ValueError(
            f"{path}, line {number}: unknown format: {first[:60]!r}. Known are WikiQA's table with a header, "
            "TREC-QA's pseudo-XML, JSON lines, ASNQ's question, sentence and label from 1 to 4 with tabs between them; "
            "see docs/answer-selection.md"
        )


def _read_table(path: Path, lines: Iterator[_Line]) -> Iterator[Question]:
    """Yield the questions of a table with WikiQA's columns."""
    number, first = next(lines)
    header = first.split("\t")
    if missing := [column for column in _COLUMNS if column not in header]:
        raise ValueError(
            f"{path}, line {number}: no column {', '.join(missing)}; the first line must name the tab-separated "
            "columns QuestionID Question DocumentID DocumentTitle SentenceID Sentence Label"
        )
    seen: set[str] = set()
    for question in _group_rows(path, _read_table_rows(path, lines, header)):
        if question.id in seen:
            raise ValueError(
                f"{path}: question {question.id} is repeated with another text or after other questions; put the "
                "candidates of a question in consecutive lines, and give each question a unique QuestionID"
            )
        seen.add(question.id)
        yield question


def _read_table_rows(path: Path, lines: Iterator[_Line], header: list[str]) -> Iterator[tuple[str, str, Candidate]]:
    """Yield question id, question text and candidate of each line of a table with WikiQA's columns."""
    columns = [header.index(column) for column in _COLUMNS]
    for number, line in lines:
        if not line:
            continue
        fields = line.split("\t")
        if len(fields) != len(header):
            raise ValueError(
                f"{path}, line {number}: {len(fields)} fields, but the header has {len(header)}; "
                "remove tabs and line breaks inside the fields"
            )
        question_id, question, candidate_id, text, label, title = (fields[column] for column in columns)
        if label not in ("0", "1"):
            raise ValueError(f"{path}, line {number}: Label is {label!r}; it must be 0 or 1")
        yield question_id, question, Candidate(candidate_id, text, int(label), title)


def _group_rows(path: Path, rows: Iterable[tuple[str, str, Candidate]]) -> Iterator[Question]:
    """Yield questions from rows (id, text, candidate): consecutive rows with the same id and text are a question."""
    for (question_id, text), of_question in groupby(rows, key=lambda row: row[:2]):
        candidates = [row[2] for row in of_question]
        [(candidate_id, count)] = Counter(candidate.id for candidate in candidates).most_common(1)
        if count > 1:
            raise ValueError(
                f"{path}: question {question_id} has two candidates {candidate_id}; "
                "give each candidate of a question a unique SentenceID"
            )
        yield Question(question_id, text, candidates)


def _make_unique_id(question_id: str, seen: dict[str, int]) -> str:
    """Return the id, with the suffix #2, #3, … if it is in `seen` (id → count)."""
    name = question_id
    while name in seen:
        seen[question_id] += 1
        name = f"{question_id}#{seen[question_id]}"
    seen[name] = 1
    return name


def _read_pseudo_xml(path: Path, lines: Iterator[_Line]) -> Iterator[Question]:
    """Yield the questions of TREC-QA's pseudo-XML."""
    seen: dict[str, int] = {}
    question: Question | None = None
    for number, line in lines:
        tag, position = line.strip(), f"{path}, line {number}"
        if tag in ("", "<root>", "</root>"):
            continue
        if match := _QA_PAIRS.fullmatch(tag):
            if question is not None:
                raise ValueError(f"{position}: {tag} before </QApairs> of question {question.id}")
            question_id = match[1] or match[2] or ""
            name = _make_unique_id(question_id, seen)
            question = Question(name, "", [], name != question_id)
        elif question is None or tag not in (*_BLOCKS, "</QApairs>"):
            raise ValueError(
                f"{position}: {line[:60]!r} is not <QApairs id='…'>, <question>, <positive>, <negative> or </QApairs>; "
                "use TREC-QA's pseudo-XML from jacana"
            )
        elif tag == "</QApairs>":
            yield question
            question = None
        else:
            text = _read_block(path, number, lines, tag)
            if tag == "<question>":
                question = question._replace(text=text)
            elif not question.text:
                raise ValueError(f"{position}: question {question.id} has no text before its first candidate")
            else:
                label = int(tag == "<positive>")
                question.candidates.append(Candidate(str(len(question.candidates)), text, label))
    if question is not None:
        raise ValueError(f"{path}: the file ends within question {question.id}; fetch it again")


def _read_block(path: Path, start_line: int, lines: Iterator[_Line], tag: str) -> str:
    """Return the text of the block `tag` that begins in line `start_line`: its first line. Read to the block's end."""
    text, end = "", tag.replace("<", "</")
    for number, line in lines:
        if line.strip() == end:
            return text
        if line.startswith(("<QApairs ", "</QApairs>", *_BLOCKS)):
            raise ValueError(f"{path}, line {number}: {line.strip()} before {end}; fetch the file again")
        if number == start_line + 1:
            text = " ".join(line.split())
    raise ValueError(f"{path}: the file ends within {tag} of line {start_line}; fetch it again")


def _read_json(path: Path, lines: Iterator[_Line]) -> Iterator[Question]:
    """Yield the questions of TREC-QA's JSON lines; the line number is the id."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            row = parse_json(line)
            question = _get_text(row, "question")
            candidates = [
                Candidate(str(position), _get_text(candidate, "sentence"), _get_label(candidate))
                for position, candidate in enumerate(row["candidates"])
            ]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path}, line {number}: not a JSON object with question and candidates, each with sentence and label "
                f"0 or 1 ({type(error).__name__}: {error}); fetch the file again"
            ) from None
        yield Question(str(number), question, candidates)


def _get_text(row: Any, key: str) -> str:
    """Return the value of a key. Raise TypeError if it is not a string."""
    text = row[key]
    if not isinstance(text, str):
        raise TypeError(f"{key} is not a string")
    return text


def _get_label(row: Any) -> int:
    """Return the label of a candidate. Raise ValueError if it is not 0 or 1."""
    if row["label"] not in (0, 1):
        raise ValueError(f"label {row['label']!r}")
    return int(row["label"])


def _read_token_files(folder: Path) -> Iterator[Question]:
    """Yield the questions of a folder with `TOKEN_FILES`; repeated ids get a suffix."""
    if missing := [name for name in TOKEN_FILES if not (folder / name).is_file()]:
        raise ValueError(f"{folder}: missing {', '.join(missing)}; a token folder has {', '.join(TOKEN_FILES)}")
    with ExitStack() as stack:
        files = [stack.enter_context(open_text(folder / name)) for name in TOKEN_FILES]
        seen: dict[str, int] = {}
        for question in _group_rows(folder, _read_token_rows(folder, files)):
            name = _make_unique_id(question.id, seen)
            yield question._replace(id=name, renamed=name != question.id)


def _read_token_rows(folder: Path, files: list[TextIO]) -> Iterator[tuple[str, str, Candidate]]:
    """Yield question id, question text and candidate of each line of the open `TOKEN_FILES`."""
    for number, fields in enumerate(zip_longest(*files), start=1):
        if None in fields:
            ended = [name for name, field in zip(TOKEN_FILES, fields, strict=True) if field is None]
            raise ValueError(
                f"{folder}: {', '.join(ended)} ends before line {number}; {', '.join(TOKEN_FILES)} must have the "
                "same number of lines; fetch the folder again"
            )
        question, text, label, question_id = (field.strip() for field in fields)
        if label not in ("0", "1"):
            raise ValueError(f"{folder / TOKEN_FILES[2]}, line {number}: the label is {label!r}; it must be 0 or 1")
        yield question_id, question, Candidate(str(number), text, int(label))


def _read_asnq(path: Path, lines: Iterator[_Line]) -> Iterator[Question]:
    """Yield the questions of an ASNQ file, numbered by their distinct texts."""
    numbers: dict[str, int] = {}  # text → number
    read = Counter[str]()  # text → candidates so far
    for text, of_question in groupby(_read_asnq_rows(path, lines), key=lambda row: row[0]):
        number = numbers.setdefault(text, len(numbers) + 1)
        rows = enumerate(of_question, start=read[text])
        candidates = [Candidate(str(position), sentence, label) for position, (_, sentence, label) in rows]
        read[text] += len(candidates)
        yield Question(str(number), text, candidates)


def _read_asnq_rows(path: Path, lines: Iterator[_Line]) -> Iterator[tuple[str, str, int]]:
    """Yield question, sentence and label (1: right, 0: wrong) of each line of an ASNQ file."""
    for number, line in lines:
        if not line:
            continue
        fields = line.split("\t")
        if len(fields) != 3 or fields[2] not in _ASNQ_LABELS:
            raise ValueError(
                f"{path}, line {number}: {line[:60]!r} is not question, sentence and label (1 to 4), separated by "
                "tabs; fetch ASNQ again"
            )
        yield fields[0], fields[1], int(fields[2] == _ASNQ_RIGHT)
