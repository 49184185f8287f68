"""What `kedro run` shows: one line a stage, warnings of the project, and what failed. The log has all the rest."""

import atexit
import json
import logging
import logging.handlers
import os
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import click
from kedro.framework.cli.utils import KedroCliError
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DatasetError
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from tqdm import tqdm

from contexture.folders import whole_file

LOG = logging.getLogger(__name__)

#: Where a run's log lies in the project's folder, and how large it may grow before a new file is begun.
LOG_FILE = Path("logs/contexture.log")
LOG_BYTES, LOG_FILES = 10_000_000, 5
#: The seconds that each stage took when it was last done as a whole, beside the log.
STAGES_FILE = "stages.json"
#: Characters in a line of the console, and in an error or a warning altogether.
WIDTH, LONGEST = 120, 1200
LONGEST_LABEL = 60
#: Handlers of conf/logging.yml, or of Kedro's own configuration, whose place the run's own take.
REPLACED = ("console", "rich")
#: Libraries read these when they are imported. MLflow's log goes where ours goes; bars of libraries are left out.
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
    """Nodes that share namespace and first tag."""

    label: str
    nodes: int = 0
    done: int = 0
    seconds: float = 0.0


def stage_of(node: Node) -> str:
    """`namespace · tag`; the tag that comes first by alphabet, a node without tags is a stage of its own."""
    tag = min(node.tags, default=node.short_name)
    return f"{node.namespace} · {tag}" if node.namespace else tag


def duration(seconds: float) -> str:
    """`0:07`, `12:34`, `1:02:03`."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def say(line: str, stream: TextIO) -> None:
    """Write a line above whatever bars stand on the terminal, in characters that `stream` has, and at once."""
    encoding = stream.encoding or "utf-8"
    tqdm.write(line.encode(encoding, "replace").decode(encoding), file=stream)
    stream.flush()


def cut(text: str, width: int = WIDTH) -> str:
    """The beginning of a text of one line."""
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def wrapped(text: str) -> str:
    """A message in lines that fit; its own lines stay lines, and the middle of a very long one is left out."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
    lines = (textwrap.wrap(line, WIDTH, break_long_words=True, break_on_hyphens=False) for line in text.splitlines())
    return "\n".join(part for line in lines for part in line)


def described(error: BaseException) -> str:
    """What an error says; its type, too, where the message alone would say little."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    text = str(error).strip()
    telling = isinstance(error, OSError | ValueError | RuntimeError | DatasetError)
    return text if text and telling else f"{type(error).__name__}: {text}".removesuffix(": ")


def show_refusal(self: KedroCliError, file: Any = None) -> None:
    """Print why a command is refused, by us or by Kedro, on standard error.

    Kedro's own way looks for the exception being handled: since 8.5.1 click shows an error when that is over.
    """
    say(wrapped(f"error: {self.format_message()}"), sys.stderr)
    if self.VERBOSE_ERROR:
        traceback.print_exception(self)


class RunRefusedError(KedroCliError):
    """A run that is refused: its log says so, too."""

    def show(self, file: Any = None) -> None:
        """Print the message on standard error."""
        LOG.error("%s", self.format_message())
        show_refusal(self)


class ConsoleHandler(logging.Handler):
    """Warnings of the project, and errors of what does not raise them, too (Kedro and py4j do); a line each."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line to standard error, above the bars."""
        source = record.name.partition(".")[0]
        needed = logging.WARNING if source == "contexture" else logging.ERROR
        raised = source == "kedro" or record.name == __name__ or "py4j" in Path(record.pathname).parts
        if record.levelno < needed or raised:
            return
        try:
            message = " ".join(record.getMessage().split())
            say(cut(f"{record.levelname.lower()}: {message}"), sys.stderr)
        except Exception:
            self.handleError(record)


class RunLog:
    """The handlers of one run on the root logger: the file that has everything, and the console."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        everything = logging.handlers.RotatingFileHandler(
            file, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8"
        )
        everything.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
        root = logging.getLogger()
        self.replaced = [handler for handler in root.handlers if handler.name in REPLACED]
        self.handlers: list[logging.Handler] = [everything, ConsoleHandler()]
        for handler in self.replaced:
            root.removeHandler(handler)
        for handler in self.handlers:
            root.addHandler(handler)

    def close(self) -> None:
        """Put back what was there before."""
        root = logging.getLogger()
        for handler in self.handlers:
            root.removeHandler(handler)
            handler.close()
        for handler in self.replaced:
            root.addHandler(handler)


class LiveLine:
    """A line at the foot of the terminal that is drawn anew until it is closed; nothing where there is no terminal."""

    def __init__(self, text: Callable[[], str], every: float = 0.5) -> None:
        """`text` says what stands in the line; it is called in a thread of its own, every `every` seconds."""
        self.text, self.every = text, every
        self.ended = threading.Event()
        self.thread: threading.Thread | None = None
        if sys.stderr.isatty():
            self.bar = tqdm(total=0, bar_format="{desc}", leave=False, file=sys.stderr)
            self.thread = threading.Thread(target=self._draw, name="console", daemon=True)
            self.thread.start()

    def _draw(self) -> None:
        encoding = sys.stderr.encoding or "utf-8"
        for sign in cycle(SPINNER):
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or WIDTH
            line = cut(f"{sign} {self.text()}", min(WIDTH, columns - 1))
            self.bar.set_description_str(line.encode(encoding, "replace").decode(encoding))
            if self.ended.wait(self.every):
                return

    def close(self) -> None:
        """Clear the line."""
        self.ended.set()
        if self.thread:
            self.thread.join()
            self.bar.close()
            self.thread = None


def spark_progress() -> str:
    """How many tasks of the stages that Spark works on are done, as `Spark: 12 of 200`; "" where it does nothing."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    context = context and context._active_spark_context
    if context is None:
        return ""
    try:
        tracker = context.statusTracker()
        found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    except Exception:  # Spark is being started, or stopped
        return ""
    stages = [stage for stage in found if stage is not None]
    if not stages:
        return ""
    done, tasks = (sum(counts) for counts in zip(*((s.numCompletedTasks, s.numTasks) for s in stages), strict=True))
    return f"Spark: {done} of {tasks}"


class Console:
    """Hooks that show a run. They stand last in `settings.HOOKS`: the last are the first of the first to be called, and
    the last of the last.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds."""
        self.clock = clock
        self.lock = threading.RLock()  # nodes may run in threads
        self.log: RunLog | None = None
        self.live: LiveLine | None = None
        self.known = Path(STAGES_FILE)
        self._start([])
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        logging.captureWarnings(True)
        KedroCliError.show = show_refusal  # type: ignore[method-assign]

    def _start(self, nodes: Iterable[Node]) -> None:
        self.began = self.clock()
        self.before: dict[str, float] = json.loads(self.known.read_text("utf-8")) if self.known.exists() else {}
        self.stages: dict[str, Stage] = {}
        for node in nodes:
            self.stages.setdefault(stage_of(node), Stage(stage_of(node))).nodes += 1
        self.running: dict[str, float] = {}  # node → when it began
        self.unsaved: dict[str, set[str]] = {}  # node → outputs that are not saved
        self.ended: set[str] = set()
        self.written = 0
        self.latest: Node | None = None
        self.failed: tuple[BaseException, str] | None = None

    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Open the log before anything else happens."""
        self._close()  # of a run that never began
        self.known = context.project_path / LOG_FILE.with_name(STAGES_FILE)
        self._start([])
        self.log = RunLog(context.project_path / LOG_FILE)
        command = click.get_current_context(silent=True)
        if command and command.info_name == "run":  # not for a script that runs a session of its own
            sys.excepthook = self._show_error
            atexit.register(self._close)
            self.live = LiveLine(self._now)  # MLflow and Spark need their time to start

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, pipeline: Pipeline) -> None:
        """Count the stages."""
        with self.lock:
            self._start(pipeline.nodes)
        self.live = self.live or LiveLine(self._now)

    @hook_impl(tryfirst=True)
    def before_dataset_loaded(self, node: Node) -> None:
        """A node begins with its inputs."""
        self._begin(node)

    @hook_impl(tryfirst=True)
    def before_node_run(self, node: Node) -> None:
        """Or, without inputs, with its work."""
        self._begin(node)

    @hook_impl(trylast=True)
    def after_node_run(self, node: Node) -> None:
        """A node without outputs is done."""
        if not node.outputs:
            self._end(node)

    @hook_impl(trylast=True)
    def after_dataset_saved(self, dataset_name: str, node: Node) -> None:
        """Any other is done when its last output is saved: Spark works on a table when it is saved."""
        unsaved = self.unsaved.get(node.name, set())
        unsaved.discard(dataset_name)
        if not unsaved:
            self._end(node)

    @hook_impl(trylast=True)
    def after_pipeline_run(self) -> None:
        """One last line, and the log is closed."""
        for stage in self.stages.values():
            if 0 < stage.done < stage.nodes:  # the runner left nodes out, as with --only-missing-outputs
                self._write(stage)
        self._close()
        took = {stage.label: stage.seconds for stage in self.stages.values() if stage.done == stage.nodes}
        with whole_file(self.known) as file:
            file.write(json.dumps(self.before | took, indent=1).encode())
        count = f"{self.written} stage{'s' * (self.written != 1)}"
        say(f"{count} in {duration(self.clock() - self.began)}, log: {LOG_FILE}", sys.stdout)

    @hook_impl
    def on_node_error(self, error: Exception, node: Node) -> None:
        """Remember where it failed."""
        self.failed = error, f"node {node.name}: "

    @hook_impl(trylast=True)
    def on_pipeline_error(self, error: Exception) -> None:
        """Keep the traceback; the interpreter, or whoever runs the session, gets the error."""
        if not (self.failed and self.failed[0] is error):  # it came while an input was loaded or an output saved
            nodes = ", ".join(self.running)
            self.failed = error, f"node {nodes}: " if nodes else ""
        LOG.error("%sfailed", self.failed[1], exc_info=error)
        self._close()

    def _begin(self, node: Node) -> None:
        with self.lock:
            if node.name in self.running or node.name in self.ended:
                return
            self.running[node.name] = self.clock()
            self.unsaved[node.name] = set(node.outputs)
            self.latest = node

    def _end(self, node: Node) -> None:
        with self.lock:
            stage = self.stages.get(stage_of(node))
            if stage is None or node.name not in self.running:
                return  # in a process of its own, which knows no run
            stage.seconds += self.clock() - self.running.pop(node.name)
            self.ended.add(node.name)
            stage.done += 1
            if stage.done == stage.nodes:
                self._write(stage)

    def _place(self, number: int) -> str:
        count = str(len(self.stages))
        return f"[{number:>{len(count)}}/{count}]"

    def _write(self, stage: Stage) -> None:
        self.written += 1
        widest = min(max(len(label) for label in self.stages), LONGEST_LABEL)
        line = f"{self._place(self.written)} {cut(stage.label, LONGEST_LABEL):<{widest}} {duration(stage.seconds):>8}"
        line += f"   total {duration(self.clock() - self.began):>7}"
        line += f"   {stage.done} nodes" if stage.done > 1 else ""
        say(line + self._left(), sys.stdout)

    def _left(self) -> str:
        """About how long the rest takes, where all of it was done before."""
        rest = [stage for stage in self.stages.values() if stage.done < stage.nodes]
        if not rest or not all(stage.label in self.before for stage in rest):
            return ""
        return f"   about {duration(sum(max(0.0, self.before[one.label] - one.seconds) for one in rest))} left"

    def _now(self) -> str:
        with self.lock:
            stage = self.stages.get(stage_of(self.latest)) if self.latest else None
            if stage is None or self.latest is None:
                return f"starting   {duration(self.clock() - self.began)}"
            seconds = stage.seconds + self.clock() - self.running.get(self.latest.name, self.clock())
            parts = [f"{self._place(self.written + 1)} {stage.label}", duration(seconds)]
            which = f"{min(stage.done + 1, stage.nodes)} of {stage.nodes}: " if stage.nodes > 1 else ""
            parts.append(which + self.latest.short_name)
        return "   ".join(filter(None, [*parts, spark_progress()]))

    def _close(self) -> None:
        if self.live:
            self.live.close()
            self.live = None
        if self.log:
            self.log.close()
            self.log = None

    def _show_error(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """What `sys.excepthook` does for `kedro run`: the message, and where the traceback is."""
        if not isinstance(error, Exception):
            sys.__excepthook__(kind, error, trace)
            return
        where = ""
        if self.failed and self.failed[0] is error:
            where = self.failed[1]
        else:  # before the pipeline ran
            LOG.error("failed", exc_info=error)
            self._close()
        say(wrapped(f"error: {where}{described(error)} (traceback: {LOG_FILE})"), sys.stderr)
