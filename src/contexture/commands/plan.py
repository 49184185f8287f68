"""Plan `contexture adapt` and run the plan with Kedro."""

import hashlib
import json
import math
import os
import re
import shlex
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

from contexture import __version__
from contexture.commands.workspaces import ENVIRONMENT, SYSTEM, TASK, Workspace, absolute_path, find_project, run_kedro
from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import find_sources
from contexture.corpus.sources.protocol import SourceFile
from contexture.encoders.named import PUBLISHED_FILES, first_error_line, is_hub_reachable, is_model_path
from contexture.folders import expand_home
from contexture.imports import resolve
from contexture.messages import errors_at, find_closest
from contexture.packages import ENCODER_PACKAGES, encoder_path, list_installed_encoders
from contexture.paths import data_dir
from contexture.run_parameters import quote_parameter
from contexture.tasks.registry import TASKS
from contexture.training.rest import EXPECTED_END_VARIABLE, STARTED_VARIABLE

#: The first node that depends on the user's questions. Later nodes need neither Spark nor training.
QUESTIONS_NODE = f"text.read_{TASK}"
#: The new encoder besides the static one.
TRANSFORMER = "transformer"
#: Median seconds of the work in `measure_slowness` on the machine of the estimates below.
_REFERENCE_SECONDS = 0.05
# Seconds on two cores: in total, per MB of plain text, and per MB of compressed text.
_START_SECONDS, _SECONDS_PER_MB, _SECONDS_PER_COMPRESSED_MB = 40.0, 3.5, 7.5
#: Seconds of a run that only evaluates again.
_EVALUATION_SECONDS = 25.0
#: Seconds to search for one question of the user.
_SECONDS_PER_QUESTION = 3.0e-3
#: Passages that a published encoder of six layers embeds per second, and bytes per passage.
_TEXTS_PER_SECOND, _PASSAGE_BYTES = 60.0, 500.0
#: Times that a published encoder embeds the text: before training, after it, and for the index.
_NUM_EMBEDDINGS = 3
#: With fewer documents, the held-out tenth is too small for reliable scores.
_MIN_DOCUMENTS = 50
#: Minimal training time of a Transformer.
_MIN_TRAINING_SECONDS = 30.0
#: ISO 639 code with optional country or script.
_LANG_PATTERN = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]+)*")
_LEARNING_RATES = {"published": 2.0e-5, TRANSFORMER: 5.0e-4}
#: Part of `describe_inputs` → why the last run is not used as it is, if it differs.
_CHANGES = {
    "text": "the text has changed",
    "options": "the options differ",
    "configuration": "conf/ has changed",
    "version": "another version of Contexture",
}


@dataclass(frozen=True)
class Plan:
    """The parameters of a run on a text, and its estimated time."""

    files: Sequence[SourceFile]
    parameters: dict[str, str]
    seconds: float
    #: Seconds of training of the second encoder; 0 without one.
    training_seconds: float
    #: Lines about the user's questions.
    questions: str = ""
    #: Lines about options that would give a better search.
    proposal: str = ""
    #: Folder of all files; None: `data/`.
    workspace: Workspace | None = None
    #: All that the stages before the questions depend on (`describe_inputs`).
    inputs: Mapping[str, Any] = field(default_factory=dict)
    #: Whether the text and encoders of the last run are used.
    reuses_encoders: bool = False

    @property
    def command(self) -> list[str]:
        """Arguments of `kedro`."""
        workspace = {"workspace": quote_parameter(self.workspace.name)} if self.workspace else {}
        params = ",".join(f"{key}={value}" for key, value in (workspace | self.parameters).items())
        nodes = ["--from-nodes", QUESTIONS_NODE] if self.reuses_encoders else []
        return ["run", "--env", ENVIRONMENT, "--pipelines", SYSTEM, *nodes, "--params", params]

    def describe(self, minutes: float) -> str:
        """Return the plan as text."""
        kinds = Counter((file.source, file.lang) for file in self.files)
        size = sum(file.bytes for file in self.files) / 1e6
        text = ", ".join(
            f"{count:,} {'file' if count == 1 else 'files'} of {source.replace('_', ' ')} ({lang})"
            for (source, lang), count in sorted(kinds.items())
        )
        training = "none: the encoders of the last run are used"
        if not self.reuses_encoders:
            training = "pairs from the text; a static encoder"
            if self.training_seconds:
                training += f" and a second encoder for {format_duration(self.training_seconds)}"
        few = ""
        if are_documents(self.files) and len(self.files) < _MIN_DOCUMENTS:
            few = "          few documents for an evaluation: add your own questions (--questions)\n"
        return (
            f"Text      {text}; {size:,.1f} MB\n"
            f"{self._describe_workspace()}"
            f"{few}{self.questions}"
            f"Training  {training}\n"
            "Results   scores on questions from held-out documents; a search index; a report with a recommendation\n"
            f"Time      about {format_duration(self.seconds)}, of {minutes:g} minutes\n"
            f"{self.proposal}"
            f"Command   kedro {shlex.join(self.command)}\n"
        )

    def _describe_workspace(self) -> str:
        """Return the line about the workspace: its folder, and what is used of its last run."""
        if self.workspace is None:
            return ""
        state = "new"
        if self.reuses_encoders:
            state = "its text and encoders are used; only what depends on the questions is made again"
        elif build := self.workspace.read_build():
            inputs = build["inputs"]
            changes = [change for part, change in _CHANGES.items() if inputs[part] != self.inputs[part]]
            state = f"what differs is made again: {', '.join(changes)}"
        elif self.workspace.text is not None:
            state = "its last run was not finished; finished trainings are used"
        return f"Workspace {data_dir(self.workspace.name)}: {state}\n"


def make_plan(
    text: str,
    minutes: float,
    encoder: str | None,
    questions: Path | None,
    lang: str | None,
    workspace: Workspace | None = None,
) -> Plan:
    """Plan a run on a text.

    The parameters are the options of the command. Without a workspace, the files of the run are in `data/`. If the last
    finished run of the workspace differs in its questions only, the plan uses its text and encoders.

    Raises ValueError for unusable text, a missing model, or too little time.
    """
    if lang is not None and not _LANG_PATTERN.fullmatch(lang):
        raise ValueError(f"--lang {lang}: not a language code such as en or de; omit it to detect the language")
    path = absolute_path(text)
    with errors_at("FOLDER_OR_DUMP"):
        files = find_sources(CorpusConfig(input=path, lang=lang or "auto"))
    question_parameters, question_seconds, lines = plan_questions(questions, files)
    slowness = measure_slowness()
    question_seconds *= slowness
    parameters = {"corpus.input": quote_parameter(path)} | ({"corpus.lang": quote_parameter(lang)} if lang else {})
    source, embedding_seconds = encoder, 0.0
    if encoder not in (None, TRANSFORMER):
        with errors_at("--encoder", suggest_encoder(str(encoder))):
            source = find_published_encoder(str(encoder))
        embedding_seconds = slowness * estimate_embedding_seconds(files)
    seconds = slowness * (sum(map(estimate_reading_seconds, files)) + _START_SECONDS)
    seconds += question_seconds + embedding_seconds
    proposal = "" if encoder else propose_encoder(files, seconds + slowness * estimate_embedding_seconds(files))
    inputs: dict[str, Any] = {}
    if workspace is not None:
        options = {"lang": lang, "encoder": source, "minutes": minutes if encoder else None}
        inputs = describe_inputs(workspace.project, files, options)
        build = workspace.read_build()
        if build is not None and build["inputs"] == inputs:
            seconds = slowness * _EVALUATION_SECONDS + question_seconds + embedding_seconds / _NUM_EMBEDDINGS
            check_time(seconds, minutes)
            parameters = build["parameters"] | question_parameters
            return Plan(files, parameters, seconds, 0.0, lines, proposal, workspace, inputs, reuses_encoders=True)
    parameters |= question_parameters
    if source is None:
        check_time(seconds, minutes)
        return Plan(files, parameters, seconds, 0.0, lines, proposal, workspace, inputs)
    check_time(seconds + _MIN_TRAINING_SECONDS, minutes)
    training_seconds = 60 * minutes - seconds
    parameters |= set_encoder(source, minutes)
    return Plan(files, parameters, 60 * minutes, training_seconds, lines, "", workspace, inputs)


def plan_questions(questions: Path | None, files: Sequence[SourceFile]) -> tuple[dict[str, str], float, str]:
    """Return the parameters of the user's questions, the seconds to search for them, and lines about them."""
    if questions is None:
        return {}, 0.0, ""
    checker = TASKS[TASK].question_checker
    assert checker is not None  # `spec.py` of the task
    with errors_at("--questions"):
        number, notes = resolve(checker)(expand_home(questions), files)
    lines = f"Questions {number:,} of your own\n" + "".join(f"          {note}\n" for note in notes)
    parameters = {f"{TASK}.input": quote_parameter(str(expand_home(questions).absolute()))}
    return parameters, number * _SECONDS_PER_QUESTION, lines


def set_encoder(source: str, minutes: float) -> dict[str, str]:
    """Return the parameters that train a second encoder: `TRANSFORMER`, or a published one by folder or name.

    It trains as long as the rest of a run of `minutes` allows, which the run measures.
    """
    name = TRANSFORMER if source == TRANSFORMER else "published"
    runs, parameters = f"{SYSTEM}.pretrain.runs", {}
    if name == "published":
        parameters = dict.fromkeys(
            ("vocabulary.published", f"{SYSTEM}.encoders.published.init_from"), quote_parameter(source)
        )
        parameters[f"{SYSTEM}.encoders.published.pooling"] = read_pooling(source)
    return parameters | {
        f"{runs}.{name}.encoder": name,
        f"{runs}.{name}.schedule": "[{weights: {in_batch_negatives: 1}}]",
        f"{runs}.{name}.learning_rate": str(_LEARNING_RATES[name]),
        f"{runs}.{name}_none.encoder": name,
        f"{runs}.{name}_none.schedule": "[]",
        f"{SYSTEM}.pretrain.budget.unit": "minutes",
        f"{SYSTEM}.pretrain.budget.amount": f"{minutes:g}",
    }


def describe_inputs(project: Path, files: Iterable[SourceFile], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the stages before the questions depend on, as JSON values.

    The text counts by paths, sizes and modification times; so does the folder of a published encoder.
    """
    folder = Path(options["encoder"] or "")
    encoder_files = sorted(folder.rglob("*")) if folder.is_absolute() else []
    configuration = hashlib.sha256()
    for environment in ("base", ENVIRONMENT):
        for file in sorted((project / "conf" / environment).rglob("parameters/**/*.yml")):
            configuration.update(file.read_bytes())
    return {
        "version": __version__,
        "text": _hash_stats(Path(file.path) for file in files),
        "options": {**options, "encoder_files": _hash_stats(encoder_files)},
        "configuration": configuration.hexdigest(),
    }


def _hash_stats(files: Iterable[Path]) -> str:
    """Return the SHA-256 of the paths, sizes and modification times of files."""
    digest = hashlib.sha256()
    for file in files:
        stat = file.stat()
        digest.update(f"{file}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def propose_encoder(files: Sequence[SourceFile], seconds: float) -> str:
    """Return lines that propose an installed published encoder for an English text, "" if there is none.

    `seconds` is the estimate of a run with it, without training.
    """
    installed = list_installed_encoders()
    if not installed or any(file.lang.partition("-")[0] != "en" for file in files):
        return ""
    minutes = math.ceil((seconds + _MIN_TRAINING_SECONDS) / 60)
    return (
        f"Proposal  add --encoder {installed[0]} and --minutes {minutes} or more: fused with BM25, it was better than\n"
        "          BM25 on each English text that was measured (docs/results/search-choice.md)\n"
    )


def suggest_encoder(name: str) -> str:
    """Return a question about the closest name that `--encoder` knows, or ""."""
    closest = find_closest(name, (TRANSFORMER, *ENCODER_PACKAGES))
    return f"; did you mean {closest!r}?" if closest not in (None, name) else ""


def are_documents(files: Sequence[SourceFile]) -> bool:
    """Return whether each file is one document."""
    return all(file.source in ("books", "documentation") for file in files)


def estimate_reading_seconds(file: SourceFile) -> float:
    """Estimate the seconds to turn a file into passages."""
    compressed = file.path.endswith((".bz2", ".gz", ".xz"))
    return file.bytes / 1e6 * (_SECONDS_PER_COMPRESSED_MB if compressed else _SECONDS_PER_MB)


def estimate_embedding_seconds(files: Sequence[SourceFile]) -> float:
    """Estimate the seconds to embed a text by a published encoder, before and after training and for the index."""
    return _NUM_EMBEDDINGS * sum(file.bytes for file in files) / _PASSAGE_BYTES / _TEXTS_PER_SECOND


def measure_slowness() -> float:
    """Return how many times slower this machine is, at present, than that of the estimates: the median of five."""
    durations = []
    for _ in range(5):
        started = time.perf_counter()
        Counter(re.findall(r"[0-9]+", " ".join(map(str, range(120_000)))))
        durations.append(time.perf_counter() - started)
    return statistics.median(durations) / _REFERENCE_SECONDS


def check_time(seconds: float, minutes: float) -> None:
    """Raise ValueError if the estimate exceeds the limit."""
    if seconds > 60 * minutes:
        raise ValueError(
            f"this takes about {format_duration(seconds)} on two cores, more than --minutes {minutes:g}: "
            f"use --minutes {seconds / 60 + 0.5:.0f} or less text"
        )


def find_published_encoder(name: str) -> str:
    """Return the folder of a published encoder, given by path or package, or its name on the Hugging Face hub.

    Raise ValueError for a missing folder, a folder without a model, a package that is not installed, or a name that
    neither the hub nor its cache has.
    """
    folder = expand_home(encoder_path(name))
    if not folder.exists() and is_model_path(name):
        raise ValueError(f"{name}: there is no such folder or model")
    if folder.is_dir():
        if not any((folder / file).exists() for file in PUBLISHED_FILES):
            raise ValueError(f"{folder}: this folder has no published model")
        return str(folder.absolute())
    try:
        get_model_file(name, "config.json")
    except (HfHubHTTPError, EntryNotFoundError) as error:
        raise ValueError(f"{name}: no such model on the Hugging Face hub ({first_error_line(error)})") from error
    return name


def get_model_file(model: str, file: str) -> Path:
    """Return the path of a file of a published model, downloaded if needed."""
    if Path(model).is_dir():
        return Path(model) / file
    return Path(hf_hub_download(model, file, local_files_only=not is_hub_reachable(model)))


def read_pooling(model: str) -> str:
    """Return the pooling of a sentence-transformers model: "cls" or "mean" (default)."""
    try:
        config = json.loads(get_model_file(model, "1_Pooling/config.json").read_text(encoding="utf-8"))
    except (EntryNotFoundError, FileNotFoundError):
        return "mean"
    return "cls" if config.get("pooling_mode_cls_token") else "mean"


def format_duration(seconds: float) -> str:
    """Return a duration in words."""
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"


def run_plan(planned: Plan) -> int:
    """Run Kedro in the project folder and return its exit status.

    After a finished run, the workspace says what it was made from, so that the next run can use its encoders.
    """
    project = planned.workspace.project if planned.workspace else find_project()
    now = time.time()
    environment = os.environ | {STARTED_VARIABLE: str(now), EXPECTED_END_VARIABLE: str(now + planned.seconds)}
    status = run_kedro(project, planned.command, environment)
    if planned.workspace is not None and not status:
        parameters = {key: value for key, value in planned.parameters.items() if key != f"{TASK}.input"}
        planned.workspace.write_build({"inputs": planned.inputs, "parameters": parameters})
    return status
