"""What a run shows, and what its log has."""

import fcntl
import io
import logging
import logging.handlers
import os
import pty
import re
import select
import sqlite3
import struct
import subprocess
import sys
import termios
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from kedro.framework.hooks.manager import _create_hook_manager
from kedro.io import DataCatalog, DatasetError, MemoryDataset
from kedro.pipeline import Pipeline, node
from kedro.runner import SequentialRunner

from contexture import progress
from contexture.pipelines.hooks import console
from contexture.pipelines.hooks.console import (
    Console,
    LiveLine,
    RunLog,
    RunRefusedError,
    describe_error,
    duration,
    get_stage_label,
    wrap,
)
from contexture.progress import DelayedBar

ROOT = logging.getLogger()


class Clock:
    """Time that passes where it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Slow(MemoryDataset):
    """A dataset whose saving takes its time, as that of a table which Spark has yet to work out."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__()
        self.clock, self.seconds = clock, seconds

    def save(self, data: Any) -> None:
        self.clock.now += self.seconds
        super().save(data)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shown(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    """Hooks on a project's folder, and all that they change put back."""
    for name in console.QUIET:
        monkeypatch.delenv(name, raising=False)
    level = ROOT.level
    ROOT.setLevel(logging.INFO)
    # Sessions that other tests only began have left theirs.
    kinds = (logging.handlers.RotatingFileHandler, console.ConsoleHandler)
    left = [handler for handler in ROOT.handlers if isinstance(handler, kinds)]
    for handler in left:
        ROOT.removeHandler(handler)
    hooks = Console(clock)
    hooks.after_context_created(SimpleNamespace(project_path=tmp_path))  # type: ignore[arg-type]
    yield hooks
    hooks._close()
    for handler in left:
        ROOT.addHandler(handler)
    ROOT.setLevel(level)
    logging.captureWarnings(False)
    for name in console.QUIET:
        os.environ.pop(name, None)


def run(hooks: Console, pipeline: Pipeline, **datasets: MemoryDataset) -> None:
    """As a session runs a pipeline."""
    manager = _create_hook_manager()
    manager.register(hooks)
    catalog = DataCatalog(datasets)
    given = {"run_params": {}, "pipeline": pipeline, "catalog": catalog}
    manager.hook.before_pipeline_run(**given)
    try:
        result = SequentialRunner().run(pipeline, catalog, manager)
    except Exception as error:
        manager.hook.on_pipeline_error(error=error, **given)
        raise
    manager.hook.after_pipeline_run(run_result=result, **given)


def takes(clock: Clock, seconds: float) -> Callable[..., int]:
    def work(*_: Any) -> int:
        clock.now += seconds
        return 1

    return work


def trainings(clock: Clock) -> Pipeline:
    """Two stages of one system and one of none; the second system's stage lies among the first one's by name."""
    text = Pipeline([node(takes(clock, 3), None, "text", name="read")], tags="corpus")
    runs = [node(takes(clock, 40 * place), "text", f"run{place}", name=f"run{place}") for place in (1, 2)]
    after = node(takes(clock, 5), "run1", "third", name="third")  # ready only after the other system's
    first = Pipeline([*runs, after], namespace="mspp", inputs={"text"}, tags="pretrain")
    other = Pipeline(
        [node(takes(clock, 7), "text", "run", name="run")], namespace="other", inputs={"text"}, tags="train"
    )
    last = node(takes(clock, 3600), ["mspp.third", "mspp.run2", "other.run"], None, name="last", tags="report")
    return text + first + other + Pipeline([last])


def lines(text: str) -> list[str]:
    return text.splitlines()


def test_one_line_a_stage_with_its_time(shown: Console, clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    run(shown, trainings(clock))
    out, err = capsys.readouterr()
    assert lines(out) == [
        "[1/4] corpus              0:03   total    0:03",
        "[2/4] other · train       0:07   total    2:10",
        "[3/4] mspp · pretrain     2:05   total    2:15   3 nodes",
        "[4/4] report           1:00:00   total 1:02:15",
        "4 stages in 1:02:15, log: logs/contexture.log",
    ]
    assert err == ""
    assert not any(isinstance(handler, logging.handlers.RotatingFileHandler) for handler in ROOT.handlers)


def test_a_run_that_was_done_before_tells_what_is_left(
    shown: Console, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shown, trainings(clock))
    capsys.readouterr()
    run(shown, trainings(clock))
    assert [line.partition("total")[2].partition("about")[2] for line in lines(capsys.readouterr().out)[:4]] == [
        " 1:02:12 left",
        " 1:00:05 left",  # of the trainings five seconds, which came to wait for these
        " 1:00:00 left",
        "",
    ]
    shown.stages_file.write_text('{"corpus": 3}')
    run(shown, trainings(clock))
    assert "left" not in capsys.readouterr().out


def test_a_stage_lasts_until_its_tables_are_saved(
    shown: Console, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        node(takes(clock, 1), None, "table", name="make", tags="make"),
        node(takes(clock, 2), "table", "use", name="use", tags="use"),
    ]
    run(shown, Pipeline(nodes), table=Slow(clock, 60))
    assert [re.sub(" +", " ", line) for line in lines(capsys.readouterr().out)] == [
        "[1/2] make 1:01 total 1:01",
        "[2/2] use 0:02 total 1:03",
        "2 stages in 1:03, log: logs/contexture.log",
    ]


def test_a_stage_of_which_the_runner_left_nodes_out_still_has_its_line(
    shown: Console, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = trainings(clock)
    shown.before_pipeline_run(pipeline)
    only = next(n for n in pipeline.nodes if n.name == "mspp.run2")
    shown.before_node_run(only)
    clock.now += 9
    shown.after_dataset_saved("mspp.run2", only)
    assert capsys.readouterr().out == ""
    shown.after_pipeline_run()
    assert lines(capsys.readouterr().out) == [
        "[1/4] mspp · pretrain     0:09   total    0:09",
        "1 stage in 0:09, log: logs/contexture.log",
    ]


def test_a_worker_process_that_knows_no_run_shows_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    hooks, one = Console(clock), trainings(clock).nodes[0]
    hooks.before_node_run(one)
    hooks.after_dataset_saved("text", one)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.9, "0:59"), (60, "1:00"), (3599, "59:59"), (36000, "10:00:00")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_stage_of_a_node() -> None:
    def made(**given: Any) -> str:
        return get_stage_label(node(len, "a", "b", name="count", **given))

    assert made(tags=["train", "answers"], namespace="mspp") == "mspp · answers"
    assert made(tags="train") == "train"
    assert made(namespace="mspp") == "mspp · count"


def test_long_labels_leave_the_line_in_its_width(
    shown: Console, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [node(takes(clock, 10**6), None, f"a{place}", name=f"a{place}", tags="t" * 200) for place in range(2)]
    run(shown, Pipeline(nodes, namespace="n" * 200))
    out = capsys.readouterr().out
    assert "…" in out and "2 nodes" in out
    assert max(map(len, lines(out))) <= 120


# What the log and the console get ------------------------------------------------------------------------------------


def log_of(project: Path) -> str:
    return (project / "logs/contexture.log").read_text(encoding="utf-8")


def test_the_console_has_our_warnings_and_others_errors_and_the_log_has_all(
    shown: Console, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.getLogger("contexture.tasks").info("counted 3")
    logging.getLogger("contexture.tasks").warning("cr is left out:\n%s", "x" * 300)
    logging.getLogger("library").warning("a library's warning")
    logging.getLogger("library").error("a library's error")
    logging.getLogger("kedro.pipeline.node").error("Node failed with error: \nit")
    logging.captureWarnings(False)  # pytest has put its own recorder over that of the hooks
    logging.captureWarnings(True)
    warnings.warn("a warning of Python", UserWarning, stacklevel=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert lines(err) == [f"warning: cr is left out: {'x' * 94}…", "error: a library's error"]
    log = log_of(tmp_path)
    for text in ("counted 3", "x" * 300, "a library's warning", "Node failed with error", "a warning of Python"):
        assert text in log
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO    contexture\.tasks: counted 3$", log, re.MULTILINE)


def test_the_projects_own_handler_steps_aside_for_the_run(tmp_path: Path) -> None:
    theirs, other = logging.StreamHandler(io.StringIO()), logging.StreamHandler(io.StringIO())
    theirs.name = "console"
    for handler in (theirs, other):
        ROOT.addHandler(handler)
    try:
        log = RunLog(tmp_path / "new" / "a.log")
        assert theirs not in ROOT.handlers and other in ROOT.handlers
        log.close()
        assert theirs in ROOT.handlers and not set(log.handlers) & set(ROOT.handlers)
    finally:
        for handler in (theirs, other):
            ROOT.removeHandler(handler)


def test_a_large_log_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "LOG_FILE_BYTES", 1000)
    monkeypatch.setattr(console, "MAX_OLD_LOG_FILES", 2)
    log = RunLog(tmp_path / "a.log")
    for number in range(100):
        log.handlers[0].emit(logging.makeLogRecord({"msg": f"line {number}", "levelname": "INFO", "name": "a"}))
    log.close()
    assert {path.name for path in tmp_path.iterdir()} == {"a.log", "a.log.1", "a.log.2"}
    assert "line 99\n" in (tmp_path / "a.log").read_text()


def test_libraries_are_told_to_be_quiet_unless_the_user_has_said_otherwise(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in console.QUIET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRANSFORMERS_VERBOSITY", "info")
    Console(clock)
    assert os.environ["TRANSFORMERS_VERBOSITY"] == "info"
    assert os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] == "1"
    logging.captureWarnings(False)


# Errors --------------------------------------------------------------------------------------------------------------


def failing(error: Exception) -> Callable[[], int]:
    def work() -> int:
        raise error

    return work


def show(hooks: Console, error: BaseException) -> None:
    hooks._show_error(type(error), error, error.__traceback__)


def test_an_error_of_a_node_is_one_message_and_its_traceback_is_in_the_log(
    shown: Console, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = ValueError("answers.tsv, line 3: no label")
    one = node(failing(error), None, "a", name="read", namespace="mspp", tags="sources")
    with pytest.raises(ValueError, match="no label") as raised:
        run(shown, Pipeline([one]))
    assert raised.value is error
    show(shown, error)
    out, err = capsys.readouterr()
    assert out == ""
    assert lines(err) == [
        "error: node mspp.read: answers.tsv, line 3: no label (traceback: logs/contexture.log)",
    ]
    assert "in work\n    raise error\nValueError: answers.tsv" in log_of(tmp_path)
    assert not any(isinstance(handler, logging.handlers.RotatingFileHandler) for handler in ROOT.handlers)


def test_an_input_that_cannot_be_loaded_is_named_with_its_node(
    shown: Console, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [node(takes(clock, 1), None, "a", name="make"), node(takes(clock, 1), "gone", "b", name="use")]
    with pytest.raises(DatasetError) as raised:
        run(shown, Pipeline(nodes), gone=MemoryDataset())
    capsys.readouterr()
    show(shown, raised.value)
    assert capsys.readouterr().err.startswith("error: node use: ")


def test_an_error_before_the_pipeline_is_logged_too(
    shown: Console, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show(shown, ValueError("no pipeline of that name"))
    assert capsys.readouterr().err == "error: no pipeline of that name (traceback: logs/contexture.log)\n"
    assert "ValueError: no pipeline of that name" in log_of(tmp_path)


def test_a_refusal_is_its_message_alone(shown: Console, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    def command() -> None:
        raise RunRefusedError("the configuration has errors:\n  mspp.x: no such parameter")

    with pytest.raises(SystemExit, match="1"):
        command.main([], standalone_mode=True)
    err = capsys.readouterr().err
    assert lines(err) == ["error: the configuration has errors:", "  mspp.x: no such parameter"]
    assert "mspp.x: no such parameter" in log_of(tmp_path)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("said"), "said"),
        (FileNotFoundError(2, "No such file", "a.txt"), "[Errno 2] No such file: 'a.txt'"),
        (DatasetError("not there"), "not there"),
        (KeyError("name"), "KeyError: 'name'"),
        (ValueError(), "ValueError"),
        (click.ClickException("said"), "said"),
    ],
)
def test_what_an_error_says(error: Exception, text: str) -> None:
    assert describe_error(error) == text


def test_long_messages_fit_and_keep_their_end() -> None:
    found = lines(wrap(f"error: {'a/long/path ' * 1000}the cause"))
    assert max(map(len, found)) <= 120 and len(found) < 13
    assert found[0].startswith("error: a/long") and found[-1].endswith("the cause")
    assert max(map(len, lines(wrap("x" * 500)))) == 120


def test_a_console_without_the_signs_gets_others(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    console.say("mspp · pretrain", stream)
    assert raw.getvalue() == b"mspp ? pretrain\n"


# The terminal --------------------------------------------------------------------------------------------------------


class Terminal:
    """A terminal of 80 columns."""

    def __init__(self) -> None:
        self.mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.stream = os.fdopen(theirs, "w", encoding="utf-8")

    def drawn(self) -> str:
        """What was written there since."""
        found = b""
        while select.select([self.mine], [], [], 0.05)[0]:
            found += os.read(self.mine, 100_000)
        return found.decode()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """To be made standard error in the test itself: pytest's own capturing begins anew between fixtures and test."""
    made = Terminal()
    yield made
    made.stream.close()
    os.close(made.mine)


def test_the_line_at_the_foot_is_drawn_anew_and_cleared(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    texts = iter(["first", "second", *["x" * 500] * 1000])
    live = LiveLine(lambda: next(texts), interval=0.01)
    time.sleep(0.3)
    live.close()
    assert live.thread is None
    drawn = terminal.drawn()
    assert "\n" not in drawn
    parts = [part.strip() for part in drawn.split("\r") if part.strip()]
    assert parts[0] == "⠋ first" and parts[1] == "⠙ second"
    assert max(map(len, parts)) < 80
    assert drawn.endswith("\r") and drawn.split("\r")[-2].strip() == ""


def test_nothing_is_drawn_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    live = LiveLine(lambda: "text", interval=0.01)
    time.sleep(0.05)
    live.close()
    assert capsys.readouterr() == ("", "")


def test_what_stands_in_the_line(shown: Console, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = trainings(clock)
    shown.before_pipeline_run(pipeline)
    clock.now += 2
    assert shown._live_text() == "starting   0:02"
    named = {one.name: one for one in pipeline.nodes}
    shown.before_node_run(named["mspp.run1"])
    clock.now += 62
    shown.after_dataset_saved("mspp.run1", named["mspp.run1"])
    shown.before_dataset_loaded(named["mspp.run2"])
    clock.now += 10
    monkeypatch.setattr(console, "spark_progress", lambda: "Spark: 3 of 8")
    assert shown._live_text() == "[1/4] mspp · pretrain   1:12   2 of 3: run2   Spark: 3 of 8"


def test_progress_of_spark_is_that_of_its_active_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = {4: SimpleNamespace(numTasks=8, numCompletedTasks=3), 5: SimpleNamespace(numTasks=2, numCompletedTasks=0)}
    tracker = SimpleNamespace(getActiveStageIds=lambda: [4, 5, 6], getStageInfo=stages.get)
    context = SimpleNamespace(_active_spark_context=SimpleNamespace(statusTracker=lambda: tracker))
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(SparkContext=context))
    assert console.spark_progress() == "Spark: 3 of 10"
    stages.clear()
    assert console.spark_progress() == ""
    context._active_spark_context = None
    assert console.spark_progress() == ""


def test_a_bar_comes_after_its_delay_and_goes(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.5)
    with progress.progress(10, "embed", "text") as bar:
        bar.update(1)
        bar.refresh()
        bar.set_postfix(loss=1)
        assert terminal.drawn() == ""  # not even for a refresh
        time.sleep(0.5)
        bar.n = 3.4567
        bar.refresh()
        drawn = terminal.drawn()
    assert re.search(r"embed:\s+35%\|.*\| 3.5/10 \[00:00<00:0\d", drawn)
    assert re.fullmatch(r"\r +\r", terminal.drawn())  # cleared, although only a refresh has drawn it


def test_a_short_work_and_a_console_that_is_no_terminal_have_no_bar(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    with progress.progress(10, "embed", "text") as bar:
        assert not bar.disable
        bar.update(10)
    assert terminal.drawn() == ""
    with monkeypatch.context() as patch:
        patch.setenv("TQDM_DISABLE", "1")
        assert progress.progress(10, "embed", "text").disable
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    with progress.progress(None, "embed", "text") as bar:
        assert isinstance(bar, DelayedBar) and bar.disable
        bar.update(10)


# The command ---------------------------------------------------------------------------------------------------------

SETTINGS = """
from contexture.pipelines.hooks.console import Console
HOOKS = (Console(),)
DISABLE_HOOKS_FOR_PLUGINS = ("kedro_mlflow", "kedro-telemetry")
"""
REGISTRY = """
import logging, warnings
from kedro.pipeline import Pipeline, node

def work():
    warnings.warn("of a library")
    logging.getLogger("small").debug("hidden")
    return 1

def fail(value):
    raise ValueError(f"the value is {value}")

def register_pipelines():
    works = Pipeline([node(work, None, "value", name="work", tags="first")])
    fails = Pipeline([node(fail, "value", None, name="fail", tags="second")], namespace="mspp", inputs={"value"})
    return {"__default__": works, "fails": works + fails}
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of two nodes."""
    folder = tmp_path_factory.mktemp("small")
    package = folder / "src/small"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "settings.py").write_text(SETTINGS)
    (package / "pipeline_registry.py").write_text(REGISTRY)
    (folder / "pyproject.toml").write_text(
        '[tool.kedro]\npackage_name="small"\nproject_name="Small"\nkedro_init_version="1.7.0"\nsource_dir="src"\n'
    )
    for place in ("conf/base", "conf/local"):
        (folder / place).mkdir(parents=True)
    for name in ("catalog", "parameters"):
        (folder / f"conf/base/{name}.yml").write_text("{}")
    ours = Path(__file__).resolve().parents[2] / "conf/logging.yml"
    (folder / "conf/logging.yml").write_bytes(ours.read_bytes())
    return folder


def kedro_run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kedro", "run", *options]
    environment = os.environ | {"DO_NOT_TRACK": "true"}
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.slow
def test_the_whole_output_of_a_run(small: Path) -> None:
    done = kedro_run(small)
    assert (done.returncode, done.stderr) == (0, "")
    assert [re.sub(r"\d:\d\d", "0:00", line) for line in lines(done.stdout)] == [
        "[1/1] first     0:00   total    0:00",
        "1 stage in 0:00, log: logs/contexture.log",
    ]
    log = log_of(small)
    assert "Running node: work" in log and "UserWarning: of a library" in log


@pytest.mark.slow
def test_the_whole_output_of_a_run_that_fails(small: Path) -> None:
    failed = kedro_run(small, "--pipelines", "fails")
    assert failed.returncode == 1
    assert lines(failed.stderr) == ["error: node mspp.fail: the value is 1 (traceback: logs/contexture.log)"]
    assert [line[:11] for line in lines(failed.stdout)] == ["[1/2] first"]
    unknown = kedro_run(small, "--pipelines", "none")
    assert unknown.returncode == 1 and unknown.stdout == ""
    assert unknown.stderr.startswith("error: Failed to find the pipeline named 'none'.")
    assert "Traceback" not in failed.stderr + unknown.stderr
    assert log_of(small).count("Traceback (most recent call last)") >= 2


def test_what_kedro_refuses_is_said_in_one_line(small: Path) -> None:
    refused = kedro_run(small, "--pipeline", "fails", "--pipelines", "fails")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert lines(refused.stderr) == ["error: Options '--pipeline' and '--pipelines' cannot be used together"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--params", "mspp.seedz=3"), "the configuration has errors:\n  --params: mspp.seedz: no such parameter"),
        (("--env", "wikipeda"), "there is no environment 'wikipeda'; there are base, books_sample, league_sample, "),
        (("--pipelines", "mssp"), "there is no pipeline 'mssp'; there are cmlm, cmlm_multilingual, corpus, "),
        (("--tags", "pretrain,pretrian"), "there is no tag 'pretrian'; there are corpus, evaluate, examples, "),
        (("--nodes", "mspp.pretrian"), "there is no node 'mspp.pretrian'; there are mspp.pretrain"),
    ],
)
def test_a_run_that_is_refused_says_why_and_nothing_else(
    options: tuple[str, str], said: str, make_project: Callable[[], Path]
) -> None:
    project = make_project()
    refused = kedro_run(project, *options)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith(f"error: {said}")
    assert refused.stderr.count("error:") == 1 and "Traceback" not in refused.stderr
    assert said in log_of(project)
    assert not (project / "mlflow.db").exists()


@pytest.mark.slow
def test_text_that_is_not_there_or_not_asked_for_is_said_before_anything_begins(
    make_project: Callable[[], Path],
) -> None:
    """No Spark is started, and no run of MLflow's fails."""
    project = make_project()
    (project / "own.xml").touch()
    manifest = project / "data/01_raw/sources.json"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text('{"inputs": ["own.xml"], "corpus": []}')
    replaced = "the corpus here was made of own.xml; this run would put one of the made-up world in its place. To go on"
    for options, said in (
        (["--params", "corpus.input=none.xml"], "none.xml: no such file or folder"),
        ([], replaced),
    ):
        refused = kedro_run(project, "--pipelines", "mspp", *options)
        assert (refused.returncode, refused.stdout) == (1, "")
        message = " ".join(lines(refused.stderr))
        assert message.startswith(f"error: {said}") and "Traceback" not in message
    assert "--params corpus.input=own.xml" in message and "--params corpus.input=demo" in message
    assert not (project / "data/01_raw/demo").exists()
    runs = sqlite3.connect(project / "mlflow.db").execute("select count(*) from runs").fetchone()
    assert runs == (0,)
