"""Files of the made-up languages: layouts, counts, disjoint sentences."""

from itertools import combinations
from pathlib import Path

import pytest

from contexture.corpus.bitext.config import BitextSet
from contexture.corpus.bitext.files import read_pairs
from contexture.demo import DemoConfig, write_demo_world
from contexture.demo.languages import make_translator
from contexture.demo.novels import iter_sentences, make_novel
from contexture.demo.sentence_tasks import LABELS
from contexture.demo.translations import bitext_names
from contexture.tasks.bitext_retrieval.files import read_set

CODES = ["qaa", "qab", "qac"]
CONFIG = DemoConfig(pages=25, novels=3, seed=7, languages=3)
Lines = dict[str, list[str]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    folder = tmp_path_factory.mktemp("world")
    return folder, write_demo_world(CONFIG, folder)


@pytest.fixture(scope="module")
def demo(world: tuple[Path, dict[str, int]]) -> Path:
    return world[0]


def read_lines(folder: Path) -> Lines:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8").splitlines() for path in files}


@pytest.fixture(scope="module")
def lines(demo: Path) -> Lines:
    return read_lines(demo / "languages")


def column(rows: list[str], number: int) -> list[str]:
    return [row.split("\t")[number] for row in rows]


def test_counts_match_the_files(world: tuple[Path, dict[str, int]], lines: Lines) -> None:
    _, counts = world
    novels = [name for name in lines if name.startswith("books/")]
    assert counts["language_novels"] == len(novels) == 9
    assert {name.split("/")[1] for name in novels} == set(CODES)
    written = (iter_sentences(make_novel(7, index, code)) for code in CODES for index in range(3))
    assert counts["language_novel_sentences"] == sum(1 for novel_sentences in written for _ in novel_sentences)
    for part in ("bitext", "tatoeba", "xnli", "pawsx", "senteval"):
        assert counts[f"language_{part}"] == sum(len(rows) for name, rows in lines.items() if name.startswith(part))


def test_novels_are_translated_but_not_from_english_novels(lines: Lines) -> None:
    english = {"en": {sentence for index in range(3) for sentence in iter_sentences(make_novel(7, index))}}
    for code in CODES:
        translate = make_translator(7, code)
        english[code] = {sentence for index in range(3) for sentence in iter_sentences(make_novel(7, index, code))}
        text = " ".join(line for name, rows in lines.items() if name.startswith(f"books/{code}/") for line in rows)
        assert all(translate(sentence) in text for sentence in english[code])
    for first, second in combinations(english.values(), 2):
        assert len(first & second) < 0.05 * len(first)


def test_parallel_sentences_are_new_and_translations(demo: Path, lines: Lines) -> None:
    sets = {"tatoeba": set(lines["tatoeba/tatoeba.qaa-eng.eng"])}
    retrieval = read_set("demo", str(demo / "languages/tatoeba"))
    assert retrieval.groupby(["source_lang", "target_lang"]).size().to_dict() == {(code, "eng"): 300 for code in CODES}
    for code in CODES:
        translate = make_translator(7, code)
        part = retrieval[retrieval["source_lang"] == code]
        assert list(map(translate, part["target"])) == part["source"].tolist()
        assert set(part["target"]) == sets["tatoeba"] and part["source"].nunique() == part["target"].nunique() == 300
        files = [str(demo / "languages" / name) for name in bitext_names(code)]
        pairs = list(read_pairs(BitextSet(files, ("en", code))))
        assert [Path(file).name for file in files] == [f"train.en-{code}.en", f"train.en-{code}.{code}"]
        assert len(set(pairs)) == 1000 and all(translate(str(source)) == target for source, target in pairs)
        sets[code] = {str(source) for source, _ in pairs}
    sets["novels"] = {
        text for series in ((), *zip(CODES)) for n in range(3) for text in iter_sentences(make_novel(7, n, *series))
    }
    tasks = (rows for name, rows in lines.items() if name.endswith("-en.tsv"))
    sets["tasks"] = {text for rows in tasks for row in rows for text in row.split("\t")}
    for first, second in combinations(sets.values(), 2):
        assert not first & second


def test_xnli_and_paraphrases_are_the_same_in_all_languages(lines: Lines) -> None:
    rows = {"train": 1200, "dev": 300, "test": 300}
    for part, code in ((part, code) for part in rows for code in CODES):
        english, other = lines[f"xnli/{part}-en.tsv"], lines[f"xnli/{part}-{code}.tsv"]
        assert len(english) == len(other) == rows[part]
        assert column(english, 2) == column(other, 2) and set(column(other, 2)) == set(LABELS)
        for number in (0, 1):
            assert list(map(make_translator(7, code), column(english, number))) == column(other, number)
    for code in CODES:
        english, other = lines["pawsx/test-en.tsv"], lines[f"pawsx/test-{code}.tsv"]
        assert len(english) == len(other) == 300 and {row.count("\t") for row in english + other} == {1}
        assert list(map(make_translator(7, code), column(english, 1))) == column(other, 1)


def test_sentence_tasks_keep_their_layout_and_labels(demo: Path, lines: Lines) -> None:
    english = read_lines(demo / "senteval")
    del english["analogies.tsv"]
    for code in CODES:
        other = {name.removeprefix(f"senteval/{code}/"): rows for name, rows in lines.items() if f"l/{code}/" in name}
        assert other.keys() == english.keys()
        for name, rows in other.items():
            assert [row.count("\t") for row in rows] == [row.count("\t") for row in english[name]]
        for name, labels in (
            ("SICK/SICK_train.txt", (0, 3, 4)), ("MRPC/msr_paraphrase_test.txt", (0, 1, 2)),
            ("STS/STSBenchmark/sts-dev.csv", (0, 1, 2, 3, 4)), ("STS/STS14-en-test/STS.gs.images.txt", (0,)),
        ):  # fmt: skip
            assert all(column(other[name], number) == column(english[name], number) for number in labels)
            assert other[name][0] == english[name][0] or not name.startswith(("SICK", "MRPC"))
        translate = make_translator(7, code)
        sentence_columns = {"MRPC/msr_paraphrase_test.txt": 4, "SICK/SICK_train.txt": 2, "MR/rt-polarity.neg": 0}
        for name, number in sentence_columns.items():
            first = int(not name.startswith("MR/"))
            assert column(other[name][first:], number) == list(map(translate, column(english[name][first:], number)))
        labels_of = [[line.split(" ")[0] for line in files["TREC/TREC_10.label"]] for files in (other, english)]
        assert labels_of[0] == labels_of[1]


def test_a_world_without_languages_removes_their_folder(tmp_path: Path) -> None:
    small = DemoConfig(pages=25, novels=1, languages=1)
    write_demo_world(small, tmp_path)
    assert (tmp_path / "languages/books/qaa").is_dir()
    counts = write_demo_world(DemoConfig(pages=25, novels=1), tmp_path)
    assert not list(tmp_path.glob("*languages*")) and not any("language" in key for key in counts)
