"""Parallel sentences: the three formats, reasons of drops, and errors for bad files."""

import gzip
import random
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from pyspark.sql import DataFrame, SparkSession

from contexture.corpus.bitext.config import BitextConfig, BitextSet
from contexture.corpus.bitext.files import Pair, check_files, read_pairs
from contexture.corpus.bitext.table import count_pairs, mark_dropped_pairs, read_sets, select_kept
from contexture.corpus.errors import SourceError, explain_error
from tests.streams.make import spark_settings, write_files

TMX = """<?xml version="1.0" encoding="{encoding}"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en" datatype="plaintext" segtype="sentence"/>
<body>
<tu tuid="1"><tuv xml:lang="EN-gb"><seg>The boat is <bpt i="1">&lt;b&gt;</bpt>old<ept i="1">&lt;/b&gt;</ept> &amp; \
<hi>red</hi>.</seg></tuv>
  <tuv xml:lang="de"><seg>Das Boot ist alt &amp; rot.</seg></tuv><tuv xml:lang="de"><seg>Noch einmal.</seg></tuv></tu>
<tu><note>nothing</note><tuv xml:lang="en"><seg>Only here.</seg></tuv><tuv xml:lang="fr"><seg>Ici.</seg></tuv></tu>
<tu><tuv lang="deu"><seg>Später.</seg></tuv><tuv lang="eng"><seg>Later.</seg></tuv></tu>
</body></tmx>
"""
UNITS: list[Pair] = [
    ("The boat is old & red.", "Das Boot ist alt & rot."), ("Only here.", None), ("Later.", "Später.")
]  # fmt: skip


def make_set(*files: Path, **details: Any) -> BitextSet:
    return BitextSet(files=[str(file) for file in files], languages=("en", "de"), **details)


def write_file(path: Path, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def make_config(**sets: Any) -> BitextConfig:
    result: BitextConfig = TypeAdapter(BitextConfig).validate_python({"input": sets})
    return result


def test_moses_plain_and_compressed(tmp_path: Path) -> None:
    """Only a newline ends a line: real files have other separators within sentences."""
    english = write_file(tmp_path / "a.en", "One.\r\n\nThree\u2028 and\x85 more.\nFour")
    german = write_file(tmp_path / "a.de.gz", "Eins.\nZwei.\n\nVier\n")
    assert list(read_pairs(make_set(english, german))) == [
        ("One.\r", "Eins."), ("", "Zwei."), ("Three\u2028 and\x85 more.", ""), ("Four", "Vier")
    ]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), [(3, 5), (5, 3), (0, 1)])
def test_sides_of_different_length_raise(left: int, right: int, tmp_path: Path) -> None:
    english, german = (
        write_file(tmp_path / f"a.{n}", "x\n" * size + "\n") for n, size in (("en", left), ("de", right))
    )
    with pytest.raises(SourceError, match=rf"{english} has {left + 1} lines, {german} {right + 1}: each line"):
        list(read_pairs(make_set(english, german)))


def test_table_columns(tmp_path: Path) -> None:
    file = write_file(tmp_path / "pairs.tsv.gz", '1\tOne "1.\t7\tEins.\n2\tTwo.\n3\tThree.\t9\tDrei.\textra\n')
    assert list(read_pairs(make_set(file, columns=(2, 4)))) == [
        ('One "1.', "Eins."), ("Two.", None), ("Three.", "Drei.")
    ]  # fmt: skip
    assert list(read_pairs(make_set(file)))[1] == ("2", "Two.")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_memories_give_the_segments_of_the_languages(encoding: str, tmp_path: Path) -> None:
    """Languages match two- and three-letter codes with and without region. Formatting codes are not text."""
    file = write_file(tmp_path / "a.tmx", TMX.format(encoding=encoding).encode(encoding))
    assert list(read_pairs(make_set(file))) == UNITS
    other = BitextSet(files=[str(file)], languages=("ger", "fr"))
    assert list(read_pairs(other)) == [(None, None), (None, "Ici."), (None, None)]


def test_a_memory_is_read_as_a_stream(tmp_path: Path) -> None:
    """Units before the damage are read first."""
    unit = '<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>\n'
    file = write_file(tmp_path / "a.tmx", "<tmx><body>" + unit * 20_000 + "<tu></body>")
    result = read_pairs(make_set(file))
    assert [next(result) for _ in range(10_000)] == [("a", "b")] * 10_000
    with pytest.raises(SourceError, match=r"a\.tmx: is not well-formed XML: mismatched tag: line 20001"):
        list(result)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (('"tmx14.dtd"', '"x" [<!ENTITY a "b">]'), "declares the entity a, which can make a small file expand"),
        (('"tmx14.dtd"', '"x" [<!ENTITY % a SYSTEM "file:///b">]'), "declares the entity a"),
        (("utf-8", "iso-8859-1"), "declares the encoding iso-8859-1. Convert it first"),
        (("</body>", ""), "is not well-formed XML: mismatched tag"),
    ],
)
def test_harmful_or_damaged_memories_raise(changed: tuple[str, str], message: str, tmp_path: Path) -> None:
    file = write_file(tmp_path / "a.tmx", TMX.format(encoding="utf-8").replace(*changed))
    with pytest.raises(SourceError, match=message):
        list(read_pairs(make_set(file)))


@pytest.mark.parametrize("name", ["a.tmx.gz", "a.tsv.gz"])
def test_truncated_files_raise(name: str, tmp_path: Path) -> None:
    draw = random.Random(0)
    text = TMX.replace("</body>", "".join(f"<note>{draw.random()}</note>\n" for _ in range(999)) + "</body>")
    file = write_file(tmp_path / name, text.format(encoding="utf-8"))
    file.write_bytes(file.read_bytes()[:-900])
    with pytest.raises(SourceError, match=rf"{name}: cut off\."):
        list(read_pairs(make_set(file)))


def test_files_are_checked_before_a_run(tmp_path: Path) -> None:
    english, empty = write_file(tmp_path / "a.en", "x\n"), write_file(tmp_path / "a.de", "")
    check_files(make_set(english))
    for file, message in ((empty, "the file is empty"), (tmp_path / "no.de", "no.de: cannot be read")):
        with pytest.raises(SourceError, match=message):
            check_files(make_set(english, file))


ONE_LANGUAGE = "both sides have the language en: name two different languages"


@pytest.mark.parametrize(
    ("files", "languages", "message"),
    [
        *((["a"], languages, ONE_LANGUAGE) for languages in (["en", "en"], ["en", "eng"], ["EN", "en"])),
        (["a.en", "b.TMX.gz"], ["en", "de"], r"b\.TMX\.gz is a translation memory, which holds both sides"),
    ],
)
def test_invalid_sets_raise(files: list[str], languages: list[str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make_config(a={"files": files, "languages": languages})


def test_dialects_are_languages_of_tables_but_not_of_memories(tmp_path: Path) -> None:
    pairs, memory = (
        write_file(tmp_path / "a.tsv", "colour\tcolor\n"),
        write_file(tmp_path / "a.tmx", TMX.format(encoding="utf-8")),
    )
    of_table, of_memory = (BitextSet([str(file)], ("en-GB", "en-US")) for file in (pairs, memory))
    assert list(read_pairs(of_table)) == [("colour", "color")]
    with pytest.raises(SourceError, match="en-GB and en-US are both en: regions are ignored"):
        list(read_pairs(of_memory))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> BitextConfig:
    """A set with a pair for each reason, and a set in the other direction with a duplicate of the first."""
    tmp_path = tmp_path_factory.mktemp("mixed")
    many = [(f"This is the boat of number {n}.", f"Dies ist das Boot mit der Nummer {n}.") for n in range(20)]
    bad = [
        ("  ", "Leer."), ("Empty.", ""), ("Hamburg", "HAMBURG"), ("Long.", "Sehr lang. " * 9), ("Hm" * 90, "Kurz."),
        ("Yes.", "Ja, das tue ich."), ("\ufffd?", "Kaputt."), many[3], ("This is the boat\tof number 4.", many[4][1]),
    ]  # fmt: skip
    english = write_file(tmp_path / "a.en", "".join(f"{source}\n" for source, _ in many + bad))
    german = write_file(tmp_path / "a.de", "".join(f"{target}\n" for _, target in many + bad))
    table = write_file(
        tmp_path / "b.tsv", "".join(f"{source}\t{target}\n" for target, source in (many[5], ("New.", "Neu."))) + "x\n"
    )
    return make_config(
        a={"files": [str(english), str(german)], "languages": ["en", "de"]},
        b={"files": [str(table)], "languages": ["de", "en"]},
    )


def read_and_clean(spark: SparkSession, settings: BitextConfig) -> DataFrame:
    return mark_dropped_pairs(read_sets(spark, settings)).cache()


@pytest.fixture(scope="module")
def rows(spark: SparkSession, mixed: BitextConfig) -> DataFrame:
    return read_and_clean(spark, mixed)


def test_reasons_and_counts(rows: DataFrame, mixed: BitextConfig) -> None:
    counts = count_pairs(rows, mixed)
    assert counts["a"]["pairs_in"] == 29 and counts["a"]["pairs_out"] == 21
    assert counts["a"]["dropped"] == {"not_utf8": 1, "empty": 2, "identical": 1, "length_ratio": 2, "duplicate": 2}
    assert counts["b"]["dropped"] == {"missing_side": 1, "duplicate": 1} and counts["b"]["pairs_out"] == 1
    assert counts["a"]["languages"] == ["en", "de"] and not counts["a"]["same_language"]
    reasons = {(row["set"], row["number"]): row["dropped"] for row in rows.collect()}
    expected = ["empty", "empty", "identical", "length_ratio", "length_ratio", None, "not_utf8", *["duplicate"] * 2]
    assert [reasons["a", 20 + index] for index in range(9)] == expected
    assert [reasons["b", index] for index in range(3)] == ["duplicate", None, "missing_side"]
    result = {(row["source_lang"], row["source"], row["target"]) for row in select_kept(rows).collect()}
    assert ("de", "Neu.", "New.") in result and ("en", "Yes.", "Ja, das tue ich.") in result and len(result) == 22


def test_a_ratio_is_that_of_the_languages(spark: SparkSession, tmp_path: Path) -> None:
    """If all targets are four times as long as their sources, a target of equal length is dropped."""
    lines = [(f"{n:03} " + "ab" * 15, f"{n:03} " + "abcd" * 30) for n in range(50)] + [("ab" * 60, "cd" * 60)]
    sides = [write_file(tmp_path / f"{index}", "".join(f"{line[index]}\n" for line in lines)) for index in (0, 1)]
    settings_ = make_config(a={"files": [str(side) for side in sides], "languages": ["zh", "en"]})
    counts = count_pairs(read_and_clean(spark, settings_), settings_)
    assert counts["a"]["dropped"] == {"length_ratio": 1}


def test_the_number_of_cores_changes_nothing(
    spark: SparkSession, rows: DataFrame, mixed: BitextConfig, tmp_path: Path
) -> None:
    first = write_files(select_kept(rows), tmp_path / "a")
    assert len(first) == 4 and all(first)
    with spark_settings(spark, spark__sql__shuffle__partitions="7", spark__sql__adaptive__enabled="false"):
        assert write_files(select_kept(read_and_clean(spark, mixed)), tmp_path / "b") == first


def test_a_few_sentences_in_one_language_are_detected(spark: SparkSession, tmp_path: Path) -> None:
    """Trigrams of so few sentences prove nothing; the model does if it knows both languages."""
    sides = (
        "The ferry was late. They waited on the quay with their luggage. Nobody had told the passengers of the storm. "
        "Some of them went back into town. The others slept in the hall until morning.",
        "My aunt keeps bees. She gave us three jars of honey. We have eaten two of them already. Her garden lies "
        "behind the church. Every spring she paints the hives with bright colours.",
    )
    lines = zip(*(side.split(". ") for side in sides), strict=True)
    file = write_file(tmp_path / "a.tsv", "".join("\t".join(line) + "\n" for line in lines))
    expected = {("en", "de"): True, ("eng", "fr"): True, ("en", "qaa"): False}
    sets = make_config(**{"-".join(pair): {"files": [str(file)], "languages": [*pair]} for pair in expected})
    counts = count_pairs(read_and_clean(spark, sets), sets)
    assert [pairs["same_language"] for pairs in counts.values()] == [*expected.values()]
    assert all(pairs["pairs_out"] == 5 and pairs["likeness"] < 0.7 for pairs in counts.values())


def test_the_job_raises_the_error_of_a_file(spark: SparkSession, tmp_path: Path) -> None:
    sides = [write_file(tmp_path / name, "x\n" * size) for name, size in (("a.en", 2), ("a.de", 3))]
    sets = make_config(a={"files": [str(side) for side in sides], "languages": ["en", "de"]})
    with pytest.raises(Exception, match="SourceError") as error:
        read_sets(spark, sets).collect()
    message = f"{sides[0]} has 2 lines, {sides[1]} 3: each line must be the translation of the other"
    assert (explain_error(error.value) or "").startswith(message)
