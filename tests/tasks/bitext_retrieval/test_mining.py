"""Mining: BUCC's files, what is found in them, and how much of it is right."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from contexture.tasks.base import TASK_FILE, Contestant
from contexture.tasks.bitext_retrieval.config import BitextRetrievalConfig, BitextRetrievalSettings
from contexture.tasks.bitext_retrieval.mining import NEIGHBOURS, agreement, mine, threshold
from contexture.tasks.bitext_retrieval.mining_files import Part, mining_pairs, read_part
from contexture.tasks.bitext_retrieval.task import BitextRetrievalTask
from contexture.tasks.missing import BenchmarkMissing
from tests.tasks.pairs import toys

TASK = BitextRetrievalTask()


def put(folder: Path, part: str, source: list[str], target: list[str], gold: list[tuple[int, int]] | None) -> None:
    """Numbered sentences of `de-en`, and the numbers that belong together."""
    place = folder / "de-en"
    place.mkdir(parents=True, exist_ok=True)
    for language, side in (("de", source), ("en", target)):
        lines = [f"{language}-{number:09}\t{text}\n" for number, text in enumerate(side)]
        (place / f"de-en.{part}.{language}").write_text("".join(lines), encoding="utf-8")
    if gold is not None:
        lines = [f"de-{one:09}\ten-{other:09}\n" for one, other in gold]
        (place / f"de-en.{part}.gold").write_text("".join(lines))


def slow_mine(source: np.ndarray, target: np.ndarray, score: str) -> list[tuple[float, int, int]]:  # type: ignore[type-arg]
    """The same by loops over all pairs."""
    source, target = (of / np.linalg.norm(of, axis=1, keepdims=True) for of in (source, target))
    cosines = source @ target.T

    def around(row: np.ndarray) -> list[int]:  # type: ignore[type-arg]
        return sorted(range(len(row)), key=lambda place: -row[place])[:NEIGHBOURS]

    def value(one: int, other: int) -> float:
        if score == "cosine":
            return float(cosines[one, other])
        mine, theirs = cosines[one], cosines[:, other]
        mean = (np.mean(mine[around(mine)]) + np.mean(theirs[around(theirs)])) / 2
        return float(cosines[one, other] / mean)

    pairs = {(one, max(around(cosines[one]), key=lambda other: value(one, other))) for one in range(len(source))}
    pairs |= {
        (max(around(cosines[:, other]), key=lambda one: value(one, other)), other) for other in range(len(target))
    }
    kept: list[tuple[float, int, int]] = []
    for pair in sorted(pairs, key=lambda pair: -value(*pair)):
        if all(pair[0] != one and pair[1] != other for _, one, other in kept):
            kept.append((value(*pair), *pair))
    return kept


@pytest.mark.parametrize("score", ["cosine", "ratio"])
def test_what_is_found_is_what_loops_find(score: str) -> None:
    draw = np.random.default_rng(1)
    source = (draw.normal(size=(40, 6)) + 0.5).astype(np.float32)
    target = np.vstack([source[:15] + draw.normal(size=(15, 6)) / 4, draw.normal(size=(30, 6)) + 0.5]).astype("f4")
    found, expected = mine(source, target)[score], slow_mine(source.astype("f8"), target.astype("f8"), score)
    assert [one[1:] for one in found] == [one[1:] for one in expected]
    np.testing.assert_allclose([one[0] for one in found], [one[0] for one in expected], atol=1e-5)


def test_the_threshold_has_the_best_f1() -> None:
    part = Part(["a", "b", "c", "d"], ["A", "B", "C", "D"], {("a", "A"), ("b", "B"), ("d", "D")})
    found = [(0.9, 0, 0), (0.8, 2, 2), (0.7, 1, 1), (0.2, 3, 0)]
    assert threshold(found, part) == pytest.approx(0.45)
    assert agreement(found[:3], part) == {"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3}
    alike = [(0.9, 0, 0), (0.9, 2, 2), (0.9, 2, 1)]
    assert threshold(alike, part) == pytest.approx(0.9) and agreement([], part) == {
        "precision": 0,
        "recall": 0,
        "f1": 0,
    }


def test_where_models_tell_nothing_little_is_right() -> None:
    nothing = np.zeros((5, 3), np.float32)
    part = Part([*"abcde"], [*"ABCDE"], {("e", "E")})
    for score in ("cosine", "ratio"):
        found = mine(nothing, nothing)[score]
        assert np.isfinite([one[0] for one in found]).all()
        assert agreement([one for one in found if one[0] >= threshold(found, part)], part)["f1"] < 0.5


def test_from_files_to_records(tmp_path: Path) -> None:
    """Translations have the same words here; the gold of test is not there, as published."""
    texts = list(dict.fromkeys(toys.rows()["first"]))[:60]
    put(tmp_path / "bucc", "sample", texts[:10], texts[5:20], [(5 + n, n) for n in range(5)])
    put(tmp_path / "bucc", "training", [*texts[20:40], texts[20]], texts[30:60], [(10 + n, n) for n in range(10)])
    put(tmp_path / "bucc", "test", texts, texts, None)
    source = BitextRetrievalConfig(input={"bucc": str(tmp_path / "bucc"), "none": str(tmp_path / "none")})
    TASK.read(source, tmp_path, tmp_path / "data")
    report = json.loads((tmp_path / "data" / TASK_FILE).read_text())
    assert report["counts"]["bucc"]["de-en"] == {
        "parts": "threshold chosen on sample, tested on training",
        "sample": {"de": 10, "en": 15, "gold": 5},
        "training": {"de": 20, "en": 30, "gold": 10},
    }
    assert "BUCC's is bucc2018" in report["missing"]["none"]
    toys.new_encoder(tmp_path / "encoder", toys.vocabulary(tmp_path / "words"), toys.BAG)
    who = [Contestant("bag", seed, (str(tmp_path / "encoder"),)) for seed in (0, 1)]
    found = TASK.evaluate(BitextRetrievalSettings(), who, tmp_path / "data", tmp_path / "vectors", paragraphs=tmp_path)
    table = pd.DataFrame(found.records)
    assert len(table) == 2 * 2 * 3 and set(table["task"]) == {"bitext_mining"} and set(table["data"]) == {"bucc_de-en"}
    assert set(table["protocol"]) == {"cosine", "ratio"} and set(table["seed"]) == {0, 1}
    values = table.drop_duplicates(["protocol", "metric"]).set_index(["protocol", "metric"])["value"]
    assert values["cosine", "recall"] == 1 and values["cosine", "f1"] > 0.7
    assert values["cosine", "f1"] == pytest.approx(
        2 / (1 / values["cosine", "recall"] + 1 / values["cosine", "precision"])
    )


def test_the_published_test_part_is_tested_where_its_gold_is(tmp_path: Path) -> None:
    for part in ("sample", "training", "test"):
        put(tmp_path, part, ["a"], ["b"], [(0, 0)])
    assert mining_pairs(tmp_path) == {"de-en": ("training", "test")}
    (tmp_path / "de-en/de-en.sample.gold").unlink()
    (tmp_path / "de-en/de-en.test.gold").unlink()
    assert mining_pairs(tmp_path) == {}


def test_bad_files_are_named(tmp_path: Path) -> None:
    put(tmp_path, "sample", ["a"], ["b"], [(0, 0), (0, 1)])
    said = r"de-en\.sample\.gold, line 2: en-000000001 stands in no line of .*de-en\.sample\.en"
    with pytest.raises(ValueError, match=said):
        read_part(tmp_path / "de-en", "sample")
    put(tmp_path, "sample", ["a"], ["b"], [])
    with pytest.raises(ValueError, match=r"de-en\.sample\.gold is empty"):
        read_part(tmp_path / "de-en", "sample")
    (tmp_path / "de-en/de-en.sample.en").unlink()
    with pytest.raises(BenchmarkMissing, match=r"looked for .*de-en\.sample\.en\. Unpack all"):
        read_part(tmp_path / "de-en", "sample")
    put(tmp_path, "sample", ["a", ""], ["b"], [(0, 0)])
    with pytest.raises(ValueError, match=r"de-en\.sample\.de, line 2: a line must be an id, a tab"):
        read_part(tmp_path / "de-en", "sample")
    (tmp_path / "de-en/de-en.sample.de").write_bytes("de-000000000\ta\nde-000000001\tü\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"de-en\.sample\.de is not UTF-8 text"):
        read_part(tmp_path / "de-en", "sample")
