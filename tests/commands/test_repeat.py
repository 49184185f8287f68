"""`contexture results repeat` runs the command of saved results with the inputs of this machine, and compares."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from contexture.commands import workspaces
from contexture.commands.main import main
from contexture.reporting.provenance import Provenance
from contexture.reporting.saved_results import SavedResults
from tests.commands.test_results import CMLM, MLM, RUN, cmlm_records, results_output, table_rows, write_run

SAVED = replace(RUN, command="kedro run --pipelines cmlm --params corpus.input=DATA/novels/a.txt,cmlm.seeds=3")


def save(project: Path, *systems: str, run: Provenance = SAVED) -> None:
    """Save results of these systems, which one command made."""
    file = project / "docs/results/first.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    records = [{**record, "system": system} for system in systems for record in cmlm_records(MLM, CMLM)]
    file.write_text(SavedResults(dict.fromkeys(systems, run), records).to_json())  # type: ignore[arg-type]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a project with saved results and their input."""
    for folder in ("conf/adapt", "texts/novels"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "texts/novels/a.txt").touch()
    save(tmp_path, "cmlm")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def finish_run(project: Path, run: Provenance = SAVED, mlm: list[float] = MLM) -> None:
    """Write what a run leaves."""
    reports = write_run(project / "data", "cmlm", cmlm_records(mlm, CMLM))
    (reports / "cmlm/run.json").write_text(json.dumps(asdict(run)))


def test_the_command_is_printed_with_full_paths(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = results_output(capsys, "repeat", "first", "--data", "texts", "--dry-run")
    assert text == f"kedro run --pipelines cmlm --params corpus.input={project}/texts/novels/a.txt,cmlm.seeds=3\n"
    save(project, "cmlm", "league")
    assert results_output(capsys, "repeat", "first", "--data", "texts", "--dry-run") == text


def test_the_run_is_repeated_in_the_project_and_compared(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_kedro(folder: Path, arguments: list[str]) -> int:
        assert folder == project and arguments[:3] == ["run", "--pipelines", "cmlm"]
        finish_run(project, mlm=[0.70, 0.71, 0.75])
        return 0

    monkeypatch.setattr(workspaces, "run_kedro", run_kedro)
    text = results_output(capsys, "repeat", "first", "--data", "texts", "--rows", "mr")
    row = next(cells for cells in table_rows(text) if "mlm" in cells)
    assert row[5:] == ["mlm", "71.0", "72.0", "+1.0", "-3.3 to +5.3", "3"]
    assert text.splitlines()[-2:] == [
        "cmlm: the text is the same (checksum fedcba98)",
        "2 of 3 rows have exactly the saved scores, 0 are missing",
    ]


def test_a_failed_run_is_not_compared(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspaces, "run_kedro", lambda folder, arguments: 3)
    with pytest.raises(SystemExit) as stopped:
        main(["results", "repeat", "first", "--data", "texts"])
    assert stopped.value.code == 3


@pytest.mark.parametrize(
    ("checksum", "message"),
    [
        ("0123456789", "cmlm: the texts differ (checksums fedcba98 and 01234567)"),
        (None, "cmlm: the checksum of a text is unknown"),
    ],
)
def test_a_finished_run_is_compared_without_inputs(
    checksum: str | None, message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finish_run(project, replace(SAVED, text_sha256=checksum))
    text = results_output(capsys, "repeat", "first", "--check")
    assert message in text and "3 of 3 rows have exactly the saved scores" in text


def test_a_run_in_a_workspace_is_compared_with_the_results_there(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = replace(SAVED, command=f"{SAVED.command},workspace=novels")
    save(project, "cmlm", run=run)
    finish_run(project, mlm=[0.1, 0.2, 0.3])
    reports = write_run(project / "data/workspaces/novels", "cmlm", cmlm_records(MLM, CMLM))
    (reports / "cmlm/run.json").write_text(json.dumps(asdict(run)))
    assert "3 of 3 rows have exactly the saved scores" in results_output(capsys, "repeat", "first", "--check")


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (SAVED.command, (), "--data: name the folders"),
        (SAVED.command, ("--data", "conf"), "--data: novels/a.txt is missing"),
        (SAVED.command, ("--check",), "data/08_reporting: .*no "),
        (None, ("--data", "texts"), "cmlm: the command is unknown; only `kedro run`"),
        ("make demo", ("--data", "texts"), "cmlm: the command is make demo; only `kedro run`"),
    ],
)
def test_errors_say_what_is_needed(
    command: str | None, arguments: tuple[str, ...], message: str, project: Path
) -> None:
    save(project, "cmlm", run=replace(SAVED, command=command))
    with pytest.raises(SystemExit, match=f"^contexture results: {message}"):
        main(["results", "repeat", "first", *arguments])
