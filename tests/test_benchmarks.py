"""Benchmarks without other libraries run at the smallest size."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest
import torch

Captured = pytest.CaptureFixture[str]
FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)


def test_training_speed_on_a_device(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    gpu = benchmark("gpu", monkeypatch)
    if torch.cuda.is_available():
        pytest.skip("a GPU is there: benchmarks/gpu.py measures it")
    options = {"device": "cpu", "sizes": "tiny", "batch": 8, "steps": 4, "workers": 0, "precision": "fp32", "peak": 1}
    gpu.main([word for name, value in options.items() for word in (f"--{name}", str(value))])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[0] for row in rows] == ["mspp", "two_tower", "quick_thoughts"]
    for row in rows:
        real, computed = (float(row[column].replace(",", "")) for column in (3, 4))
        assert 0 < real <= computed < 3 * real
    with pytest.raises(SystemExit, match="there is no CUDA device: --device cpu --sizes tiny tries the script"):
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
