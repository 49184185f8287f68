"""A task, a stream and an objective can each be added to the project with one folder and one line."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from difflib import ndiff
from pathlib import Path

import pytest
import yaml

from tests.pipelines.conftest import PROJECT, make_project

__all__ = ["make_project"]

TOYS = Path(__file__).parent / "extension"
#: File → its last entry, and the line to add after it.
LINES = {
    "tasks/registry.py": ('    "sentences",\n', '    "toy",\n'),
    "streams/config.py": (
        '    "short_sequences": "sequence_samples.config:ShortSequencesConfig",\n',
        '    "toy": "toy.config:ToyStreamConfig",\n',
    ),
    "objectives/config.py": (
        '    "tsdae": "settings:TsdaeConfig",\n',
        '    "toy": "toy.config:ToyConfig",\n',
    ),
}
#: A league with the toys only.
LEAGUE = {
    "seeds": 1,
    "lengths": {"query": 16, "document": 16},
    "streams": {"toy": {}},
    "encoders": {
        "transformer": {
            "kind": "transformer", "hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 16, "dropout": 0.0
        }
    },
    "pretrain": {
        "batch_size": 8,
        "precision": "fp32",
        "optimizer": {"learning_rate": 1e-3},
        "runs": {"toy": {"schedule": [{"steps": 2, "weights": {"toy": 1}}]}, "untrained": {"schedule": []}},
    },
    "tasks": {"toy": {}},
}  # fmt: skip
SMALL = {"demo": {"pages": 25, "novels": 2}, "vocabulary": {"size": 1000}, "corpus": {"files": 2}, "demo_systems": {}}


@pytest.fixture(scope="module")
def project(make_project: Callable[[], Path]) -> Path:
    """A copy of the project with the toys and one system that uses them."""
    folder = make_project()
    package = folder / "src/contexture"
    shutil.copytree(PROJECT / "src/contexture", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(TOYS, package, dirs_exist_ok=True)
    for file, (last, line) in LINES.items():
        text = (package / file).read_text(encoding="utf-8")
        assert last in text
        (package / file).write_text(text.replace(last, last + line), encoding="utf-8")
    parameters = folder / "conf/base/parameters"
    for file in parameters.glob("*.yml"):
        if "pretrain" in (next(iter(yaml.safe_load(file.read_text(encoding="utf-8")).values())) or {}):
            file.unlink()
    (parameters / "league.yml").write_text(yaml.safe_dump({"league": LEAGUE}))
    (parameters / "demo_systems.yml").write_text("demo_systems: {}")
    (folder / "conf/local/parameters").mkdir(parents=True)
    (folder / "conf/local/parameters/small.yml").write_text(yaml.safe_dump(SMALL))
    return folder


def run_python(project: Path, *arguments: str) -> str:
    """Return the output of a Python process that imports the copy."""
    environment = os.environ | {"PYTHONPATH": str(project / "src")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def read_files(folder: Path) -> dict[str, str]:
    paths = [file for file in folder.rglob("*") if file.suffix in (".py", ".yml", ".md") and file.is_file()]
    return {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in paths}


def test_an_extension_is_one_folder_and_one_line(project: Path) -> None:
    original, changed = read_files(PROJECT / "src/contexture"), read_files(project / "src/contexture")
    assert {file.rpartition("/")[0] for file in set(changed) - set(original)} == {
        "tasks/toy",
        "streams/toy",
        "objectives/toy",
    }
    changes = {
        file: [line for line in ndiff(text.splitlines(), changed[file].splitlines()) if line[:1] in "+-"]
        for file, text in original.items()
        if changed[file] != text
    }
    assert changes == {file: [f"+ {line.rstrip()}"] for file, (_, line) in LINES.items()}


def test_configuration_report_and_league_use_them(project: Path) -> None:
    code = """
from kedro.config import OmegaConfigLoader
from contexture.config import check_parameters
from contexture.pipelines.config_loader import ARGUMENTS
from contexture.reporting.default_page import all_tables
from contexture.reporting.records import check_records
from contexture.systems.league.tables import league_text

league = check_parameters(OmegaConfigLoader("conf", **ARGUMENTS)["parameters"], [], {}).systems["league"]
print(sorted(league.pretraining("toy").stream_names), type(league.tasks["toy"]).__name__)
record = {"system": "league", "variant": "toy", "seed": 0, "task": "toy", "data": "toy_box", "protocol": "frozen",
          "split": "test", "metric": "toy_score", "value": 0.5}
records = check_records([record])
print([(table.title, [column.name for column in table.columns][-1], table.rows) for table in all_tables(records, {})])
print(league_text(records))
"""
    output = run_python(project, "-c", code)
    assert "['toy'] TaskSettings" in output
    assert "[('Toy task (The toy box)', 'toy score', (('toy', 'ours, 1 seed', '50.0'),))]" in output
    assert "Play" in output and "50.0*" in output


@pytest.mark.slow
def test_extensions_run_and_are_in_report_and_league(project: Path) -> None:
    output = run_python(project, "-m", "kedro", "run")
    records = json.loads((project / "data/08_reporting/league/metrics.json").read_text(encoding="utf-8"))
    assert {(row["task"], row["metric"], row["variant"]) for row in records} == {
        ("toy", "toy_score", "toy"),
        ("toy", "toy_score", "untrained"),
    }
    assert {row["variant"]: row.get("steps") for row in records} == {"toy": 2, "untrained": 0}
    report = (project / "data/08_reporting/league/report/report.md").read_text(encoding="utf-8")
    assert "Toy task" in report and "toy score" in report and "toy sentences" in report
    assert "**Play**: Recommendation: toy objective for play" in report and "Play" in output
