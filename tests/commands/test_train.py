"""`contexture train` without the packages of the extra `workbench`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from contexture import tasks
from contexture.commands.main import main
from contexture.commands.train import read_config
from contexture.systems.config import SystemConfig
from tests.tasks.answer_selection import toys as answers
from tests.training.runs import Training, assert_same, list_commands, wait_until, weights
from tests.training.toys import schedule, system, two_towers

# Not matplotlib: torchmetrics imports it if its metadata are there.
ABSENT = (
    "Stemmer", "bm25s", "faiss", "fastapi", "kedro", "kedro_datasets", "kedro_mlflow", "mlflow", "nltk", "omegaconf",
    "py3langid", "py4j", "pyspark", "sentence_transformers", "uvicorn"
)  # fmt: skip
#: Content of sitecustomize.py, which makes imports of `ABSENT` fail.
BLOCKER = f"import sys\n\nsys.modules.update(dict.fromkeys({ABSENT!r}))\n"


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    absent = folder / "absent"
    absent.mkdir(exist_ok=True)
    (absent / "sitecustomize.py").write_text(BLOCKER)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAVA", "SPARK", "PYSPARK"))}
    environment = kept | {"PYTHONPATH": str(absent), "PATH": str(Path(sys.executable).parent)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def write(config: SystemConfig, folder: Path) -> Path:
    file = folder / "config.json"
    file.write_text(json.dumps(config.to_dict()))
    return file


@pytest.mark.slow
def test_training_from_files(training: Training) -> None:
    folder = training.folder
    for name in ABSENT:
        assert python(folder, "-c", f"import {name}").returncode
    write(system(), folder)
    train = ("-m", "contexture", "train")
    options = ("--config", "config.json", "--run", "mspp_ie", "--output", "encoder")
    done = python(folder, *train, "pretrain", *options, *training.arguments)
    assert done.returncode == 0, done.stderr
    assert_same(weights(folder / "encoder"), training.train(system(), "mspp_ie", "here"))
    data = answers.write_data(folder / "answers")
    options = ("--config", "config.json", "--variant", "mspp_ie", "--task", "answer_selection", "--output", "model")
    done = python(folder, *train, "finetune", *options, "--data", str(data), "--encoders", "encoder")
    assert done.returncode == 0, done.stderr
    assert list((folder / "model").rglob("*.safetensors"))


@pytest.mark.slow
def test_one_command_starts_several_devices(training: Training) -> None:
    config = two_towers(0.0, runs={"run": schedule(2, in_batch_negatives=1)}, devices=2)
    write(config, training.folder)
    options = ("--config", "config.json", "--run", "run", "--seed", "3", "--output", "encoder")
    done = python(training.folder, "-m", "contexture", "train", "pretrain", *options, *training.arguments)
    assert done.returncode == 0, done.stderr
    assert_same(weights(training.folder / "encoder"), training.train(config, "run", "here", seed=3))


def test_runs_start_from_another_run(training: Training) -> None:
    config = system(runs={"base": {"schedule": []}, "more": schedule(1, mlm=1) | {"start": "base"}})
    common = ["train", "pretrain", "--config", str(write(config, training.folder)), *training.arguments]
    base, more = training.folder / "base", training.folder / "more"
    main([*common, "--run", "base", "--output", str(base)])
    main([*common, "--run", "more", "--output", str(more), "--start", str(base)])
    assert_same(weights(more), training.train(config, "more", "here", start=base))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--run", "more"], r"--start: more continues base; name the folder of that encoder \(.*config\.json\)"),
        (["--run", "base", "--start", "other"], "--start: base starts from new weights; leave this option out"),
    ],
)
def test_a_start_is_given_if_the_run_has_one(options: list[str], message: str, tmp_path: Path) -> None:
    config = write(system(runs={"base": {"schedule": []}, "more": schedule(1, mlm=1) | {"start": "base"}}), tmp_path)
    common = ["--config", str(config), "--examples", "a", "--vocabulary", "b", "--output", str(tmp_path / "out")]
    with pytest.raises(SystemExit, match=message):
        main(["train", "pretrain", *common, *options])
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_fine_tuning_needs_no_optional_packages(tmp_path: Path) -> None:
    files = Path(tasks.__path__[0]).glob("*/finetune.py")
    modules = [f"contexture.tasks.{file.parent.name}.finetune" for file in files]
    assert len(modules) == 7
    done = python(tmp_path, "-c", f"import contexture.encoders.models, {', '.join(modules)}")
    assert done.returncode == 0, done.stderr


def test_configurations_survive_serialization(tmp_path: Path) -> None:
    for config in (system(), two_towers(devices=2)):
        assert read_config(write(config, tmp_path)) == config


def test_invalid_configurations_raise_with_file_and_key(tmp_path: Path) -> None:
    wrong = system().to_dict()
    wrong["streams"]["joint"]["sampling"]["positive"] = 2
    (tmp_path / "config.json").write_text(json.dumps(wrong))
    with pytest.raises(ValueError, match=r"config\.json has errors:(.|\n)*streams\.joint\.sampling\.positive"):
        read_config(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            ["pretrain", "--run", "mspp_ei"],
            r"--run: unknown run 'mspp_ei'; did you mean 'mspp_ie'\? \(.*config\.json\)",
        ),
        (["finetune", "--variant", "mspp_ei"], r"--variant: unknown variant 'mspp_ei'; did you mean 'mspp_ie'\?"),
        (["finetune", "--task", "retrieval"], r"--task: unknown task 'retrieval'; known: answer_selection"),
        (["finetune", "--option", "share-1"], r"--option: unknown model of answer_selection 'share-1'; known: toys"),
    ],
)
def test_unknown_names_exit_with_an_error(changes: list[str], message: str, tmp_path: Path) -> None:
    options = {"--config": str(write(system(), tmp_path)), "--output": str(tmp_path / "out")}
    options |= (
        {"--run": "mlm", "--examples": "a", "--vocabulary": "b"}
        if changes[0] == "pretrain"
        else {"--variant": "mspp_ie", "--task": "answer_selection", "--data": "a", "--encoders": "b"}
    )
    options |= {changes[1]: changes[2]}
    with pytest.raises(SystemExit, match=message):
        main(["train", changes[0], *(word for pair in options.items() for word in pair)])
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_processes_end_when_their_starter_is_killed(training: Training) -> None:
    """No process writes to the folder of the next run."""
    folder = training.folder
    file = write(two_towers(runs={"run": schedule(100_000, in_batch_negatives=1)}, devices=2), folder)
    command = [sys.executable, "-m", "contexture", "train", "pretrain", "--config", str(file), "--run", "run"]
    with subprocess.Popen([*command, *training.arguments, "--output", str(folder / "run")]) as starter:
        wait_until(lambda: any(folder.glob("run*/**/curves*")) and len(list_commands(folder)) == 4)  # with their agents
        starter.kill()
    wait_until(lambda: not list_commands(folder))
