"""Tasks of MTEB from local folders: scores compared with other computations, layout of results, and errors."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from contexture.commands.main import main
from contexture.encoders.models import load_model
from tests.tasks.sentences.sentence_toys import KNOWN, word_average

WORDS = sorted(KNOWN)


def make_texts(count: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(5, 30))) for _ in range(count)]


def write_lines(file: Path, rows: list[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return word_average(tmp_path_factory.mktemp("models") / "toy-words")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Local tasks: similarity, retrieval and classification."""
    folder = tmp_path_factory.mktemp("tasks")
    pairs = zip(make_texts(40, 0), make_texts(40, 1), np.random.default_rng(2).uniform(0, 5, 40).tolist(), strict=True)
    write_lines(
        folder / "similar/test.jsonl", [dict(zip(("sentence1", "sentence2", "score"), p, strict=True)) for p in pairs]
    )
    write_lines(
        folder / "search/corpus.jsonl", [{"_id": f"d{n}", "text": text} for n, text in enumerate(make_texts(30, 3))]
    )
    write_lines(
        folder / "search/queries.jsonl", [{"_id": f"q{n}", "text": text} for n, text in enumerate(make_texts(9, 4))]
    )
    (folder / "search/qrels").mkdir()
    judged = "".join(f"q{n}\td{n}\t1\nq{n}\td{n + 10}\t1\n" for n in range(8))  # q8 is not judged
    (folder / "search/qrels/test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", encoding="utf-8")
    for split in ("train", "test"):
        rows = [{"text": f"{WORDS[n % 2]} {WORDS[n % 2]}", "label": n % 2} for n in range(40)]
        write_lines(folder / f"classes/{split}.jsonl", rows)
    return folder


def evaluate(model: Path, folder: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> float:
    """Return the printed main score, which is that of the files."""
    output, results = tmp_path / "scores.json", tmp_path / "results"
    main(
        ["evaluate", str(model), "--mteb", str(folder / name), "--output", str(output), "--mteb-results", str(results)]
    )
    printed = float(capsys.readouterr().out.splitlines()[-1].split()[1])
    (row,) = json.loads(output.read_text(encoding="utf-8"))["rows"]
    (file,) = results.rglob(f"{name}.json")
    score = json.loads(file.read_text(encoding="utf-8"))["scores"]["test"][0]["main_score"]
    assert row["task"] == name and printed == pytest.approx(100 * row["value"], abs=0.01)
    assert score == pytest.approx(row["value"], abs=1e-5)
    return float(row["value"])


def cosines(left: Any, right: Any) -> Any:
    left, right = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in (left, right))
    return left @ right.T


def test_similarity_is_spearmans_correlation(
    model: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [json.loads(line) for line in (folder / "similar/test.jsonl").read_text().splitlines()]
    encoder = load_model(model)
    left, right = (encoder.embed([row[key] for row in rows]) for key in ("sentence1", "sentence2"))
    expected = spearmanr(np.diag(cosines(left, right)), [row["score"] for row in rows]).statistic
    assert evaluate(model, folder, "similar", tmp_path, capsys) == pytest.approx(expected, abs=1e-4)


def test_retrieval_is_ndcg_at_10(model: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents, queries = make_texts(30, 3), make_texts(9, 4)[:8]
    encoder = load_model(model)
    ranked = (-cosines(encoder.embed(queries, "query"), encoder.embed(documents, "document"))).argsort(
        axis=1, kind="stable"
    )
    ideal = 1 + 1 / math.log2(3)
    ndcg = [
        sum(1 / math.log2(rank + 2) for rank, row in enumerate(rows[:10]) if row in (number, number + 10)) / ideal
        for number, rows in enumerate(ranked)
    ]
    assert evaluate(model, folder, "search", tmp_path, capsys) == pytest.approx(np.mean(ndcg), abs=1e-4)


def test_separable_classes_are_learned(
    model: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(model, folder, "classes", tmp_path, capsys) == 1


def test_errors_name_the_task(model: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    write_lines(tmp_path / "wrong/test.jsonl", [{"sentence1": "a", "sentence2": "b", "score": 1}, {"sentence1": "a"}])
    for task, message in (
        ("STSBenchmrk", "--mteb: unknown task 'STSBenchmrk'; did you mean 'STSBenchmark'"),
        (tmp_path / "empty", "--mteb: .*empty: no task: there is neither corpus.jsonl"),
        (tmp_path / "wrong", r"--mteb: .*test\.jsonl, line 2: sentence2, score missing"),
    ):
        with pytest.raises(SystemExit, match=f"^contexture evaluate: {message}"):
            main(["evaluate", str(model), "--mteb", str(task)])
    monkeypatch.setattr("contexture.commands.evaluate.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"^contexture evaluate: --mteb: .* pip install 'contexture\[mteb\]'"):
        main(["evaluate", str(model), "--mteb", str(folder / "similar")])
