"""`contexture claims` prints all claims of the papers, decided on the records of runs."""

import json
import re
from pathlib import Path

import pytest

from contexture.commands.main import main
from contexture.reporting.records import Record
from tests.reporting.make import COST, measured

COUNTS = r"(\d+) shown, (\d+) refuted, (\d+) undecided\n\Z"


def write_run(folder: Path, system: str, records: list[Record]) -> Path:
    (folder / "08_reporting" / system).mkdir(parents=True, exist_ok=True)
    (folder / "08_reporting" / system / "metrics.json").write_text(json.dumps(records))
    return folder / "08_reporting"


def sentence_records(variant: str, values: list[float]) -> list[Record]:
    """Records of a training of a minute; no two variants take equally long."""
    seconds = 60 + len(variant) / 1000
    return measured(variant, values, task="mr", system="cmlm", cost=COST | {"seconds": seconds})


def claims_output(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main(["claims", *map(str, arguments)])
    return capsys.readouterr().out


def find_counts(text: str) -> list[int]:
    counts = re.search(COUNTS, text)
    assert counts
    return [int(count) for count in counts.groups()]


def test_without_a_run_all_claims_are_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = claims_output(capsys)
    assert find_counts(text) == [0, 0, 32]
    assert text.count("    repeat: kedro run --env ") == 32


def test_several_runs_decide_different_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    untrained, mlm = sentence_records("untrained", [0.6, 0.61, 0.62]), sentence_records("mlm", [0.70, 0.71, 0.72])
    first = write_run(tmp_path / "a", "cmlm", [*untrained, *mlm, *sentence_records("cmlm", [0.8, 0.812, 0.82])])
    answers = [
        *measured(
            "mspp_ie", [0.70, 0.71, 0.72], "answer_selection", "wikiqa", "grouped", "map", system="mspp", cost=COST
        ),
        *measured(
            "joint_ie", [0.80, 0.812, 0.82], "answer_selection", "wikiqa", "grouped", "map", system="mspp", cost=COST
        ),
        *measured(
            "pairwise", [0.60, 0.61, 0.62], "answer_selection", "wikiqa", "frozen", "map", system="mspp", cost=COST
        ),
    ]
    second = write_run(tmp_path / "b", "mspp", answers)
    text = claims_output(capsys, "--metrics", first, second)
    assert find_counts(text) == [1, 1, 30]
    assert "C1  SHOWN: CMLM is better than masked language modelling (Yang et al. 2021, Table 1)" in text
    assert "M1  REFUTED: Pre-training with MSPP helps the joint model" in text
    assert f"records of {first}" in text and f"records of {second}" in text


def test_the_run_of_the_project_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    untrained, mlm = sentence_records("untrained", [0.6, 0.61, 0.62]), sentence_records("mlm", [0.70, 0.71, 0.72])
    write_run(tmp_path / "data", "cmlm", [*untrained, *mlm, *sentence_records("cmlm", [0.8, 0.812, 0.82])])
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    assert find_counts(claims_output(capsys)) == [1, 0, 31]


def test_the_page_has_the_same_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    untrained, mlm = sentence_records("untrained", [0.6, 0.61, 0.62]), sentence_records("mlm", [0.70, 0.71, 0.72])
    run = write_run(tmp_path, "cmlm", [*untrained, *mlm, *sentence_records("cmlm", [0.8, 0.812, 0.82])])
    page = tmp_path / "claims.html"
    text = claims_output(capsys, "--metrics", run, "--output", page)
    html = page.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>") and "Of 32 claims: 1 shown, 0 refuted, 31 undecided." in html
    (numbers,) = re.findall(r"difference (\S+ \[.*?\]), 3 seeds: shown", text)
    assert numbers in html and html.count(">kedro run --env ") == 32


@pytest.mark.parametrize(
    ("name", "message"), [("claims.pdf", "must end in .html"), ("no/claims.html", "no such folder")]
)
def test_an_output_that_cannot_be_written_is_an_error(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"^contexture claims: --output: .*{message}"):
        main(["claims", "--output", str(tmp_path / name)])


def test_a_folder_without_records_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"^contexture claims: --metrics: .*: no \*/metrics.json; name a folder"):
        main(["claims", "--metrics", str(tmp_path)])
