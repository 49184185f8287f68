"""Bitext retrieval as a task, from files to records."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from contexture.corpus.bitext.config import BitextSet
from contexture.metrics.language_components import first_component
from contexture.reporting.published import read_published
from contexture.retrieval.search_index import find_nearest
from contexture.tasks.base import Results
from contexture.tasks.bitext_retrieval import evaluation
from contexture.tasks.bitext_retrieval.config import BitextRetrievalConfig, BitextRetrievalSettings, TatoebaSet
from contexture.tasks.bitext_retrieval.evaluation import _measure_both_directions, translation_accuracy
from contexture.tasks.bitext_retrieval.files import PAPER_LANGUAGES, read_set
from contexture.tasks.bitext_retrieval.task import BitextRetrievalTask
from contexture.tasks.corpus_languages import PcrTexts, match_languages, subtract_component
from contexture.tasks.missing import BenchmarkMissing
from tests.tasks.pairs import toys

TASK = BitextRetrievalTask()


def write_tatoeba(folder: Path, lang: str, lines: list[tuple[str, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for side, name in enumerate((lang, "eng")):
        text = "".join(f"{line[side]}\n" for line in lines)
        (folder / f"tatoeba.{lang}-eng.{name}").write_text(text, encoding="utf-8")


def make_lookup(vectors: dict[str, list[float]]) -> Any:
    return lambda texts: np.array([vectors[text] for text in texts], np.float32)


def test_accuracy_depends_on_the_direction() -> None:
    """Both sources are nearest to the first target; each target is nearest to its source."""
    vectors = {"s1": [1.0, 0.1], "s2": [1.0, 0.4], "t1": [9.0, 2.0], "t2": [0.1, 1.0]}
    lookup = make_lookup(vectors)
    assert translation_accuracy((lookup, ["s1", "s2"]), (lookup, ["t1", "t2"])) == 0.5
    assert translation_accuracy((lookup, ["t1", "t2"]), (lookup, ["s1", "s2"])) == 1.0


def test_ties_between_sentences_count_as_wrong() -> None:
    """A target that two pairs share is right for both."""
    zeros = make_lookup({"s1": [0, 0], "s2": [0, 0], "t1": [0, 0], "t2": [0, 0]})
    assert translation_accuracy((zeros, ["s1", "s2"]), (zeros, ["t1", "t2"])) == 0
    lookup = make_lookup({"s1": [1, 0], "s2": [1, 0.1], "t": [2, 0], "u": [0, 1]})
    assert translation_accuracy((lookup, ["s1", "s2"]), (lookup, ["t", "t"])) == 1
    assert translation_accuracy((lookup, ["s1", "s2", "u"]), (lookup, ["t", "t", "u"])) == 1
    rng = np.random.default_rng(0)  # enough vectors that FAISS rounds the scores of equal ones differently
    rows = rng.normal(size=(500, 300)).astype(np.float32)
    twice = make_lookup({f"{side}{n}": rows[n // 2].tolist() for side in "st" for n in range(1000)})
    sides = [[f"{side}{n}" for n in range(1000)] for side in "st"]
    assert translation_accuracy((twice, sides[0]), (twice, sides[1])) == 0


def test_nearest_matches_all_cosines() -> None:
    draw = np.random.default_rng(0)
    candidates, queries = draw.normal(size=(50, 8)).astype("f4"), draw.normal(size=(20, 8)).astype("f4")
    scores, rows = find_nearest(candidates, queries, 2)
    cosines = (queries @ candidates.T) / np.linalg.norm(queries, axis=1)[:, None] / np.linalg.norm(candidates, axis=1)
    assert rows.tolist() == np.argsort(-cosines, axis=1)[:, :2].tolist()
    np.testing.assert_allclose(scores, -np.sort(-cosines, axis=1)[:, :2], atol=1e-5)


def test_from_files_to_records(tmp_path: Path) -> None:
    """A word-based encoder retrieves equal words; the mean covers the paper's languages only."""
    texts = toys.texts(6)
    for lang in [*sorted(PAPER_LANGUAGES), "xho"]:
        write_tatoeba(tmp_path / "v1", lang, [(text, text) for text in texts[:: -1 if lang == "afr" else 1]])
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
    values, examples = frozen.set_index("data")["value"], frozen.set_index("data")["examples"]
    assert examples["tatoeba/eng-deu"] == 6 and examples["tatoeba/36-eng"] == 36 * 6
    assert values["tatoeba/xho-eng"] == values["tatoeba/eng-deu"] == values["tatoeba/36-eng"] == 1
    with_pcr = evaluate(BitextRetrievalSettings(pcr_sentences=3))
    table = pd.DataFrame(with_pcr.records)
    assert sorted(table.loc[table["protocol"] == "pcr", "data"]) == ["tatoeba/deu-eng", "tatoeba/eng-deu"]
    pd.testing.assert_frame_equal(table[table["protocol"] == "frozen"].reset_index(drop=True), frozen)
    (message,) = (name for name in with_pcr.details["missing"] if name.startswith("PCR on tatoeba in afr, ara"))
    assert "deu" not in message and "xho" in message and "none" in with_pcr.details["missing"]
    assert with_pcr.details["pcr_sentences"] == 3
    # On the evaluated sentences, every language has a component, also without text in the corpus.
    fitted_on_test = evaluate(BitextRetrievalSettings(pcr_sentences="test"))
    table = pd.DataFrame(fitted_on_test.records)
    by_protocol = {protocol: set(table.loc[table["protocol"] == protocol, "data"]) for protocol in ("frozen", "pcr")}
    assert by_protocol["pcr"] == by_protocol["frozen"] and set(fitted_on_test.details["missing"]) == {"none"}


def test_paper_languages_match_the_published_table() -> None:
    columns = read_published("contexture.systems.cmlm_multilingual").tables["table_5"].columns[:-1]
    codes = {column.name: column.subset.removesuffix("-eng") for column in columns}
    assert tuple(codes.values()) == PAPER_LANGUAGES
    assert match_languages(PAPER_LANGUAGES, codes) == {
        code: name for name, code in sorted(codes.items(), key=lambda pair: pair[1])
    }


def test_pcr_removes_the_language_component() -> None:
    """Vectors that differ by a large constant per language are retrieved with PCR only."""
    draw = np.random.default_rng(0)
    meaning, shift = draw.normal(size=(60, 16)), 9 * np.eye(16)[:2]
    by_text = {f"{lang}{n}": meaning[n] + shift[side] for side, lang in enumerate("ab") for n in range(60)}
    lookup = make_lookup(by_text)
    common = {lang: first_component(lookup([f"{lang}{n}" for n in range(30, 60)])) for lang in "ab"}
    sources, targets = ([f"{lang}{n}" for n in range(30)] for lang in "ab")
    plain = translation_accuracy((lookup, sources), (lookup, targets))
    removed = translation_accuracy(
        (subtract_component(lookup, common["a"]), sources), (subtract_component(lookup, common["b"]), targets)
    )
    assert plain < 0.9 and removed == 1


def test_pcr_of_the_paper_is_fitted_on_the_evaluated_sentences(tmp_path: Path) -> None:
    """Section 5.2: the first right singular vector of the matrix of a language's sentences, without centring."""
    lookup = make_lookup({"a1": [3.0, 4.0], "a2": [6.0, 8.0], "b1": [0.0, 2.0], "b2": [1.0, 0.0]})
    texts = {"deu": ["a1", "a2"], "xho": ["b1", "b2"]}
    fitted = PcrTexts(is_test=True)
    components = fitted.compute_components([], texts, lookup, tmp_path)
    assert fitted.languages(["xho", "deu", "xho"]) == [*components] == ["deu", "xho"]
    np.testing.assert_allclose(np.abs(components["deu"]), [0.6, 0.8], atol=1e-6)
    np.testing.assert_allclose(np.abs(components["xho"]), [0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(subtract_component(lookup, components["xho"])(["b1", "b2"]), [[0, 0], [1, 0]], atol=1e-6)
    assert not [*tmp_path.iterdir()]  # no vectors of the corpus
    with pytest.raises(ValidationError, match="test"):
        BitextRetrievalSettings(pcr_sentences="all")  # type: ignore[arg-type]


def test_demo_sets_are_read(tmp_path: Path) -> None:
    for lang in ("qaa", "qab"):
        write_tatoeba(tmp_path / "languages/tatoeba", lang, [("vuhul", "so"), ("raru", "and")])
    report = toys.read_report(TASK, BitextRetrievalConfig(input="demo"), tmp_path, tmp_path / "data")
    counts = {"demo": {"qaa-eng": 2, "qab-eng": 2}}
    assert report == {"name": "demo", "counts": counts, "missing": {}, "mining": {}}
    assert "names no files" in str(toys.read_report(TASK, BitextRetrievalConfig(), tmp_path, tmp_path / "data"))


def test_tatoeba_languages_can_be_selected(tmp_path: Path) -> None:
    for lang in ("deu", "fra", "ita"):
        write_tatoeba(tmp_path, lang, [("a", "b")])
    rows = read_set("t", TatoebaSet(str(tmp_path), ["ita", "deu"]))
    assert rows["source_lang"].tolist() == ["ita", "deu"]
    with pytest.raises(BenchmarkMissing, match=r"t is not here: looked for .*tatoeba\.rus-eng\.eng"):
        read_set("t", TatoebaSet(str(tmp_path), ["deu", "rus"]))


@pytest.mark.parametrize(
    ("german", "message"),
    [
        ("a\n\n", r"tatoeba\.deu-eng\.eng, line 2: a side is empty"),
        ("a\n", r"deu has 1 lines, .*eng 2: each line"),
        ("a\nü\n", r"tatoeba\.deu-eng\.eng, line 2: not UTF-8 text"),
    ],
)
def test_errors_name_the_bad_file(german: str, message: str, tmp_path: Path) -> None:
    write_tatoeba(tmp_path, "deu", [("a", "b"), ("c", "d")])
    (tmp_path / "tatoeba.deu-eng.deu").write_bytes(german.encode("latin-1"))
    with pytest.raises(ValueError, match=message):
        read_set("t", str(tmp_path))


def test_bitext_files_are_read(tmp_path: Path) -> None:
    write_tatoeba(tmp_path, "deu", [("a", "b")])
    files = [str(tmp_path / f"tatoeba.deu-eng.{lang}") for lang in ("deu", "eng")]
    assert read_set("t", BitextSet(files, ("de", "en"))).to_numpy().tolist() == [["a", "b", "de", "en"]]
    with pytest.raises(BenchmarkMissing, match="t is not here: looked for nowhere"):
        read_set("t", BitextSet(["nowhere", files[1]], ("de", "en")))


def test_real_files(shared_data: Path) -> None:
    rows = read_set("tatoeba", f"{shared_data}/multilingual/tatoeba/v1")
    counts = rows.groupby("source_lang").size()
    assert len(counts) == 112 and counts["deu"] == counts["fra"] == 1000 and set(counts.index) >= set(PAPER_LANGUAGES)
    tests = shared_data / "multilingual/multi30k/data/task1/raw"
    flickr = BitextSet([f"{tests}/test_2016_flickr.{lang}.gz" for lang in ("en", "de")], ("en", "de"))
    assert len(read_set("multi30k", flickr)) == 1000


def make_rows(lang: str = "deu") -> pd.DataFrame:
    rows = pd.DataFrame({"source": ["s1", "s2"], "target": ["t1", "t2"]})
    return rows.assign(source_lang=lang, target_lang="eng")


def test_each_direction_has_its_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both German sentences are nearest to the first English one; each English one is nearest to its German one."""
    averages = {"36-eng": ["deu-eng", "fra-eng"], "eng-36": ["eng-deu", "eng-fra"]}
    monkeypatch.setattr(evaluation, "AVERAGES", averages)
    lookup = make_lookup({"s1": [1.0, 0.1], "s2": [1.0, 0.4], "t1": [9.0, 2.0], "t2": [0.1, 1.0]})
    assert _measure_both_directions(make_rows(), lookup, {}) == {"deu-eng": 0.5, "eng-deu": 1.0}
    french = make_rows("fra")[:1]  # a single pair is right in both directions
    assert _measure_both_directions(pd.concat([make_rows(), french]), lookup, {}) == {
        "deu-eng": 0.5, "eng-deu": 1.0, "eng-fra": 1.0, "fra-eng": 1.0, "36-eng": 0.75, "eng-36": 1.0
    }  # fmt: skip


def test_each_side_loses_the_component_of_its_language() -> None:
    """Only German sentences have one, of which nothing but their first number is left out."""
    lookup = make_lookup({"s1": [3.0, 1, 0], "s2": [-3.0, 0, 1], "t1": [-1.0, 1, 0], "t2": [1.0, 0, 1]})
    first = np.array([1, 0, 0], np.float32)
    assert _measure_both_directions(make_rows(), lookup, {}) == {"deu-eng": 0, "eng-deu": 0}
    assert _measure_both_directions(make_rows(), lookup, {"deu": first}) == {"deu-eng": 1, "eng-deu": 1}
    # Sentences of languages without a component stay as they are.
    ahead = make_lookup({"s1": [3.0, 1, 0], "s2": [-3.0, 0, 1], "t1": [2.0, 0, 1], "t2": [-2.0, 1, 0]})
    assert _measure_both_directions(make_rows(), ahead, {"fra": first}) == {"deu-eng": 1, "eng-deu": 1}
