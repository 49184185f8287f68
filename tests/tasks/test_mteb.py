"""Tasks of MTEB from local folders: scores compared with other computations, layout of results, and errors."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from contexture.commands.main import main
from contexture.encoders.files import save_encoder
from contexture.encoders.models import load_model
from tests.encoders.toys import WORDS as SUBWORDS
from tests.encoders.toys import build, subwords
from tests.tasks.sentences.sentence_toys import KNOWN, word_average

pytest.importorskip("mteb", reason="needs the extra mteb")

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
    for split in ("train", "test"):
        file = folder / f"classes/{split}.jsonl"
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        write_lines(tmp_path / f"names/{split}.jsonl", [{**row, "label": "ab"[row["label"]]} for row in rows])
    assert evaluate(model, tmp_path, "names", tmp_path, capsys) == 1


def write_set(folder: Path, documents: list[dict[str, Any]], queries: dict[str, str], qrels: str) -> Path:
    write_lines(folder / "corpus.jsonl", documents)
    write_lines(folder / "queries.jsonl", [{"_id": name, "text": text} for name, text in queries.items()])
    (folder / "qrels").mkdir(exist_ok=True)
    (folder / "qrels/test.tsv").write_text(qrels, encoding="utf-8")
    return folder


def test_queries_and_titled_documents_have_their_networks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = build("bag_of_words_mlp", vocabulary=subwords(), shared=False)
    save_encoder(saved, tmp_path / "model")
    random = np.random.default_rng(0)
    titles, bodies, queries = ([" ".join(random.choice(SUBWORDS, count)) for _ in range(60)] for count in (2, 6, 3))
    documents = [{"_id": f"d{n}", "title": titles[n], "text": bodies[n]} for n in range(60)]
    qrels = "".join(f"q{n}\td{n}\t1\n" for n in range(60))
    write_set(tmp_path / "set", documents, {f"q{n}": text for n, text in enumerate(queries)}, qrels)

    def ndcg(query_role: Any, document_role: Any, texts: Any) -> float:
        encoder = load_model(tmp_path / "model")
        scores = cosines(encoder.embed(queries, query_role), encoder.embed(texts, document_role))
        ranks = [int((row > row[n]).sum()) for n, row in enumerate(scores)]
        return float(np.mean([1 / math.log2(rank + 2) if rank < 10 else 0 for rank in ranks]))

    pairs = list(zip(titles, bodies, strict=True))
    expected = ndcg("query", "document", pairs)
    wrong_scores = [
        ndcg("document", "query", pairs),
        ndcg("document", "document", pairs),
        ndcg("query", "query", pairs),
    ]
    wrong_scores.append(ndcg("query", "document", [" ".join(pair) for pair in pairs]))
    assert min(abs(score - expected) for score in wrong_scores) > 1e-3
    assert evaluate(tmp_path / "model", tmp_path, "set", tmp_path, capsys) == pytest.approx(expected, abs=1e-4)


def test_retrieval_files_are_read_as_beir_sets(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Gzipped; qrels have no header and an unknown query; the document that is the query is not ranked."""
    documents = [{"_id": "a", "text": "whale"}, {"_id": "b", "text": "whale gull"}, {"_id": "c", "text": "lamp"}]
    folder = write_set(tmp_path / "set", documents, {"a": "whale", "q": "gull"}, "a\tb\t1.0\na\tc\t0\nnone\tb\t1\n")
    file = folder / "corpus.jsonl"
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    output = tmp_path / "scores.json"
    main(["evaluate", str(model), "--mteb", str(folder), "--output", str(output)])
    assert json.loads(output.read_text(encoding="utf-8"))["rows"][0]["value"] == pytest.approx(1)
    assert "queries.jsonl lacks 1 (none): they are left out" in capsys.readouterr().out


def test_several_tasks_from_parent_folders(
    model: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "tasks").symlink_to(folder)
    monkeypatch.chdir(tmp_path / "notes")
    main(["evaluate", f"{model}+{model}", "--mteb", "tasks/similar", "tasks/search"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[::2] for line in lines[2:]] == [
        ["task", "metric", "subset"],
        ["similar", "cosine_spearman", "default"],
        ["search", "ndcg_at_10", "default"],
    ]


PAIR = {"sentence1": "a", "sentence2": "b", "score": 1}
ONE_CLASS, TWO_CLASSES = [{"text": "a", "label": 0}], [{"text": "a", "label": 0}, {"text": "a", "label": 1}]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, ": no task: there is neither corpus.jsonl"),
        ({"test": []}, r"/test\.jsonl is empty"),
        ({"test": [PAIR, {"sentence1": "a"}]}, r"/test\.jsonl, line 2: no number under the key 'score'"),
        ({"test": [{**PAIR, "score": "1"}]}, r"/test\.jsonl, line 1: no number under the key 'score'"),
        ({"test": [{**PAIR, "sentence2": 2}]}, r"/test\.jsonl, line 1: no text under the key 'sentence2'"),
        ({"test": [PAIR, PAIR]}, r"/test\.jsonl: all scores are 1, so that no correlation"),
        ({"train": TWO_CLASSES, "test": [{"text": "a"}]}, r"/test\.jsonl, line 1: no text or whole number under"),
        ({"train": ONE_CLASS, "test": ONE_CLASS}, r"/train\.jsonl: all labels are 0"),
        (
            {"train": TWO_CLASSES, "test": [{"text": "a", "label": "c"}]},
            r"train\.jsonl has no example of the label 'c'",
        ),
    ],
)
def test_errors_name_file_and_line(
    files: dict[str, list[dict[str, Any]]], message: str, model: Path, tmp_path: Path
) -> None:
    for split, rows in files.items():
        write_lines(tmp_path / f"{split}.jsonl", rows)
    with pytest.raises(SystemExit, match=f"^contexture evaluate: --mteb: .*{message}"):
        main(["evaluate", str(model), "--mteb", str(tmp_path)])


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        ("q\td\tx\n", r"qrels/test\.tsv, line 1: 'q d x' is not a line of qrels"),
        ("q\td\t0\n", r"qrels/test\.tsv: no document is relevant"),
        ("q\td\t0.5\n", r"qrels/test\.tsv: MTEB needs whole numbers"),
    ],
)
def test_errors_name_qrels(qrels: str, message: str, model: Path, tmp_path: Path) -> None:
    folder = write_set(tmp_path, [{"_id": "d", "text": "gull"}], {"q": "gull"}, qrels)
    with pytest.raises(SystemExit, match=f"^contexture evaluate: --mteb: .*{message}"):
        main(["evaluate", str(model), "--mteb", str(folder)])


@pytest.mark.slow
def test_errors_name_the_task(model: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "similar").symlink_to(folder / "similar")
    for tasks, message in (
        (["STSBenchmrk"], "--mteb: unknown task 'STSBenchmrk'; did you mean 'STSBenchmark'"),
        (["./nowhere"], "--mteb: ./nowhere: there is no such folder"),
        ([f"{folder}/similar", f"{tmp_path}/similar"], "--mteb: .*: another task is named 'similar'; rename"),
    ):
        with pytest.raises(SystemExit, match=f"^contexture evaluate: {message}"):
            main(["evaluate", str(model), "--mteb", *tasks])


def test_data_that_cannot_be_downloaded(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ConnectionError("no connection")

    monkeypatch.setattr("mteb.abstasks.abstask.load_dataset", fails)
    with pytest.raises(SystemExit, match=r"^contexture evaluate: --mteb: no connection; connect to the internet"):
        main(["evaluate", str(model), "--mteb", "SICK-R"])
