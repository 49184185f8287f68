"""`python -m contexture.training` where Kedro, Spark, Java and MLflow are not installed."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from contexture.training.config import MsppSystem

ABSENT = ("kedro", "kedro_datasets", "kedro_mlflow", "mlflow", "omegaconf", "py4j", "pyspark")
#: Python runs this file of an early folder on its path at start: imports of what is absent fail as they would there.
BLOCKER = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {ABSENT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "absent"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BLOCKER)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAVA", "SPARK", "PYSPARK"))}
    return kept | {"PYTHONPATH": str(folder), "PATH": str(Path(sys.executable).parent)}


def python(environment: dict[str, str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_training_runs_from_files_alone(
    environment: dict[str, str], config: MsppSystem, examples: Path, tokenizer: Path, answers: Path, tmp_path: Path
) -> None:
    for name in ABSENT:
        assert python(environment, tmp_path, "-c", f"import {name}").returncode
    (tmp_path / "config.json").write_text(json.dumps(asdict(config)))
    common = ("-m", "contexture.training")
    files = ("--examples", str(examples), "--tokenizer", str(tokenizer))
    done = python(
        environment,
        tmp_path,
        *common,
        "pretrain",
        "--config",
        "config.json",
        "--recipe",
        "mspp_ie",
        "--output",
        "encoder",
        *files,
    )
    assert done.returncode == 0, done.stderr
    done = python(
        environment, tmp_path, *common, "finetune", "--config", "config.json", "--variant", "mspp_ie",
        "--answers", str(answers), "--pretrained", "encoder", "--output", "model",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "model" / "model.safetensors").exists()


@pytest.mark.slow
def test_a_wrong_configuration_is_told_with_its_file(
    environment: dict[str, str], config: MsppSystem, tmp_path: Path
) -> None:
    wrong = asdict(config) | {"layouts": {}}
    (tmp_path / "config.json").write_text(json.dumps(wrong))
    done = python(
        environment, tmp_path, "-m", "contexture.training", "finetune", "--config", "config.json",
        "--variant", "mspp_ie", "--answers", "a", "--pretrained", "b", "--output", "c",
    )  # fmt: skip
    assert done.returncode == 1
    assert "config.json" in done.stderr and "layouts" in done.stderr and "Traceback" not in done.stderr
