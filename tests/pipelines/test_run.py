"""A small run of MSPP, options of `kedro run`, and all pipelines."""

import copy
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from kedro.framework.cli.utils import KedroCliError
from kedro.io import DatasetError
from kedro.pipeline import Pipeline
from markupsafe import escape
from mlflow import MlflowClient
from mlflow.entities import Run
from pyspark.sql import SparkSession
from safetensors.torch import load_file

from contexture.cli import split_params
from contexture.encoders.files import load_encoder
from contexture.pipeline_registry import register_pipelines
from contexture.pipelines.hooks.console import RunRefusedError
from contexture.pipelines.hooks.provenance import format_command, read_local
from contexture.pipelines.hooks.record import make_run_name
from contexture.pipelines.pretrain.pipeline import create_pipeline
from contexture.pipelines.system import resolve_all
from contexture.pipelines.trainings import split_cores
from contexture.reporting.index import read_summaries
from contexture.reporting.provenance import hash_corpus
from contexture.reporting.saved_results import read_provenance
from contexture.settings import RUN_PARAMETERS
from contexture.systems.registry import SYSTEMS
from contexture.systems.resolved import resolve_ablation
from tests.environments import check_changed, config_loader
from tests.pipelines.conftest import (
    PROJECT,
    SMALLEST,
    MakeProject,
    check_records,
    check_report,
    copy_data,
    measured,
    read,
    records,
    run,
    run_without_spark,
)

RUNS = ["base", "mlm", "mspp_ie", "mspp_ae"]
VARIANTS = {"mspp_ie", "mspp_ae", "joint_ie", "joint_ae", "pairwise", "base_ie"}
BASELINES = {"word_overlap", "file_order", "random_order"}
#: Fine-tuned models for fact verification.
HEADS = {"pairwise": ("max_pool", "weighted_sum"), "joint_ie": ("ie_1", "ae_1"), "mspp_ie": ("ie_1", "ae_1")}
CLAIM_MODELS = [(variant, head) for variant, heads in HEADS.items() for head in heads]
TRAININGS = ["mspp.pretrain", "mspp.finetune_answer_selection", "mspp.finetune_fact_verification"]
#: Inputs of the trainings.
TRAINING_INPUTS = ("03_primary/tasks", "04_feature/subword_vectors", "05_model_input")
#: Inputs of all stages after the examples.
LATER_INPUTS = (*TRAINING_INPUTS, "01_raw", "03_primary/paragraphs", "04_feature/documents", "08_reporting/corpus")


@pytest.fixture(scope="module")
def demo(spark: SparkSession, make_project: MakeProject) -> Path:
    """A project after MSPP's run."""
    folder = make_project()
    run(folder)
    return folder


@pytest.fixture(scope="module")
def trained(demo: Path, make_project: MakeProject) -> Path:
    """A project with the trainings only, on inputs of an earlier run."""
    folder = make_project()
    copy_data(demo, folder, *TRAINING_INPUTS)
    run_without_spark(folder, node_names=TRAININGS)
    return folder


def weights(project: Path) -> dict[str, Path]:
    models = project / "data/06_models/mspp"
    return {file.parent.relative_to(models).as_posix(): file for file in models.rglob("model.safetensors")}


def weight_bytes(project: Path) -> dict[str, bytes]:
    return {name: file.read_bytes() for name, file in weights(project).items()}


def test_metrics_of_every_variant_are_recorded(demo: Path) -> None:
    table = records(demo, "mspp")
    check_records(table, "mspp", VARIANTS)
    assert set(table["task"]) == {"answer_selection", "fact_verification"} and set(table["data"]) == {"demo"}
    assert set(table["split"]) == {"dev", "test"} and table["value"].between(0, 1).all()
    claims = table[table["task"] == "fact_verification"].groupby("protocol")["variant"].agg(set).to_dict()
    frozen = {"frozen": {*HEADS, "majority", "word_overlap"}, "claim_only": {*HEADS}}
    assert claims == frozen | {
        head: {name for name, heads in HEADS.items() if head in heads} for _, head in CLAIM_MODELS
    }
    table = table[table["task"] == "answer_selection"]
    assert set(table["metric"]) == {"p_at_1", "map", "mrr"}
    variants = table.groupby("protocol")["variant"].agg(set).to_dict()
    assert variants == {"frozen": VARIANTS | BASELINES, "grouped": VARIANTS, "reranked": VARIANTS - {"pairwise"}}
    assert (table.groupby(["protocol", "variant"]).size() == 3 * 2).all()  # metrics, splits
    steps = table.groupby("variant")["steps"].first()
    assert steps["mspp_ie"] == steps["joint_ie"] == 2 + 4  # and those of the run that it starts from
    assert set(table.loc[table["epochs"].notna(), "variant"]) == VARIANTS
    assert (table["tokens"] / table["epochs"]).dropna().round(6).nunique() == 1  # tokens of the text


def test_all_variants_get_the_same_questions(demo: Path) -> None:
    folder = demo / "data/07_model_output/mspp/answer_selection"
    assert {file.name for file in folder.iterdir()} >= {"records.json", "details.json"}
    scores = pd.read_parquet(folder / "scores-demo.parquet")
    assert set(scores["variant"]) >= VARIANTS
    candidates = scores.groupby(["split", "protocol", "variant"]).apply(
        lambda part: frozenset(zip(part["question_id"], part["candidate_id"], strict=True)), include_groups=False
    )
    assert (candidates.groupby(["split"]).nunique() == 1).all()
    questions = pd.read_parquet(folder / "questions-demo.parquet")
    numbers = questions.groupby(["split", "variant", "protocol"])["question_id"].agg(frozenset)
    assert (numbers.groupby("split").nunique() == 1).all()


def test_the_report_shows_tables_and_curves(demo: Path) -> None:
    text = check_report(demo, "mspp")
    assert "88.5" in text  # the published MAP of MSPP IE_k on WikiQA
    assert "Evaluation documents are not excluded from the text." in text
    pictures = [picture.name for picture in (demo / "data/08_reporting/mspp/report").glob("*.png")]
    assert any("pretrain" in name for name in pictures)
    assert not any("finetune" in name for name in pictures)  # one epoch is no curve


def test_the_page_shows_examples_of_questions(demo: Path) -> None:
    [examples] = read(demo, "07_model_output/mspp/answer_selection/details.json")["examples"]
    answers = pd.read_parquet(demo / "data/03_primary/tasks/answer_selection/demo/test.parquet")
    right = set(answers.loc[answers["label"] == 1, ["question", "candidate"]].itertuples(index=False, name=None))
    assert examples["variant"] in VARIANTS and examples["missed"]
    for row, answered in [(row, kind == "answered") for kind in ("answered", "missed") for row in examples[kind]]:
        assert ((row["question"], row["predicted"]) in right) == answered and (row["question"], row["right"]) in right
        assert row["question"] in check_report(demo, "mspp")


def test_the_index_links_to_the_report(demo: Path) -> None:
    reports = demo / "data/08_reporting"
    index = (reports / "index.html").read_text(encoding="utf-8")
    summaries = read_summaries(reports)
    assert set(summaries) == {"claims", "mspp"}
    summary = summaries["mspp"]
    assert summary.text == "the demo's made-up world" and summary.verdict
    for text in (summary.title, *summary.verdict, summary.made):
        assert str(escape(text)) in index
    for link in re.findall(r'href="([^":]+)"', index):
        assert (reports / link).exists()
    assert "<dd>mspp</dd>" in index and f"/#/experiments/1/runs/{parent_of(demo)[0].info.run_id}?" in index


def test_folders_of_models(demo: Path) -> None:
    files = weights(demo)
    expected = {f"pretrained/{run}/seed-0" for run in RUNS}
    expected |= {f"finetuned/answer_selection/{name}/seed-0/demo" for name in VARIANTS}
    expected |= {f"finetuned/fact_verification/{name}/seed-0/{head}" for name, head in CLAIM_MODELS}
    assert set(files) == expected
    for name in expected:
        assert load_encoder(demo / "data/06_models/mspp" / name).embed(["a town"], "query").shape == (1, 16)
        assert (files[name].parent / "tokenizer.json").exists() and (files[name].parent / "identity.json").exists()
    assert (demo / "data/03_primary/tasks/answer_selection/task.json").exists()


@pytest.mark.slow
def test_a_run_continues_an_encoder_of_another_project(demo: Path, make_project: MakeProject) -> None:
    folder = make_project()
    copy_data(demo, folder, *TRAINING_INPUTS, "06_models/mspp/pretrained/mspp_ie")
    (folder / "data/06_models").rename(folder / "elsewhere")
    params = copy.deepcopy(SMALLEST)
    runs = params["mspp"]["pretrain"]["runs"]
    runs["further"] = {"start": "elsewhere/mspp/pretrained/mspp_ie", "schedule": []}
    run_without_spark(folder, params, node_names=["mspp.pretrain"])
    file = "mspp/pretrained/{}/seed-0/model.safetensors"
    start = load_file(folder / "elsewhere" / file.format("mspp_ie"))
    copied = load_file(folder / "data/06_models" / file.format("further"))
    assert start.keys() == copied.keys() and all(torch.equal(start[name], copied[name]) for name in start)
    params["mspp"]["encoders"]["transformer"]["layers"] = 2
    message = r"mspp\.encoders\.transformer: layers is 1 there, 2 here$"
    with pytest.raises(RunRefusedError, match=message):
        run_without_spark(folder, params, node_names=["mspp.pretrain"])
    runs["further"]["start"] = "elsewhere/mspp/pretrained/mspp_ae"
    with pytest.raises(RunRefusedError, match=r"further\.start: elsewhere/.* holds no encoder for seed 0"):
        run_without_spark(folder, params, node_names=["mspp.pretrain"])


def test_mlflow_has_one_run_with_a_child_for_each_training(demo: Path) -> None:
    parent, client = parent_of(demo)
    runs = client.search_runs([parent.info.experiment_id], max_results=100)
    children = {r.info.run_name: r for r in runs if r.data.tags.get("mlflow.parentRunId") == parent.info.run_id}
    assert len(runs) == 1 + len(children)
    assert set(children) == {
        *(f"pretrain mspp {name} seed 0" for name in RUNS),
        *(f"finetune mspp {name} on answer_selection demo seed 0" for name in VARIANTS),
        *(f"finetune mspp {name} on fact_verification {head} seed 0" for name, head in CLAIM_MODELS),
    }
    assert all(r.info.status == "FINISHED" for r in [parent, *children.values()])
    assert not [value for value in parent.data.params.values() if str(demo) in value]
    assert parent.data.params["mspp.pretrain.batch_size"] == "8"
    assert parent.info.run_name == "mspp, the demo's made-up world"
    child = children["finetune mspp mspp_ie on answer_selection demo seed 0"]
    tags = {"system": "mspp", "stage": "finetune", "variant": "mspp_ie", "seed": "0", "task": "answer_selection"}
    assert tags.items() <= child.data.tags.items()
    assert 0 <= child.data.metrics["dev/map"] <= 1
    settings = {"seed": "0", "epochs": "1", "head": "ie_k", "start": "mspp_ie"}
    assert settings.items() <= child.data.params.items()
    trained = children["pretrain mspp mspp_ie seed 0"].data.params
    settings = {
        "seed": "0", "start": "base", "schedule": "4 steps of 1 mlm + 1 mspp", "batch_size.joint": "8",
        "encoder.kind": "transformer", "encoder.hidden_size": "16",
    }  # fmt: skip
    assert settings.items() <= trained.items()
    assert float(trained["optimizer.learning_rate"]) > 0
    curve = client.get_metric_history(children["pretrain mspp mspp_ie seed 0"].info.run_id, "train/mspp")
    assert [point.step for point in curve] == [1, 2, 3, 4]


def test_mlflow_has_scores_of_the_main_variants_and_a_table_of_all(demo: Path) -> None:
    parent, client = parent_of(demo)
    table = records(demo, "mspp").query("split == 'test'")
    scores = table.query("protocol == 'grouped' and metric == 'map'").set_index("variant")["value"]
    name = "mspp.answer_selection.map.grouped"
    metrics = {f"{name}.{variant}": pytest.approx(100 * scores[variant]) for variant in ("mspp_ie", "joint_ie")}
    assert parent.data.metrics == metrics
    logged = client.load_table(parent.info.experiment_id, "mspp/mean_scores.json", run_ids=[parent.info.run_id])
    assert len(logged) == len(table) and set(logged["variant"]) == set(table["variant"])


def test_each_training_has_the_scores_of_its_model(demo: Path) -> None:
    """`mlm` is the run of three variants, of which the first one counts: pairwise."""
    parent, client = parent_of(demo)
    runs = client.search_runs([parent.info.experiment_id], max_results=100)
    logged = {r.info.run_name: {k: v for k, v in r.data.metrics.items() if k.startswith("mspp.")} for r in runs}
    table = records(demo, "mspp").query("split == 'test'")
    names = "mspp." + table["task"] + "." + table["metric"] + "." + table["protocol"]
    scores = (100 * table["value"]).groupby([table["variant"], names]).first()
    variants = {"mspp_ie": "mspp_ie", "mspp_ae": "mspp_ae", "base": "base_ie", "mlm": "pairwise"}
    for trained, variant in variants.items():
        assert logged[f"pretrain mspp {trained} seed 0"] == pytest.approx(scores[variant].to_dict())
    answers = {name: value for name, value in scores["joint_ae"].items() if ".answer_selection." in str(name)}
    assert logged["finetune mspp joint_ae on answer_selection demo seed 0"] == pytest.approx(answers)
    claims = {name: value for name, value in scores["joint_ie"].items() if str(name).endswith(".ae_1")}
    assert logged["finetune mspp joint_ie on fact_verification ae_1 seed 0"] == pytest.approx(claims)


def test_each_training_has_its_card_and_the_folder_of_its_model(demo: Path) -> None:
    parent, client = parent_of(demo)
    query = f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'"
    children = client.search_runs([parent.info.experiment_id], query)
    folders = {child.data.tags["model_folder"]: child.info.run_id for child in children}
    assert set(folders) == {f"data/06_models/mspp/{name}" for name in weights(demo)}
    for folder, run_id in folders.items():
        card = Path(client.download_artifacts(run_id, "README.md"))
        assert card.read_text(encoding="utf-8") == (demo / folder / "README.md").read_text(encoding="utf-8")


def test_how_results_were_made_is_written_next_to_the_records(demo: Path) -> None:
    run_file = demo / "data/08_reporting/mspp/run.json"
    provenance = read_provenance(run_file)
    assert (provenance.text, provenance.seeds) == ("the demo's made-up world", 1)
    assert provenance.text_sha256 == hash_corpus(read(demo, "01_raw/sources.json"))
    assert provenance.budget is None and provenance.processor and provenance.cores and provenance.minutes
    # The command has the same parameters as the run.
    options = shlex.split(provenance.command or "")
    assert options[:-1] == ["kedro", "run", "--pipelines", "mspp", "--params"]
    assert split_params(click.Context(click.Command("run")), click.Option(["--params"]), options[-1]) == SMALLEST
    assert not (demo / "data/08_reporting/claims/run.json").exists()


def test_a_failed_run_leaves_no_file_of_how_results_were_made(demo: Path, make_project: MakeProject) -> None:
    """Because its records may be new."""
    folder = make_project()
    shutil.copytree(demo / "data", folder / "data", dirs_exist_ok=True)
    run_file = folder / "data/08_reporting/mspp/run.json"
    assert run_file.exists()
    (folder / "data/07_model_output/mspp/answer_selection/records.json").write_text("[{}]")
    with pytest.raises(KeyError, match="variant"):
        run_without_spark(folder, node_names=["mspp.write_report"])
    assert not run_file.exists()


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({"pipeline_names": ["__default__"], "tags": ["report"], "env": "local"}, "kedro run --pipelines mspp"),
        ({"pipeline_names": ["demo"]}, "kedro run --pipelines demo"),
        (
            {"pipeline_names": None, "env": "books", "runtime_params": {"corpus": {"input": "a, b", "lang": None}}},
            "kedro run --pipelines mspp --env books --params 'corpus.input=\"a, b\",corpus.lang=null'",
        ),
    ],
)
def test_commands_that_repeat_a_run(options: dict[str, Any], command: str) -> None:
    assert format_command(options, "mspp") == command


def test_the_parameters_of_this_machine_are_in_the_command_of_runs_without_an_environment(tmp_path: Path) -> None:
    (tmp_path / "conf/base").mkdir(parents=True)
    assert read_local(tmp_path / "conf") == {}
    (tmp_path / "conf/local/parameters").mkdir(parents=True)
    (tmp_path / "conf/local/parameters/mine.yml").write_text("mspp: {seeds: 3}\ncorpus: {input: a, lang: en}\n")
    local = read_local(tmp_path / "conf")
    options = {"runtime_params": {"corpus": {"input": "b"}}}
    expected = "kedro run --pipelines mspp --params mspp.seeds=3,corpus.input=b,corpus.lang=en"
    assert format_command(options, "mspp", local) == expected
    assert format_command(options | {"env": "books"}, "mspp", local).endswith("--env books --params corpus.input=b")


def test_an_ablation_is_repeated_with_its_system() -> None:
    assert format_command({}, "two_tower_ablation") == "kedro run --pipelines two_tower,two_tower_ablation"


def test_the_data_are_inputs_of_the_run(demo: Path) -> None:
    parent, client = parent_of(demo)
    inputs = client.get_run(parent.info.run_id).inputs.dataset_inputs
    contexts = {item.dataset.name: item.tags[0].value for item in inputs}
    tasks = {"answer_selection: demo": "evaluation", "fact_verification: demo": "evaluation"}
    assert contexts == {"the demo's made-up world": "training"} | tasks
    data = {item.dataset.name: item.dataset for item in inputs}
    counts = read(demo, "08_reporting/corpus/counts.json")
    expected = {key: counts[key] for key in ("pages_out", "paragraphs_out", "sentences_out")}
    assert json.loads(data["the demo's made-up world"].profile) == expected
    sources = read(demo, "01_raw/sources.json")
    assert data["the demo's made-up world"].digest == hash_corpus(sources)[:16]
    assert json.loads(data["fact_verification: demo"].profile)["test"]["claims"] > 0
    assert len({dataset.digest for dataset in data.values()}) == 3
    assert str(demo) not in str(data)


def test_the_encoder_of_a_system_is_registered_by_its_name(demo: Path) -> None:
    """It is the best of the trained ones. The run `mlm` is measured as the variant `pairwise`."""
    parent, client = parent_of(demo)
    table = records(demo, "mspp").query("split == 'test' and protocol == 'grouped' and metric == 'map'")
    scores = 100 * table.set_index("variant")["value"]
    variant = scores[["mspp_ie", "pairwise", "mspp_ae"]].idxmax()
    best = "mlm" if variant == "pairwise" else variant
    (model,) = client.search_registered_models()
    assert model.name == "mspp" and model.tags == {"system": "mspp"} and "MSPP" in model.description
    (version,) = model.latest_versions
    training = client.get_run(version.run_id)  # the encoder is an artifact of its training, whose duration is unchanged
    assert training.info.run_name == f"pretrain mspp {best} seed 0" and training.info.status == "FINISHED"
    assert training.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert training.info.end_time < version.creation_timestamp
    assert len(training.outputs.model_outputs) == 1
    version = client.get_model_version_by_alias("mspp", "best")
    assert str(version.version) == "1" and version.description.startswith(f"# mspp/{best}\n")
    assert version.tags == {
        "system": "mspp", "run": best, "seed": "0", "training_text": "the demo's made-up world",
        "metric": "mspp.answer_selection.map.grouped", "score": repr(float(scores[variant])),
    }  # fmt: skip
    served = mlflow.pyfunc.load_model("models:/mspp@best")
    encoder = load_encoder(demo / f"data/06_models/mspp/pretrained/{best}/seed-0")
    np.testing.assert_allclose(served.predict(["a town"]), encoder.embed(["a town"]), atol=1e-5)
    assert not [*(demo / "mlruns").rglob("*.pkl")]


@pytest.mark.slow
def test_a_copied_project_has_artifacts_of_its_own(demo: Path, tmp_path: Path) -> None:
    original, _ = parent_of(demo)
    artifacts = sorted((demo / "mlruns").rglob("*"))
    copied = tmp_path / "copied"
    shutil.copytree(demo, copied)
    settings = copied / "conf/base/mlflow.yml"
    settings.write_text(settings.read_text().replace(str(demo), str(copied)))
    run_without_spark(copied, node_names=["mspp.write_report", "mspp.log_metrics", "mspp.register_encoder"])
    assert sorted((demo / "mlruns").rglob("*")) == artifacts
    mlflow.set_tracking_uri(f"sqlite:///{copied}/mlflow.db")
    client = MlflowClient()
    runs = client.search_runs(["1"], "tags.`mlflow.runName` LIKE 'mspp%'", order_by=["attributes.start_time"])
    assert len(runs) == 2 and runs[0].info.run_id == original.info.run_id
    downloaded = [client.get_model_version_download_uri("mspp", version) for version in ("1", "2")]
    for path in map(Path, (*(tracked.info.artifact_uri for tracked in runs), *downloaded)):
        assert path.is_relative_to(copied) and path.is_dir()
    for tracked in runs:
        files = {file.path for file in client.list_artifacts(tracked.info.run_id, "mspp")}
        assert files >= {"mspp/metrics.json", "mspp/mean_scores.json"}
    assert str(client.get_model_version_by_alias("mspp", "best").version) == "2"  # both have the same score


def test_make_ui_prints_the_address_of_the_runs(demo: Path) -> None:
    parent, _ = parent_of(demo)
    output = subprocess.run(["make", "--dry-run", "ui"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    assert f"/#/experiments/{parent.info.experiment_id}/runs?workflowType=machine_learning" in output
    port = yaml.safe_load((PROJECT / "conf/base/mlflow.yml").read_text())["ui"]["port"]
    assert f"--port {port}" in output and f"http://127.0.0.1:{port}/#/" in output
    index = (demo / "data/08_reporting/index.html").read_text(encoding="utf-8")
    assert f"http://127.0.0.1:{port}/#/experiments/{parent.info.experiment_id}/runs/{parent.info.run_id}?" in index
    assert "--host 127.0.0.1" in output


@pytest.mark.slow
def test_each_system_has_a_folder_of_artifacts(demo: Path, make_project: MakeProject) -> None:
    """Pages and pictures of several systems in one MLflow run have the same names."""
    folder = make_project()
    copy_data(demo, folder, *LATER_INPUTS, "06_models", "07_model_output")
    shutil.copytree(demo / "data/08_reporting/mspp", folder / "data/08_reporting/mspp")
    params = copy.deepcopy(SMALLEST)
    params["mspp"]["ablation"] = {
        "rows": [{"run": "base", "encoder": {"layers": 2}}],
        "tasks": {"answer_selection": {}},
    }
    systems = ["mspp", "mspp_ablation"]
    nodes = ["pretrain", "evaluate_answer_selection", "write_report"]
    selected = ["mspp.write_report", *(f"mspp_ablation.{name}" for name in nodes)]
    run_without_spark(folder, params, pipeline_names=systems, node_names=selected)
    parent, client = parent_of(folder)
    artifacts = Path(client.download_artifacts(parent.info.run_id, "."))
    for system in systems:
        reported = folder / "data/08_reporting" / system
        files = [reported / "metrics.json", *(reported / "report").iterdir()]
        assert {"report.html", "report.md"} < {file.name for file in files}
        for file in files:
            assert (artifacts / system / file.relative_to(reported)).read_bytes() == file.read_bytes()
    assert {file.name for file in artifacts.iterdir()} == {*systems, "configuration", "data"}
    pages = [(artifacts / system / "report/report.md").read_text() for system in systems]
    assert pages[0] != pages[1]


def parent_of(project: Path) -> tuple[Run, MlflowClient]:
    """Return the only run of MLflow that is no child, and a client."""
    mlflow.set_tracking_uri(f"sqlite:///{project}/mlflow.db")
    client = MlflowClient()
    experiment = client.get_experiment_by_name("contexture")
    (parent,) = client.search_runs([experiment.experiment_id], "tags.`mlflow.parentRunId` IS NULL")
    return parent, client


@pytest.mark.slow
def test_one_stage_needs_only_the_files_of_the_stage_before(demo: Path, trained: Path) -> None:
    """Training needs model input, questions and tokenizer only, and no Spark."""
    assert weight_bytes(trained) == weight_bytes(demo)
    with pytest.raises(RunRefusedError, match=r"03_primary/paragraphs is not there: run .* first \(--tags corpus\)"):
        run(trained, node_names=["text.make_tokenizer"])


def test_a_missing_earlier_stage_stops_a_run_before_mlflow_starts(demo: Path) -> None:
    """The report of all variants needs encoders that the demo does not train."""
    encoder = demo / "data/06_models/mspp/pretrained/mspp_ae"
    encoder.rename(encoder.with_name("hidden"))
    try:
        with pytest.raises(RunRefusedError) as raised:
            run(demo, tags=["report"])
    finally:
        encoder.with_name("hidden").rename(encoder)
    message = str(raised.value)
    assert message.startswith(str(encoder)) and "(--tags pretrain)" in message and "--pipelines demo" in message
    parent_of(demo)  # still the one run


@pytest.mark.slow
def test_finished_trainings_are_reused_unless_their_settings_change(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = {name: file.stat().st_mtime_ns for name, file in weights(trained).items()}
    run_without_spark(trained, node_names=TRAININGS)
    assert f"mspp: pre-training: {len(RUNS)} of {len(RUNS)} were there" in capsys.readouterr().out
    assert {name: file.stat().st_mtime_ns for name, file in weights(trained).items()} == first
    changed: dict[str, Any] = copy.deepcopy(SMALLEST)
    changed["mspp"]["pretrain"]["runs"]["mspp_ie"]["schedule"][0]["steps"] = 3
    run_without_spark(trained, changed, node_names=TRAININGS)
    after = {name: file.stat().st_mtime_ns for name, file in weights(trained).items()}
    assert {name for name in first if after[name] != first[name]} == {
        "pretrained/mspp_ie/seed-0",
        "finetuned/answer_selection/mspp_ie/seed-0/demo",
        *(f"finetuned/fact_verification/mspp_ie/seed-0/{head}" for head in HEADS["mspp_ie"]),
    }


def test_an_incomplete_table_is_an_error(demo: Path) -> None:
    marker = demo / "data/05_model_input/mspp/joint/_SUCCESS"
    marker.rename(marker.with_name("hidden"))
    try:
        with pytest.raises(DatasetError, match=r"mspp/joint was not written to its end"):
            run(demo, node_names=["mspp.pretrain"])
    finally:
        marker.with_name("hidden").rename(marker)


def test_unknown_parameters_stop_the_run_before_any_work(make_project: MakeProject) -> None:
    folder = make_project()
    with pytest.raises(KedroCliError, match=r"--params: mspp\.tasks\.answer_selection\.epoch: no such parameter"):
        run(folder, SMALLEST | {"mspp": {"tasks": {"answer_selection": {"epoch": 3}}}})
    assert not (folder / "data").exists()


@pytest.mark.slow
def test_missing_questions_skip_the_evaluation_only(demo: Path, make_project: MakeProject) -> None:
    folder = make_project()
    run(folder, SMALLEST | {"answer_selection": {"input": {"wikiqa": "data/01_raw/wikiqa"}}})
    assert {"pretrained/mspp_ie/seed-0"} <= set(weights(folder))
    assert set(records(folder, "mspp")["task"]) == {"fact_verification"}
    assert "WikiQA is not here" in (folder / "data/08_reporting/mspp/report/report.md").read_text()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_metrics(demo: Path, make_project: MakeProject) -> None:
    folder = make_project()
    run(folder)
    pd.testing.assert_frame_equal(measured(folder, "mspp"), measured(demo, "mspp"))


@pytest.mark.slow
def test_parallel_trainings_give_the_same_metrics(demo: Path, make_project: MakeProject) -> None:
    folder = make_project()
    copy_data(demo, folder, *LATER_INPUTS)
    (folder / "data/08_reporting/mspp").mkdir()
    for counts in (demo / "data/08_reporting/mspp").glob("examples-*.json"):
        shutil.copy(counts, folder / "data/08_reporting/mspp")
    stages = ["pretrain", "finetune", "evaluate", "report"]
    run_without_spark(folder, SMALLEST | {"compute": {"processes": 2, "threads": 1}}, tags=stages)
    assert weight_bytes(folder) == weight_bytes(demo)
    pd.testing.assert_frame_equal(measured(folder, "mspp"), measured(demo, "mspp"))
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    runs = mlflow.search_runs(experiment_names=["contexture"], output_format="list")
    assert len(runs) == 1 + len(RUNS) + len(VARIANTS) + len(CLAIM_MODELS)
    assert {finished.info.status for finished in runs} == {"FINISHED"}


#: Default systems if the made-up world is in English only.
DEFAULT_SYSTEMS = [name for name in SYSTEMS if name not in ("cmlm_multilingual", "adapt")]


def test_every_system_has_a_pipeline_and_the_default_has_all(pipelines: dict[str, Pipeline]) -> None:
    assert set(pipelines) == {"corpus", "claims", *SYSTEMS, "two_tower_ablation", "demo", "__default__"}
    assert not any(node.short_name.startswith("read_") for node in pipelines["corpus"].nodes)
    names = {node.name for node in pipelines["mspp"].nodes}
    assert {"mspp.pretrain", *TRAININGS, "mspp.evaluate_answer_selection", "mspp.write_report"} <= names
    assert {"two_tower.index_passages", "two_tower.finetune_retrieval"} <= {
        n.name for n in pipelines["two_tower"].nodes
    }
    everything = {node.name for node in pipelines["__default__"].nodes}
    for name in [*DEFAULT_SYSTEMS, "corpus"]:
        assert {node.name for node in pipelines[name].nodes} <= everything
    multilingual = {node.name for node in pipelines["cmlm_multilingual"].nodes} - everything
    assert {"cmlm_multilingual.pretrain", "text.read_bitext", "text.read_nli"} <= multilingual
    adapt = {node.name for node in pipelines["adapt"].nodes}
    assert {"adapt.evaluate_held_out", "adapt.export_encoder", "adapt.index_passages"} <= adapt - everything
    assert {node.namespace for node in pipelines["two_tower_ablation"].nodes} == {"two_tower_ablation"}


def test_an_ablation_with_a_budget_in_minutes_reads_the_passages_of_its_system() -> None:
    budget = {"unit": "minutes", "amount": 5}
    changes = {"pretrain": {"runs": {"ict": {"schedule": [{"in_batch_negatives": 1, "budget": budget}]}}}}
    parameters = check_changed({"two_tower": changes})
    ablation = resolve_ablation(resolve_all(parameters)["two_tower"])
    inputs = create_pipeline(ablation, parameters.compute).inputs()
    assert "two_tower.passages-examples@files" in inputs and "two_tower_ablation.passages-examples@files" not in inputs


#: The first words of nodes' names.
VERBS = {
    *("clean", "count", "evaluate", "export", "find", "finetune", "gather", "index", "learn", "locate", "log", "make"),
    *("parse", "pretrain", "read", "register", "report", "sample", "select", "time", "tokenize", "write"),
}


def test_names_of_nodes_say_what_they_do(pipelines: dict[str, Pipeline]) -> None:
    names = {node.short_name for pipeline in pipelines.values() for node in pipeline.nodes}
    assert {name.partition("_")[0] for name in names} == VERBS
    assert {name for name in names if "_" not in name} == {"pretrain"}  # a verb that needs no object


def test_main_variants_of_systems(pipelines: dict[str, Pipeline]) -> None:
    parameters = RUN_PARAMETERS.get()
    main = {name: system.main_variants for name, system in resolve_all(parameters).items()}
    assert set(main) == set(SYSTEMS) and set(map(len, main.values())) == {2}
    short = parameters.select_demo()
    demo = {name: system.main_variants for name, system in resolve_all(short).items()}
    assert demo == {name: main[name] for name in DEFAULT_SYSTEMS}
    for name in ("demo", "__default__"):
        registered = {
            node.namespace: [name for name in node.inputs if name.endswith(("-pretrained", ".exported"))]
            for node in pipelines[name].nodes
            if node.short_name == "register_encoder"
        }
        assert registered["two_tower"] == ["two_tower.static_ict-pretrained"]  # that of `search`
        assert {"cmlm.cmlm-pretrained", "cmlm.mlm-pretrained"} <= set(registered["cmlm"])
        assert set(registered) == set(DEFAULT_SYSTEMS)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"pipeline_names": ["__default__"]}, "everything, a text"),
        ({}, "everything, a text"),
        ({"pipeline_names": ["mspp", "league"], "tags": ["report"]}, "mspp league report, a text"),
        ({"pipeline_names": ["mspp"], "from_nodes": ["mspp.pretrain"]}, "mspp from mspp.pretrain, a text"),
    ],
)
def test_names_of_runs(options: dict[str, Any], name: str) -> None:
    assert make_run_name(options, "a text") == name


def test_the_tour_runs_all_systems(pipelines: dict[str, Pipeline]) -> None:
    demo, short = pipelines["demo"], RUN_PARAMETERS.get().select_demo()
    for name, system in short.systems.items():
        nodes = [node for node in demo.nodes if node.namespace == name]
        assert {tag for node in nodes for tag in node.tags} >= {"examples", "pretrain", "evaluate", "report"}
        trained = {output for node in nodes if node.short_name == "pretrain" for output in node.outputs}
        assert trained == {f"{name}.{run}-pretrained" for run in system.pretrain.runs}
        assert len(trained) < len(RUN_PARAMETERS.get().systems[name].pretrain.runs)
    namespaces = {node.namespace for node in demo.nodes}
    assert {*short.systems, "text", "claims"} == namespaces == {*DEFAULT_SYSTEMS, "text", "claims"}


def test_the_default_includes_many_languages_if_their_files_are_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RUN_PARAMETERS, "_parameters", None)
    for params in ({}, {"nli": {"input": None}}, {"bitext": {"input": {}}}):
        RUN_PARAMETERS.check(config_loader("multilingual", params))
        pipelines = register_pipelines()
        systems = {*DEFAULT_SYSTEMS, *([] if params else ["cmlm_multilingual"])}
        assert {node.namespace for node in pipelines["__default__"].nodes} == {*systems, "text", "claims"}
        assert {node.namespace for node in pipelines["demo"].nodes} == {*DEFAULT_SYSTEMS, "text", "claims"}


def test_a_system_on_its_own_trains_what_it_includes(pipelines: dict[str, Pipeline]) -> None:
    league = pipelines["league"]
    trained = {
        node.namespace: {output.removesuffix("-pretrained").partition(".")[2] for output in node.outputs}
        for node in league.nodes
        if node.short_name == "pretrain" and node.namespace != "league"
    }
    parameters = RUN_PARAMETERS.get()
    assert trained == {
        name: set(parameters.systems[name].select_variants(variants).pretrain.runs)
        for name, variants in parameters.systems["league"].include.items()
    }
    assert {node.namespace for node in league.nodes if node.short_name == "write_report"} == {"league"}
    assert not league.inputs() & pipelines["__default__"].all_outputs()


def test_parallel_trainings_and_threads(monkeypatch: pytest.MonkeyPatch, pipelines: dict[str, Pipeline]) -> None:
    compute = RUN_PARAMETERS.get().compute
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    assert split_cores(compute) == (7, 2)
    assert split_cores(type(compute)(threads=3)) == (4, 3)
    assert split_cores(type(compute)(processes=3)) == (3, 2)
    assert split_cores(type(compute)(threads=None)) == (2, 7)
    assert split_cores(type(compute)(processes=1, threads=None)) == (1, 7)
    monkeypatch.setattr("contexture.pipelines.trainings._DRIVERS", ["null"])  # a file in /dev
    assert split_cores(type(compute)(processes=3)) == (3, 2)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert split_cores(type(compute)(processes=3)) == (1, torch.get_num_threads())
