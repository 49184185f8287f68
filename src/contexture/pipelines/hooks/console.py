"""Output of `kedro run`: one line for each stage, warnings of the project, and errors. The log has everything."""

import atexit
import json
import logging
import logging.handlers
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from types import TracebackType
from typing import Any

import click
from kedro.framework.cli.utils import KedroCliError
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from tqdm import tqdm

from contexture.folders import whole_file
from contexture.pipelines.hooks.console_text import MAX_LINE_CHARS, describe_error, duration, say, truncate, wrap
from contexture.training.rest import EXPECTED_END_VARIABLE

LOG = logging.getLogger(__name__)

#: Log of all runs, below the project's folder. A full file is renamed to `contexture.log.1`, and so on.
LOG_FILE = Path("logs/contexture.log")
LOG_FILE_BYTES, MAX_OLD_LOG_FILES = 10_000_000, 5
#: Seconds that each stage took in its last complete run, next to the log.
STAGES_FILE = "stages.json"
#: Finished stages that took less do not say how slow the machine is.
MIN_SLOWNESS_SECONDS = 5.0
MAX_LABEL_CHARS = 60
#: Handlers of conf/logging.yml, or of Kedro, that a run replaces.
REPLACED_HANDLERS = ("console", "rich")
#: Libraries read these when they are imported: MLflow uses our log, and libraries show no bars.
QUIET = {
    "MLFLOW_CONFIGURE_LOGGING": "false",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


@dataclass
class Stage:
    """Progress of the nodes that share namespace and first tag; a run's whole time is divided among its stages."""

    label: str
    nodes: int = 0
    finished: int = 0
    seconds: float = 0.0


def get_stage_label(node: Node) -> str:
    """Return `namespace · tag`, with the alphabetically first tag, or the name of a node without tags."""
    tag = min(node.tags, default=node.short_name)
    return f"{node.namespace} · {tag}" if node.namespace else tag


def show_cli_error(self: KedroCliError, file: Any = None) -> None:
    """Print an error of the command on standard error; replaces Kedro's method, which fails with click 8.5.1."""
    say(wrap(f"error: {self.format_message()}"), sys.stderr)
    if self.VERBOSE_ERROR:
        traceback.print_exception(self)


class RunRefusedError(KedroCliError):
    """Error that stops a run before it starts; also logged."""

    def show(self, file: Any = None) -> None:
        """Log the message and print it on standard error."""
        LOG.error("%s", self.format_message())
        show_cli_error(self)


class ConsoleHandler(logging.Handler):
    """Print warnings of the project and errors of libraries, except those that are raised too (Kedro, py4j)."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a log record as one line to standard error, unless the console leaves it out."""
        source = record.name.partition(".")[0]
        min_level = logging.WARNING if source == "contexture" else logging.ERROR
        is_raised = source == "kedro" or record.name == __name__ or "py4j" in Path(record.pathname).parts
        if record.levelno < min_level or is_raised:
            return
        try:
            message = " ".join(record.getMessage().split())
            say(truncate(f"{record.levelname.lower()}: {message}"), sys.stderr)
        except Exception:
            self.handleError(record)


class RunLog:
    """Handlers of one run on the root logger: the log file and the console."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        log_file = logging.handlers.RotatingFileHandler(
            file, maxBytes=LOG_FILE_BYTES, backupCount=MAX_OLD_LOG_FILES, encoding="utf-8"
        )
        log_file.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
        root = logging.getLogger()
        self.replaced = [handler for handler in root.handlers if handler.name in REPLACED_HANDLERS]
        self.handlers: list[logging.Handler] = [log_file, ConsoleHandler()]
        for handler in self.replaced:
            root.removeHandler(handler)
        for handler in self.handlers:
            root.addHandler(handler)

    def close(self) -> None:
        """Remove this run's handlers and restore those that they replaced."""
        root = logging.getLogger()
        for handler in self.handlers:
            root.removeHandler(handler)
            handler.close()
        for handler in self.replaced:
            root.addHandler(handler)


class LiveLine:
    """Line at the bottom of the terminal that is redrawn until it is closed; nothing without a terminal."""

    def __init__(self, text: Callable[[], str], interval: float = 0.5) -> None:
        """A thread calls `text` for the content every `interval` seconds."""
        self.text, self.interval = text, interval
        self.ended = threading.Event()
        self.thread: threading.Thread | None = None
        if sys.stderr.isatty():
            self.bar = tqdm(total=0, bar_format="{desc}", leave=False, file=sys.stderr)
            self.thread = threading.Thread(target=self._redraw, name="console", daemon=True)
            self.thread.start()

    def _redraw(self) -> None:
        """Redraw the line with a turning spinner until it is closed; runs in the thread."""
        encoding = sys.stderr.encoding or "utf-8"
        for sign in cycle(SPINNER):
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or MAX_LINE_CHARS
            line = truncate(f"{sign} {self.text()}", min(MAX_LINE_CHARS, columns - 1))
            self.bar.set_description_str(line.encode(encoding, "replace").decode(encoding))
            if self.ended.wait(self.interval):
                return

    def close(self) -> None:
        """Stop redrawing and clear the line."""
        self.ended.set()
        if self.thread:
            self.thread.join()
            self.bar.close()
            self.thread = None


def spark_progress() -> str:
    """Return the finished tasks of active Spark stages as `Spark: 12 of 200`; "" if there are none."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    context = context and context._active_spark_context
    if context is None:
        return ""
    try:
        tracker = context.statusTracker()
        stages = list(filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds())))
    except Exception:  # Spark is being started, or stopped
        return ""
    finished, tasks = sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
    return f"Spark: {finished} of {tasks}" if stages else ""


class Console:
    """Hooks that show a run.

    They are last in `settings.HOOKS`: so `tryfirst` calls them before, and `trylast` after, all others.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self.clock = clock
        self.lock = threading.RLock()  # nodes may run in threads
        self.log: RunLog | None = None
        self.live: LiveLine | None = None
        self.stages_file = Path(STAGES_FILE)
        self._reset([])
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        logging.captureWarnings(True)
        KedroCliError.show = show_cli_error  # type: ignore[method-assign]

    def _reset(self, nodes: Iterable[Node]) -> None:
        """Reset clock and progress for a run of these nodes; read the durations of earlier runs."""
        self.start = self.clock()
        self.divided = self.start  # the time until then belongs to stages
        self.total = 0.0  # seconds of the stages that are written
        self.previous: dict[str, float] = (
            json.loads(self.stages_file.read_text("utf-8")) if self.stages_file.exists() else {}
        )
        self.stages: dict[str, Stage] = {}
        for node in nodes:
            self.stages.setdefault(get_stage_label(node), Stage(get_stage_label(node))).nodes += 1
        self.running: set[str] = set()
        self.unsaved: dict[str, set[str]] = {}  # node → outputs that are not saved yet
        self.ended: set[str] = set()
        self.written = 0
        self.latest: Node | None = None
        self.failed: tuple[BaseException, str] | None = None

    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Open the log, before all other hooks; show the live line and errors of `kedro run`."""
        self._close()  # of a run that did not start
        self.stages_file = context.project_path / LOG_FILE.with_name(STAGES_FILE)
        self._reset([])
        self.log = RunLog(context.project_path / LOG_FILE)
        command = click.get_current_context(silent=True)
        if command and command.info_name == "run":  # not for a script with its own session
            sys.excepthook = self._show_error
            atexit.register(self._close)
            self.live = LiveLine(self._live_text)

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, pipeline: Pipeline) -> None:
        """Reset the progress, count the nodes of each stage, and show the live line."""
        with self.lock:
            self._reset(pipeline.nodes)
        self.live = self.live or LiveLine(self._live_text)

    @hook_impl(tryfirst=True)
    def before_dataset_loaded(self, node: Node) -> None:
        """Mark a node as running: at its first input, or before it runs if it has no inputs."""
        with self.lock:
            if node.name in self.running or node.name in self.ended:
                return
            self.running.add(node.name)
            self.unsaved[node.name] = set(node.outputs)
            self.latest = node

    before_node_run = before_dataset_loaded

    @hook_impl(trylast=True)
    def after_node_run(self, node: Node) -> None:
        """Mark a node without outputs as finished."""
        if not node.outputs:
            self._finish_node(node)

    @hook_impl(trylast=True)
    def after_dataset_saved(self, dataset_name: str, node: Node) -> None:
        """Mark a node as finished at its last output: Spark computes a table when it is saved."""
        unsaved = self.unsaved.get(node.name, set())
        unsaved.discard(dataset_name)
        if not unsaved:
            self._finish_node(node)

    @hook_impl(trylast=True)
    def after_pipeline_run(self) -> None:
        """Save the durations of stages, print the last line and close the log."""
        for stage in self.stages.values():
            if 0 < stage.finished < stage.nodes:  # the runner left nodes out, as with --only-missing-outputs
                self._print_stage(stage)
        self._close()
        seconds = {stage.label: stage.seconds for stage in self.stages.values() if stage.finished == stage.nodes}
        with whole_file(self.stages_file) as file:
            file.write(json.dumps(self.previous | seconds, indent=1).encode())
        count = f"{self.written} stage{'s' * (self.written != 1)}"
        say(f"{count} in {duration(self.total)}, log: {LOG_FILE}", sys.stdout)

    @hook_impl
    def on_node_error(self, error: Exception, node: Node) -> None:
        """Store the error with the name of its node, for the message at the end."""
        self.failed = error, f"node {node.name}: "

    @hook_impl(trylast=True)
    def on_pipeline_error(self, error: Exception) -> None:
        """Log the traceback and close the log; Kedro raises the error afterwards."""
        if not (self.failed and self.failed[0] is error):  # while an input was loaded or an output saved
            nodes = ", ".join(sorted(self.running))
            self.failed = error, f"node {nodes}: " if nodes else ""
        LOG.error("%sfailed", self.failed[1], exc_info=error)
        self._close()

    def _finish_node(self, node: Node) -> None:
        """Mark a node as finished; its stage gets the time since the last end of a node, or the start of the run.

        So each second belongs to one stage, also if nodes run in threads.
        """
        with self.lock:
            stage = self.stages.get(get_stage_label(node))
            if stage is None or node.name not in self.running:
                return  # in a worker process
            now = self.clock()
            stage.seconds += now - self.divided
            self.divided = now
            self.running.remove(node.name)
            self.ended.add(node.name)
            stage.finished += 1
            if stage.finished == stage.nodes:
                self._print_stage(stage)

    def _format_counter(self, number: int) -> str:
        """Format the number of a stage and of all stages: "[ 3/12]"."""
        count = str(len(self.stages))
        return f"[{number:>{len(count)}}/{count}]"

    def _print_stage(self, stage: Stage) -> None:
        """Print the line of a stage. Durations are differences of whole totals, so that they add up."""
        self.written += 1
        previous_total = self.total
        self.total += stage.seconds
        seconds = int(self.total) - int(previous_total)
        widest = min(max(len(label) for label in self.stages), MAX_LABEL_CHARS)
        label = truncate(stage.label, MAX_LABEL_CHARS)
        line = f"{self._format_counter(self.written)} {label:<{widest}} {duration(seconds):>8}"
        line += f"   total {duration(self.total):>7}"
        line += f"   {stage.finished} nodes" if stage.finished > 1 else ""
        say(line + self._time_left(), sys.stdout)

    def _time_left(self) -> str:
        """Return the estimated rest of the time as the end of a line; "" if it is unknown."""
        seconds = self._estimate_left()
        return "" if seconds is None else f"   about {duration(seconds)} left"

    def _estimate_left(self) -> float | None:
        """Return the estimated rest of the time in seconds; None if no stage is left, or if it is unknown.

        The process that started the run may expect its end. Otherwise, unfinished stages take as long as in their last
        run, times the slowness of the finished ones.
        """
        unfinished = [stage for stage in self.stages.values() if stage.finished < stage.nodes]
        if not unfinished:
            return None
        if EXPECTED_END_VARIABLE in os.environ:
            return max(0.0, float(os.environ[EXPECTED_END_VARIABLE]) - time.time())
        if not all(stage.label in self.previous for stage in unfinished):
            return None
        finished = [stage for stage in self.stages.values() if stage not in unfinished and stage.label in self.previous]
        previous = sum(self.previous[stage.label] for stage in finished)
        is_measured = previous >= MIN_SLOWNESS_SECONDS
        slowness = sum(stage.seconds for stage in finished) / previous if is_measured else 1.0
        return sum(max(0.0, slowness * self.previous[stage.label] - stage.seconds) for stage in unfinished)

    def _live_text(self) -> str:
        """Return the content of the live line: stage, its duration, its running node, and Spark's progress."""
        with self.lock:
            stage = self.stages.get(get_stage_label(self.latest)) if self.latest else None
            if stage is None or self.latest is None:
                return f"starting   {duration(self.clock() - self.start)}"
            seconds = stage.seconds + self.clock() - self.divided
            parts = [f"{self._format_counter(self.written + 1)} {stage.label}", duration(seconds)]
            position = f"{min(stage.finished + 1, stage.nodes)} of {stage.nodes}: " if stage.nodes > 1 else ""
            parts.append(position + self.latest.short_name)
            left = self._time_left().strip()
        return "   ".join(filter(None, [*parts, left, spark_progress()]))

    def _close(self) -> None:
        """Close the live line and the log."""
        if self.live:
            self.live.close()
            self.live = None
        if self.log:
            self.log.close()
            self.log = None

    def _show_error(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Print the message of an error and the path of the log; `sys.excepthook` of `kedro run`."""
        if not isinstance(error, Exception):
            sys.__excepthook__(kind, error, trace)
            return
        prefix = ""
        if self.failed and self.failed[0] is error:
            prefix = self.failed[1]
        else:  # before the pipeline ran
            LOG.error("failed", exc_info=error)
            self._close()
        say(wrap(f"error: {prefix}{describe_error(error)} (traceback: {LOG_FILE})"), sys.stderr)
