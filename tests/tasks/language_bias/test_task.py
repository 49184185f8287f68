"""Languages of nearest neighbours, from files to records."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_info, threadpool_limits

from contexture.retrieval.vectors import normalize
from contexture.tasks.corpus_languages import PcrTexts
from contexture.tasks.language_bias import evaluation
from contexture.tasks.language_bias.config import LanguageBiasConfig, LanguageBiasSettings
from contexture.tasks.language_bias.evaluation import measure_bias, neighbour_shares, project_with_tsne
from contexture.tasks.language_bias.files import read_sentences
from contexture.tasks.language_bias.task import LanguageBiasTask
from contexture.tasks.missing import BenchmarkMissing
from tests.tasks.pairs import toys

TASK = LanguageBiasTask()


@pytest.mark.parametrize("k", [1, 3, 40])
def test_neighbour_shares_match_a_loop(k: int) -> None:
    draw = np.random.default_rng(k)
    vectors, languages = draw.normal(size=(24, 5)).astype("f4"), np.repeat([0, 1, 2], [4, 12, 8])
    lengths = np.linalg.norm(vectors, axis=1)
    expected = np.zeros((3, 3))
    for row in range(24):
        cosines = {
            column: vectors[row] @ vectors[column] / lengths[row] / lengths[column]
            for column in range(24)
            if column != row
        }
        for other in sorted(cosines, key=lambda column: -cosines[column])[:k]:
            expected[languages[row], languages[other]] += 1
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(neighbour_shares(vectors, languages, k), expected)


def test_ties_do_not_make_a_sentence_its_own_neighbour() -> None:
    """All vectors are equal: each sentence has all others as neighbours."""
    shares = neighbour_shares(np.ones((6, 4), np.float32), np.array([0, 0, 0, 1, 1, 1]), 5)
    np.testing.assert_allclose(shares, [[0.4, 0.6], [0.6, 0.4]])


def test_projection_keeps_neighbours_together() -> None:
    draw = np.random.default_rng(0)
    centres = 10 * np.eye(8)[:2]
    vectors = (np.repeat(centres, 20, axis=0) + draw.normal(size=(40, 8))).astype("f4")
    projection = project_with_tsne(vectors, np.repeat([0, 1], 20), ["de", "en"], 15)
    assert projection["lang"] == ["de"] * 15 + ["en"] * 15 and len(projection["x"]) == len(projection["y"]) == 30
    points = np.array([projection["x"], projection["y"]]).T
    german, english = points[:15], points[15:]
    distance = np.linalg.norm(german.mean(0) - english.mean(0))
    assert distance > 2 * max(np.linalg.norm(side - side.mean(0), axis=1).mean() for side in (german, english))


def test_from_files_to_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both languages have the same words, so a bag of words has no bias; a language without text is reported."""
    monkeypatch.setattr(evaluation, "NUM_NEIGHBOURS", 5)
    monkeypatch.setattr(evaluation, "MAX_POINTS", 8)
    texts = toys.texts(12)
    (tmp_path / "px").mkdir()
    lines = "".join(f"{text}\tanother\t1\n" for text in [*texts, texts[0]])
    for lang in ("de", "en"):
        (tmp_path / "px" / f"test-{lang}.tsv.gz").write_bytes(gzip.compress(lines.encode()))
        toys.write_sentences(tmp_path / "paragraphs" / f"lang={lang}", texts[:4])
    for folder in ("px", "ja"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "test-ja.tsv").write_text(lines)
    sets = {name: str(tmp_path / name) for name in ("px", "ja", "none")}
    report = toys.read_report(TASK, LanguageBiasConfig(input=sets), tmp_path, tmp_path / "data")
    assert report["counts"] == {"px": {"de": 12, "en": 12, "ja": 12}, "ja": {"ja": 12}} and "none" in report["missing"]
    encoders = [*toys.bag(tmp_path, 0, 1), *toys.bag(tmp_path, 0, 1, variant="other")]
    settings = LanguageBiasSettings(drawn=["bag"])
    results = TASK.evaluate(settings, encoders, tmp_path / "data", tmp_path / "v", paragraphs=tmp_path / "paragraphs")
    table = pd.DataFrame(results.records)
    assert set(table["data"]) == {"px", "px/de", "px/en"} and set(table["protocol"]) == {"frozen", "pcr"}
    assert len(table) == 2 * 2 * 3 * 2 and set(table["metric"]) == {"own_language"}
    own_language = table[(table["data"] == "px") & (table["protocol"] == "frozen")]["value"]
    assert all(abs(value - 4 / 9) < 0.15 for value in own_language)
    details: dict[str, Any] = json.loads(json.dumps(results.details))
    assert details["languages"] == {"px": ["de", "en"]} and details["expected"]["px"] == pytest.approx(11 / 23)
    assert [*details["points"]["px"]] == ["bag"] and len(details["points"]["px"]["bag"]["pcr"]["x"]) == 16
    assert [*details["neighbours"]["px"]] == ["bag", "other"]
    assert np.sum(details["neighbours"]["px"]["other"]["frozen"], axis=1) == pytest.approx([1, 1])
    assert details["missing"]["language bias of px in ja"] == "the corpus has no text of them for PCR"
    settings = LanguageBiasSettings(pcr_sentences="test")
    on_test = TASK.evaluate(settings, encoders, tmp_path / "data", tmp_path / "v", paragraphs=tmp_path / "none")
    assert on_test.details["languages"]["px"] == ["de", "en", "ja"] and set(on_test.details["missing"]) == {"none"}


def test_only_one_file_per_language_is_read(tmp_path: Path) -> None:
    """A compressed file and a copy are ignored: repeated sentences would be neighbours."""
    for name in ("test-de.tsv", "test-de (1).tsv", "test-en.tsv"):
        (tmp_path / name).write_text("\ufeffa\tb\nc\td\n", encoding="utf-8")
    (tmp_path / "test-de.tsv.gz").write_bytes(gzip.compress(b"a\tb\nc\td\n"))
    rows = read_sentences("px", tmp_path)
    assert rows.to_numpy().tolist() == [["de", "a"], ["de", "c"], ["en", "a"], ["en", "c"]]


def test_errors_name_the_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkMissing, match=r"px is not here: looked for .*test-\*\.tsv"):
        read_sentences("px", tmp_path)
    (tmp_path / "test-de.tsv.gz").write_bytes(gzip.compress(b"a\tb\n" * 999)[:-9])
    with pytest.raises(ValueError, match=r"test-de\.tsv\.gz cannot be read"):
        read_sentences("px", tmp_path)
    with pytest.raises(ValidationError):
        LanguageBiasConfig(input={"PX": "folder"})
    assert "names no files" in str(toys.read_report(TASK, LanguageBiasConfig(), tmp_path, tmp_path / "data"))
    settings = LanguageBiasSettings(drawn=["mlm", "cmlm"])
    assert settings.restrict_variants(["cmlm"]).drawn == ["cmlm"]
    settings.check_variants(["cmlm", "mlm"])
    with pytest.raises(ValueError, match=r"drawn\n.*unknown variant 'mlm'"):
        settings.check_variants(["cmlm"])


def test_real_files(shared_data: Path) -> None:
    rows = read_sentences("pawsx", shared_data / "multilingual/pawsx")
    counts = rows.groupby("lang").size()
    assert [*counts.index] == ["de", "en", "es", "fr", "ja", "ko", "zh"] and counts.between(1700, 2000).all()


def test_projection_uses_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """On busy cores, several threads take a minute for one second of work."""
    seen: list[int] = []
    fit = TSNE.fit_transform

    def counted(self: TSNE, vectors: np.ndarray) -> np.ndarray:
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return fit(self, vectors)

    monkeypatch.setattr(TSNE, "fit_transform", counted)
    vectors = normalize(np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32))
    with threadpool_limits(2):
        points = project_with_tsne(vectors, np.array([0, 0, 0, 1, 1, 1]), ["en", "qaa"], 2)
    assert points["lang"] == ["en", "en", "qaa", "qaa"] and len(points["x"]) == len(points["y"]) == 4
    assert set(seen) == {1}


def test_pcr_removes_the_bias(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are far from those of the other language, and without its component equal to their translation."""
    meaning, shift = np.random.default_rng(0).normal(size=(20, 16)), 90 * np.eye(16)[:2]
    meaning[:, :2] = 0
    vectors = {f"{lang}{n}": meaning[n] + shift[side] for side, lang in enumerate(("de", "en")) for n in range(20)}
    rows = [(lang, f"{lang}{n}") for lang in ("de", "en") for n in range(20)]
    pd.DataFrame(rows, columns=["lang", "text"]).to_parquet(tmp_path / "px")

    def lookup(texts: list[str]) -> np.ndarray:
        return np.array([vectors[text] for text in texts], np.float32)

    monkeypatch.setattr(evaluation, "NUM_NEIGHBOURS", 1)
    monkeypatch.setattr(evaluation, "VectorStore", lambda _: lambda *_: lookup)
    measured = measure_bias((), "px", tmp_path / "px", ["de", "en"], PcrTexts(is_test=True), tmp_path, ())
    shares = {protocol: result["neighbours"] for protocol, result in measured.items()}
    assert shares == {"frozen": [[1, 0], [0, 1]], "pcr": [[0, 1], [1, 0]]}
