"""Inputs in commands: folders of a machine are left out when a command is saved, and put back to repeat it."""

import shlex
from pathlib import Path

import pytest

from contexture.reporting.run_commands import find_inputs, hide_folders


def command(parameters: str) -> str:
    """Return a command with parameters, as runs record them."""
    return shlex.join(["kedro", "run", "--env", "e", "--params", parameters])


@pytest.mark.parametrize(
    ("parameters", "saved"),
    [
        ("corpus.input=~/a/b.bz2", "corpus.input=DATA/a/b.bz2"),
        ("corpus.input=/home/me/b.bz2,x.seeds=3", "corpus.input=DATA/b.bz2,x.seeds=3"),
        ("corpus.input=/home/me", "corpus.input=DATA"),
        ("corpus.input=file:///home/me/a/b/c.bz2", "corpus.input=DATA/b/c.bz2"),
        ("corpus.input=/srv/texts/en/*.txt", "corpus.input=DATA/en/*.txt"),
        ("corpus.input=data/01_raw/b,x.k1=1.5,x.select=[a]", "corpus.input=data/01_raw/b,x.k1=1.5,x.select=[a]"),
        ('input=[/a/b.bz2, "/c/d e, f/g"],x=no', 'input=["DATA/a/b.bz2", "DATA/d e, f/g"],x=no'),
        ('input=[{"path": "/a/b/c", "lang": "en"}]', 'input=[{"path": "DATA/b/c", "lang": "en"}]'),
        ('input="/home/me/a/b, c=d/e",y=/a/b/c', 'input="DATA/b, c=d/e",y=DATA/b/c'),
        ("input=[/home/me/a/x.txt, /a/b/y=1.txt]", 'input=["DATA/a/x.txt", "DATA/b/y=1.txt"]'),
        ("x: no value,y=/a/b", "x: no value,y=DATA/a/b"),
    ],
)
def test_saved_commands_have_no_folders_of_the_machine(parameters: str, saved: str) -> None:
    assert hide_folders(command(parameters)) == command(saved)


def test_parameters_may_follow_an_equals_sign() -> None:
    assert hide_folders("kedro run --params=x.input=/home/me/a/b") == "kedro run --params=x.input=DATA/a/b"


@pytest.mark.parametrize("text", ["cd /home/me && kedro run", "kedro run --params 'x=1"])
def test_several_commands_and_open_quotes_fail(text: str) -> None:
    with pytest.raises(ValueError, match=r"give one command|No closing quotation"):
        hide_folders(text)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with two sets `snli`, a text, and a hidden copy of it."""
    for name in ("a/snli/dev.txt", "b/snli/dev.txt", "texts/wiki.bz2", ".copies/wiki.bz2", "squad/dev.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_inputs_are_found_by_the_end_of_their_path(data: Path) -> None:
    saved = command('corpus.input=["DATA/texts/wiki.bz2"],pairs.input.snli=DATA/b/snli,x.select=["squad"]')
    full = find_inputs(saved, [data])
    assert full == saved.replace("DATA/", f"{data}/")
    assert hide_folders(full) == saved
    assert find_inputs(command("input=DATA/texts/*.bz2"), [data]) == command(f"input={data}/texts/*.bz2")


def test_older_commands_have_names_of_files_below_input(data: Path) -> None:
    saved = command(
        "corpus.input=wiki.bz2,corpus.lang=en,pairs.input.snli=snli,retrieval.input=demo,"
        "ranking.input.squad.format=squad,ranking.input.squad.files.test=dev.json,ranking.input.squad.pool=50"
    )
    expected = saved.replace("wiki.bz2", f"{data}/texts/wiki.bz2").replace("dev.json", f"{data}/squad/dev.json")
    expected = expected.replace("snli=snli", f"snli={data}/a/snli")
    # A path itself is preferred to what is below other folders.
    assert find_inputs(saved, [data, data / "a/snli"]) == expected


def test_all_missing_and_ambiguous_inputs_are_named(data: Path) -> None:
    saved = command("corpus.input=wiki.xz,pairs.input.snli=snli")
    with pytest.raises(ValueError, match=r"^snli is ambiguous: .*/a/snli, .*/b/snli; wiki.xz is missing\."):
        find_inputs(saved, [data])
    with pytest.raises(ValueError, match=r"^there is no .*/c$"):
        find_inputs(saved, [data / "c"])


def test_commands_without_inputs_need_no_folder() -> None:
    assert find_inputs("kedro run --pipelines demo", []) == "kedro run --pipelines demo"
