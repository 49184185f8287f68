"""`contexture search` and `contexture embed`: what they give, and how they end where something is wrong."""

import io
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from contexture.command import main
from contexture.encoders.models import load_model
from tests.tasks.retrieval.test_passage_search import PASSAGES, toy_index
from tests.tasks.sentences.sentence_toys import KNOWN, word_average


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_index(tmp_path_factory.mktemp("index"))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["search", *arguments])
    return capsys.readouterr().out


@pytest.mark.parametrize("kind", [(), ("--approximate", "ivf"), ("--approximate", "hnsw")])
def test_the_right_passage_is_printed_first(
    kind: tuple[str, ...], index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(capsys, "what cross the strait?", "--index", str(index), "-k", "2", *kind).splitlines()
    assert out[0].startswith("1. Ferries  (") and out[0].endswith(", 1#0)")
    assert out[1] == f"   {PASSAGES['Ferries']}"
    assert out[2].startswith("2. ")
    scores = [float(line.split("(")[1].split(",")[0]) for line in (out[0], out[2])]
    assert scores[0] > scores[1]
    assert len(out) == 4


def test_the_index_of_the_project_is_the_default(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"data/06_models/search is no search index: make one with kedro"):
        printed(capsys, "gulls")
    (tmp_path / "data/06_models").mkdir(parents=True)
    (tmp_path / "data/06_models/search").symlink_to(index)
    assert printed(capsys, "gulls").startswith("1. Gulls")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("", "--index", "{index}"), "the query is empty"), (("gulls", "--index", "{index}/towers"), "no search index")],
)
def test_what_cannot_be_searched_ends_with_a_line(arguments: tuple[str, ...], said: str, index: Path) -> None:
    with pytest.raises(SystemExit, match=f"^contexture search: .*{said}"):
        main(["search", *(argument.format(index=index) for argument in arguments)])


@pytest.mark.parametrize("arguments", [("gulls", "-k", "0"), ("gulls", "--approximate", "pq"), ()])
def test_wrong_arguments_are_told(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["search", *arguments])
    assert ended.value.code == 2
    assert "usage: contexture" in capsys.readouterr().err


def test_texts_become_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = word_average(tmp_path / "words")
    texts = ["a good whale", "", "who ferry"]
    (tmp_path / "texts.txt").write_text("a good whale\r\n\nwho ferry\n")
    main(["embed", str(tmp_path / "texts.txt"), "--model", str(words), "--output", str(tmp_path / "v.npy")])
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), load_model(words).embed(texts))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    options = ["--model", str(words), "--role", "query", "--output", str(tmp_path / "none")]
    main(["embed", "-", *options])
    assert np.load(tmp_path / "none").shape == (0, len(KNOWN))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("t", "--model", "m", "--output", "no/v.npy"), "no/v.npy: there is no such folder to write to"),
        (("t", "--model", "m", "--output", "v.npy"), "No such file or directory: 't'"),
        (("here", "--model", "./m", "--output", "v.npy"), "./m: there is no such folder"),
    ],
)
def test_what_cannot_be_embedded_ends_with_a_line(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_text("a text")
    with pytest.raises(SystemExit, match=f"^contexture embed: .*{said}"):
        main(["embed", *arguments])
    assert not (tmp_path / "v.npy").exists()


def test_it_is_a_command_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"contexture": "contexture.command:main"}


@pytest.mark.slow
def test_in_a_process_of_its_own(index: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "contexture.command", "search", "oil lamps", "-k", "1", "--index"]
    done = subprocess.run([*command, str(index)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1. Lamps")
    done = subprocess.run([*command, "nowhere"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("contexture search: nowhere is no search index: make one with kedro run ")
    assert not list(tmp_path.iterdir())
