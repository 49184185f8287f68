"""Examples of README.md, docs/ and notebooks/ run in the project after `make demo`.

Of commands that train for minutes, only pipelines, tags, nodes, parameters and runs are checked.
"""

import contextlib
import json
import mailbox
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import NamedTuple

import pytest
from kedro.framework.project import configure_project, pipelines

from contexture.cli import run as kedro_run
from contexture.commands.main import build_parser
from contexture.config_errors import ConfigurationError
from contexture.corpus.config import CorpusConfig
from contexture.pipelines.hooks.check import check_options
from contexture.pipelines.hooks.console import QUIET
from contexture.settings import RUN_PARAMETERS
from tests.corpus.make import read_all
from tests.environments import config_loader

PROJECT = Path(__file__).resolve().parents[1]
DATA = PROJECT / "data"
#: README.md and all pages that are not generated.
PAGES = [
    PROJECT / "README.md",
    *(
        page
        for page in sorted((PROJECT / "docs").rglob("*.md"))
        if page.relative_to(PROJECT / "docs").parts[0] not in ("_build", "reference")
    ),
]
#: Placeholder for the reader's files → files of the demo.
PLACEHOLDERS = {
    "MODEL": "data/06_models/quick_thoughts/pretrained/bow/seed-0",
    "SentEval/data/downstream": "data/01_raw/demo/senteval --counts any",
    "--tasks …": "--tasks data/01_raw/demo/senteval --counts any",
}
#: Commands that install, serve, or start a cluster.
SKIPPED_COMMANDS = {"pip", "mlflow", "curl", "export"}


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks() -> Iterator[Block]:
    """Yield the blocks of all pages."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"^ *```(\w+)\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE):
            line = text.count("\n", 0, match.start()) + 1
            yield Block(page.relative_to(PROJECT).as_posix(), line, match[1], textwrap.dedent(match[2]))


def commands(block: Block) -> list[str]:
    """Return the commands of a shell block, without comments and line breaks."""
    lines = block.code.replace("\\\n", " ").splitlines()
    return list(filter(None, (re.sub(r"(^|\s)#.*", "", line).strip() for line in lines)))


def notebook_code(notebook: Path) -> str:
    """Return all code cells."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


NOTEBOOKS = sorted((PROJECT / "notebooks").glob("*.ipynb"))
BLOCKS = list(blocks())
PYTHON = [block for block in BLOCKS if block.language == "python"]
COMMANDS = [
    pytest.param(command, id=f"{block} {command[:60]}")
    for block in BLOCKS
    if block.language == "sh"
    for command in commands(block)
]
RUN = [command for command in COMMANDS if ".venv/bin/contexture" in str(command.values[0])]
CHECKED = [command for command in COMMANDS if command not in RUN]

after_demo = pytest.mark.skipif(not (DATA / "06_models/search").is_dir(), reason="`make demo` was not run")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the data of the project after the demo, to which examples write."""
    (tmp_path / "data").symlink_to(DATA)
    (tmp_path / "conf").symlink_to(PROJECT / "conf")
    shutil.copy(PROJECT / "mlflow.db", tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/bin").symlink_to(Path(sys.executable).parent)
    (tmp_path / "questions.txt").write_text("how is salt traded\nwho built the harbour\n")
    write_own_files(tmp_path)
    return tmp_path


def write_own_files(folder: Path) -> None:
    """Write a database, a table and mail, which examples convert to text."""
    (folder / "tickets.csv").write_text(
        "\ufeffid,subject,description,resolution\n"
        '1,"The ferry, late","The ferry is late.\nWhere does it lie?","The harbour was closed, it lies outside."\n'
        "2,No lamp,The lamp of the quay is out.,A new lamp was put in.\n",
        encoding="utf-8",
    )
    with contextlib.closing(sqlite3.connect(folder / "notes.db")) as notes, notes:
        notes.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT)")
        row = ("Tides", "The tide comes in at six.\n\nIt goes out at noon.")
        notes.executemany("INSERT INTO notes (title, body) VALUES (?, ?)", [row, (None, "The boats are – alas – red.")])
    plain, answer, pages = EmailMessage(), EmailMessage(), EmailMessage()
    plain.set_content("Der Hafen ist für zwei Tage zu.\n\nFrom here on it is unknown.\n", charset="latin-1", cte="8bit")
    answer.set_content("It opens on Monday.\n\n> Der Hafen ist für zwei Tage zu.\n")
    answer.add_attachment(b"%PDF", maintype="application", subtype="pdf")
    pages.set_content("<p>The harbour</p>", subtype="html")
    mail = mailbox.mbox(folder / "archive.mbox")
    for number, message in enumerate((plain, answer, pages)):
        message["Message-ID"], message["Subject"] = f"<{number}@harbour.test>", f"Häfen {number}"
        mail.add(message)
    mail.close()


def run_in(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed, as from a new shell."""
    shell = {name: value for name, value in os.environ.items() if name not in QUIET}  # set by Kedro's settings
    environment = shell | {"MPLBACKEND": "agg", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
@after_demo
@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_runs(block: Block, project: Path) -> None:
    run_in(project, sys.executable, "-c", block.code)


def test_recipes_make_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_own_files(tmp_path)
    for block in PYTHON:
        if block.page == "docs/bring-your-own-corpus.md":
            subprocess.run([sys.executable, "-c", block.code], check=True)
    documents = {row["doc_id"]: row for row in read_all(CorpusConfig(input=str(tmp_path), lang="en", min_characters=5))}
    texts = {name: [paragraph["text"] for paragraph in row["paragraphs"]] for name, row in documents.items()}
    assert texts == {
        "en:note-1": ["The tide comes in at six.", "It goes out at noon."],
        "en:note-2": ["The boats are – alas – red."],
        "en:ticket-1": ["The ferry is late. Where does it lie?", "The harbour was closed, it lies outside."],
        "en:ticket-2": ["The lamp of the quay is out.", "A new lamp was put in."],
        "en:<0@harbour.test>": ["Der Hafen ist für zwei Tage zu.", "From here on it is unknown."],
        "en:<1@harbour.test>": ["It opens on Monday."],
        "en:<2@harbour.test>": [],
    }
    assert documents["en:ticket-1"]["title"] == "The ferry, late"
    assert documents["en:<0@harbour.test>"]["title"] == "Häfen 0"


@pytest.mark.slow
@after_demo
@pytest.mark.parametrize("command", RUN)
def test_commands_run(command: str, project: Path) -> None:
    for placeholder, replacement in PLACEHOLDERS.items():
        command = command.replace(placeholder, replacement)
    done = run_in(project, "bash", "-c", command)
    assert (done.stdout or ">" in command) and not done.stderr, done.stderr


@pytest.mark.slow
@after_demo
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
def test_notebooks_run(file: Path, project: Path) -> None:
    (project / "notebooks").mkdir()
    run_in(project / "notebooks", sys.executable, "-c", notebook_code(file))


@pytest.mark.slow
@pytest.mark.parametrize("command", CHECKED)
def test_names_in_commands_exist(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    words = shlex.split(command)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    elif words[0] == ".venv/bin/kedro":
        assert words[1] == "run"
        check_kedro(words[2:])
    elif words[:2] == ["contexture", "train"] or "contexture train" in command:
        check_training(words[words.index("train") :])
    elif words[0] == ".venv/bin/python":
        assert (PROJECT / words[1]).is_file()
    else:
        assert words[0] in SKIPPED_COMMANDS or "scontrol" in command, f"no test checks {command}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--pipelines two_towers", "--pipelines: unknown pipeline 'two_towers'; did you mean 'two_tower'"),
        ("--pipelines mspp --tags pretraining", "--tags: unknown tag 'pretraining'; did you mean 'pretrain'"),
        (
            "--from-nodes mspp.pretraining",
            "--from-nodes: unknown node 'mspp.pretraining'; did you mean 'mspp.pretrain'",
        ),
        ("--params mspp.seed=3", "mspp.seed: no such parameter; did you mean 'seeds'"),
        ("--env papers", "--env: unknown environment 'papers'; did you mean 'paper'"),
    ],
)
def test_unknown_names_are_errors(arguments: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    with pytest.raises(ConfigurationError, match=message):
        check_kedro(arguments.split())


def check_kedro(words: list[str]) -> None:
    """Check the arguments of `kedro run` as it does before it starts."""
    options = kedro_run.make_context("run", words).params
    RUN_PARAMETERS.check(config_loader(options["env"], options["params"]))
    configure_project("contexture")
    assert pipelines
    check_options(options)


def check_training(words: list[str]) -> None:
    """Check that the system has the run or variant of `contexture train`."""
    args = build_parser().parse_args(words)
    system = RUN_PARAMETERS.check(config_loader(None)).systems[args.config.parent.name]
    if args.training == "pretrain":
        assert args.run in system.pretrain.runs
    else:
        assert args.variant in system.all_variants and args.task in system.tasks


def test_examples_import_what_the_demo_installs() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = [*project["dependencies"], *project["optional-dependencies"]["workbench"]]
    installed = {re.split(r"[\[<>=]", name)[0].replace("-", "_") for name in required}
    code = [block.code for block in PYTHON] + [notebook_code(file) for file in NOTEBOOKS]
    imported = set(re.findall(r"^(?:from|import) (\w+)", "\n".join(code), re.MULTILINE))
    assert "sentence_transformers" in imported
    assert imported <= installed | sys.stdlib_module_names | {"contexture"}
