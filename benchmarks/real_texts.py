"""Texts with real questions, for benchmarks of search: written in BEIR's layout from published files.

    python benchmarks/real_texts.py OUTPUT [--data ../shared/data] [--texts squad fever …]

Each text is a folder OUTPUT/<name> with corpus.jsonl (or the pages of a documentation), queries.jsonl and
qrels/test.tsv. A text whose files are missing is left out with a message. At most 2,000 questions of each are drawn,
by hash.

squad       paragraphs of SQuAD 1.1 dev; its questions
hotpotqa    paragraphs of HotpotQA's distractor setting; its questions, two paragraphs each
fever       evidence sentences of FEVER; claims, which they support or refute
wikiqa      introductions of Wikipedia pages; questions with an answering sentence
quora       questions of Quora question pairs; their duplicates
xnli_LANG   premises of XNLI; hypotheses that were written about them (de, fr, zh)
nodejs      Node.js's API documentation (/usr/share/doc/nodejs/api); questions/nodejs.tsv
npm         npm's documentation (docs/content of the package npm); questions/npm.tsv
itwiki      an export of the Italian Wikipedia; questions/itwiki.tsv, in Italian

The questions in `questions/` were written for this benchmark by its authors, before any search was run on them.
"""

import argparse
import csv
import gzip
import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

MAX_QUESTIONS = 2_000
QUESTIONS_DIR = Path(__file__).parent / "questions"
NODE_DOCS = Path("/usr/share/doc/nodejs/api")

Documents = Iterable[tuple[str, str, str]]
#: Question and the id of an answering document; a question with several answers has several.
Questions = Sequence[tuple[str, str]]


class Text(NamedTuple):
    """Documents (id, title, text), or files to copy, and questions."""

    documents: Documents
    questions: Questions
    files: Path | None = None


def read_squad(data: Path) -> Text:
    """Return each paragraph as a document."""
    articles = json.loads((data / "question_answering/squad_v1.1_dev/dev-v1.1.reconstructed.json").read_text())["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    questions = [
        (question["question"], f"p{row}") for row, paragraph in enumerate(paragraphs) for question in paragraph["qas"]
    ]
    return Text([(f"p{row}", "", paragraph["context"]) for row, paragraph in enumerate(paragraphs)], questions)


def read_hotpotqa(data: Path) -> Text:
    """Return the paragraphs of all questions, by title."""
    rows = json.loads((data / "question_answering/hotpotqa_slice/hotpot_dev_distractor_v1.json").read_text())
    texts: dict[str, str] = {}
    for row in rows:
        for title, sentences in zip(row["context"]["title"], row["context"]["sentences"], strict=True):
            texts[title] = " ".join(sentence.strip() for sentence in sentences)
    questions = [(row["question"], title) for row in rows for title in dict.fromkeys(row["supporting_facts"]["title"])]
    return Text([(title, title, text) for title, text in texts.items()], questions)


def read_fever(data: Path) -> Text:
    """Return the evidence sentences, each once."""
    with (data / "fact_verification/fever/athnlp_with_evidence/test.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    names = _name_texts("e", (sentence for row in rows for sentence in row["evidence"]))
    questions = [(row["claim"], names[sentence]) for row in rows for sentence in row["evidence"]]
    return Text(_untitled(names), questions)


def read_wikiqa(data: Path) -> Text:
    """Return the introductions of all splits; questions without an answer are left out."""
    sentences: dict[str, dict[str, None]] = {}
    questions = []
    for split in ("train", "dev", "test"):
        with gzip.open(data / f"answer_selection/wikiqa/WikiQA-{split}.tsv.gz", "rt", encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                sentences.setdefault(row["DocumentTitle"], {})[row["Sentence"]] = None
                if row["Label"] == "1":
                    questions.append((row["Question"], row["DocumentTitle"]))
    return Text([(title, title, " ".join(texts)) for title, texts in sentences.items()], questions)


def read_quora(data: Path) -> Text:
    """Return second questions as documents, and first ones of duplicates as questions, which are no documents."""
    rows = [line.split("\t") for line in (data / "pairs/quora/test.txt").read_text(encoding="utf-8").splitlines()]
    duplicates = [(first, second) for first, second, label in rows if label == "1" and first != second]
    queries = {question for question, _ in draw(duplicates)}
    names = _name_texts("q", (second for _, second, _ in rows if second not in queries))
    return Text(_untitled(names), [(a, names[b]) for a, b in duplicates if a in queries and b in names])


def read_xnli(data: Path, lang: str) -> Text:
    """Return the premises, each once; the hypotheses of all labels are questions."""
    with gzip.open(data / f"multilingual/xnli/test-{lang}.tsv.gz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t")[:2] for line in file]
    names = _name_texts("x", (premise for premise, _ in rows))
    return Text(_untitled(names), [(hypothesis, names[premise]) for premise, hypothesis in rows])


def read_nodejs(data: Path) -> Text:
    """Return the pages of Debian's package nodejs-doc."""
    return Text([], _read_own_questions("nodejs"), _require(NODE_DOCS))


def read_npm(data: Path) -> Text:
    """Return the pages of the installed npm."""
    root = subprocess.run(["npm", "root", "--global"], capture_output=True, text=True, check=True).stdout.strip()
    return Text([], _read_own_questions("npm"), _require(Path(root) / "npm/docs/content"))


def read_itwiki(data: Path) -> Text:
    """Return the export as it is."""
    return Text([], _read_own_questions("itwiki"), _require(data / "wikipedia/itwiki-pages-articles-small.xml.gz"))


READERS: dict[str, Callable[[Path], Text]] = {
    "squad": read_squad,
    "hotpotqa": read_hotpotqa,
    "fever": read_fever,
    "wikiqa": read_wikiqa,
    "quora": read_quora,
    "xnli_de": lambda data: read_xnli(data, "de"),
    "xnli_fr": lambda data: read_xnli(data, "fr"),
    "xnli_zh": lambda data: read_xnli(data, "zh"),
    "nodejs": read_nodejs,
    "npm": read_npm,
    "itwiki": read_itwiki,
}


def draw(questions: Questions) -> list[tuple[str, str]]:
    """Return all answers of at most `MAX_QUESTIONS` questions, those with the smallest hashes."""
    texts = sorted({text for text, _ in questions}, key=lambda text: hashlib.blake2b(text.encode()).digest())
    drawn = set(texts[:MAX_QUESTIONS])
    return [pair for pair in dict.fromkeys(questions) if pair[0] in drawn]


def write_text(text: Text, folder: Path) -> None:
    """Write documents, or a copy of the files, with queries and qrels to a new folder."""
    folder.mkdir(parents=True)
    if text.files is not None:
        if text.files.is_dir():
            # Node.js has all its pages in one file again.
            shutil.copytree(text.files, folder / text.files.name, ignore=shutil.ignore_patterns("all.*"))
        else:
            shutil.copy(text.files, folder)
    else:
        with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
            for name, title, content in text.documents:
                file.write(json.dumps({"_id": name, "title": title, "text": content}, ensure_ascii=False) + "\n")
    questions = draw([(" ".join(question.split()), answer) for question, answer in text.questions])
    names = _name_texts("", (question for question, _ in questions))
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as file:
        for question, name in names.items():
            file.write(json.dumps({"_id": name, "text": question}, ensure_ascii=False) + "\n")
    (folder / "qrels").mkdir()
    with (folder / "qrels/test.tsv").open("w", encoding="utf-8") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        file.writelines(f"{names[question]}\t{answer}\t1\n" for question, answer in questions)
    print(f"{folder.name}: {len(names)} questions", flush=True)


def write_texts(names: Sequence[str], data: Path, output_dir: Path) -> list[Path]:
    """Write the named texts unless they exist, and return the folders of those whose files are present."""
    folders = []
    for name in names:
        folder = output_dir / name
        if not folder.exists():
            try:
                write_text(READERS[name](data), folder)
            except (FileNotFoundError, subprocess.CalledProcessError) as error:
                print(f"{name}: left out ({error})", flush=True)
                continue
        folders.append(folder)
    return folders


def find_text(folder: Path) -> Path:
    """Return the documents of a text: corpus.jsonl, or the copied folder or file."""
    return next(path for path in folder.iterdir() if path.name not in ("queries.jsonl", "qrels"))


def _name_texts(prefix: str, texts: Iterable[str]) -> dict[str, str]:
    """Return text → name, each text once."""
    names: dict[str, str] = {}
    for text in texts:
        names.setdefault(text, f"{prefix}{len(names)}")
    return names


def _untitled(names: dict[str, str]) -> Documents:
    return [(name, "", text) for text, name in names.items()]


def _read_own_questions(name: str) -> Questions:
    lines = (QUESTIONS_DIR / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [(question, answer) for question, answer in (line.split("\t") for line in lines)]


def _require(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output_dir", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--texts", nargs="+", choices=READERS, default=list(READERS))
    args = parser.parse_args()
    write_texts(args.texts, args.data, args.output_dir)


if __name__ == "__main__":
    main()
