"""What README.md, docs/ and notebooks/ show is run as it stands, in the project, with what `make demo` left in data/.

Commands that train for minutes are checked alone: that their pipelines, tags, nodes, parameters and runs are there.
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
from kedro.config import OmegaConfigLoader
from kedro.framework.project import configure_project, pipelines

from contexture.cli import run as kedro_run
from contexture.commands.main import build_parser
from contexture.config import ConfigurationError
from contexture.corpus.config import CorpusConfig
from contexture.pipelines.hooks.arguments import check_asked
from contexture.pipelines.hooks.console import QUIET
from contexture.settings import CONFIG_LOADER_ARGS, RUN_PARAMETERS
from tests.corpus.make import read_all

PROJECT = Path(__file__).resolve().parents[1]
DATA = PROJECT / "data"
#: What stands for something of the reader's, and what the demo has of its kind.
STANDS_FOR = {
    "MODEL": "data/06_models/quick_thoughts/pretrained/bow/seed-0",
    "SentEval/data/downstream": "data/01_raw/demo/senteval --counts any",
    "--tasks …": "--tasks data/01_raw/demo/senteval --counts any",
}
#: Commands that are not run: they install, serve until they are stopped, or start a cluster.
LEFT_OUT = {"pip", "mlflow", "curl", "export"}


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks() -> Iterator[Block]:
    """Those of all pages, in Python and for the shell."""
    for page in [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for found in re.finditer(r"^ *```(\w+)\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE):
            line = text.count("\n", 0, found.start()) + 1
            yield Block(page.relative_to(PROJECT).as_posix(), line, found[1], textwrap.dedent(found[2]))


def commands(block: Block) -> list[str]:
    """The lines of a block for the shell, those that go on put together, comments left out."""
    lines = block.code.replace("\\\n", " ").splitlines()
    found = [re.sub(r"(^|\s)#.*", "", line).strip() for line in lines]
    return [line for line in found if line]


def code_of(notebook: Path) -> str:
    """All its cells of code."""
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
RUN = [one for one in COMMANDS if ".venv/bin/contexture" in str(one.values[0])]
CHECKED = [one for one in COMMANDS if one not in RUN]

after_demo = pytest.mark.skipif(not (DATA / "06_models/search").is_dir(), reason="`make demo` was not run")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that reads as the project after the demo, in which examples leave what they write."""
    (tmp_path / "data").symlink_to(DATA)
    shutil.copy(PROJECT / "mlflow.db", tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/bin").symlink_to(Path(sys.executable).parent)
    (tmp_path / "questions.txt").write_text("how is salt traded\nwho built the harbour\n")
    write_own_files(tmp_path)
    return tmp_path


def write_own_files(folder: Path) -> None:
    """A database, a table and mail, which examples make into text."""
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
    plain.set_content("Der Hafen ist für zwei Tage zu.\n\nFrom here on nobody knows.\n", charset="latin-1", cte="8bit")
    answer.set_content("It opens on Monday.\n\n> Der Hafen ist für zwei Tage zu.\n")
    answer.add_attachment(b"%PDF", maintype="application", subtype="pdf")
    pages.set_content("<p>The harbour</p>", subtype="html")
    mail = mailbox.mbox(folder / "archive.mbox")
    for number, message in enumerate((plain, answer, pages)):
        message["Message-ID"], message["Subject"] = f"<{number}@harbour.test>", f"Häfen {number}"
        mail.add(message)
    mail.close()


def done_in(place: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command that has to succeed, where examples are run, as from a new shell."""
    kept = {name: value for name, value in os.environ.items() if name not in QUIET}  # Kedro's settings bring these
    environment = kept | {"MPLBACKEND": "agg", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, cwd=place, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
@after_demo
@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_runs(block: Block, place: Path) -> None:
    done_in(place, sys.executable, "-c", block.code)


def test_recipes_make_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_own_files(tmp_path)
    for block in PYTHON:
        if block.page == "docs/bring-your-own-corpus.md":
            subprocess.run([sys.executable, "-c", block.code], check=True)
    found = {row["doc_id"]: row for row in read_all(CorpusConfig(input=str(tmp_path), lang="en", min_characters=5))}
    texts = {name: [one["text"] for one in row["paragraphs"]] for name, row in found.items()}
    assert texts == {
        "en:note-1": ["The tide comes in at six.", "It goes out at noon."],
        "en:note-2": ["The boats are – alas – red."],
        "en:ticket-1": ["The ferry is late. Where does it lie?", "The harbour was closed, it lies outside."],
        "en:ticket-2": ["The lamp of the quay is out.", "A new lamp was put in."],
        "en:<0@harbour.test>": ["Der Hafen ist für zwei Tage zu.", "From here on nobody knows."],
        "en:<1@harbour.test>": ["It opens on Monday."],
        "en:<2@harbour.test>": [],
    }
    assert found["en:ticket-1"]["title"] == "The ferry, late"
    assert found["en:<0@harbour.test>"]["title"] == "Häfen 0"


@pytest.mark.slow
@after_demo
@pytest.mark.parametrize("command", RUN)
def test_commands_run(command: str, place: Path) -> None:
    for example, there in STANDS_FOR.items():
        command = command.replace(example, there)
    done = done_in(place, "bash", "-c", command)
    assert (done.stdout or ">" in command) and not done.stderr, done.stderr


@pytest.mark.slow
@after_demo
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
def test_notebooks_run(file: Path, place: Path) -> None:
    (place / "notebooks").mkdir()
    done_in(place / "notebooks", sys.executable, "-c", code_of(file))


@pytest.mark.slow
@pytest.mark.parametrize("command", CHECKED)
def test_what_commands_name_is_there(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
        assert words[0] in LEFT_OUT or "scontrol" in command, f"nobody checks {command}"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--pipelines two_towers", "no pipeline 'two_towers'"),
        ("--pipelines mspp --tags pretraining", "no tag 'pretraining'"),
        ("--from-nodes mspp.pretraining", "no node 'mspp.pretraining'"),
        ("--params mspp.seed=3", "mspp.seed: no such parameter"),
        ("--env papers", "no environment 'papers'"),
    ],
)
def test_what_is_not_there_is_found(given: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    with pytest.raises(ConfigurationError, match=said):
        check_kedro(given.split())


def check_kedro(words: list[str]) -> None:
    """Refuse what `kedro run` would refuse before it starts."""
    given = kedro_run.make_context("run", words).params
    arguments = CONFIG_LOADER_ARGS | {"env": given["env"], "runtime_params": given["params"]}
    RUN_PARAMETERS.check(OmegaConfigLoader(str(PROJECT / "conf"), **arguments))
    configure_project("contexture")
    assert pipelines
    check_asked(given)


def check_training(words: list[str]) -> None:
    """The same of `contexture train`, whose run or variant has to be one of the system's."""
    given = build_parser().parse_args(words)
    RUN_PARAMETERS.check(OmegaConfigLoader(str(PROJECT / "conf"), **CONFIG_LOADER_ARGS))
    system = RUN_PARAMETERS.get().systems[given.config.parent.name]
    if given.training == "pretrain":
        assert given.run in system.pretrain.runs
    else:
        assert given.variant in system.all_variants and given.task in system.tasks


def test_examples_import_what_the_demo_installs() -> None:
    """Nothing that only development brings."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["workbench"]]
    installed = {re.split(r"[\[<>=]", one)[0].replace("-", "_") for one in wanted}
    code = [block.code for block in PYTHON]
    for file in (PROJECT / "notebooks").glob("*.ipynb"):
        code += [
            "".join(cell["source"]) for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"
        ]
    imported = set(re.findall(r"^(?:from|import) (\w+)", "\n".join(code), re.MULTILINE))
    assert "sentence_transformers" in imported
    assert imported <= installed | sys.stdlib_module_names | {"contexture"}
