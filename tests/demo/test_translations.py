"""The folder of the made-up languages: layouts, counts, and that no sentence is where it must not be."""

import re
from itertools import combinations
from pathlib import Path

import pytest

from contexture.corpus.bitext.config import BitextSet
from contexture.corpus.bitext.files import read_pairs
from contexture.demo import DemoConfig, write_demo_world
from contexture.demo.languages import translator
from contexture.demo.novels import novel, sentences
from contexture.demo.translations import bitext_names
from contexture.tasks.bitext_retrieval.files import read_set

CODES = ["qaa", "qab", "qac"]
CONFIG = DemoConfig(pages=25, novels=3, seed=7, languages=3)
Lines = dict[str, list[str]]


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    return write_demo_world(CONFIG, tmp_path_factory.getbasetemp() / "languages_world")


@pytest.fixture(scope="module")
def demo(counts: dict[str, int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp() / "languages_world"


@pytest.fixture(scope="module")
def lines(demo: Path) -> Lines:
    folder = demo / "languages"
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8").splitlines() for path in files}


def column(rows: list[str], place: int) -> list[str]:
    return [row.split("\t")[place] for row in rows]


def test_counts_are_those_of_the_files(counts: dict[str, int], lines: Lines) -> None:
    novels = [name for name in lines if name.startswith("books/")]
    assert counts["language_novels"] == len(novels) == 9
    assert {name.split("/")[1] for name in novels} == set(CODES)
    written = (sentences(novel(7, index, code)) for code in CODES for index in range(3))
    assert counts["language_novel_sentences"] == sum(1 for one in written for _ in one)
    for part in ("bitext", "tatoeba", "xnli", "pawsx", "senteval"):
        assert counts[f"language_{part}"] == sum(len(rows) for name, rows in lines.items() if name.startswith(part))


def test_novels_are_in_their_language_and_none_is_a_translation(lines: Lines) -> None:
    told = {}
    for code in CODES:
        translate = translator(7, code)
        english = [list(sentences(novel(7, index, code))) for index in range(3)]
        own = " ".join(line for name, rows in lines.items() if name.startswith(f"books/{code}/") for line in rows)
        assert all(translate(sentence) in own for one in english for sentence in one)
        told[code] = {sentence for one in english for sentence in one}
    told["en"] = {sentence for index in range(3) for sentence in sentences(novel(7, index))}
    for one, other in combinations(told.values(), 2):
        assert len(one & other) < 0.05 * len(one)


def test_parallel_sentences_are_new_and_translations(demo: Path, lines: Lines) -> None:
    sets = {"tatoeba": set(lines["tatoeba/tatoeba.qaa-eng.eng"])}
    retrieval = read_set("demo", str(demo / "languages/tatoeba"))
    assert retrieval.groupby(["source_lang", "target_lang"]).size().to_dict() == {(code, "eng"): 300 for code in CODES}
    for code in CODES:
        translate = translator(7, code)
        part = retrieval[retrieval["source_lang"] == code]
        assert list(map(translate, part["target"])) == part["source"].tolist()
        assert set(part["target"]) == sets["tatoeba"] and part["source"].nunique() == part["target"].nunique() == 300
        files = [str(demo / "languages" / name) for name in bitext_names(code)]
        pairs = list(read_pairs(BitextSet(files, ("en", code))))
        assert [Path(file).name for file in files] == [f"train.en-{code}.en", f"train.en-{code}.{code}"]
        assert len(set(pairs)) == 1000 and all(translate(str(source)) == target for source, target in pairs)
        sets[code] = {str(source) for source, _ in pairs}
    sets["novels"] = {
        text for series in ((), *zip(CODES)) for n in range(3) for text in sentences(novel(7, n, *series))
    }
    sets["tasks"] = {row for name, rows in lines.items() if name.endswith("-en.tsv") for row in rows}
    sets["tasks"] = {text for row in sets["tasks"] for text in row.split("\t")}
    for one, other in combinations(sets.values(), 2):
        assert not one & other


def test_xnli_and_paraphrases_are_the_same_in_all_languages(lines: Lines) -> None:
    rows = {"train": 1200, "dev": 300, "test": 300}
    for part, code in ((part, code) for part in rows for code in CODES):
        english, other = lines[f"xnli/{part}-en.tsv"], lines[f"xnli/{part}-{code}.tsv"]
        assert len(english) == len(other) == rows[part]
        assert column(english, 2) == column(other, 2) and set(column(other, 2)) == {
            "entailment", "contradiction", "neutral"
        }  # fmt: skip
        for place in (0, 1):
            assert list(map(translator(7, code), column(english, place))) == column(other, place)
    for code in CODES:
        english, other = lines["pawsx/test-en.tsv"], lines[f"pawsx/test-{code}.tsv"]
        assert len(english) == len(other) == 300 and {row.count("\t") for row in english + other} == {1}
        assert list(map(translator(7, code), column(english, 1))) == column(other, 1)


def test_sentence_tasks_keep_their_layout_and_labels(demo: Path, lines: Lines) -> None:
    english = {
        str(path.relative_to(demo / "senteval")): path.read_text(encoding="utf-8").splitlines()
        for path in (demo / "senteval").rglob("*")
        if path.is_file() and path.name != "analogies.tsv"
    }
    for code in CODES:
        own = {name.removeprefix(f"senteval/{code}/"): rows for name, rows in lines.items() if f"l/{code}/" in name}
        assert own.keys() == english.keys()
        for name, rows in own.items():
            assert [row.count("\t") for row in rows] == [row.count("\t") for row in english[name]]
        for name, labels in (
            ("SICK/SICK_train.txt", (0, 3, 4)), ("MRPC/msr_paraphrase_test.txt", (0, 1, 2)),
            ("STS/STSBenchmark/sts-dev.csv", (0, 1, 2, 3, 4)), ("STS/STS14-en-test/STS.gs.images.txt", (0,)),
        ):  # fmt: skip
            assert all(column(own[name], place) == column(english[name], place) for place in labels)
            assert own[name][0] == english[name][0] or not name.startswith(("SICK", "MRPC"))
        translate = translator(7, code)
        for name, place in (("MRPC/msr_paraphrase_test.txt", 4), ("SICK/SICK_train.txt", 2), ("MR/rt-polarity.neg", 0)):
            first = int(not name.startswith("MR/"))
            assert column(own[name][first:], place) == list(map(translate, column(english[name][first:], place)))
        questions = zip(own["TREC/TREC_10.label"], english["TREC/TREC_10.label"], strict=True)
        assert all(re.split(" ", one, maxsplit=1)[0] == re.split(" ", other, maxsplit=1)[0] for one, other in questions)


def test_a_world_of_english_alone_takes_the_others_away(tmp_path: Path) -> None:
    small = DemoConfig(pages=25, novels=1, languages=1)
    write_demo_world(small, tmp_path)
    assert (tmp_path / "languages/books/qaa").is_dir()
    counts = write_demo_world(DemoConfig(pages=25, novels=1), tmp_path)
    assert not list(tmp_path.glob("*languages*")) and not any("language" in key for key in counts)
