"""`scripts/compare_runs.py`, as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts/compare_runs.py"
RECORD = {
    "system": "mspp",
    "variant": "mspp_ie",
    "seed": 0,
    "task": "answer_selection",
    "data": "wikiqa",
    "protocol": "finetuned",
    "split": "test",
    "metric": "map",
    "value": 0.5,
    "training_text": "the demo's made-up world",
    "steps": 300,
    "seconds": 1.5,
}


def write_records(folder: Path, *changes: dict[str, Any]) -> Path:
    """One record for each change of RECORD, in the file of its system; a value of None removes the key."""
    systems: dict[str, list[dict[str, Any]]] = {}
    for change in changes:
        record = {key: value for key, value in (RECORD | change).items() if value is not None}
        systems.setdefault(record["system"], []).append(record)
    for system, records in systems.items():
        (folder / system).mkdir(parents=True)
        (folder / system / "metrics.json").write_text(json.dumps(records))
    return folder


def compare(old: Path, new: Path, *options: str) -> tuple[int, str]:
    command = [sys.executable, str(SCRIPT), str(old), str(new), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_equal_records_in_another_order_and_of_another_duration(tmp_path: Path) -> None:
    old = write_records(tmp_path / "old", {}, {"seed": 1}, {"system": "cmlm"})
    new = write_records(tmp_path / "new", {"system": "cmlm"}, {"seed": 1, "seconds": 9.0}, {})
    status, output = compare(old, new)
    assert status == 0 and output.startswith("3 records in") and output.endswith("3 are equal\n")


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ({"value": 0.5000001}, "map value 0.5 0.5000001"),
        ({"steps": 301}, "map steps 300 301"),
        ({"training_text": "a dump"}, "map training_text the demo's made-up world a dump"),
        ({"steps": None}, "map steps 300 –"),
    ],
)
def test_each_field_that_differs_is_shown(change: dict[str, Any], row: str, tmp_path: Path) -> None:
    old = write_records(tmp_path / "old", {}, {"seed": 1})
    new = write_records(tmp_path / "new", change, {"seed": 1})
    status, output = compare(old, new)
    assert status == 1 and "Different: 1\n" in output and "1 are equal" in output
    assert output.splitlines()[-1].split() == f"mspp mspp_ie 0 answer_selection wikiqa finetuned test {row}".split()


def test_missing_and_new_records(tmp_path: Path) -> None:
    old = write_records(tmp_path / "old", {}, {"seed": 1})
    new = write_records(tmp_path / "new", {}, {"metric": "mrr", "value": 0.25}, {"metric": "p_at_1"})
    status, output = compare(old, new, "--limit", "1")
    assert status == 1 and "Missing in NEW: 1\n" in output and "Only in NEW: 2\n" in output
    assert "… and 1 more; --limit 2 shows all" in output


def test_options_relax_the_comparison(tmp_path: Path) -> None:
    old = write_records(tmp_path / "old", {})
    new = write_records(tmp_path / "new", {"value": 0.5001, "steps": 10})
    assert compare(old, new, "--ignore", "steps")[0] == 1
    assert compare(old, new, "--tolerance", "0.001")[0] == 1
    assert compare(old, new, "--ignore", "steps", "--tolerance", "0.001")[0] == 0


def test_a_folder_or_argument_that_cannot_be_used(tmp_path: Path) -> None:
    folder = write_records(tmp_path / "old", {})
    status, output = compare(folder, tmp_path / "nowhere")
    assert status == 2 and "nowhere: no */metrics.json; give a folder data/08_reporting" in output
    status, output = compare(folder, write_records(tmp_path / "twice", {}, {"value": 0.4}))
    assert status == 2 and "two records of mspp mspp_ie 0 answer_selection wikiqa finetuned test map" in output
    status, output = compare(folder, write_records(tmp_path / "without", {"split": None}))
    assert status == 2 and "a record without split" in output
