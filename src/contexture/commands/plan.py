"""Plan `contexture adapt` and run the plan with Kedro."""

import json
import math
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import find_sources
from contexture.corpus.sources.protocol import SourceFile
from contexture.encoders.named import PUBLISHED_FILES, first_error_line, is_hub_reachable, is_model_path
from contexture.folders import find_upwards
from contexture.imports import resolve
from contexture.messages import errors_at, find_closest
from contexture.packages import ENCODER_PACKAGES, encoder_path, list_installed_encoders
from contexture.tasks.registry import TASKS

ENVIRONMENT, SYSTEM = "adapt", "adapt"
#: The new encoder besides the static one.
TRANSFORMER = "transformer"
# Seconds on two cores (docs/own-text.md): in total, per MB of plain text, and per MB of compressed text.
_START_SECONDS, _SECONDS_PER_MB, _SECONDS_PER_COMPRESSED_MB = 60.0, 3.5, 7.5
#: Seconds to search for one question of the user.
_SECONDS_PER_QUESTION = 3.0e-3
#: Passages that a published encoder of six layers embeds per second, and bytes per passage.
_TEXTS_PER_SECOND, _PASSAGE_BYTES = 60.0, 500.0
#: With fewer documents, the held-out tenth is too small for reliable scores.
_MIN_DOCUMENTS = 50
#: Minimal training time of a Transformer.
_MIN_TRAINING_SECONDS = 30.0
#: ISO 639 code with optional country or script.
_LANG_PATTERN = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]+)*")
_LEARNING_RATES = {"published": 2.0e-5, TRANSFORMER: 5.0e-4}


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

    @property
    def command(self) -> list[str]:
        """Arguments of `kedro`."""
        params = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return ["run", "--env", ENVIRONMENT, "--pipelines", SYSTEM, "--params", params]

    def describe(self, minutes: float) -> str:
        """Return the plan as text."""
        kinds = Counter((file.source, file.lang) for file in self.files)
        size = sum(file.bytes for file in self.files) / 1e6
        text = ", ".join(
            f"{count:,} {'file' if count == 1 else 'files'} of {source.replace('_', ' ')} ({lang})"
            for (source, lang), count in sorted(kinds.items())
        )
        layers = f" and a second encoder for {format_duration(self.training_seconds)}" if self.training_seconds else ""
        few = ""
        if are_documents(self.files) and len(self.files) < _MIN_DOCUMENTS:
            few = "          few documents for an evaluation: add your own questions (--questions)\n"
        return (
            f"Text      {text}; {size:,.1f} MB\n"
            f"{few}{self.questions}"
            f"Training  pairs from the text; a static encoder{layers}\n"
            "Results   scores on questions from held-out documents; a search index; a report with a recommendation\n"
            f"Time      about {format_duration(self.seconds)}, of {minutes:g} minutes\n"
            f"{self.proposal}"
            f"Command   kedro {shlex.join(self.command)}\n"
        )


def make_plan(text: str, minutes: float, encoder: str | None, questions: Path | None, lang: str | None) -> Plan:
    """Plan a run on a text.

    The parameters are the options of the command. Raise ValueError for unusable text, a missing model, or too little
    time.
    """
    if lang is not None and not _LANG_PATTERN.fullmatch(lang):
        raise ValueError(f"--lang {lang}: not a language code such as en or de; omit it to detect the language")
    path = str(Path(text).expanduser().absolute())
    parameters = {"corpus.input": quote_parameter(path)} | ({"corpus.lang": quote_parameter(lang)} if lang else {})
    files = find_sources(CorpusConfig(input=path, lang=lang or "auto"))
    seconds, lines = sum(map(estimate_reading_seconds, files)) + _START_SECONDS, ""
    if questions is not None:
        spec = next(spec for spec in TASKS.values() if spec.question_checker)
        with errors_at("--questions"):
            count, notes = resolve(spec.question_checker)(questions.expanduser(), files)
        parameters[f"{spec.name}.input"] = quote_parameter(str(questions.expanduser().absolute()))
        seconds += count * _SECONDS_PER_QUESTION
        lines = f"Questions {count:,} of your own\n"
        lines += "".join(f"          {note}\n" for note in notes)
    if encoder is None:
        check_time(seconds, minutes)
        return Plan(files, parameters, seconds, 0.0, lines, propose_encoder(files, seconds))
    name = TRANSFORMER if encoder == TRANSFORMER else "published"
    if name == "published":
        with errors_at("--encoder", suggest_encoder(encoder)):
            folder = find_published_encoder(encoder)
        seconds += estimate_embedding_seconds(files)
        parameters["vocabulary.published"] = parameters[f"{SYSTEM}.encoders.published.init_from"] = quote_parameter(
            folder
        )
        parameters[f"{SYSTEM}.encoders.published.pooling"] = read_pooling(folder)
    check_time(seconds + _MIN_TRAINING_SECONDS, minutes)
    training = 60 * minutes - seconds
    runs = f"{SYSTEM}.pretrain.runs"
    parameters |= {
        f"{runs}.{name}.encoder": name,
        f"{runs}.{name}.schedule": "[{weights: {in_batch_negatives: 1}}]",
        f"{runs}.{name}.learning_rate": str(_LEARNING_RATES[name]),
        f"{runs}.{name}_none.encoder": name,
        f"{runs}.{name}_none.schedule": "[]",
        f"{SYSTEM}.pretrain.budget.unit": "seconds",
        f"{SYSTEM}.pretrain.budget.amount": f"{training:.0f}",
    }
    return Plan(files, parameters, 60 * minutes, training, lines)


def propose_encoder(files: Sequence[SourceFile], seconds: float) -> str:
    """Return lines that propose an installed published encoder for an English text, "" if there is none."""
    installed = list_installed_encoders()
    if not installed or any(file.lang.partition("-")[0] != "en" for file in files):
        return ""
    minutes = math.ceil((seconds + estimate_embedding_seconds(files) + _MIN_TRAINING_SECONDS) / 60)
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


def quote_parameter(text: str) -> str:
    """Quote a parameter value for `kedro run`, which splits at commas and parses YAML."""
    try:
        plain = "," not in text and yaml.safe_load(text) == text
    except yaml.YAMLError:
        plain = False
    # Texts such as "no" and "a #b" are not plain strings in YAML.
    return text if plain else json.dumps(text, ensure_ascii=False)


def estimate_reading_seconds(file: SourceFile) -> float:
    """Estimate the seconds to turn a file into passages."""
    compressed = file.path.endswith((".bz2", ".gz", ".xz"))
    return file.bytes / 1e6 * (_SECONDS_PER_COMPRESSED_MB if compressed else _SECONDS_PER_MB)


def estimate_embedding_seconds(files: Sequence[SourceFile]) -> float:
    """Estimate the seconds to embed a text by a published encoder before training, after it, and for the index."""
    return 3 * sum(file.bytes for file in files) / _PASSAGE_BYTES / _TEXTS_PER_SECOND


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
    folder = Path(encoder_path(name)).expanduser()
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
    """Run Kedro in the project folder and return its exit status."""
    project = find_upwards(Path("conf") / ENVIRONMENT).parent.parent
    if not (project / "conf" / ENVIRONMENT).is_dir():
        raise ValueError(f"there is no conf/{ENVIRONMENT} here or above: change to the project folder")
    return subprocess.run([sys.executable, "-m", "kedro", *planned.command], cwd=project, check=False).returncode
