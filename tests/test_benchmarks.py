"""Benchmarks without other libraries run at the smallest size."""

import importlib
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
import torch

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
