"""Project folders for runs of the pipelines."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from kedro.pipeline import Pipeline

from contexture.pipeline_registry import register_pipelines
from contexture.settings import RUN_PARAMETERS
from tests.environments import config_loader

PROJECT = Path(__file__).resolve().parents[2]
#: Keys of all records, and further keys of records of trained variants.
KEYS = ["system", "variant", "seed", "task", "data", "protocol", "split", "metric", "value"]
COST = ["training_text", "steps", "tokens", "seconds", "flops", "parameters"]

#: The demo at its smallest.
SMALLEST: dict[str, Any] = {
    "demo": {"pages": 25, "novels": 2},
    "vocabulary": {"size": 1000},
    "corpus": {"files": 2},
    "cleaning": {"duplicate_documents": None, "duplicate_paragraphs": None},  # many small jobs, tested without a run
    "compute": {"processes": 1, "threads": 1},
    "mspp": {
        "streams": {"joint": {"sampling": {"examples_per_paragraph": 2, "files": 2}}},
        "encoders": {"transformer": {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 16}},
        "pretrain": {
            "batch_size": 8,
            "precision": "fp32",
            "log_every": 1,
            "runs": {
                "base": {"schedule": [{"steps": 2, "weights": {"mlm": 1}}]},
                "mlm": {"schedule": [{"steps": 4, "weights": {"mlm": 1}}]},
                "mspp_ie": {"schedule": [{"steps": 4, "weights": {"mlm": 1, "mspp": 1}}]},
                "mspp_ae": {"schedule": [{"steps": 4, "weights": {"mlm": 1, "mspp": 1}}]},
            },
        },
        "tasks": {
            "answer_selection": {"epochs": 1, "precision": "fp32"},
            "fact_verification": {"epochs": 1, "precision": "fp32"},
        },
    },
}

MakeProject = Callable[[], Path]
#: Tasks whose records have no number of test examples.
UNCOUNTED = {"analogies", "image_captions", "bitext_mining", "language_bias"}


@pytest.fixture(scope="module")
def pipelines() -> dict[str, Pipeline]:
    """The pipelines of conf/base."""
    RUN_PARAMETERS.check(config_loader())
    return register_pipelines()


@pytest.fixture(scope="session")
def make_project(tmp_path_factory: pytest.TempPathFactory) -> MakeProject:
    """Make new folders with the project's configuration only."""

    def make() -> Path:
        folder = tmp_path_factory.mktemp("project")
        shutil.copy(PROJECT / "pyproject.toml", folder)
        shutil.copytree(PROJECT / "conf", folder / "conf")
        (folder / "src").mkdir()  # Kedro requires it; the package itself is installed
        # MLflow opens a store once in a process, by its name: each project needs another name.
        settings = folder / "conf/base/mlflow.yml"
        relative = settings.read_text()
        assert "sqlite:///mlflow.db" in relative
        settings.write_text(relative.replace("sqlite:///mlflow.db", f"sqlite:///{folder}/mlflow.db"))
        return folder

    return make


def run(folder: Path, params: dict[str, Any] | None = None, env: str | None = None, **options: Any) -> dict[str, Any]:
    """Do `kedro run` in `folder`, by default of MSPP at its smallest."""
    bootstrap_project(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with KedroSession.create(folder, env=env, runtime_params=params or SMALLEST) as session:
            return session.run(**{"pipeline_names": ["mspp"]} | options)


def run_without_spark(folder: Path, params: dict[str, Any] | None = None, **options: Any) -> None:
    """Do `run`, and fail if it starts Spark."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("contexture.corpus.session.start_spark", lambda *_: pytest.fail("the run started Spark"))
        run(folder, params, **options)


def copy_data(project: Path, folder: Path, *parts: str) -> None:
    """Copy folders of an earlier run, by paths under data/."""
    for part in parts:
        shutil.copytree(project / "data" / part, folder / "data" / part)


def records(project: Path, system: str) -> pd.DataFrame:
    """Return all records of a system."""
    return pd.DataFrame(read(project, f"08_reporting/{system}/metrics.json"))


def measured(project: Path, system: str) -> pd.DataFrame:
    """Return the records without costs: seconds differ between runs."""
    return records(project, system)[KEYS]


def read(project: Path, part: str) -> Any:
    """Read a JSON file under data/."""
    return json.loads((project / "data" / part).read_text(encoding="utf-8"))


def check_records(table: pd.DataFrame, system: str, trained: set[str]) -> None:
    """Check that each number is recorded once, with all keys, and with its cost if the variant was trained."""
    names = [name for name in table.columns if name not in ("examples", "epochs", "untrained_start")]
    assert names == [*KEYS, *COST]
    assert (table["examples"].dropna() >= 1).all()
    assert set(table.loc[table["examples"].isna(), "task"]) <= UNCOUNTED
    assert ((table["epochs"] > 0) <= (table["tokens"] > 0)).all() and (table["epochs"] > 0).any()
    assert set(table["system"]) == {system}
    assert not table[KEYS].isna().any(axis=None)
    assert not table.duplicated([key for key in KEYS if key != "value"]).any()
    assert trained <= set(table["variant"])
    costs = table.loc[table["variant"].isin(trained), COST]
    assert not costs.isna().any(axis=None)
    assert (costs["parameters"] > 0).all() and (costs["training_text"].str.len() > 0).all()
    has_steps = costs["steps"] > 0
    assert (costs.loc[has_steps, ["tokens", "seconds", "flops"]] > 0).all(axis=None)
    assert (costs.loc[~has_steps, ["tokens", "seconds", "flops"]] == 0).all(axis=None)
    assert table.loc[~table["variant"].isin(trained), COST].isna().all(axis=None)


def check_report(project: Path, system: str) -> str:
    """Check the pictures of a system's page, and that nothing is unfinished; return the text of the page."""
    folder = project / f"data/08_reporting/{system}/report"
    pictures = list(folder.glob("*.png"))
    assert pictures and all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    assert (folder / "report.html").stat().st_size > 0
    assert not list((project / "data").rglob("*.unfinished"))
    return (folder / "report.md").read_text(encoding="utf-8")
