"""What is asked of the corpus's files before a run, and what is said of the text behind it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contexture.config import ConfigurationError
from contexture.corpus.config import CorpusConfig, CorpusInput
from contexture.pipelines.hooks.announce import corpus_line
from contexture.pipelines.sources.nodes import check_inputs, name_of_text
from tests.pipelines.conftest import read, run


def made_of(*inputs: str) -> dict[str, Any]:
    return {"inputs": list(inputs), "corpus": []}


def test_a_corpus_of_ones_own_is_replaced_only_by_one_that_is_named(tmp_path: Path) -> None:
    own = str(tmp_path / "own.txt")
    Path(own).write_text("The boats came in.\n\nNobody spoke of it for a long time.\n")
    corpus, several = CorpusConfig(input=own, lang="en"), CorpusConfig(input=[own, CorpusInput("demo")], lang="en")
    check_inputs(corpus, False, made_of(own))
    check_inputs(corpus, False, made_of("demo"))
    check_inputs(corpus, False, {})
    check_inputs(corpus, True, made_of("other.xml"))
    with pytest.raises(ConfigurationError) as raised:
        check_inputs(corpus, False, made_of("other.xml"))
    assert f"of other.xml; this run would put one of {own} in" in str(raised.value)
    assert "--params corpus.input=other.xml, or" in str(raised.value)
    assert str(raised.value).endswith(f"--params corpus.input={own},corpus.lang=en")
    with pytest.raises(ConfigurationError, match=r"--params corpus\.input=a,corpus\.lang=de,corpus\.source=books, or"):
        check_inputs(corpus, False, made_of("a") | {"lang": "de", "source": "books"})
    with pytest.raises(ConfigurationError, match=r"own\.txt, the made-up world in its place.*corpus\.input=…, all"):
        check_inputs(several, False, made_of("other.xml"))


def test_a_corpus_of_ones_own_comes_without_the_made_up_world(make_project: Callable[[], Path]) -> None:
    project = make_project()
    (project / "own.txt").write_text("The boats came in.\n\nNobody spoke of it for a long time.\n")
    params = {"corpus": {"input": str(project / "own.txt"), "lang": "en"}}
    run(project, params, pipeline_names=["corpus"], tags=["sources"])
    assert [file.name for file in (project / "data/01_raw").iterdir()] == ["sources.json"]
    run(project, params | {"demo": {"pages": 25, "novels": 2}}, pipeline_names=["two_tower"], tags=["tasks"])
    assert read(project, "03_primary/tasks/retrieval/task.json")["name"] == "demo"


def test_files_without_a_language_are_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("The boats came in.\n")
    with pytest.raises(ConfigurationError, match=r"Set corpus\.lang"):
        check_inputs(CorpusConfig(input=str(tmp_path / "own.txt")), True, {})


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    check_inputs(CorpusConfig(), False, {})  # the made-up world is about to be written
    for told in (False, True):
        with pytest.raises(ConfigurationError, match="none: no such file"):
            check_inputs(CorpusConfig(input=["demo", str(tmp_path / "none")]), told, {})


def test_a_text_is_called_after_what_was_asked_for() -> None:
    assert name_of_text(made_of("demo")) == "the demo's made-up world"
    assert name_of_text({"corpus": []}) == "unknown text"  # of an older version
    assert name_of_text(made_of("dumps/enwiki.xml", "books", "demo")) == "enwiki.xml, books, the demo's made-up world"


def test_a_run_ends_with_what_became_of_the_text() -> None:
    counts = {"paragraphs_out": 924, "paragraphs_found": 7357}
    told = corpus_line(counts | {"paragraphs_dropped": {"too_short": 3, "list_item": 5674}})
    assert told.split() == (
        [
            "924",
            "of",
            "7,357",
            "paragraphs",
            "kept",
            "(5,674",
            "dropped",
            "as",
            "list",
            "item):",
            "data/08_reporting/corpus/card.html",
        ]
    )
    assert "(" not in corpus_line(counts | {"paragraphs_dropped": {}})
