"""Output of a run on the console, and its log."""

import fcntl
import io
import logging
import logging.handlers
import os
import pty
import re
import select
import shutil
import sqlite3
import struct
import subprocess
import sys
import termios
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kedro.framework.hooks.manager import _create_hook_manager
from kedro.io import DataCatalog, DatasetError, MemoryDataset
from kedro.pipeline import Pipeline, node
from kedro.runner import SequentialRunner

from contexture import progress
from contexture.pipelines.hooks import console
from contexture.pipelines.hooks.console import Console, LiveLine, RunLog, RunRefusedError, get_stage_label
from contexture.pipelines.hooks.console_text import describe_error, duration, say, wrap
from contexture.training.rest import EXPECTED_END_VARIABLE
from tests.pipelines.conftest import PROJECT, MakeProject

ROOT = logging.getLogger()
Captured = pytest.CaptureFixture[str]


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class SlowDataset(MemoryDataset):
    """A dataset that is slow to save, such as a table that Spark computes then."""

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
def hooks(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    """Hooks on a project's folder; afterwards all that they change is restored."""
    for name in console.QUIET:
        monkeypatch.delenv(name, raising=False)
    level = ROOT.level
    ROOT.setLevel(logging.INFO)
    # Sessions that other tests did not end have left handlers.
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
    """Run a pipeline with the hooks, as a session does."""
    manager = _create_hook_manager()
    manager.register(hooks)
    catalog = DataCatalog(datasets)
    arguments = {"run_params": {}, "pipeline": pipeline, "catalog": catalog}
    manager.hook.before_pipeline_run(**arguments)
    try:
        result = SequentialRunner().run(pipeline, catalog, manager)
    except Exception as error:
        manager.hook.on_pipeline_error(error=error, **arguments)
        raise
    manager.hook.after_pipeline_run(run_result=result, **arguments)


def wait(clock: Clock, seconds: float) -> Callable[..., int]:
    """Return a function that takes this time."""

    def work(*_: Any) -> int:
        clock.now += seconds
        return 1

    return work


def trainings(clock: Clock) -> Pipeline:
    """Two stages of one system and two without a system; another system's stage runs between the first one's nodes."""
    text = Pipeline([node(wait(clock, 3), None, "text", name="read")], tags="corpus")
    runs = [node(wait(clock, 40 * number), "text", f"run{number}", name=f"run{number}") for number in (1, 2)]
    after = node(wait(clock, 5), "run1", "third", name="third")  # ready only after the other system's
    first = Pipeline([*runs, after], namespace="mspp", inputs={"text"}, tags="pretrain")
    other = node(wait(clock, 7), "text", "run", name="run")
    second = Pipeline([other], namespace="other", inputs={"text"}, tags="train")
    last = node(wait(clock, 3600), ["mspp.third", "mspp.run2", "other.run"], None, name="last", tags="report")
    return text + first + second + Pipeline([last])


def test_each_stage_has_one_line_with_its_time(hooks: Console, clock: Clock, capsys: Captured) -> None:
    run(hooks, trainings(clock))
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "[1/4] corpus              0:03   total    0:03",
        "[2/4] other · train       0:07   total    0:10",
        "[3/4] mspp · pretrain     2:05   total    2:15   3 nodes",
        "[4/4] report           1:00:00   total 1:02:15",
        "4 stages in 1:02:15, log: logs/contexture.log",
    ]
    assert err == ""
    assert not any(isinstance(handler, logging.handlers.RotatingFileHandler) for handler in ROOT.handlers)
    # From the second run on, the remaining time is estimated.
    run(hooks, trainings(clock))
    out = capsys.readouterr().out
    assert [line.partition("total")[2].partition("about")[2] for line in out.splitlines()[:4]] == [
        " 1:02:12 left",
        " 1:00:05 left",  # of the trainings, five seconds
        " 1:00:00 left",
        "",
    ]
    # A machine that is slower than before is so for the remaining stages, too.
    hooks.stages_file.write_text('{"corpus": 1, "other · train": 4, "mspp · pretrain": 50, "report": 100}')
    run(hooks, trainings(clock))
    out = capsys.readouterr().out
    assert [line.partition("total")[2].partition("about")[2] for line in out.splitlines()[:3]] == [
        " 2:34 left",  # too short a stage to measure slowness
        " 3:20 left",  # 10 seconds for 5; of the trainings, none
        " 4:05 left",  # 135 seconds for 55
    ]
    hooks.stages_file.write_text('{"corpus": 3}')
    run(hooks, trainings(clock))
    assert "left" not in capsys.readouterr().out


def test_a_planned_run_is_expected_to_end_as_planned(
    hooks: Console, clock: Clock, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EXPECTED_END_VARIABLE, str(clock.now + 3800))
    monkeypatch.setattr(console.time, "time", clock)
    run(hooks, trainings(clock))
    out = capsys.readouterr().out
    assert [line.partition("total")[2].partition("about")[2] for line in out.splitlines()[:4]] == [
        " 1:03:17 left",
        " 1:01:10 left",
        " 1:01:05 left",
        "",
    ]


def test_a_stage_lasts_until_its_tables_are_saved(hooks: Console, clock: Clock, capsys: Captured) -> None:
    nodes = [
        node(wait(clock, 1), None, "table", name="make", tags="make"),
        node(wait(clock, 2), "table", "use", name="use", tags="use"),
    ]
    run(hooks, Pipeline(nodes), table=SlowDataset(clock, 60))
    assert [re.sub(" +", " ", line) for line in capsys.readouterr().out.splitlines()] == [
        "[1/2] make 1:01 total 1:01",
        "[2/2] use 0:02 total 1:03",
        "2 stages in 1:03, log: logs/contexture.log",
    ]


def parse_duration(text: str) -> int:
    """Return the seconds of `1:02:03`."""
    seconds = 0
    for part in text.split(":"):
        seconds = 60 * seconds + int(part)
    return seconds


Seconds = st.floats(0, 5000, allow_nan=False)


@given(st.lists(st.tuples(st.integers(0, 3), Seconds, Seconds), min_size=1, max_size=12), Seconds)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_durations_add_up_to_the_totals_and_to_the_time_of_the_run(
    capsys: Captured, tmp_path: Path, work: list[tuple[int, float, float]], after: float
) -> None:
    """Nodes of four stages, with time between them, which belongs to a stage, too."""
    clock = Clock()
    hooks = Console(clock)
    hooks.stages_file = tmp_path / "stages.json"
    nodes = [node(len, f"in{i}", f"out{i}", name=f"n{i}", tags=f"stage{stage}") for i, (stage, *_) in enumerate(work)]
    start = clock.now
    hooks.before_pipeline_run(Pipeline(nodes))
    for work_node, (_, pause, seconds) in zip(nodes, work, strict=True):
        clock.now += pause
        hooks.before_dataset_loaded(work_node)
        clock.now += seconds
        hooks.after_dataset_saved(work_node.outputs[0], work_node)
    end = clock.now
    clock.now += after
    hooks.after_pipeline_run()
    *lines, last = capsys.readouterr().out.splitlines()
    parts = [re.fullmatch(r"\[\d/\d\] (stage\d) +([\d:]+)   total +([\d:]+).*", line) for line in lines]
    stages, durations, totals = zip(*(part.groups() for part in parts if part), strict=True)
    assert sorted(stages) == sorted({f"stage{stage}" for stage, *_ in work})  # each stage once
    sums = list(accumulate(map(parse_duration, durations)))
    assert sums == [parse_duration(total) for total in totals]
    assert last == f"{len(lines)} stage{'s' * (len(lines) != 1)} in {totals[-1]}, log: logs/contexture.log"
    assert sums[-1] == pytest.approx(end - start, abs=1)
    logging.captureWarnings(False)


def test_time_of_nodes_in_threads_is_counted_once(hooks: Console, clock: Clock, capsys: Captured) -> None:
    first, second = (node(len, f"in{i}", f"out{i}", name=f"n{i}", tags=f"stage{i}") for i in range(2))
    hooks.before_pipeline_run(Pipeline([first, second]))
    clock.now += 1
    hooks.before_dataset_loaded(first)
    clock.now += 2
    hooks.before_dataset_loaded(second)
    clock.now += 4
    hooks.after_dataset_saved("out1", second)
    clock.now += 8
    hooks.after_dataset_saved("out0", first)
    hooks.after_pipeline_run()
    assert [re.sub(" +", " ", line) for line in capsys.readouterr().out.splitlines()] == [
        "[1/2] stage1 0:07 total 0:07",
        "[2/2] stage0 0:08 total 0:15",
        "2 stages in 0:15, log: logs/contexture.log",
    ]


def test_a_stage_with_skipped_nodes_has_its_line_at_the_end(hooks: Console, clock: Clock, capsys: Captured) -> None:
    pipeline = trainings(clock)
    hooks.before_pipeline_run(pipeline)
    (unfinished,) = (n for n in pipeline.nodes if n.name == "mspp.run2")
    hooks.before_node_run(unfinished)
    clock.now += 9
    hooks.after_dataset_saved("mspp.run2", unfinished)
    assert capsys.readouterr().out == ""
    hooks.after_pipeline_run()
    assert capsys.readouterr().out.splitlines() == [
        "[1/4] mspp · pretrain     0:09   total    0:09",
        "1 stage in 0:09, log: logs/contexture.log",
    ]


def test_a_worker_process_prints_nothing(clock: Clock, capsys: Captured) -> None:
    hooks, first = Console(clock), trainings(clock).nodes[0]
    hooks.before_node_run(first)
    hooks.after_dataset_saved("text", first)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.9, "0:59"), (60, "1:00"), (3599, "59:59"), (36000, "10:00:00")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ({"tags": ["train", "answers"], "namespace": "mspp"}, "mspp · answers"),
        ({"tags": "train"}, "train"),
        ({"namespace": "mspp"}, "mspp · count"),
    ],
)
def test_the_stage_of_a_node(options: dict[str, Any], label: str) -> None:
    assert get_stage_label(node(len, "a", "b", name="count", **options)) == label


def test_long_labels_are_truncated(hooks: Console, clock: Clock, capsys: Captured) -> None:
    nodes = [node(wait(clock, 10**6), None, f"a{number}", name=f"a{number}", tags="t" * 200) for number in range(2)]
    run(hooks, Pipeline(nodes, namespace="n" * 200))
    out = capsys.readouterr().out
    assert "…" in out and "2 nodes" in out
    assert max(map(len, out.splitlines())) <= 120


# The log and the console ------------------------------------------------------------------------------------


def log_of(project: Path) -> str:
    return (project / "logs/contexture.log").read_text(encoding="utf-8")


def test_the_console_has_our_warnings_and_errors_of_libraries_and_the_log_has_all(
    hooks: Console, tmp_path: Path, capsys: Captured
) -> None:
    logging.getLogger("contexture.tasks").info("counted 3")
    logging.getLogger("contexture.tasks").warning("cr is left out:\n%s", "x" * 300)
    logging.getLogger("library").warning("a library's warning")
    logging.getLogger("library").error("a library's error")
    logging.getLogger("kedro.pipeline.node").error("Node failed with error: \nit")
    logging.captureWarnings(False)  # pytest has replaced the recorder of the hooks
    logging.captureWarnings(True)
    warnings.warn("a warning of Python", UserWarning, stacklevel=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [f"warning: cr is left out: {'x' * 94}…", "error: a library's error"]
    log = log_of(tmp_path)
    for text in ("counted 3", "x" * 300, "a library's warning", "Node failed with error", "a warning of Python"):
        assert text in log
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO    contexture\.tasks: counted 3$", log, re.MULTILINE)


def test_a_run_replaces_the_handler_of_the_project(tmp_path: Path) -> None:
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


def test_a_large_log_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "LOG_FILE_BYTES", 1000)
    monkeypatch.setattr(console, "MAX_OLD_LOG_FILES", 2)
    log = RunLog(tmp_path / "a.log")
    for number in range(100):
        log.handlers[0].emit(logging.makeLogRecord({"msg": f"line {number}", "levelname": "INFO", "name": "a"}))
    log.close()
    assert {path.name for path in tmp_path.iterdir()} == {"a.log", "a.log.1", "a.log.2"}
    assert "line 99\n" in (tmp_path / "a.log").read_text()


def test_libraries_are_quiet_unless_the_user_wants_their_output(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
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


def show_error(hooks: Console, error: BaseException) -> None:
    hooks._show_error(type(error), error, error.__traceback__)


def test_an_error_of_a_node_is_one_message_with_its_traceback_in_the_log(
    hooks: Console, tmp_path: Path, capsys: Captured
) -> None:
    error = ValueError("answers.tsv, line 3: no label")
    reader = node(failing(error), None, "a", name="read", namespace="mspp", tags="sources")
    with pytest.raises(ValueError, match="no label") as raised:
        run(hooks, Pipeline([reader]))
    assert raised.value is error
    show_error(hooks, error)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "error: node mspp.read: answers.tsv, line 3: no label (traceback: logs/contexture.log)",
    ]
    assert "in work\n    raise error\nValueError: answers.tsv" in log_of(tmp_path)
    assert not any(isinstance(handler, logging.handlers.RotatingFileHandler) for handler in ROOT.handlers)


def test_an_input_that_cannot_be_loaded_is_named_with_its_node(hooks: Console, clock: Clock, capsys: Captured) -> None:
    nodes = [node(wait(clock, 1), None, "a", name="make"), node(wait(clock, 1), "gone", "b", name="use")]
    with pytest.raises(DatasetError) as raised:
        run(hooks, Pipeline(nodes), gone=MemoryDataset())
    capsys.readouterr()
    show_error(hooks, raised.value)
    assert capsys.readouterr().err.startswith("error: node use: ")


def test_an_error_before_the_pipeline_is_logged_too(hooks: Console, tmp_path: Path, capsys: Captured) -> None:
    show_error(hooks, ValueError("no pipeline of that name"))
    assert capsys.readouterr().err == "error: no pipeline of that name (traceback: logs/contexture.log)\n"
    assert "ValueError: no pipeline of that name" in log_of(tmp_path)


def test_an_error_before_the_run_is_its_message_only(hooks: Console, tmp_path: Path, capsys: Captured) -> None:
    @click.command()
    def command() -> None:
        raise RunRefusedError("the configuration has errors:\n  mspp.x: no such parameter")

    with pytest.raises(SystemExit, match="1"):
        command.main([], standalone_mode=True)
    err = capsys.readouterr().err
    assert err.splitlines() == ["error: the configuration has errors:", "  mspp.x: no such parameter"]
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
def test_messages_of_errors(error: Exception, text: str) -> None:
    assert describe_error(error) == text


def test_long_messages_fit_and_keep_their_end() -> None:
    lines = wrap(f"error: {'a/long/path ' * 1000}the cause").splitlines()
    assert max(map(len, lines)) <= 120 and len(lines) < 13
    assert lines[0].startswith("error: a/long") and lines[-1].endswith("the cause")
    assert max(map(len, wrap("x" * 500).splitlines())) == 120


def test_characters_that_the_console_cannot_encode_are_replaced() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    say("mspp · pretrain", stream)
    assert raw.getvalue() == b"mspp ? pretrain\n"


# The terminal --------------------------------------------------------------------------------------------------------


class Terminal:
    """A terminal of 80 columns."""

    def __init__(self) -> None:
        self.mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.stream = os.fdopen(theirs, "w", encoding="utf-8")

    def drawn(self) -> str:
        """Return what was written since the last call."""
        written = b""
        while select.select([self.mine], [], [], 0.05)[0]:
            written += os.read(self.mine, 100_000)
        return written.decode()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A terminal that the test makes standard error: pytest replaces it between fixtures and test."""
    terminal = Terminal()
    yield terminal
    terminal.stream.close()
    os.close(terminal.mine)


def test_the_live_line_is_redrawn_and_cleared(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_nothing_is_drawn_without_a_terminal(capsys: Captured) -> None:
    live = LiveLine(lambda: "text", interval=0.01)
    time.sleep(0.05)
    live.close()
    assert capsys.readouterr() == ("", "")


def test_content_of_the_live_line(hooks: Console, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = trainings(clock)
    hooks.before_pipeline_run(pipeline)
    clock.now += 2
    assert hooks._live_text() == "starting   0:02"
    nodes = {n.name: n for n in pipeline.nodes}
    hooks.before_node_run(nodes["mspp.run1"])
    clock.now += 62
    hooks.after_dataset_saved("mspp.run1", nodes["mspp.run1"])
    hooks.before_dataset_loaded(nodes["mspp.run2"])
    clock.now += 10
    monkeypatch.setattr(console, "spark_progress", lambda: "Spark: 3 of 8")
    assert hooks._live_text() == "[1/4] mspp · pretrain   1:14   2 of 3: run2   Spark: 3 of 8"


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


def test_there_is_no_bar_for_short_work(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    with progress.progress(10, "embed", "text") as bar:
        assert not bar.disable
        bar.update(10)
    assert terminal.drawn() == ""
    with monkeypatch.context() as patch:
        patch.setenv("TQDM_DISABLE", "1")
        assert progress.progress(10, "embed", "text").disable


def test_a_log_file_has_at_most_a_line_per_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("tqdm.std.time", clock)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.progress(40, "embed", "text") as bar, progress.progress(None, "read", "text") as other:
        for n in range(1, 21):
            clock.now += 7
            bar.n = n
            bar.refresh()
            bar.set_postfix(loss=1)
        other.update(20)
    with progress.progress(40, "train", "run", shows_rest=False) as bar:
        clock.now += 60
        bar.n = 3.4567
        bar.refresh()
    with progress.progress(40, "train", "run") as bar:
        bar.initial = bar.n = 20
        bar.refresh()
        clock.now += 60
        bar.n = 25
        bar.refresh()
    for _ in progress.progress(3, "index", "block", range(3)):
        clock.now += 100
    assert sys.stderr.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "embed: 9 of 40   01:03   about 03:37 left",
        "embed: 18 of 40   02:06   about 02:34 left",
        "read: 20   02:20",
        "train: 3.5 of 40   01:00",
        "train: 25 of 40   01:00   about 03:00 left",
        "index: 1 of 3   01:40   about 03:20 left",
        "index: 2 of 3   03:20   about 01:40 left",
        "index: 3 of 3   05:00   about 00:00 left",
    ]


@pytest.mark.parametrize("is_there", [True, False])
def test_work_goes_on_if_nobody_reads_its_progress(is_there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(text: str) -> int:
        raise BrokenPipeError

    stream = io.StringIO()
    stream.write = write  # type: ignore[method-assign]
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stderr", stream if is_there else None)
    assert [*progress.progress(3, "index", "block", range(3))] == [0, 1, 2]


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
    for name in ("conf/base", "conf/local"):
        (folder / name).mkdir(parents=True)
    for name in ("catalog", "parameters"):
        (folder / f"conf/base/{name}.yml").write_text("{}")
    shutil.copy(PROJECT / "conf/logging.yml", folder / "conf")
    return folder


def kedro_run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kedro", "run", *options]
    environment = os.environ | {"DO_NOT_TRACK": "true"}
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.slow
def test_the_whole_output_of_a_run(small: Path) -> None:
    done = kedro_run(small)
    assert (done.returncode, done.stderr) == (0, "")
    assert [re.sub(r"\d:\d\d", "0:00", line) for line in done.stdout.splitlines()] == [
        "[1/1] first     0:00   total    0:00",
        "1 stage in 0:00, log: logs/contexture.log",
    ]
    log = log_of(small)
    assert "Running node: work" in log and "UserWarning: of a library" in log


@pytest.mark.slow
def test_the_whole_output_of_a_run_that_fails(small: Path) -> None:
    failed = kedro_run(small, "--pipelines", "fails")
    assert failed.returncode == 1
    assert failed.stderr.splitlines() == ["error: node mspp.fail: the value is 1 (traceback: logs/contexture.log)"]
    assert [line[:11] for line in failed.stdout.splitlines()] == ["[1/2] first"]
    unknown = kedro_run(small, "--pipelines", "none")
    assert unknown.returncode == 1 and unknown.stdout == ""
    assert unknown.stderr.startswith("error: Failed to find the pipeline named 'none'.")
    assert "Traceback" not in failed.stderr + unknown.stderr
    assert log_of(small).count("Traceback (most recent call last)") >= 2


def test_errors_of_kedro_have_one_line(small: Path) -> None:
    failed = kedro_run(small, "--pipeline", "fails", "--pipelines", "fails")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.splitlines() == ["error: Options '--pipeline' and '--pipelines' cannot be used together"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--params", "mspp.seedz=3"),
            "the configuration has errors:\n  --params: mspp.seedz: no such parameter; did you mean 'seeds'?",
        ),
        (("--env", "wikipeda"), "--env: unknown environment 'wikipeda'; did you mean 'wikipedia'?"),
        (("--pipelines", "mssp"), "--pipelines: unknown pipeline 'mssp'; did you mean 'mspp'?"),
        (("--tags", "pretrain,pretrian"), "--tags: unknown tag 'pretrian'; did you mean 'pretrain'?"),
        (("--nodes", "mspp.pretrian"), "--nodes: unknown node 'mspp.pretrian'; did you mean 'mspp.pretrain'?"),
    ],
)
def test_wrong_arguments_stop_a_run_with_one_error(
    options: tuple[str, str], message: str, make_project: MakeProject
) -> None:
    project = make_project()
    failed = kedro_run(project, *options)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith(f"error: {message}")
    assert failed.stderr.count("error:") == 1 and "Traceback" not in failed.stderr
    assert message in log_of(project)
    assert not (project / "mlflow.db").exists()


@pytest.mark.slow
def test_missing_or_other_text_stops_a_run_before_it_starts(
    make_project: MakeProject,
) -> None:
    project = make_project()
    (project / "own.xml").touch()
    manifest = project / "data/01_raw/sources.json"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text('{"inputs": ["own.xml"], "corpus": []}')
    replaced = (
        "the present corpus was made of own.xml; this run would replace it by one of the made-up world. To keep it"
    )
    for options, expected in (
        (["--params", "corpus.input=none.xml"], "corpus.input: none.xml: no such file or folder"),
        ([], replaced),
    ):
        failed = kedro_run(project, "--pipelines", "mspp", *options)
        assert (failed.returncode, failed.stdout) == (1, "")
        message = " ".join(failed.stderr.splitlines())
        assert message.startswith(f"error: {expected}") and "Traceback" not in message
    assert "--params corpus.input=own.xml" in message and "--params corpus.input=demo" in message
    assert not (project / "data/01_raw/demo").exists()
    runs = sqlite3.connect(project / "mlflow.db").execute("select count(*) from runs").fetchone()
    assert runs == (0,)
