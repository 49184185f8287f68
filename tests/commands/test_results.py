"""`contexture results` saves the results of a run, lists them, and shows the scores or the differences of two."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from contexture.commands.main import main
from contexture.reporting.provenance import Provenance
from contexture.reporting.records import Record
from contexture.reporting.saved_results import SavedResults, TrainingCost
from tests.commands.test_claims import claims_output, find_counts, sentence_records, write_run
from tests.reporting.make import COST, measured
from tests.systems.league.test_growth import RUNS as LEAGUE_RUNS

RUN = Provenance(
    command="kedro run --pipelines cmlm --params 'corpus.input=/home/me/novels/a.txt,cmlm.seeds=3'",
    commit="0123456789abcdef",
    changed_files=False,
    finished="2026-01-31T12:00",
    minutes=9.5,
    seeds=3,
    budget="9 minutes",
    text="novels",
    text_sha256="fedcba9876543210",
    processor="A processor",
    cores=2,
)


def cmlm_records(mlm: list[float], cmlm: list[float]) -> list[Record]:
    untrained = sentence_records("untrained", [0.60, 0.61, 0.62])
    return [*untrained, *sentence_records("mlm", mlm), *sentence_records("cmlm", cmlm)]


MLM, CMLM = [0.70, 0.71, 0.72], [0.80, 0.812, 0.82]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a project with the records of one run."""
    reports = write_run(tmp_path / "data", "cmlm", cmlm_records(MLM, CMLM))
    (reports / "cmlm/run.json").write_text(json.dumps(asdict(RUN)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def results_output(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main(["results", *map(str, arguments)])
    return capsys.readouterr().out


def table_rows(text: str) -> list[list[str]]:
    """Return the cells of the rows of Markdown tables, without heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_saved_results_have_all_records_and_how_they_were_made(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert results_output(capsys, "save", "first") == "9 records of cmlm: docs/results/first.json\n"
    file = project / "docs/results/first.json"
    saved = json.loads(file.read_text())
    records = json.loads((project / "data/08_reporting/cmlm/metrics.json").read_text())
    assert SavedResults.read(file).records == records
    assert [len(model["scores"]) for model in saved["models"]] == [1] * 9
    command = "kedro run --pipelines cmlm --params corpus.input=DATA/novels/a.txt,cmlm.seeds=3"
    assert saved["runs"] == {"cmlm": asdict(RUN) | {"command": command, "training_minutes": 9.0}}
    assert "/home/me" not in file.read_text()
    cost = SavedResults.read(file).training_costs["cmlm"]
    assert (cost.trainings, cost.flops, cost.minutes) == (9, 9e12, pytest.approx(9, abs=0.01))


def test_saved_results_can_get_more_seeds_and_rows(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["results", "save", "first"])
    more = [record | {"seed": record["seed"] + 3} for record in cmlm_records([0.73, 0.74, 0.75], [0.81, 0.82, 0.83])]
    for record in more:
        record["training_text"] = "moved.txt"  # another name of the same text
    again = cmlm_records([0.1, 0.1, 0.1], CMLM)  # other scores of records that are there
    reports = write_run(project / "data", "cmlm", [*again, *more, *sentence_records("words", [0.5])])
    write_run(project / "data", "mspp", measured("mspp_ie", [0.5], "answer_selection", "wikiqa", "grouped", "map"))
    run = replace(RUN, commit="fedcba9876543210", minutes=5.0, finished="2026-02-01T12:00", text="moved.txt")
    (reports / "cmlm/run.json").write_text(json.dumps(asdict(run)))
    command = "kedro run --pipelines cmlm --params corpus.input=DATA/novels/a.txt,cmlm.seeds=6"
    capsys.readouterr()
    saved_text = results_output(capsys, "save", "first", "--add", "--command", command)
    assert saved_text == "19 records of cmlm: docs/results/first.json\n"
    saved = SavedResults.read(project / "docs/results/first.json")
    values = {(record["variant"], record["seed"]): record["value"] for record in saved.records}
    assert [values["mlm", seed] for seed in range(6)] == [*MLM, 0.73, 0.74, 0.75]
    assert values["words", 0] == 0.5
    assert len({record["training_text"] for record in saved.records if "training_text" in record}) == 1
    assert [*saved.runs] == ["cmlm"] and saved.runs["cmlm"] == replace(
        run,
        command=command,
        commit="0123456789abcdef, fedcba9876543210",
        minutes=14.5,
        seeds=6,
        training_minutes=19.0,
    )
    assert "| 01234567, fedcba98 |" in results_output(capsys, "list")


def test_systems_without_new_records_stay_as_they_are() -> None:
    first, second = (
        [record | {"system": name} for record in measured("a", [0.5], cost=COST)] for name in ("cmlm", "mspp")
    )
    saved = SavedResults({"cmlm": RUN, "mspp": RUN}, [*first, *second])
    later = replace(RUN, commit="fedcba9876543210")
    more = [record | {"system": "mspp", "seed": 1} for record in measured("a", [0.6], cost=COST)]
    added = saved.add(SavedResults({"cmlm": later, "mspp": later}, [*first, *second, *more]))
    assert added.runs["cmlm"].commit == RUN.commit
    assert added.runs["mspp"].commit == "0123456789abcdef, fedcba9876543210"


def test_one_score_without_a_training_still_counts_for_all_seeds() -> None:
    first = SavedResults({"some": RUN}, [*measured("published", [0.5]), *measured("a", [0.5, 0.6], cost=COST)])
    later = [*measured("published", [0.5]), *measured("a", [0.7], cost=COST)]
    for record in later:
        record["seed"] = 2
    added = first.add(SavedResults({"some": RUN}, later))
    assert [(r["variant"], r["seed"]) for r in added.records] == [("published", 0), ("a", 0), ("a", 1), ("a", 2)]


def test_scores_of_a_model_that_was_trained_again_are_not_added() -> None:
    saved = SavedResults({"some": RUN}, measured("a", [0.5, 0.6], cost=COST))
    again = SavedResults({"some": RUN}, measured("a", [0.5], "cr", cost=COST | {"seconds": 61.0}))
    with pytest.raises(ValueError, match="some: a with seed 0 was trained again; add scores of the first training"):
        saved.add(again)
    assert len(saved.add(SavedResults({"some": RUN}, measured("a", [0.5], "cr", cost=COST))).records) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "docs/results/first.json: it has all records of this run"),
        ({"text_sha256": "00"}, "docs/results/first.json: cmlm: text_sha256 is 00 in this run and fedcba9876543210"),
        ({"budget": "1 minutes"}, "docs/results/first.json: cmlm: budget is 1 minutes in this run and 9 minutes"),
    ],
)
def test_nothing_is_added_from_other_text_or_budget(project: Path, change: dict[str, str], message: str) -> None:
    main(["results", "save", "first"])
    previous_text = (project / "docs/results/first.json").read_bytes()
    more = sentence_records("words", [0.5]) if change else []
    reports = write_run(project / "data", "cmlm", [*cmlm_records(MLM, CMLM), *more])
    (reports / "cmlm/run.json").write_text(json.dumps(asdict(replace(RUN, **change))))
    with pytest.raises(SystemExit, match=re.escape(message)):
        main(["results", "save", "first", "--add", "--command", "kedro run"])
    assert (project / "docs/results/first.json").read_bytes() == previous_text


def test_results_of_older_versions_are_saved_without_how_they_were_made(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "data/08_reporting/cmlm/run.json").unlink()
    main(["results", "save", "first"])
    assert "cmlm: commit, text and processor are unknown" in capsys.readouterr().err
    main(["results", "save", "second", "--command", "kedro run --params corpus.input=/home/me/novels/a.txt"])
    assert "--command" not in capsys.readouterr().err
    runs = [SavedResults.read(project / f"docs/results/{name}.json").runs["cmlm"] for name in ("first", "second")]
    commands = (None, "kedro run --params corpus.input=DATA/novels/a.txt")
    assert runs == [Provenance(command=command, training_minutes=9.0) for command in commands]


def test_the_list_has_one_row_for_each_system(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert results_output(capsys, "list").startswith("There are no saved results here")
    results_output(capsys, "save", "first")
    (project / "docs/results/page.md").write_text("# A page")
    _, row = table_rows(results_output(capsys, "list"))
    assert row == [
        *("first", "cmlm", "novels", "fedcba98", "01234567", "2026-01-31T12:00", "A processor", "9 minutes"),
        *("3", "9.0", "9"),
    ]


def test_show_prints_means_with_intervals_and_the_command(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results_output(capsys, "save", "first")
    text = results_output(capsys, "show", "first", "--rows", "mr", "mlm")
    (row,) = table_rows(text)[3:]
    # t(0.975, 2) = 4.303, standard deviation 1, 3 seeds: 71 ± 2.48.
    assert row == ["cmlm", "mr", "senteval", "senteval", "accuracy", "mlm", "71.0", "68.5 to 73.5", "3"]
    assert len(table_rows(results_output(capsys, "show", "first"))[3:]) == 3
    assert text.splitlines()[-1].startswith("repeat first, cmlm: kedro run --pipelines cmlm --params ")


def test_show_prints_differences_over_shared_seeds(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results_output(capsys, "save", "first")
    # Seeds 0 and 1 gain one and three points: 2 ± 12.7 (t(0.975, 1) = 12.706, standard deviation 1.414).
    other = [*sentence_records("mlm", [0.71, 0.74]), *sentence_records("new", [0.5, 0.5])]
    (project / "data/08_reporting/cmlm/metrics.json").write_text(json.dumps(other))
    results_output(capsys, "save", "second")
    *_, row = table_rows(results_output(capsys, "show", "first", "docs/results/second.json"))
    assert row[5:] == ["mlm", "71.0", "72.5", "+2.0", "-10.7 to +14.7", "2"]


def save_league(project: Path, name: str, records: list[Record], text_sha256: str = "fedc") -> None:
    """Save results of the league as a run with this text writes them."""
    run = replace(RUN, text_sha256=text_sha256)
    (project / "docs/results").mkdir(parents=True, exist_ok=True)
    (project / f"docs/results/{name}.json").write_text(SavedResults({"league": run}, records).to_json())


def test_growth_prints_scores_by_budget_and_forecasts(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, records in zip("abc", LEAGUE_RUNS, strict=True):
        save_league(project, name, records)
    text = results_output(capsys, "growth", "a", "b", "c", "--output", "growth.html")
    mlm = next(row for row in table_rows(text) if row[0].lower() == "mlm")
    assert mlm[1:5] == ["11.0", "21.0", "31.0", "+10.0"]
    assert "with 100 times the largest budget, MLM (51.2" in text
    assert "data:image/png" in (project / "growth.html").read_text()


def test_growth_compares_leagues_of_one_text_only(project: Path) -> None:
    save_league(project, "a", LEAGUE_RUNS[0])
    save_league(project, "b", LEAGUE_RUNS[1], "0123")
    with pytest.raises(SystemExit, match=r"contexture results: NAME: .* trained on different texts"):
        main(["results", "growth", "a", "b"])
    main(["results", "save", "first"])
    with pytest.raises(SystemExit, match="contexture results: NAME first: has no results of the league"):
        main(["results", "growth", "a", "first"])


def test_claims_are_decided_on_saved_results(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results_output(capsys, "save", "first")
    (project / "data").rename(project / "moved")
    text = claims_output(capsys, "--metrics", "docs/results/first.json")
    assert find_counts(text) == [1, 0, 31] and "records of docs/results/first.json" in text


def test_only_named_systems_are_saved(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(project / "data", "mspp", measured("mspp_ie", [0.5], "answer_selection", "wikiqa", "grouped", "map"))
    with pytest.raises(SystemExit, match="--command: name the systems that it runs with --systems: cmlm, mspp"):
        main(["results", "save", "first", "--command", "kedro run --pipelines cmlm"])
    results_output(capsys, "save", "first", "--systems", "cmlm", "cmlm")
    assert set(SavedResults.read(project / "docs/results/first.json").runs) == {"cmlm"}
    with pytest.raises(SystemExit, match="unknown system 'cmml'; did you mean 'cmlm'"):
        main(["results", "save", "second", "--systems", "cmml"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("save", "First"), "NAME First: use lower-case letters"),
        (("save", "first"), "NAME first: .*first.json exists; choose another name"),
        (("save", "first", "--add"), "--add needs --command"),
        (("save", "second", "--add", "--command", "kedro run"), "--add: there is no .*second.json"),
        (("save", "second", "--metrics", "docs"), r"--metrics: docs: no \*/metrics.json"),
        (("show", "frist"), "unknown results 'frist'; did you mean 'first'"),
        (("show", "first", "--rows", "xyz"), "--rows: there are no rows"),
    ],
)
def test_errors_name_the_option(
    arguments: tuple[str, ...], message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results_output(capsys, "save", "first")
    with pytest.raises(SystemExit, match=f"^contexture results: {message}"):
        main(["results", *arguments])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"models": [{"scores": [["senteval", "accuracy", "frozen", "test", "mr", 0.5]]}]},
            "metrics record 0: system: Fi",
        ),
        ({"models": [{}]}, "models without scores"),
        ({"models": [{"scores": [["mr"]]}]}, "models without scores, or scores without data, metric"),
        ({"runs": {"cmlm": {"comit": "a"}}}, "comit: Unexpected keyword argument"),
        ({"more": 1}, "expected the keys runs and models"),
        ({"runs": None}, "expected the keys runs and models"),
    ],
)
def test_damaged_files_are_errors(
    change: dict[str, Any], message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results_output(capsys, "save", "first")
    file = project / "docs/results/first.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(SystemExit, match=rf"first\.json: {message}"):
        main(["results", "show", "first"])


def test_unknown_options_have_suggestions(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["results", "show", "first", "--row", "map", "--metric"])
    assert re.search("unknown option '--metric'", capsys.readouterr().err)


def test_the_number_of_test_examples_is_saved_where_it_is_known(tmp_path: Path) -> None:
    first, second = sentence_records("mlm", [0.5, 0.6])
    records = [Record(**first, examples=700), second]  # type: ignore[misc]
    (tmp_path / "some.json").write_text(SavedResults({"cmlm": RUN}, records).to_json())
    assert SavedResults.read(tmp_path / "some.json").records == records


def test_the_cost_is_written_once_for_each_model(tmp_path: Path) -> None:
    records = [
        record for seed in (0.5, 0.6) for task in ("mr", "cr") for record in measured("a", [seed], task, cost=COST)
    ]
    records[2]["seed"] = records[3]["seed"] = 1
    file = tmp_path / "saved.json"
    file.write_text(SavedResults({}, records).to_json())
    assert file.read_text().count("training_text") == 2
    assert SavedResults.read(file).records == records


def test_the_cost_counts_once_for_each_training() -> None:
    records = [*measured("a", [0.5, 0.6], cost=COST), *measured("a", [0.5, 0.6], "cr", cost=COST)]
    assert SavedResults({"some": RUN}, records).training_costs == {"some": TrainingCost(2, 2e12, 120.0)}
