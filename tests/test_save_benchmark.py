"""scripts/save_benchmark.py: a page with the output of a benchmark, and how it was made."""

import runpy
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
SCRIPT = runpy.run_path(str(PROJECT / "scripts/save_benchmark.py"))
PAGE = Path("docs/results/benchmarks/first.md")


def save(folder: Path, source: str, *arguments: str) -> int:
    """Save the output of a benchmark with this source, in a folder without a git checkout."""
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks/tiny.py").write_text(source)
    status: int = SCRIPT["main"]("first", "tiny", [*arguments])
    return status


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


def test_the_page_has_the_output_and_how_it_was_made(tmp_path: Path) -> None:
    source = "import sys\nprint('| a |')\nprint('progress', file=sys.stderr)\nprint('|---|')\n"
    assert save(tmp_path, source, "/home/ada/texts/squad", "--steps", "3", "--data=/home/ada/more/a=b") == 0
    heading, made, *output = PAGE.read_text().split("\n\n")
    assert heading == "# Benchmark: first"
    assert "`python scripts/save_benchmark.py first tiny DATA/texts/squad --steps 3 --data=DATA/more/a=b`" in made
    assert "Commit: unknown." in made and " cores." in made
    assert output == ["| a |\n|---|\n"]


def test_nothing_is_written_if_the_benchmark_fails(tmp_path: Path) -> None:
    assert save(tmp_path, "print('| a |')\nraise SystemExit(3)") == 3
    assert not PAGE.exists()
