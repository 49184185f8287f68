"""scripts/write_results.py: pages from the files of docs/results."""

import runpy
from pathlib import Path

import pytest

from contexture.paths import RESULTS_DIR
from contexture.reporting.saved_results import SavedResults
from tests.commands.test_results import RUN
from tests.systems.league.test_growth import RUNS

PROJECT = Path(__file__).resolve().parents[1]
SCRIPT = runpy.run_path(str(PROJECT / "scripts/write_results.py"))


def test_pages_are_written_from_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    RESULTS_DIR.mkdir(parents=True)
    for name, records in zip("ab", RUNS, strict=False):
        (RESULTS_DIR / f"{name}.json").write_text(SavedResults({"league": RUN}, records).to_json())
    assert SCRIPT["main"]() == 0
    page = (RESULTS_DIR / "measured.md").read_text()
    assert "| a | league | novels | fedcba98 | 01234567 |" in page and f"- b, league: `{RUN.command}`" in page
    assert "0 shown, 0 refuted, 32 undecided" in page and "C1: CMLM is better" in page
    assert "growth_0.png" in (RESULTS_DIR / "league.md").read_text()
    assert (RESULTS_DIR / "growth_0.png").read_bytes()[:4] == b"\x89PNG"


def test_the_pages_are_those_of_the_files() -> None:
    results = {file: SavedResults.read(file) for file in sorted((PROJECT / RESULTS_DIR).glob("*.json"))}
    page = (PROJECT / RESULTS_DIR / "measured.md").read_text(encoding="utf-8")
    assert page == SCRIPT["measured_page"](results), "run scripts/write_results.py"
