"""The stage `claims`: the page of all claims and a table in MLflow."""

import json
from pathlib import Path

import mlflow
from kedro.pipeline import Pipeline

from contexture.reporting.index import read_summaries
from tests.pipelines.conftest import MakeProject, run_without_spark
from tests.reporting.make import COST, measured

#: Variant → accuracy on MR for three seeds.
ACCURACIES = {"cmlm": [0.8, 0.812, 0.82], "mlm": [0.7, 0.71, 0.72], "untrained": [0.6, 0.61, 0.62]}


def test_a_run_writes_the_page_and_logs_a_table(make_project: MakeProject) -> None:
    folder = make_project()
    reports = folder / "data/08_reporting"
    (reports / "cmlm").mkdir(parents=True)
    records = [
        record for name, values in ACCURACIES.items() for record in measured(name, values, system="cmlm", cost=COST)
    ]
    (reports / "cmlm/metrics.json").write_text(json.dumps(records))
    run_without_spark(folder, {}, pipeline_names=["claims"])
    page = (reports / "claims/report/report.md").read_text(encoding="utf-8")
    assert "# Claims of the papers\n\n- Of 32 claims: 1 shown, 0 refuted, 31 undecided.\n" in page
    assert "- CMLM is better than masked language modelling: shown.\n" in page
    summary = read_summaries(reports)["claims"]
    assert summary.verdict[0] == "Of 32 claims: 1 shown, 0 refuted, 31 undecided."
    index = (reports / "index.html").read_text(encoding="utf-8")
    assert 'href="claims/report/report.html"' in index and "claims/metrics.json" not in index
    check_tracked(folder)


def check_tracked(folder: Path) -> None:
    """Check the artifacts of the run in MLflow."""
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    (tracked,) = mlflow.search_runs(experiment_names=["contexture"], output_format="list")
    table = mlflow.load_table("claims/results.json", run_ids=[tracked.info.run_id])
    assert table["claim"].nunique() == 32
    decided = table[table["verdict"] == "shown"]
    assert decided[["claim", "compared", "result", "seeds"]].to_numpy().tolist() == [["C1", "cmlm > mlm", "shown", 3]]
    files = {file.path for file in mlflow.MlflowClient().list_artifacts(tracked.info.run_id, "claims/report")}
    assert "claims/report/report.html" in files


def test_systems_with_claims_end_with_their_page(pipelines: dict[str, Pipeline]) -> None:
    with_page = {
        name for name, pipeline in pipelines.items() if {"claims.write_report"} & {node.name for node in pipeline.nodes}
    }
    papers = {"mspp", "two_tower", "quick_thoughts", "cmlm", "cmlm_multilingual", "cross_thought"}
    assert with_page == {"claims", "demo", "__default__", *papers}
    (page,) = (node for node in pipelines["mspp"].nodes if node.name == "claims.write_report")
    assert "mspp.metrics" in page.inputs and len(page.inputs) == 2
    assert pipelines["claims"].inputs() == {"params:claims.report_dir"}
