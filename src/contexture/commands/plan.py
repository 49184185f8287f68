"""What `contexture adapt` does with a text: the plan, and `kedro run --env own_text` by it."""

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import yaml
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import find_sources
from contexture.corpus.sources.protocol import SourceFile
from contexture.encoders.named import PUBLISHED, first_line, hub_answers, is_path
from contexture.folders import find_upwards
from contexture.packages import encoder_path
from contexture.tasks.held_out.questions import names_of, read_questions, told_unknown

ENVIRONMENT, SYSTEM = "own_text", "own_text"
#: The encoder of new weights that may stand beside the static one.
TRANSFORMER = "transformer"
# Seconds on two cores, as docs/own-text.md has them: what any text takes, a MB of plain text, and of compressed text.
_START, _PER_MB, _PER_COMPRESSED_MB = 60.0, 3.5, 7.5
#: Seconds that the searches of a question of the user's own take.
_PER_QUESTION = 3.0e-3
#: Texts of a passage's length that a published encoder of six layers embeds a second, and the bytes of a passage.
_EMBEDDED, _PASSAGE = 60.0, 500.0
#: With fewer documents, a tenth of them are too few for figures to rely on.
_FEW = 50
#: Seconds of training with which an encoder of layers learns anything.
_LEAST = 30.0
#: A code of ISO 639, and perhaps a country or script.
_LANG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]+)*")
_RATES = {"published": 2.0e-5, TRANSFORMER: 5.0e-4}


@dataclass(frozen=True)
class Plan:
    """What will be done.

    `training` are the seconds that an encoder of layers learns for; 0 where there is none but the static one. `asked`
    says what there is of the user's own questions.
    """

    files: Sequence[SourceFile]
    parameters: dict[str, str]
    seconds: float
    training: float
    asked: str = ""

    @property
    def command(self) -> list[str]:
        """The arguments of `kedro`."""
        params = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return ["run", "--env", ENVIRONMENT, "--pipelines", SYSTEM, "--params", params]

    def told(self, minutes: float) -> str:
        """The plan in a few lines."""
        kinds = Counter((file.source, file.lang) for file in self.files)
        size = sum(file.bytes for file in self.files) / 1e6
        text = ", ".join(
            f"{count:,} {'file' if count == 1 else 'files'} of {source.replace('_', ' ')} ({lang})"
            for (source, lang), count in sorted(kinds.items())
        )
        layers = f", and one of layers for {duration(self.training)}" if self.training else ""
        few = ""
        if single_documents(self.files) and len(self.files) < _FEW:
            few = "          that is little to measure with: questions of your own (--questions) will say more\n"
        return (
            f"Text      {text}; {size:,.1f} MB\n"
            f"{few}{self.asked}"
            f"Then      pairs that the text gives away; a static encoder{layers}\n"
            "          questions made of documents that are held out; an index; a page that says what to take\n"
            f"Takes     about {duration(self.seconds)}, of {minutes:g} minutes\n"
            f"By        kedro {shlex.join(self.command)}\n"
        )


def plan(text: str, minutes: float, encoder: str | None, questions: Path | None, lang: str | None) -> Plan:
    """Look at the text and what is asked for.

    Args:
        text: a file, a folder or a glob.
        minutes: that it may take.
        encoder: "transformer", the name or folder of a published one, or None.
        questions: a file of questions, see `read_questions`.
        lang: the language, where it is not to be found.

    Raises:
        ValueError: text that cannot be used, a model that is not there, or more work than time; with the way out.
    """
    if lang is not None and not _LANG.fullmatch(lang):
        raise ValueError(f"--lang {lang}: that is no code of a language, such as en or de; without it, it is found")
    place = str(Path(text).expanduser().absolute())
    parameters = {"corpus.input": quoted(place)} | ({"corpus.lang": quoted(lang)} if lang else {})
    files = find_sources(CorpusConfig(input=place, lang=lang or "auto"))
    seconds, asked = sum(map(reading, files)) + _START, ""
    if questions is not None:
        count, asked = own_questions(questions.expanduser(), files)
        parameters["held_out.input"] = quoted(str(questions.expanduser().absolute()))
        seconds += count * _PER_QUESTION
    if encoder is None:
        check_time(seconds, minutes)
        return Plan(files, parameters, seconds, 0.0, asked)
    name = TRANSFORMER if encoder == TRANSFORMER else "published"
    if name == "published":
        folder = published(encoder)
        seconds += 3 * sum(file.bytes for file in files) / _PASSAGE / _EMBEDDED  # before, after, and for the index
        told = quoted(folder)
        parameters |= {"vocabulary.published": told, f"{SYSTEM}.encoders.published.init_from": told}
        parameters |= {f"{SYSTEM}.encoders.published.pooling": pooling(folder)}
    check_time(seconds + _LEAST, minutes)
    training = 60 * minutes - seconds
    runs = f"{SYSTEM}.pretrain.runs"
    parameters |= {
        f"{runs}.{name}.encoder": name,
        f"{runs}.{name}.schedule": "[{weights: {in_batch_negatives: 1}}]",
        f"{runs}.{name}.learning_rate": str(_RATES[name]),
        f"{runs}.{name}_none.encoder": name,
        f"{runs}.{name}_none.schedule": "[]",
        f"{SYSTEM}.pretrain.budget.unit": "seconds",
        f"{SYSTEM}.pretrain.budget.amount": f"{training:.0f}",
    }
    return Plan(files, parameters, 60 * minutes, training, asked)


def single_documents(files: Sequence[SourceFile]) -> bool:
    """Whether each file is one document; the documents in others are known once they are read."""
    return all(file.source in ("books", "documentation") for file in files)


def own_questions(place: Path, files: Sequence[SourceFile]) -> tuple[int, str]:
    """The number of questions in a file, and what is said of them: which answers are not there, where that is known.

    Raises ValueError for a file that cannot be read, or none of whose answers is there.
    """
    asked = read_questions(place)
    count, answers = asked["question"].nunique(), set(asked["answer"])
    line = f"Asked     {count:,} {'question' if count == 1 else 'questions'} of your own"
    if not single_documents(files):
        return count, f"{line}\n"
    names = {name for file in files for name in names_of(f"{file.lang}:{file.name}", file.title)}
    unknown = {answer for answer in answers if answer not in names and answer.rpartition("#")[0] not in names}
    if not unknown:
        return count, f"{line}\n"
    near = get_close_matches(min(unknown), [file.name for file in files], 1, 0.0)[0]
    told = f"{told_unknown(unknown, str(place))}; the nearest name is {near!r}"
    if unknown == answers:
        raise ValueError(told)
    return count, f"{line}\n          {told}\n"


def quoted(text: str) -> str:
    """A text as the value of a parameter of `kedro run`, which reads YAML and divides at commas."""
    try:
        plain = "," not in text and yaml.safe_load(text) == text
    except yaml.YAMLError:
        plain = False
    # "no" is Norwegian, and " #" no comment.
    return text if plain else json.dumps(text, ensure_ascii=False)


def reading(file: SourceFile) -> float:
    """Seconds that a file takes from text to passages."""
    compressed = file.path.endswith((".bz2", ".gz", ".xz"))
    return file.bytes / 1e6 * (_PER_COMPRESSED_MB if compressed else _PER_MB)


def check_time(seconds: float, minutes: float) -> None:
    """Raise ValueError where there is less time than this work takes."""
    if seconds > 60 * minutes:
        raise ValueError(
            f"this takes about {duration(seconds)} on two cores, and {minutes:g} minutes are given: "
            f"--minutes {seconds / 60 + 0.5:.0f}, or less text"
        )


def published(name: str) -> str:
    """The folder of a published encoder, by its own path or a package that carries it; else a name on the hub.

    Raises ValueError for a folder that is not there or has no model, for a package that is not installed, and for a
    name that neither the hub nor what was downloaded from it has.
    """
    folder = Path(encoder_path(name)).expanduser()
    if not folder.exists() and is_path(name):
        raise ValueError(f"{name}: there is no such folder, and no model is named so")
    if folder.is_dir():
        if not any((folder / file).exists() for file in PUBLISHED):
            raise ValueError(f"{folder}: this folder holds no published model")
        return str(folder.absolute())
    try:
        file_of(name, "config.json")
    except (HfHubHTTPError, EntryNotFoundError) as error:
        raise ValueError(f"{name}: the Hugging Face hub gives no such model ({first_line(error)})") from error
    return name


def file_of(model: str, file: str) -> Path:
    """Where a file of a published model lies: in its folder, or downloaded from the hub."""
    if Path(model).is_dir():
        return Path(model) / file
    return Path(hf_hub_download(model, file, local_files_only=not hub_answers(model)))


def pooling(model: str) -> str:
    """What stands for a text to a model of sentence-transformers: "cls", or "mean", also where nothing tells."""
    try:
        told = json.loads(file_of(model, "1_Pooling/config.json").read_text(encoding="utf-8"))
    except (EntryNotFoundError, FileNotFoundError):
        return "mean"
    return "cls" if told.get("pooling_mode_cls_token") else "mean"


def duration(seconds: float) -> str:
    """Seconds in words."""
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"


def run(planned: Plan) -> int:
    """Do it, in the folder of the project; the exit status of `kedro run`."""
    project = find_upwards(Path("conf") / ENVIRONMENT).parent.parent
    if not (project / "conf" / ENVIRONMENT).is_dir():
        raise ValueError(f"there is no conf/{ENVIRONMENT} here or above: go to the folder of the project")
    return subprocess.run([sys.executable, "-m", "kedro", *planned.command], cwd=project, check=False).returncode
