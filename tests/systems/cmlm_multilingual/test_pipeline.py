"""Run `kedro run --env multilingual --pipelines cmlm_multilingual` at the smallest size, on one core and on two."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from contexture.encoders.models import load_model
from tests.pipelines.conftest import check_records, check_report, read, records

pytestmark = pytest.mark.slow

NAME = "cmlm_multilingual"
RUNS = ["cmlm", "br", "cmlm_br_from_start", "cmlm_then_br", "cmlm_then_cmlm_br"]
VARIANTS = {*RUNS, *(f"{run}_nli" for run in RUNS), "mlm", "untrained"}
EXAMPLES = ("sequence_pairs", "bitext", "nli")
TASKS = ("bitext_retrieval", "language_bias")
CMLM_AND_BITEXT = {"cmlm": 1, "bitext": 0.2}


def stages(*weights: dict[str, float]) -> dict[str, Any]:
    """Return a run with two steps for each mixture of objectives."""
    return {"schedule": [{"steps": 2, "weights": stage_weights} for stage_weights in weights]}


TINY: dict[str, Any] = {
    "demo": {"pages": 25, "novels": 2, "languages": 1},
    "vocabulary": {"size": 1000},
    NAME: {
        "encoders": {"transformer": {"hidden_size": 16, "layers": 1, "intermediate_size": 16}},
        "pretrain": {
            "batch_size": 8,
            "log_every": 1,
            "runs": {
                "cmlm": stages({"cmlm": 1}),
                "br": stages({"bitext": 1}),
                "cmlm_br_from_start": stages(CMLM_AND_BITEXT),
                "cmlm_then_br": stages({"cmlm": 1}, {"bitext": 1}),
                "cmlm_then_cmlm_br": stages({"cmlm": 1}, CMLM_AND_BITEXT),
                "mlm": stages({"mlm": 1}),
                **{f"{run}_nli": stages({"nli": 1}) for run in RUNS},
            },
        },
        "tasks": {"bitext_retrieval": {"pcr_sentences": 100}},
    },
}


def kedro_run(project: Path, master: str, processes: int, *options: str) -> None:
    """Run in a new process, with a Spark `master` and a number of parallel trainings."""
    spark = project / "conf/base/spark.yml"
    spark.write_text(spark.read_text().replace("local[*]", master))
    file = project / "conf/multilingual/parameters/sources.yml"
    environment = yaml.safe_load(file.read_text())
    tiny = TINY | {"compute": {"processes": processes}}
    file.write_text(yaml.safe_dump(environment | {key: environment.get(key, {}) | tiny[key] for key in tiny}))
    command = [sys.executable, "-m", "kedro", "run", "--env", "multilingual", "--pipelines", NAME, *options]
    done = subprocess.run(command, cwd=project, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.fixture(scope="module")
def project(make_project: Callable[[], Path]) -> Path:
    """Return a project after the run on one core."""
    folder = make_project()
    kedro_run(folder, "local[1]", 1)
    return folder


def test_every_variant_is_measured_in_both_languages(project: Path) -> None:
    table = records(project, NAME)
    check_records(table, NAME, VARIANTS)
    trained = table[table["variant"].isin(VARIANTS)]
    by_variant = trained.groupby("variant")[["task", "data", "protocol"]].apply(
        lambda part: {*part.itertuples(index=False)}
    )
    assert set(by_variant.index) == VARIANTS and all(measurements == by_variant["cmlm"] for measurements in by_variant)
    measurements = {(task, data, protocol) for task, data, protocol in by_variant["cmlm"]}
    assert measurements > {
        *(
            ("bitext_retrieval", f"demo/{direction}", protocol)
            for direction in ("qaa-eng", "eng-qaa")
            for protocol in ("frozen", "pcr")
        ),
        *(
            ("language_bias", data, protocol)
            for data in ("demo", "demo/en", "demo/qaa")
            for protocol in ("frozen", "pcr")
        ),
        *(("mr", data, "senteval") for data in ("demo", "demo_qaa")),
        *(("pairs", data, "frozen") for data in ("demo_en", "demo_qaa")),
    }
    steps = table.drop_duplicates("variant").set_index("variant")["steps"]
    assert (steps["untrained"], steps["mlm"], steps["cmlm_then_br"], steps["cmlm_then_br_nli"]) == (0, 2, 4, 6)


def test_report_has_gains_and_draws_language_bias(project: Path) -> None:
    text = check_report(project, NAME)
    gains = text.partition("## Gains over baselines")[2].partition("##")[0]
    for on in ("sentence tasks, mean of 2", "pairs, the demo's made-up world", "retrieval, the demo's made-up world"):
        assert on in gains
    assert gains.count("1 seed: preliminary") > 20
    assert "| Model | Source | en | qaa | Avg. |" in text
    pictures = {file.name for file in (project / f"data/08_reporting/{NAME}/report").glob("*.png")}
    assert {"neighbours_demo.png", "vectors_demo.png", "pretrain_train_cmlm.png"} <= pictures
    counts = read(project, f"08_reporting/{NAME}/examples-nli.json")["languages"]
    assert counts.keys() == {"en-qaa", "qaa-en"} and min(counts.values()) > 0


def test_encoders_embed_both_languages(project: Path) -> None:
    encoder = load_model(project / f"data/06_models/{NAME}/pretrained/cmlm_then_cmlm_br_nli/seed-0")
    assert encoder.embed(["The coach came to town.", "Salt is traded."]).shape == (2, 16)


def test_results_do_not_depend_on_cores(project: Path, make_project: Callable[[], Path]) -> None:
    """Compare examples, weights and results."""
    other = make_project()
    kedro_run(other, "local[2]", 2, "--to-nodes", ",".join(f"{NAME}.evaluate_{task}" for task in TASKS))
    for name in EXAMPLES:
        first, second = (folder / f"data/05_model_input/{NAME}/{name}" for folder in (project, other))
        assert pq.read_table(first).num_rows > 0 and pq.read_table(first).equals(pq.read_table(second))
    first, second = (
        {file.relative_to(folder): file.read_bytes() for file in (folder / "data/06_models").rglob("*.safetensors")}
        for folder in (project, other)
    )
    assert {file.parent.parent.name for file in first} == VARIANTS and first == second
    for task in TASKS:
        for part in ("records.json", "details.json"):
            path = f"07_model_output/{NAME}/{task}/{part}"
            assert read(project, path) == read(other, path)
