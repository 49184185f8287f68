"""Sets of questions, made ready once: their files found, checked against what was published, and written as Parquet.

A question with its candidates is held at a time, and a group of rows on its way to the file: ASNQ's twenty million
rows take little more memory than WikiQA's twenty thousand.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.tasks.answer_selection.files import SPLITS, TOKENS, Question, read_questions
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.text_files import open_text

SCHEMA = pa.schema(
    [
        ("question_id", pa.string()),
        ("question", pa.string()),
        ("candidate_id", pa.string()),
        ("candidate", pa.string()),
        ("label", pa.int64()),
        ("title", pa.string()),
        ("position", pa.int64()),
    ]
)
#: Rows of a group of a Parquet file, which are written, and read, at a time.
ROW_GROUP = 50_000

#: What the file, or the folder of tokens, of each split can be called, the best first: what was cut to 40 tokens comes
#: before what was not, train-all before train, all questions before those that are left of them here anyway.
_NAMES = {
    "train": ["wikiqa-train", "train2393.cleanup", "train2393", "train-all", "train"],
    "dev": ["wikiqa-dev", *(f"dev-less-than-40{edit}" for edit in (".manual-edit", "")), "raw-dev", "dev"],
    "test": ["wikiqa-test", *(f"test-less-than-40{edit}" for edit in (".manual-edit", "")), "raw-test", "test"],
}
_NAMES |= {split: [*_NAMES[split], f"clean-{split}", f"{split}-filtered"] for split in ("dev", "test")}
_ENDINGS = ("", ".tsv", ".jsonl", ".xml", ".tsv.gz", ".jsonl.gz", ".xml.gz")
#: Which questions of ASNQ's dev.tsv are for development, and which for the test (Soldaini and Moschitti, 2020).
_HALVES = {"dev": "unique.dev", "test": "unique.test"}


class Size(NamedTuple):
    """How large a split is."""

    questions: int
    candidates: int


@dataclass(frozen=True)
class Release:
    """What is known of a published split: `read` is of its files, `kept` of the questions that can be ranked."""

    #: Questions; a filtered file has those alone that are kept.
    read: tuple[int, ...]
    #: One of these, for there are several editions.
    kept: tuple[Size, ...]


@dataclass(frozen=True)
class Published:
    """A set that was published, by which a set that is called so is checked."""

    title: str
    splits: dict[str, Release]
    remedy: str


#: WikiQA and ASNQ: Table 5 of the MSPP paper, and Yang et al. (2015) for what was read. TREC-QA: 1,229 train, 82 dev
#: and 100 test questions (Yao et al., 2013; Rao, He and Lin, 2016, Table 1), of which the latter keep 65 and 68. The
#: MSPP paper has an edition whose candidates were not cut at 40 tokens for development (69 kept, 1,343 candidates), and
#: counts the training questions by their texts (1,226).
PUBLISHED = {
    "wikiqa": Published(
        "WikiQA",
        {
            "train": Release((2118,), (Size(2118, 20360),)),
            "dev": Release((296,), (Size(122, 1126),)),
            "test": Release((633,), (Size(237, 2341),)),
        },
        "Download the WikiQA corpus from Microsoft (https://www.microsoft.com/download/details.aspx?id=52419), unpack "
        "it and name the folder that holds WikiQA-train.tsv, WikiQA-dev.tsv and WikiQA-test.tsv (or the same gzipped).",
    ),
    "trecqa": Published(
        "TREC-QA",
        {
            "train": Release((1229, 1226), (Size(1229, 53417), Size(1226, 53417))),
            "dev": Release((82, 65, 69), (Size(65, 1117), Size(69, 1343))),
            "test": Release((100, 68), (Size(68, 1442),)),
        },
        "Name the folder with jacana's train2393.cleanup.xml.gz, dev-less-than-40.manual-edit.xml and "
        "test-less-than-40.manual-edit.xml, or with train-all, dev and test as .jsonl, as .tsv or as folders of "
        "a.toks, b.toks, sim.txt and id.txt (docs/mspp.md).",
    ),
    "asnq": Published(
        "ASNQ",
        {
            "train": Release((57242,), (Size(57242, 20377568),)),
            "dev": Release((1336,), (Size(1336, 463914),)),
            "test": Release((1336,), (Size(1336, 466148),)),
        },
        "Name the folder with ASNQ's train.tsv and dev.tsv, and beside them unique.dev and unique.test, which split "
        "the latter (docs/mspp.md).",
    ),
}
_OWN_REMEDY = (
    "Give a folder with files called train, dev and test: .tsv, .jsonl or .xml, plain or .gz, in one of the forms that "
    "docs/mspp.md names."
)


class Part(NamedTuple):
    """The file of a split, and the questions that it has of it; None: all."""

    path: Path
    only: frozenset[str] | None = None

    def questions(self) -> Iterator[Question]:
        """In the order of the file; see `files.read_questions`."""
        found = read_questions(self.path)
        return found if self.only is None else (one for one in found if one.text.strip() in self.only)


def find_parts(name: str, folder: Path) -> dict[str, Part]:
    """The file of each split; BenchmarkMissing, which says what to get, where one is not there."""
    there = {path.name.lower(): path for path in sorted(folder.iterdir())} if folder.is_dir() else {}
    parts = {split: Part(path) for split in SPLITS if (path := _first(there, split))}
    if "test" not in parts and "dev" in parts and all(half in there for half in _HALVES.values()):
        parts |= {split: Part(parts["dev"].path, _lines(there[half])) for split, half in _HALVES.items()}
    if missing := [split for split in SPLITS if split not in parts]:
        known = PUBLISHED.get(name)
        looked_for = folder / f"({' or '.join(_NAMES[missing[0]])})" if folder.is_dir() else folder
        raise BenchmarkMissing(known.title if known else name, looked_for, known.remedy if known else _OWN_REMEDY)
    return parts


def write_set(name: str, folder: Path, place: Path) -> dict[str, int]:
    """Write `<split>.parquet` with the columns of `SCHEMA` to `place`; return what was counted of each split.

    Of dev and test those questions are written that have a right and a wrong candidate, of train all: the "clean"
    setting of the MSPP paper and its code. Beside their questions and candidates, and the questions left out, each
    split has these counts, where they are not 0; all but the last are of all questions as they were read:

    - `without_right`, `all_right`: questions whose candidates are all wrong, or all right;
    - `duplicates`: candidates whose text the question had before;
    - `contradictions`: of these, those with another label than before: whatever a model says, they are tied;
    - `empty`: candidates without text;
    - `repeated_ids`: questions whose id another one had before;
    - `in_parts`: questions whose candidates do not all stand together;
    - `in_train`: questions of dev or test, by their texts, that are trained on.

    Raises:
        BenchmarkMissing: a file is not there.
        ValueError: a file is not in a form, or is not what was published under this name.
    """
    counts: dict[str, int] = {}
    parts = find_parts(name, folder)
    place.mkdir(parents=True)
    for split, part in parts.items():
        counts |= {f"{split}_{key}": count for key, count in _write_split(name, split, part, place).items()}
    learned = _texts(place / "train.parquet")
    known = {split: len(learned & _texts(place / f"{split}.parquet")) for split in ("dev", "test")}
    return counts | {f"{split}_in_train": count for split, count in known.items() if count}


def tables(file: Path, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
    """What `write_set` wrote of a split, or some columns of it, a group of rows at a time."""
    found = pq.ParquetFile(file)
    for group in range(found.num_row_groups):  # `iter_batches` keeps what it has read
        yield found.read_row_group(group, columns).to_pandas()


def checksums(name: str, folder: Path) -> dict[str, str]:
    """SHA-256 of the files that a set was read from."""
    paths = {path for part in find_parts(name, folder).values() for path in _files(part.path)}
    found = {}
    for path in sorted(paths):
        with path.open("rb") as file:
            found[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _texts(file: Path) -> set[str]:
    """The questions of a split."""
    return {text for table in tables(file, ["question"]) for text in table["question"].unique()}


def _write_split(name: str, split: str, part: Part, place: Path) -> dict[str, int]:
    labels, counted = _look_through(part)
    kept = labels if split == "train" else {known for known, found in labels.items() if found == {0, 1}}
    sizes: Counter[str] = Counter()  # of the questions so far: some of ASNQ's may be in parts
    with pq.ParquetWriter(place / f"{split}.parquet", SCHEMA) as writer:
        rows: list[tuple[object, ...]] = []
        for question in part.questions():
            if question.id not in kept:
                continue
            rows += _rows(question, sizes[question.id])
            sizes[question.id] += len(question.candidates)
            if len(rows) >= ROW_GROUP:
                writer.write_table(_table(rows))
                rows = []
        writer.write_table(_table(rows))
    if not sizes:
        wanted = "" if split == "train" else ", for none has both a right and a wrong candidate"
        raise ValueError(f"{part.path}: none of its {len(labels):,} {split} questions can be used{wanted}")
    if name in PUBLISHED:
        _compare(name, split, part, len(labels), Size(len(sizes), sizes.total()))
    found = {"questions": len(sizes), "candidates": sizes.total(), "questions_left_out": len(labels) - len(kept)}
    return {key: count for key, count in (found | counted).items() if count or key in ("questions", "candidates")}


def _look_through(part: Part) -> tuple[dict[str, set[int]], Counter[str]]:
    """The labels that each question has, and what `write_set` counts of all questions."""
    labels: dict[str, set[int]] = {}
    counted: Counter[str] = Counter()
    for question in part.questions():
        counted["in_parts"] += question.id in labels
        counted["repeated_ids"] += question.renamed
        labels.setdefault(question.id, set()).update(one.label for one in question.candidates)
        first: dict[str, int] = {}
        for one in question.candidates:
            before = first.setdefault(one.text, one.label)
            counted["contradictions"] += before != one.label
            counted["empty"] += not one.text.strip()
        counted["duplicates"] += len(question.candidates) - len(first)
    counted["without_right"] = sum(1 not in found for found in labels.values())
    counted["all_right"] = sum(found == {1} for found in labels.values())
    return labels, counted


def _compare(name: str, split: str, part: Part, read: int, kept: Size) -> None:
    """ValueError where a split is not what was published."""
    known = PUBLISHED[name]
    release = known.splits[split]
    if read in release.read and kept in release.kept:
        return
    wanted = " or ".join(f"{size.questions:,} with {size.candidates:,}" for size in release.kept)
    raise ValueError(
        f"{part.path}: {read:,} {split} questions, of which {kept.questions:,} with {kept.candidates:,} candidates "
        f"can be ranked; {known.title} has {' or '.join(f'{count:,}' for count in release.read)}, of which {wanted}. "
        f"Fetch it again, or, if it is a set of your own, give it another name than {name} in answer_selection.input"
    )


def _rows(question: Question, first: int) -> Iterator[tuple[object, ...]]:
    for position, one in enumerate(question.candidates, start=first):
        yield question.id, question.text, one.id, one.text, one.label, one.title, position


def _table(rows: list[tuple[object, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def _first(there: dict[str, Path], split: str) -> Path | None:
    """The best of the files that can be those of a split."""
    for stem in _NAMES[split]:
        for ending in _ENDINGS:
            path = there.get(stem + ending)
            if path is not None and ((path / TOKENS[0]).is_file() if ending == "" else path.is_file()):
                return path
    return None


def _lines(path: Path) -> frozenset[str]:
    with open_text(path) as file:
        return frozenset(line.strip() for line in file)


def _files(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]
