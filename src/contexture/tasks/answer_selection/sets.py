"""Find the files of a set of questions, check published counts, and write the splits as Parquet.

One question and one row group are in memory at a time, as ASNQ has twenty million rows.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.tasks.answer_selection.files import SPLITS, TOKEN_FILES, Question, read_questions
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.task_folder import hash_files
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
#: Rows of a row group of the Parquet files.
ROW_GROUP_SIZE = 50_000

#: Names of the file or token folder of each split, the best first: candidates cut to 40 tokens before others,
#: train-all before train, all questions before filtered ones.
_NAMES = {
    "train": ["wikiqa-train", "train2393.cleanup", "train2393", "train-all", "train"],
    "dev": ["wikiqa-dev", *(f"dev-less-than-40{edit}" for edit in (".manual-edit", "")), "raw-dev", "dev"],
    "test": ["wikiqa-test", *(f"test-less-than-40{edit}" for edit in (".manual-edit", "")), "raw-test", "test"],
}
_NAMES |= {split: [*_NAMES[split], f"clean-{split}", f"{split}-filtered"] for split in ("dev", "test")}
_ENDINGS = ("", ".tsv", ".jsonl", ".xml", ".tsv.gz", ".jsonl.gz", ".xml.gz")
#: Files that list the dev and test questions of ASNQ's dev.tsv (Soldaini and Moschitti, 2020).
_HALVES = {"dev": "unique.dev", "test": "unique.test"}


class SplitSize(NamedTuple):
    """Size of a split."""

    questions: int
    candidates: int


class SplitCounts(NamedTuple):
    """Counts of a published split, one per edition."""

    read: tuple[int, ...]  # questions in the file; a filtered file has only those that are kept
    kept: tuple[SplitSize, ...]  # questions that can be ranked


class PublishedSet(NamedTuple):
    """A published set."""

    title: str
    splits: dict[str, SplitCounts]
    remedy: str


#: WikiQA and ASNQ: Table 5 of the MSPP paper, and Yang et al. (2015) for `read`. TREC-QA: 1,229 train, 82 dev and 100
#: test questions (Yao et al., 2013; Rao, He and Lin, 2016, Table 1), of which 65 and 68 are kept. The MSPP paper's
#: edition does not cut dev candidates at 40 tokens (69 questions, 1,343 candidates), and the paper counts training
#: questions by text (1,226).
PUBLISHED = {
    "wikiqa": PublishedSet(
        "WikiQA",
        {
            "train": SplitCounts((2118,), (SplitSize(2118, 20360),)),
            "dev": SplitCounts((296,), (SplitSize(122, 1126),)),
            "test": SplitCounts((633,), (SplitSize(237, 2341),)),
        },
        "Download the WikiQA corpus from Microsoft (https://www.microsoft.com/download/details.aspx?id=52419), unpack "
        "it and name the folder that holds WikiQA-train.tsv, WikiQA-dev.tsv and WikiQA-test.tsv (or the same gzipped).",
    ),
    "trecqa": PublishedSet(
        "TREC-QA",
        {
            "train": SplitCounts((1229, 1226), (SplitSize(1229, 53417), SplitSize(1226, 53417))),
            "dev": SplitCounts((82, 65, 69), (SplitSize(65, 1117), SplitSize(69, 1343))),
            "test": SplitCounts((100, 68), (SplitSize(68, 1442),)),
        },
        "Name the folder with jacana's train2393.cleanup.xml.gz, dev-less-than-40.manual-edit.xml and "
        "test-less-than-40.manual-edit.xml, or with train-all, dev and test as .jsonl, as .tsv or as folders of "
        "a.toks, b.toks, sim.txt and id.txt (docs/answer-selection.md).",
    ),
    "asnq": PublishedSet(
        "ASNQ",
        {
            "train": SplitCounts((57242,), (SplitSize(57242, 20377568),)),
            "dev": SplitCounts((1336,), (SplitSize(1336, 463914),)),
            "test": SplitCounts((1336,), (SplitSize(1336, 466148),)),
        },
        "Name the folder with ASNQ's train.tsv, dev.tsv, unique.dev and unique.test; the latter two split dev.tsv "
        "(docs/answer-selection.md).",
    ),
}
_CUSTOM_REMEDY = (
    "Name a folder with the files train, dev and test: .tsv, .jsonl or .xml, plain or .gz, in a format of "
    "docs/answer-selection.md."
)


class SplitFile(NamedTuple):
    """The file of a split, and the question texts that belong to the split; None: all."""

    path: Path
    texts: frozenset[str] | None = None

    def iterate_questions(self) -> Iterator[Question]:
        """Yield the questions in file order; see `files.read_questions`."""
        questions = read_questions(self.path)
        return (question for question in questions if self.texts is None or question.text.strip() in self.texts)


def find_split_files(name: str, folder: Path) -> dict[str, SplitFile]:
    """Return split → file of the set in `folder`. Raise BenchmarkMissing if a split has no file."""
    files = {path.name.lower(): path for path in sorted(folder.iterdir())} if folder.is_dir() else {}
    parts = {split: SplitFile(path) for split in SPLITS if (path := _find_file(files, split))}
    if "test" not in parts and "dev" in parts and all(half in files for half in _HALVES.values()):
        parts |= {split: SplitFile(parts["dev"].path, _read_line_set(files[half])) for split, half in _HALVES.items()}
    if missing := [split for split in SPLITS if split not in parts]:
        published = PUBLISHED.get(name)
        looked_for = folder / f"({' or '.join(_NAMES[missing[0]])})" if folder.is_dir() else folder
        raise BenchmarkMissing(
            published.title if published else name, looked_for, published.remedy if published else _CUSTOM_REMEDY
        )
    return parts


def write_set(name: str, folder: Path, set_dir: Path) -> dict[str, int]:
    """Write the questions in `folder` as `<split>.parquet` to `set_dir` and return the counts of each split.

    The columns are those of `SCHEMA`. All training questions are written, and dev and test questions with a right and a
    wrong candidate (the "clean" setting of the MSPP paper). Besides `questions` and `candidates`, each split has these
    counts if they are not 0; all but the last are over all questions of the file:

    - `questions_left_out`: questions that are not written;
    - `without_right`, `all_right`: questions whose candidates are all wrong, or all right;
    - `duplicates`: candidates with the text of an earlier candidate of the question;
    - `contradictions`: duplicates with another label, which always tie;
    - `empty`: candidates without text;
    - `repeated_ids`: questions with the id of an earlier one;
    - `in_parts`: questions whose candidates are not consecutive;
    - `in_train`: dev or test questions whose text is in train.

    Raises:
        BenchmarkMissing: a file is missing.
        ValueError: a file has an unknown format or differs from the published set of this name.
    """
    counts: dict[str, int] = {}
    parts = find_split_files(name, folder)
    set_dir.mkdir(parents=True)
    for split, part in parts.items():
        counts |= {f"{split}_{key}": count for key, count in _write_split(name, split, part, set_dir).items()}
    texts = {
        split: {text for table in read_tables(set_dir / f"{split}.parquet", ["question"]) for text in table["question"]}
        for split in SPLITS
    }
    in_train = {f"{split}_in_train": len(texts["train"] & texts[split]) for split in ("dev", "test")}
    return counts | {key: count for key, count in in_train.items() if count}


def read_tables(file: Path, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
    """Yield the tables (row groups) of a split's Parquet file, which `write_set` wrote."""
    parquet = pq.ParquetFile(file)
    for group in range(parquet.num_row_groups):  # `iter_batches` keeps all in memory
        yield parquet.read_row_group(group, columns).to_pandas()


def read_wikiqa(folder: Path) -> pd.DataFrame:
    """Return all questions of WikiQA: split and the columns of `SCHEMA`, one row per candidate, in file order.

    Errors: see `write_set`.
    """
    rows = [
        (split, *row)
        for split, part in find_split_files("wikiqa", folder).items()
        for question in part.iterate_questions()
        for row in _iterate_rows(question, 0)
    ]
    return pd.DataFrame(rows, columns=["split", *SCHEMA.names])


def hash_set_files(name: str, folder: Path) -> dict[str, str]:
    """Return path → SHA-256 of the files of a set."""
    paths = {part.path for part in find_split_files(name, folder).values()}
    return hash_files(sorted(file for path in paths for file in (path.iterdir() if path.is_dir() else [path])))


def _write_split(name: str, split: str, part: SplitFile, set_dir: Path) -> dict[str, int]:
    """Write the usable questions of a split as Parquet to `set_dir` and return its counts; see `write_set`."""
    labels, counts = _count_questions(part)
    kept = labels if split == "train" else {question for question, known in labels.items() if known == {0, 1}}
    sizes: Counter[str] = Counter()  # question → candidates so far; some questions of ASNQ are in parts
    with pq.ParquetWriter(set_dir / f"{split}.parquet", SCHEMA) as writer:
        rows: list[tuple[object, ...]] = []
        for question in part.iterate_questions():
            if question.id not in kept:
                continue
            rows += _iterate_rows(question, sizes[question.id])
            sizes[question.id] += len(question.candidates)
            if len(rows) >= ROW_GROUP_SIZE:
                writer.write_table(_build_table(rows))
                rows = []
        writer.write_table(_build_table(rows))
    if not sizes:
        reason = "" if split == "train" else ": none has a right and a wrong candidate"
        raise ValueError(f"{part.path}: none of {len(labels):,} {split} questions can be used{reason}")
    if name in PUBLISHED:
        _check_published_counts(name, split, part, len(labels), SplitSize(len(sizes), sizes.total()))
    written = {"questions": len(sizes), "candidates": sizes.total()}
    counts = Counter(questions_left_out=len(labels) - len(kept)) + counts
    return written | {key: count for key, count in counts.items() if count}


def _count_questions(part: SplitFile) -> tuple[dict[str, set[int]], Counter[str]]:
    """Return question id → labels of its candidates, and counts of irregular questions; see `write_set`."""
    labels: dict[str, set[int]] = {}
    counts: Counter[str] = Counter()
    for question in part.iterate_questions():
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


def _check_published_counts(name: str, split: str, part: SplitFile, num_read: int, kept: SplitSize) -> None:
    """Raise ValueError unless the questions read and kept are as many as in the published set."""
    published = PUBLISHED[name]
    release = published.splits[split]
    if num_read in release.read and kept in release.kept:
        return
    wanted = " or ".join(f"{size.questions:,} with {size.candidates:,}" for size in release.kept)
    raise ValueError(
        f"{part.path}: {num_read:,} {split} questions, of which {kept.questions:,} with {kept.candidates:,} candidates "
        f"can be ranked; {published.title} has {' or '.join(f'{count:,}' for count in release.read)}, of which "
        f"{wanted}. Fetch it again or, if it is another set, rename {name} in answer_selection.input"
    )


def _iterate_rows(question: Question, first: int) -> Iterator[tuple[object, ...]]:
    """Yield the row (`SCHEMA`) of each candidate; the first candidate has the position `first`."""
    for position, candidate in enumerate(question.candidates, start=first):
        yield question.id, question.text, candidate.id, candidate.text, candidate.label, candidate.title, position


def _build_table(rows: list[tuple[object, ...]]) -> pa.Table:
    """Return the rows as an Arrow table with `SCHEMA`."""
    columns = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, SCHEMA.types, strict=True)], schema=SCHEMA)


def _find_file(files: dict[str, Path], split: str) -> Path | None:
    """Return the first existing file or token folder among the names of a split."""
    for stem in _NAMES[split]:
        for ending in _ENDINGS:
            path = files.get(stem + ending)
            if path is not None and (path if ending else path / TOKEN_FILES[0]).is_file():
                return path
    return None


def _read_line_set(path: Path) -> frozenset[str]:
    """Return the distinct lines of a text file, without surrounding spaces."""
    with open_text(path) as file:
        return frozenset(line.strip() for line in file)
