"""scripts/write_results.py: pages from the files of docs/results."""

import re
import runpy
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from contexture.paths import RESULTS_DIR
from contexture.reporting.saved_results import SavedResults
from contexture.systems.registry import SYSTEMS
from tests.commands.test_results import RUN
from tests.reporting.make import measured
from tests.systems.league.test_growth import RUNS

PROJECT = Path(__file__).resolve().parents[1]
SCRIPT = runpy.run_path(str(PROJECT / "scripts/write_results.py"))


def test_pages_are_written_from_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    RESULTS_DIR.mkdir(parents=True)
    for name, records in zip("ab", RUNS, strict=False):
        (RESULTS_DIR / f"{name}.json").write_text(SavedResults({"league": RUN}, records).to_json())
    other_text = SavedResults({"league": replace(RUN, text_sha256="0123")}, RUNS[2])
    (RESULTS_DIR / "c.json").write_text(other_text.to_json())
    squad = ("retrieval", "squad", "80%", "recall_at_10")
    towers = measured("ict_bfs_wlp", [0.5, 0.6], *squad, system="two_tower")
    (RESULTS_DIR / "towers.json").write_text(SavedResults({"two_tower": RUN}, towers).to_json())
    assert SCRIPT["main"]() == 0
    page = (RESULTS_DIR / "measured.md").read_text()
    assert "| a | league | novels | fedcba98 | 01234567 |" in page and f"- b, league: `{RUN.command}`" in page
    assert "0 shown, 0 refuted, 32 undecided" in page and "C1: CMLM is better" in page
    assert "## Hours" in page and "| all | – |" in page
    league = (RESULTS_DIR / "league.md").read_text()
    assert "growth_0.png" in league and (RESULTS_DIR / "growth_0.png").read_bytes()[:4] == b"\x89PNG"
    assert "| 11.0 | 21.0 | +10.0 |" in league and "Files: a.json and b.json." in league  # c has another text
    assert [file.stem for file in RESULTS_DIR.glob("tables/*")] == ["towers"]
    assert "| ICT+BFS+WLP | 2 | 55.0 ±63.5 | **88.4** |" in (RESULTS_DIR / "tables/towers.md").read_text()
    assert "## Search, fine-tuned on 80%: R@10, SQuAD" in (RESULTS_DIR / "leaderboard.md").read_text()


def test_commands_of_files_have_no_paths_of_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    runs = [(name, run) for name, saved in SCRIPT["read_results"]().items() for run in saved.runs.values()]
    assert runs
    assert [name for name, run in runs if re.search(r"(?<![\w.])/\w", run.command or "")] == []


def test_the_pages_are_those_of_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the tables in README.md and the pages of docs/results that people write."""
    monkeypatch.chdir(PROJECT)
    pages = SCRIPT["make_pages"](SCRIPT["read_results"]())
    assert {Path("README.md"), RESULTS_DIR / "measured.md", RESULTS_DIR / "two-tower.md"} <= set(pages)
    for page, text in pages.items():
        assert page.read_text(encoding="utf-8") == text, f"{page}: run scripts/write_results.py"
    assert set(RESULTS_DIR.glob("tables/*")) == {page for page in pages if page.parent.name == "tables"}


@pytest.mark.parametrize(
    "system", ["mspp", "two_tower", "quick_thoughts", "cmlm", "cmlm_multilingual", "cross_thought"]
)
def test_each_papers_tables_are_made_from_records_alone(system: str) -> None:
    """Records of all variants and columns of the published tables, without what a run adds to its page."""
    records = {}
    for table in import_module(SYSTEMS[system]).PUBLISHED.tables.values():
        for row in (row for row in table.rows if row.variant):
            for column in (column for column in table.columns if column.metric):
                key = column.score_key(row.data or table.data, row.protocol)
                score = (key.task, key.data, key.protocol, key.metric, key.split)
                records[row.variant, score] = measured(row.variant, [0.5, 0.6], *score, system=system)
    saved = SavedResults({system: RUN}, [record for pair in records.values() for record in pair])
    tables = list(SCRIPT["paper_tables"](saved))
    assert any(table.title.startswith("Table") for table in tables)
    assert all("±" in "".join(map("".join, table.rows)) for table in tables)


def test_each_saved_command_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    for name, saved in SCRIPT["read_results"]().items():
        for system, run in saved.runs.items():
            assert str(run.command).startswith("kedro run --pipelines "), f"{name}, {system}"
            if run.training_minutes is not None:  # older files
                assert run.training_minutes == pytest.approx(saved.training_costs[system].minutes, abs=0.05)
