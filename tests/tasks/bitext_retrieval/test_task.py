"""Bitext retrieval as a task, from the files to the records."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from contexture.corpus.bitext.config import BitextSet
from contexture.metrics.language_components import first_component
from contexture.reporting.published import read_published
from contexture.retrieval.search_index import find_nearest
from contexture.tasks.base import Results
from contexture.tasks.bitext_retrieval.config import BitextRetrievalConfig, BitextRetrievalSettings, TatoebaSet
from contexture.tasks.bitext_retrieval.evaluation import accuracy
from contexture.tasks.bitext_retrieval.files import PAPERS, read_set
from contexture.tasks.bitext_retrieval.task import BitextRetrievalTask
from contexture.tasks.corpus_languages import known, without
from contexture.tasks.missing import BenchmarkMissing
from tests.tasks.pairs import toys

TASK = BitextRetrievalTask()


def put(folder: Path, lang: str, lines: list[tuple[str, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for side, name in enumerate((lang, "eng")):
        text = "".join(f"{line[side]}\n" for line in lines)
        (folder / f"tatoeba.{lang}-eng.{name}").write_text(text, encoding="utf-8")


def looked_up(vectors: dict[str, list[float]]) -> Any:
    return lambda texts: np.array([vectors[text] for text in texts], np.float32)


def test_the_direction_is_who_asks() -> None:
    """Both sources are nearest to the first target, each target to its own source."""
    vectors = {"s1": [1.0, 0.1], "s2": [1.0, 0.4], "t1": [9.0, 2.0], "t2": [0.1, 1.0]}
    lookup = looked_up(vectors)
    assert accuracy((lookup, ["s1", "s2"]), (lookup, ["t1", "t2"])) == 0.5
    assert accuracy((lookup, ["t1", "t2"]), (lookup, ["s1", "s2"])) == 1.0


def test_equal_vectors_are_not_found() -> None:
    """But one sentence that two pairs have is right for both."""
    nothing = looked_up({"s1": [0, 0], "s2": [0, 0], "t1": [0, 0], "t2": [0, 0]})
    assert accuracy((nothing, ["s1", "s2"]), (nothing, ["t1", "t2"])) == 0
    lookup = looked_up({"s1": [1, 0], "s2": [1, 0.1], "t": [2, 0], "u": [0, 1]})
    assert accuracy((lookup, ["s1", "s2"]), (lookup, ["t", "t"])) == 1
    assert accuracy((lookup, ["s1", "s2", "u"]), (lookup, ["t", "t", "u"])) == 1


def test_the_search_is_that_of_all_cosines() -> None:
    draw = np.random.default_rng(0)
    candidates, asked = draw.normal(size=(50, 8)).astype("f4"), draw.normal(size=(20, 8)).astype("f4")
    scores, rows = find_nearest(candidates, asked, 2)
    cosines = (asked @ candidates.T) / np.linalg.norm(asked, axis=1)[:, None] / np.linalg.norm(candidates, axis=1)
    assert rows.tolist() == np.argsort(-cosines, axis=1)[:, :2].tolist()
    np.testing.assert_allclose(scores, -np.sort(-cosines, axis=1)[:, :2], atol=1e-5)


def test_from_files_to_records(tmp_path: Path) -> None:
    """An encoder of words finds the same words; the mean is that of the paper's languages alone."""
    texts = toys.texts(6)
    for lang in [*sorted(PAPERS), "xho"]:
        put(tmp_path / "v1", lang, [(text, text) for text in texts[:: -1 if lang == "afr" else 1]])
    source = BitextRetrievalConfig(input={"tatoeba": str(tmp_path / "v1"), "none": str(tmp_path / "none")})
    report = toys.read_report(TASK, source, tmp_path, tmp_path / "data")
    assert report["counts"]["tatoeba"]["deu-eng"] == 6 and len(report["counts"]["tatoeba"]) == 37
    assert "none is not here: looked for" in report["missing"]["none"]
    encoders = toys.bag(tmp_path)
    for lang in ("de", "en"):
        toys.write_sentences(tmp_path / "paragraphs" / f"lang={lang}", texts[:4])

    def evaluate(settings: BitextRetrievalSettings) -> Results:
        corpus = {"paragraphs": tmp_path / "paragraphs"}
        return TASK.evaluate(settings, encoders, tmp_path / "data", tmp_path / "vectors", **corpus)

    frozen = pd.DataFrame(evaluate(BitextRetrievalSettings()).records)
    assert set(frozen["protocol"]) == {"frozen"} and len(frozen) == 2 * 37 + 2
    values = frozen.set_index("data")["value"]
    assert values["tatoeba/xho-eng"] == values["tatoeba/eng-deu"] == values["tatoeba/36-eng"] == 1
    with_pcr = evaluate(BitextRetrievalSettings(pcr_sentences=3))
    table = pd.DataFrame(with_pcr.records)
    assert sorted(table.loc[table["protocol"] == "pcr", "data"]) == ["tatoeba/deu-eng", "tatoeba/eng-deu"]
    pd.testing.assert_frame_equal(table[table["protocol"] == "frozen"].reset_index(drop=True), frozen)
    (message,) = (name for name in with_pcr.details["missing"] if name.startswith("PCR on tatoeba in afr, ara"))
    assert "deu" not in message and "xho" in message and "none" in with_pcr.details["missing"]


def test_every_language_of_the_paper_is_known_by_the_code_that_text_has() -> None:
    columns = read_published("contexture.systems.cmlm_multilingual").tables["table_5"].columns[:-1]
    codes = {column.name: column.subset.removesuffix("-eng") for column in columns}
    assert tuple(codes.values()) == PAPERS
    assert known(PAPERS, codes) == {code: name for name, code in sorted(codes.items(), key=lambda pair: pair[1])}


def test_the_component_of_a_language_is_removed() -> None:
    """Vectors that are the same in both languages but for a large constant are found by PCR alone."""
    draw = np.random.default_rng(0)
    meaning, shift = draw.normal(size=(60, 16)), 9 * np.eye(16)[:2]
    by_text = {f"{lang}{n}": meaning[n] + shift[side] for side, lang in enumerate("ab") for n in range(60)}
    lookup = looked_up(by_text)
    common = {lang: first_component(lookup([f"{lang}{n}" for n in range(30, 60)])) for lang in "ab"}
    asked, right = ([f"{lang}{n}" for n in range(30)] for lang in "ab")
    plain = accuracy((lookup, asked), (lookup, right))
    removed = accuracy((without(lookup, common["a"]), asked), (without(lookup, common["b"]), right))
    assert plain < 0.9 and removed == 1


def test_the_made_up_worlds_own_sentences(tmp_path: Path) -> None:
    for lang in ("qaa", "qab"):
        put(tmp_path / "languages/tatoeba", lang, [("vuhul", "so"), ("raru", "and")])
    report = toys.read_report(TASK, BitextRetrievalConfig(input="demo"), tmp_path, tmp_path / "data")
    counts = {"demo": {"qaa-eng": 2, "qab-eng": 2}}
    assert report == {"name": "demo", "counts": counts, "missing": {}, "mining": {}}
    assert "names no files" in str(toys.read_report(TASK, BitextRetrievalConfig(), tmp_path, tmp_path / "data"))


def test_some_of_tatoebas_languages(tmp_path: Path) -> None:
    for lang in ("deu", "fra", "ita"):
        put(tmp_path, lang, [("a", "b")])
    rows = read_set("t", TatoebaSet(str(tmp_path), ["ita", "deu"]))
    assert rows["source_lang"].tolist() == ["ita", "deu"]
    with pytest.raises(BenchmarkMissing, match=r"t is not here: looked for .*tatoeba\.rus-eng\.eng"):
        read_set("t", TatoebaSet(str(tmp_path), ["deu", "rus"]))


@pytest.mark.parametrize(
    ("german", "message"),
    [
        ("a\n\n", r"tatoeba\.deu-eng\.eng, line 2: a side is empty"),
        ("a\n", r"deu has 1 lines, .*eng 2: each line"),
        ("a\nü\n", r"tatoeba\.deu-eng\.eng, line 2: is not UTF-8 text"),
    ],
)
def test_bad_files_are_named(german: str, message: str, tmp_path: Path) -> None:
    put(tmp_path, "deu", [("a", "b"), ("c", "d")])
    (tmp_path / "tatoeba.deu-eng.deu").write_bytes(german.encode("latin-1"))
    with pytest.raises(ValueError, match=message):
        read_set("t", str(tmp_path))


def test_files_of_a_pair_of_languages(tmp_path: Path) -> None:
    put(tmp_path, "deu", [("a", "b")])
    files = [str(tmp_path / f"tatoeba.deu-eng.{lang}") for lang in ("deu", "eng")]
    assert read_set("t", BitextSet(files, ("de", "en"))).to_numpy().tolist() == [["a", "b", "de", "en"]]
    with pytest.raises(BenchmarkMissing, match="t is not here: looked for nowhere"):
        read_set("t", BitextSet(["nowhere", files[1]], ("de", "en")))


def test_real_files(shared_data: Path) -> None:
    rows = read_set("tatoeba", f"{shared_data}/multilingual/tatoeba/v1")
    counts = rows.groupby("source_lang").size()
    assert len(counts) == 112 and counts["deu"] == counts["fra"] == 1000 and set(counts.index) >= set(PAPERS)
    tests = shared_data / "multilingual/multi30k/data/task1/raw"
    flickr = BitextSet([f"{tests}/test_2016_flickr.{lang}.gz" for lang in ("en", "de")], ("en", "de"))
    assert len(read_set("multi30k", flickr)) == 1000
