"""Sets of questions: their files are found, compared with the published counts, and written as Parquet.

One question with its candidates and one group of rows are in memory at a time, also of ASNQ's twenty million rows.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.tasks.answer_selection.files import SPLITS, TOKENS, Question, read_questions
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.task_folder import file_digests
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
#: Rows of a group of a Parquet file, which are written and read at a time.
ROW_GROUP = 50_000

#: Names of the file, or the folder of tokens, of each split, the best first: candidates cut to 40 tokens before others,
#: train-all before train, all questions before a filtered part of them.
_NAMES = {
    "train": ["wikiqa-train", "train2393.cleanup", "train2393", "train-all", "train"],
    "dev": ["wikiqa-dev", *(f"dev-less-than-40{edit}" for edit in (".manual-edit", "")), "raw-dev", "dev"],
    "test": ["wikiqa-test", *(f"test-less-than-40{edit}" for edit in (".manual-edit", "")), "raw-test", "test"],
}
_NAMES |= {split: [*_NAMES[split], f"clean-{split}", f"{split}-filtered"] for split in ("dev", "test")}
_ENDINGS = ("", ".tsv", ".jsonl", ".xml", ".tsv.gz", ".jsonl.gz", ".xml.gz")
#: Files with the questions of ASNQ's dev.tsv that are dev and test (Soldaini and Moschitti, 2020).
_HALVES = {"dev": "unique.dev", "test": "unique.test"}


class Size(NamedTuple):
    """Numbers of a split."""

    questions: int
    candidates: int


class Release(NamedTuple):
    """The counts of a published split, one for each edition."""

    read: tuple[int, ...]  # questions in its files; a filtered file has only those that are kept
    kept: tuple[Size, ...]  # questions that can be ranked


class Published(NamedTuple):
    """A published set; a set with its name must have its counts."""

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
    """The file of a split, and the texts of its questions that belong to the split; None: all."""

    path: Path
    texts: frozenset[str] | None = None

    def questions(self) -> Iterator[Question]:
        """In the order of the file; see `files.read_questions`."""
        questions = read_questions(self.path)
        return (question for question in questions if self.texts is None or question.text.strip() in self.texts)


def find_parts(name: str, folder: Path) -> dict[str, Part]:
    """The file of each split; BenchmarkMissing, with the remedy, if one is missing."""
    files = {path.name.lower(): path for path in sorted(folder.iterdir())} if folder.is_dir() else {}
    parts = {split: Part(path) for split in SPLITS if (path := _find_file(files, split))}
    if "test" not in parts and "dev" in parts and all(half in files for half in _HALVES.values()):
        parts |= {split: Part(parts["dev"].path, _lines(files[half])) for split, half in _HALVES.items()}
    if missing := [split for split in SPLITS if split not in parts]:
        published = PUBLISHED.get(name)
        looked_for = folder / f"({' or '.join(_NAMES[missing[0]])})" if folder.is_dir() else folder
        raise BenchmarkMissing(
            published.title if published else name, looked_for, published.remedy if published else _OWN_REMEDY
        )
    return parts


def write_set(name: str, folder: Path, place: Path) -> dict[str, int]:
    """Write `<split>.parquet` with the columns of `SCHEMA` to `place`; return the counts of each split.

    Of train all questions are written, of dev and test those with a right and a wrong candidate: the "clean" setting of
    the MSPP paper and its code. Besides `questions`, `candidates` and `questions_left_out`, each split has these counts
    if they are not 0; all but the last are of all questions as they were read:

    - `without_right`, `all_right`: questions whose candidates are all wrong, or all right;
    - `duplicates`: candidates whose text an earlier candidate of the question has;
    - `contradictions`: duplicates with another label: whatever a model says, they are tied;
    - `empty`: candidates without text;
    - `repeated_ids`: questions with the id of an earlier one;
    - `in_parts`: questions whose candidates do not all stand together;
    - `in_train`: questions of dev or test, by their texts, that are trained on.

    Raises:
        BenchmarkMissing: a file is missing.
        ValueError: a file is not in a form, or differs from the published set of this name.
    """
    counts: dict[str, int] = {}
    parts = find_parts(name, folder)
    place.mkdir(parents=True)
    for split, part in parts.items():
        counts |= {f"{split}_{key}": count for key, count in _write_split(name, split, part, place).items()}
    texts = {
        split: {text for table in tables(place / f"{split}.parquet", ["question"]) for text in table["question"]}
        for split in SPLITS
    }
    in_train = {f"{split}_in_train": len(texts["train"] & texts[split]) for split in ("dev", "test")}
    return counts | {key: count for key, count in in_train.items() if count}


def tables(file: Path, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
    """A split that `write_set` wrote, or some of its columns, one row group at a time."""
    parquet = pq.ParquetFile(file)
    for group in range(parquet.num_row_groups):  # `iter_batches` keeps what it has read
        yield parquet.read_row_group(group, columns).to_pandas()


def read_wikiqa(folder: Path) -> pd.DataFrame:
    """Read WikiQA, one row a candidate in file order: split, the columns of `SCHEMA`; all questions are kept.

    Raises as `write_set`.
    """
    rows = [
        (split, *row)
        for split, part in find_parts("wikiqa", folder).items()
        for question in part.questions()
        for row in _rows(question, 0)
    ]
    return pd.DataFrame(rows, columns=["split", *SCHEMA.names])


def checksums(name: str, folder: Path) -> dict[str, str]:
    """SHA-256 of the files that a set was read from."""
    paths = {part.path for part in find_parts(name, folder).values()}
    return file_digests(sorted(file for path in paths for file in (path.iterdir() if path.is_dir() else [path])))


def _write_split(name: str, split: str, part: Part, place: Path) -> dict[str, int]:
    labels, counts = _count(part)
    kept = labels if split == "train" else {question for question, known in labels.items() if known == {0, 1}}
    sizes: Counter[str] = Counter()  # candidates of each question so far: some of ASNQ's are in parts
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
    written = {"questions": len(sizes), "candidates": sizes.total()}
    counts = Counter(questions_left_out=len(labels) - len(kept)) + counts
    return written | {key: count for key, count in counts.items() if count}


def _count(part: Part) -> tuple[dict[str, set[int]], Counter[str]]:
    """The labels of each question, and the counts of `write_set` that are of all questions."""
    labels: dict[str, set[int]] = {}
    counts: Counter[str] = Counter()
    for question in part.questions():
        counts["in_parts"] += question.id in labels
        counts["repeated_ids"] += question.renamed
        labels.setdefault(question.id, set()).update(candidate.label for candidate in question.candidates)
        first: dict[str, int] = {}
        for candidate in question.candidates:
            counts["contradictions"] += first.setdefault(candidate.text, candidate.label) != candidate.label
            counts["empty"] += not candidate.text.strip()
        counts["duplicates"] += len(question.candidates) - len(first)
    counts["without_right"] = sum(1 not in known for known in labels.values())
    counts["all_right"] = sum(known == {1} for known in labels.values())
    return labels, counts


def _compare(name: str, split: str, part: Part, read: int, kept: Size) -> None:
    """Raise ValueError if a split differs from the published one."""
    published = PUBLISHED[name]
    release = published.splits[split]
    if read in release.read and kept in release.kept:
        return
    wanted = " or ".join(f"{size.questions:,} with {size.candidates:,}" for size in release.kept)
    raise ValueError(
        f"{part.path}: {read:,} {split} questions, of which {kept.questions:,} with {kept.candidates:,} candidates "
        f"can be ranked; {published.title} has {' or '.join(f'{count:,}' for count in release.read)}, of which "
        f"{wanted}. Fetch it again, or, if it is a set of your own, give it another name than {name} in "
        "answer_selection.input"
    )


def _rows(question: Question, first: int) -> Iterator[tuple[object, ...]]:
    for position, candidate in enumerate(question.candidates, start=first):
        yield question.id, question.text, candidate.id, candidate.text, candidate.label, candidate.title, position


def _table(rows: list[tuple[object, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, SCHEMA.types, strict=True)], schema=SCHEMA)


def _find_file(files: dict[str, Path], split: str) -> Path | None:
    """The first of the names of a split that is there, as a file or a folder of tokens."""
    for stem in _NAMES[split]:
        for ending in _ENDINGS:
            path = files.get(stem + ending)
            if path is not None and (path if ending else path / TOKENS[0]).is_file():
                return path
    return None


def _lines(path: Path) -> frozenset[str]:
    with open_text(path) as file:
        return frozenset(line.strip() for line in file)
