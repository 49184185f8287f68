"""Benchmarks without other libraries run at the smallest size."""

import importlib
import itertools
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
import torch

from contexture.demo.world import make_article, strip_links

Captured = pytest.CaptureFixture[str]
FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)


def read_table(table: str) -> list[dict[str, str]]:
    """Return the rows of a Markdown table by head."""
    heads, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    return [dict(zip(heads, row, strict=True)) for row in rows]


def parse_number(text: str) -> float:
    return float(text.replace(",", ""))


@pytest.mark.slow
def test_training_speed_on_a_device(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    gpu = benchmark("gpu", monkeypatch)
    if torch.cuda.is_available():
        pytest.skip("a GPU is there: benchmarks/gpu.py measures it")
    options = {"device": "cpu", "sizes": "tiny", "batch": 8, "steps": 4, "workers": 0, "passages": 40, "peak": 1}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    gpu.main([*words, "--precisions", "fp32", "bf16"])
    device, trainings, embeddings = capsys.readouterr().out.strip().split("\n\n")
    assert device.startswith("Device: CPU")
    rows = read_table(trainings)
    assert [(row["system"], row["precision"]) for row in rows] == [
        (name, precision) for name in ("mspp", "two_tower", "quick_thoughts") for precision in ("fp32", "bf16")
    ]
    for row in rows:
        real, computed = (parse_number(row[column]) for column in ("tokens/s", "tokens/s with padding"))
        assert 0 < real <= computed < 3 * real
    (row,) = read_table(embeddings)
    passages, tokens = (parse_number(row[column]) for column in ("passages/s", "tokens/s"))
    assert 100 < tokens / passages < 200
    with pytest.raises(SystemExit, match="there is no CUDA device; --device cpu --sizes tiny runs the same code"):
        gpu.main([])


def test_the_flops_of_a_size_are_those_of_its_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of BERT-base's 110 million parameters 85 are its layers'."""
    collate = benchmark("collate", monkeypatch)
    assert collate.flops("base", torch.tensor([1.0])) == pytest.approx(6 * 85_054_464 + 12 * 12 * 768)


@pytest.mark.slow
def test_cmlm_is_compared_with_its_parts(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    benchmark("cmlm", monkeypatch).main(["--size", "tiny", "--batch", "4", "--tokens", "20", "--rounds", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["ours", "parts", "ratio"]
    assert 0 < float(lines[-1].split()[1]) < 10


@pytest.mark.slow
def test_cross_thought_is_compared_with_its_parts(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """The benchmark fails if the loss of the parts differs."""
    options = "--size tiny --special-tokens 3 --sequences 6 --tokens 20 --batch 2 --rounds 1"
    benchmark("cross_thought", monkeypatch).main(options.split())
    training, growth, ranking = capsys.readouterr().out.strip().split("\n\n")
    assert [line.split()[0] for line in training.splitlines()[2:]] == ["ours", "parts", "ratio"]
    assert 0 < float(training.splitlines()[-1].split()[1]) < 100
    assert float(growth.splitlines()[-1].split()[-2]) < 2
    attention, cosine = (float(line.split()[1].replace(",", "")) for line in ranking.splitlines()[1:])
    assert 0 < attention < cosine


@pytest.mark.slow
def test_training_in_several_processes_equals_one(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """The benchmark fails if a loss differs by more than 1e-5."""
    processes = benchmark("processes", monkeypatch)
    processes.main(["--processes", "1", "2", "4", "--batch", "8", "--steps", "6"])
    rows = read_table(capsys.readouterr().out.strip().split("\n\n")[1])
    assert [row["processes"] for row in rows] == ["1", "2", "4"]
    for row in rows:
        assert 0 < parse_number(row["tokens/s per process"]) <= parse_number(row["tokens/s"])


def test_different_loss_curves_end_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    processes, loss = benchmark("processes", monkeypatch), pd.Series([4.0, 3.0])
    processes.check_losses([loss, loss + 9e-6])
    with pytest.raises(SystemExit, match="the loss curves differ by more than 1e-05"):
        processes.check_losses([loss, loss, loss + pd.Series([0, 2e-5])])


def test_growth_is_the_slope_of_logarithms(monkeypatch: pytest.MonkeyPatch) -> None:
    growth = benchmark("growth", monkeypatch)
    sizes = [1e6, 2e6, 4e6, 8e6]
    assert growth.fit_exponent(sizes, [3.0, 6.0, 12.0, 24.0]) == pytest.approx(1)
    assert growth.fit_exponent(sizes, [1.0, 4.0, 16.0, 64.0]) == pytest.approx(2)
    assert growth.extrapolate(sizes, [1.0, 4.0, 16.0, 64.0], 80e6) == pytest.approx(6400)
    # Constant costs do not make a large text cheaper.
    assert growth.extrapolate(sizes, [10.0, 10.0, 10.0, 10.0], 80e6) == pytest.approx(100)


def test_stages_above_the_goal_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    growth = benchmark("growth", monkeypatch)
    results = [
        growth.Measurement(
            text_bytes=10**6 * size,
            passages=100 * size,
            seconds={"corpus": 2.0 * size, "index": size**1.2},
            memory={"corpus": 10**9, "index": 10**9 * size},
        )
        for size in (1, 2, 4, 8)
    ]
    times, goal, memory = growth.format_results(results, 0.08).strip().split("\n\n")
    assert goal == "Exponents above 1.05: index."
    corpus, index = read_table(times)
    assert (corpus["8.0 MB, 800 passages"], corpus["exponent"]) == ("16.0", "1.00")
    assert index["exponent of the last two"] == "1.20"
    assert parse_number(corpus["hours for 0.08 GB"]) == pytest.approx(160 / 3600, abs=0.05)
    assert [row["last / first"] for row in read_table(memory)] == ["1.00", "8.00"]


def test_smaller_texts_are_parts_of_larger_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    growth = benchmark("growth", monkeypatch)
    files = [Path(str(number)) for number in range(16)]
    parts = [set(growth.select_files(files, factor, 8)) for factor in (1, 2, 4, 8)]
    assert [len(part) for part in parts] == [2, 4, 8, 16]
    assert all(smaller < larger for smaller, larger in itertools.pairwise(parts))
    with pytest.raises(SystemExit, match="--text: 5 files are too few for --factors up to 8"):
        growth.select_files(files[:5], 1, 8)


@pytest.mark.slow
def test_growth_of_all_stages(monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path) -> None:
    """With a folder of documents; measured sizes are reused, but not with other options."""
    growth, text = benchmark("growth", monkeypatch), tmp_path / "text"
    write_documents(text, 80)
    options = [str(tmp_path / "out"), "--text", str(text), "--factors", "1", "2", "--tokens-per-byte", "0.02"]
    growth.main(options)
    tables = capsys.readouterr().out
    rows = read_table(tables.split("\n\n")[0])
    assert [row["seconds"] for row in rows] == ["corpus", "vocabulary", "examples", "training", "embedding", "index"]
    assert all(parse_number(list(row.values())[1]) > 0 for row in rows)
    for row in read_table(tables.strip().split("\n\n")[2]):
        assert parse_number(list(row.values())[1]) > 0.05
    assert (tmp_path / "out/growth.png").stat().st_size > 10_000
    growth.main(options)
    assert capsys.readouterr().out == tables == (tmp_path / "out/growth.md").read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match="delete it, or use another OUTPUT"):
        growth.main([*options, "--tokens-per-byte", "0.03"])


@pytest.mark.slow
def test_searches_are_compared_with_peers(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    benchmark("search", monkeypatch).main(["--passages", "3000", "--queries", "20", "--dimension", "16", "--k", "10"])
    rows = {row["3,000 passages"]: row for row in read_table(capsys.readouterr().out.strip())}
    assert list(rows) == ["bm25", "bm25s", "flat", "faiss-flat", "ivf", "faiss-ivf"]
    for row in rows.values():
        # Most queries are faster than the 95th percentile.
        assert 0 < 1 / parse_number(row["queries/s"]) < 1.5 * parse_number(row["p95, ms"]) / 1000 + 0.1
        assert parse_number(row["memory, GB"]) > 0
    assert min(parse_number(rows[name]["same results"]) for name in ("bm25", "flat", "faiss-flat")) == 1
    assert all(parse_number(row["same results"]) > 0.7 for row in rows.values())


@pytest.mark.slow
def test_two_towers_are_compared_with_sentence_transformers(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """The benchmark fails if losses or vectors differ."""
    sizes = "--layers 1 --width 64 --embedding 32 --vocabulary 2000 --batch 8 --candidates 100 --rounds 2"
    benchmark("two_tower", monkeypatch).main([*sizes.split(), "--precisions", "fp32"])
    training, encoding = capsys.readouterr().out.strip().split("\n\n")
    (row,) = read_table(training)
    assert 0 < parse_number(row["ratio"]) < 100
    speeds = [parse_number(row["texts/s"]) for row in read_table(encoding)]
    assert len(speeds) == 4 and min(speeds) > 0


def write_documents(folder: Path, count: int) -> None:
    """Write articles of the made-up world as Markdown files."""
    folder.mkdir()
    for number in range(count):
        article = make_article(0, number)
        lines = [f"# {article.outline.title}"]
        for section in article.sections:
            lines += [f"## {section.heading}"] if section.heading else []
            lines += [strip_links(" ".join(part.text for part in paragraph)) for paragraph in section.paragraphs]
        (folder / f"{number:03}.md").write_text("\n\n".join(lines), encoding="utf-8")


def test_the_trainer_needs_accelerate(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = benchmark("hf_trainer", monkeypatch)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="accelerate, which is not installed: pip install accelerate"):
        trainer.main([])


@pytest.mark.slow
def test_masked_language_models_are_compared_with_the_trainer(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path
) -> None:
    """All sides start from the same weights, and one step with the same passages has nearly the same loss."""
    pytest.importorskip("accelerate", reason="the Trainer needs accelerate")
    text = tmp_path / "text.txt"
    text.write_text("".join(f"{number} boats sail to the harbour {number * 'far '}away\n" for number in range(300)))
    options = "--sizes tiny --steps 2 --batch 8 --rounds 1 --vocabulary 300 --dropout 0"
    benchmark("hf_trainer", monkeypatch).main([*options.split(), "--text", str(text)])
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[-3:]]
    assert [row[0] for row in rows] == ["contexture", "Trainer", "Trainer grouped"]
    assert rows[0][5] == "0%" and all(float(row[1].replace(",", "")) > 0 for row in rows)
    losses = [float(row[6]) for row in rows]
    assert losses == pytest.approx([losses[0]] * 3, abs=0.05)


@pytest.mark.slow
def test_a_step_of_mspp_has_the_same_loss_by_plain_transformers(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    benchmark("mspp", monkeypatch).main(["--sizes", "tiny", "--batch", "4", "--rounds", "1", "--dropout", "0"])
    ours, plain = read_table(capsys.readouterr().out.split("\n\n", 1)[1].strip())
    assert parse_number(ours["loss"]) == pytest.approx(parse_number(plain["loss"]), abs=2e-4)
    assert ours["padding"] == "0%" and min(parse_number(row["tokens/s"]) for row in (ours, plain)) > 0


@pytest.mark.slow
def test_trainings_have_the_same_weights_however_many_cores_they_have(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("".join(f"{number} boats sail to the harbour {number * 'far '}away\n" for number in range(400)))
    options = "--sizes tiny --steps 2 --rounds 1 --precisions fp32"
    benchmark("threads", monkeypatch).main([*options.split(), "--text", str(text)])
    rows = read_table(capsys.readouterr().out.strip())
    assert [row["weights"] for row in rows] == ["a", rows[1]["weights"], "a", rows[1]["weights"], rows[1]["weights"]]
    assert rows[0]["ratio"] == "1.00" and all(parse_number(row["ratio"]) > 0 for row in rows)
