"""`--params` of `kedro run`."""

from pathlib import Path
from typing import Any

import click
import pytest
from kedro.framework.cli.cli import KedroCLI

from contexture.cli import cli, run

PROJECT = Path(__file__).resolve().parents[1]


def parse(value: str) -> Any:
    return run.make_context("run", ["--params", value]).params["params"]


@pytest.mark.parametrize(
    ("value", "parameters"),
    [
        ("", {}),
        ("mspp.seeds=3, corpus.input=dumps/*.bz2,", {"mspp": {"seeds": 3}, "corpus": {"input": "dumps/*.bz2"}}),
        (
            "cross_thought.select=[ct_1_64,mlm_64],cross_thought.seeds=3",
            {"cross_thought": {"select": ["ct_1_64", "mlm_64"], "seeds": 3}},
        ),
        ("shares=[[1, 80], [2]]", {"shares": [[1, 80], [2]]}),
        (
            "include={mspp: [mspp_ie, joint_ie], cmlm: null}",
            {"include": {"mspp": ["mspp_ie", "joint_ie"], "cmlm": None}},
        ),
        ("league.include=null", {"league": {"include": None}}),
        # Brackets and quotes inside of a value, and commas in quotes.
        ("input=notes [1].txt,lang=it's,n=2", {"input": "notes [1].txt", "lang": "it's", "n": 2}),
        ('input="a,b [.txt",n=2', {"input": "a,b [.txt", "n": 2}),
    ],
)
def test_parameters_of_the_command_line(value: str, parameters: dict[str, Any]) -> None:
    assert parse(value) == parameters


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("mspp.seeds", "'mspp.seeds' is not KEY=VALUE"),
        ("mspp.seeds=3,=4", "'=4' is not KEY=VALUE"),
        ("select=[a,seeds=2", r"'select=\[a,seeds=2': close its brackets and quotes"),
    ],
)
def test_parameters_that_cannot_be_parsed(value: str, message: str) -> None:
    with pytest.raises(click.BadParameter, match=message):
        parse(value)


def test_parameters_of_a_file_are_not_parsed(tmp_path: Path) -> None:
    file = tmp_path / "run.yml"
    file.write_text("run:\n  params:\n    mspp: {select: [mlm, mspp_ie]}\n")
    assert run.make_context("run", ["--config", str(file)]).params["params"] == {"mspp": {"select": ["mlm", "mspp_ie"]}}


def test_kedro_finds_the_command() -> None:
    assert KedroCLI(PROJECT).project_groups[0] is cli and cli.commands["run"] is run
