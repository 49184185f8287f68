"""Bitext mining: BUCC's files, mined pairs and their precision, recall and F1."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from contexture.tasks.bitext_retrieval.config import BitextRetrievalConfig, BitextRetrievalSettings
from contexture.tasks.bitext_retrieval.files import MiningPart, list_mining_parts, read_mining_part
from contexture.tasks.bitext_retrieval.mining import NUM_NEIGHBOURS, choose_threshold, mine_pairs, precision_recall_f1
from contexture.tasks.bitext_retrieval.task import BitextRetrievalTask
from contexture.tasks.missing import BenchmarkMissing
from tests.tasks.pairs import toys

TASK = BitextRetrievalTask()


def write_part(
    folder: Path, part: str, source: list[str], target: list[str], gold: list[tuple[int, int]] | None
) -> None:
    """Write numbered sentences of `de-en`, and the gold pairs of numbers."""
    pair_dir = folder / "de-en"
    pair_dir.mkdir(parents=True, exist_ok=True)
    for language, side in (("de", source), ("en", target)):
        lines = [f"{language}-{number:09}\t{text}\n" for number, text in enumerate(side)]
        (pair_dir / f"de-en.{part}.{language}").write_text("".join(lines), encoding="utf-8")
    if gold is not None:
        lines = [f"de-{first:09}\ten-{second:09}\n" for first, second in gold]
        (pair_dir / f"de-en.{part}.gold").write_text("".join(lines))


def mine_by_loops(source: np.ndarray, target: np.ndarray, score: str) -> list[tuple[float, int, int]]:  # type: ignore[type-arg]
    """Mine pairs by loops over all pairs."""
    source, target = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (source, target))
    cosines = source @ target.T

    def nearest(row: np.ndarray) -> list[int]:  # type: ignore[type-arg]
        return sorted(range(len(row)), key=lambda column: -row[column])[:NUM_NEIGHBOURS]

    def value(first: int, second: int) -> float:
        if score == "cosine":
            return float(cosines[first, second])
        mine, theirs = cosines[first], cosines[:, second]
        mean = (np.mean(mine[nearest(mine)]) + np.mean(theirs[nearest(theirs)])) / 2
        return float(cosines[first, second] / mean)

    pairs = {(row, max(nearest(cosines[row]), key=lambda column: value(row, column))) for row in range(len(source))}
    pairs |= {
        (max(nearest(cosines[:, column]), key=lambda row: value(row, column)), column) for column in range(len(target))
    }
    kept: list[tuple[float, int, int]] = []
    for pair in sorted(pairs, key=lambda pair: -value(*pair)):
        if all(pair[0] != first and pair[1] != second for _, first, second in kept):
            kept.append((value(*pair), *pair))
    return kept


@pytest.mark.parametrize("score", ["cosine", "ratio"])
def test_mine_pairs_matches_loops(score: str) -> None:
    draw = np.random.default_rng(1)
    source = (draw.normal(size=(40, 6)) + 0.5).astype(np.float32)
    target = np.vstack([source[:15] + draw.normal(size=(15, 6)) / 4, draw.normal(size=(30, 6)) + 0.5]).astype("f4")
    pairs, expected = mine_pairs(source, target)[score], mine_by_loops(source.astype("f8"), target.astype("f8"), score)
    assert [pair[1:] for pair in pairs] == [pair[1:] for pair in expected]
    np.testing.assert_allclose([pair[0] for pair in pairs], [pair[0] for pair in expected], atol=1e-5)


def test_choose_threshold_maximises_f1() -> None:
    part = MiningPart(["a", "b", "c", "d"], ["A", "B", "C", "D"], {("a", "A"), ("b", "B"), ("d", "D")})
    pairs = [(0.9, 0, 0), (0.8, 2, 2), (0.7, 1, 1), (0.2, 3, 0)]
    assert choose_threshold(pairs, part) == pytest.approx(0.45)
    assert precision_recall_f1(pairs[:3], part) == {"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3}
    assert choose_threshold([(0.9, 0, 0), (0.9, 2, 2), (0.9, 2, 1)], part) == pytest.approx(0.9)
    assert precision_recall_f1([], part) == {"precision": 0, "recall": 0, "f1": 0}


@pytest.mark.parametrize("score", ["cosine", "ratio"])
def test_zero_vectors_score_low(score: str) -> None:
    zeros = np.zeros((5, 3), np.float32)
    part = MiningPart([*"abcde"], [*"ABCDE"], {("e", "E")})
    mined = mine_pairs(zeros, zeros)[score]
    assert np.isfinite([pair[0] for pair in mined]).all()
    assert precision_recall_f1([pair for pair in mined if pair[0] >= choose_threshold(mined, part)], part)["f1"] < 0.5


def test_from_files_to_records(tmp_path: Path) -> None:
    """Translations have equal words; the gold of `test` is absent, as published."""
    texts = toys.texts(60)
    write_part(tmp_path / "bucc", "sample", texts[:10], texts[5:20], [(5 + n, n) for n in range(5)])
    write_part(
        tmp_path / "bucc", "training", [*texts[20:40], texts[20]], texts[30:60], [(10 + n, n) for n in range(10)]
    )
    write_part(tmp_path / "bucc", "test", texts, texts, None)
    source = BitextRetrievalConfig(input={"bucc": str(tmp_path / "bucc"), "none": str(tmp_path / "none")})
    report = toys.read_report(TASK, source, tmp_path, tmp_path / "data")
    assert report["counts"]["bucc"]["de-en"] == {
        "parts": "threshold chosen on sample, tested on training",
        "sample": {"de": 10, "en": 15, "gold": 5},
        "training": {"de": 20, "en": 30, "gold": 10},
    }
    assert "BUCC's is bucc2018" in report["missing"]["none"]
    encoders, settings = toys.bag(tmp_path, 0, 1), BitextRetrievalSettings()
    results = TASK.evaluate(settings, encoders, tmp_path / "data", tmp_path / "vectors", paragraphs=tmp_path)
    table = pd.DataFrame(results.records).set_index(["task", "data", "variant", "seed", "protocol", "metric"])["value"]
    values = table["bitext_mining", "bucc_de-en", "bag", 1]
    assert len(table) == 2 * len(values) == 2 * 2 * 3
    precision, recall, f1 = (values["cosine", metric] for metric in ("precision", "recall", "f1"))
    assert recall == 1 and f1 > 0.7 and f1 == pytest.approx(2 / (1 / recall + 1 / precision))
    assert 0 < values["ratio", "f1"] <= 1


def test_list_mining_parts_prefers_the_test_part_with_gold(tmp_path: Path) -> None:
    for part in ("sample", "training", "test"):
        write_part(tmp_path, part, ["a"], ["b"], [(0, 0)])
    assert list_mining_parts(tmp_path) == {"de-en": ("training", "test")}
    for part in ("sample", "test"):
        (tmp_path / f"de-en/de-en.{part}.gold").unlink()
    assert list_mining_parts(tmp_path) == {}


def test_errors_name_the_bad_file(tmp_path: Path) -> None:
    for source, gold, message in (
        (["a"], [(0, 0), (0, 1)], "gold, line 2: en-000000001 is not in .*de-en.sample.en"),
        (["a"], [], "gold is empty"),
        (["a", ""], [(0, 0)], "de, line 2: a line must be an id, a tab"),
    ):
        write_part(tmp_path, "sample", source, ["b"], gold)
        with pytest.raises(ValueError, match=rf"de-en\.sample\.{message}"):
            read_mining_part(tmp_path / "de-en", "sample")
    (tmp_path / "de-en/de-en.sample.de").write_bytes("de-000000000\ta\nde-000000001\tü\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"de-en\.sample\.de is not UTF-8 text"):
        read_mining_part(tmp_path / "de-en", "sample")
    (tmp_path / "de-en/de-en.sample.de").unlink()
    with pytest.raises(BenchmarkMissing, match=r"looked for .*de-en\.sample\.de\. Unpack all"):
        read_mining_part(tmp_path / "de-en", "sample")
