"""A project folder of its own for runs of the pipelines."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

PROJECT = Path(__file__).resolve().parents[2]

#: The demo at its smallest.
SMALLEST: dict[str, Any] = {
    "demo": {"pages": 25, "novels": 2},
    "vocabulary": {"size": 1000},
    "corpus": {"files": 2},
    "compute": {"processes": 1},
    "mspp": {
        "streams": {"joint": {"sampling": {"examples_per_paragraph": 2, "files": 2}}},
        "encoders": {"transformer": {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 16}},
        "pretrain": {
            "batch_size": 8,
            "precision": "fp32",
            "log_every": 2,
            "runs": {
                "base": {"schedule": [{"steps": 2, "weights": {"mlm": 1}}]},
                "mlm": {"schedule": [{"steps": 4, "weights": {"mlm": 1}}]},
                "mspp_ie": {"schedule": [{"steps": 4, "weights": {"mlm": 1, "mspp": 1}}]},
                "mspp_ae": {"schedule": [{"steps": 4, "weights": {"mlm": 1, "mspp": 1}}]},
            },
        },
        "tasks": {"answer_selection": {"epochs": 1, "precision": "fp32"}},
    },
}

Run = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def make_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """New folders with the project's configuration and nothing else."""

    def make() -> Path:
        folder = tmp_path_factory.mktemp("project")
        shutil.copy(PROJECT / "pyproject.toml", folder)
        shutil.copytree(PROJECT / "conf", folder / "conf")
        (folder / "src").mkdir()  # Kedro wants it; the package itself is installed
        return folder

    return make


def run(folder: Path, params: dict[str, Any] | None = None, env: str | None = None, **chosen: Any) -> dict[str, Any]:
    """`kedro run` in `folder`: of MSPP at its smallest, unless something else is chosen."""
    bootstrap_project(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # where MLflow's store lies
        with KedroSession.create(folder, env=env, runtime_params=params or SMALLEST) as session:
            return session.run(**{"pipeline_names": ["mspp"]} | chosen)
