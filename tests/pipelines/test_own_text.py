"""Checks of the corpus's files before a run, and the name and counts of its text."""

from pathlib import Path
from typing import Any

import pytest

from contexture.config_errors import ConfigurationError
from contexture.corpus.config import CorpusConfig, CorpusInput
from contexture.pipelines.hooks.announce import corpus_line
from contexture.pipelines.sources.nodes import check_inputs, describe_corpus, get_text_name
from contexture.training.corpus_info import CorpusInfo
from tests.pipelines.conftest import MakeProject, read, run


def manifest(*inputs: str) -> dict[str, Any]:
    return {"inputs": list(inputs), "corpus": []}


def test_the_users_corpus_is_replaced_on_request_only(tmp_path: Path) -> None:
    own_file = str(tmp_path / "own.txt")
    Path(own_file).write_text("The boats came in.\n\nNobody spoke of it for a long time.\n")
    corpus, several = (
        CorpusConfig(input=own_file, lang="en"),
        CorpusConfig(input=[own_file, CorpusInput("demo")], lang="en"),
    )
    check_inputs(corpus, False, manifest(own_file))
    check_inputs(corpus, False, manifest("demo"))
    check_inputs(corpus, False, {})
    check_inputs(corpus, True, manifest("other.xml"))
    with pytest.raises(ConfigurationError) as raised:
        check_inputs(corpus, False, manifest("other.xml"))
    assert f"of other.xml; this run would replace it by one of {own_file}. " in str(raised.value)
    assert "--params corpus.input=other.xml, or" in str(raised.value)
    assert str(raised.value).endswith(f"--params corpus.input={own_file},corpus.lang=en")
    with pytest.raises(ConfigurationError, match=r"--params corpus\.input=a,corpus\.lang=de,corpus\.source=books, or"):
        check_inputs(corpus, False, manifest("a") | {"lang": "de", "source": "books"})
    with pytest.raises(ConfigurationError, match=r"own\.txt, the made-up world\..*corpus\.input=…, all"):
        check_inputs(several, False, manifest("other.xml"))


@pytest.mark.slow
def test_the_users_corpus_comes_without_the_made_up_world(make_project: MakeProject) -> None:
    project = make_project()
    (project / "own.txt").write_text("The boats came in.\n\nNobody spoke of it for a long time.\n")
    params = {"corpus": {"input": str(project / "own.txt"), "lang": "en"}}
    run(project, params, pipeline_names=["corpus"], tags=["sources"])
    assert [file.name for file in (project / "data/01_raw").iterdir()] == ["sources.json"]
    run(project, params | {"demo": {"pages": 25, "novels": 2}}, pipeline_names=["two_tower"], tags=["tasks"])
    assert read(project, "03_primary/tasks/retrieval/task.json")["name"] == "demo"


def test_files_are_checked_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("The boats came in.\n")
    with pytest.raises(ConfigurationError, match=r"corpus\.input: .*Name its code, .*corpus\.lang"):
        check_inputs(CorpusConfig(input=str(tmp_path / "own.txt")), True, {})
    check_inputs(CorpusConfig(), False, {})  # the run writes the made-up world
    for sets_input in (False, True):
        with pytest.raises(ConfigurationError, match="none: no such file"):
            check_inputs(CorpusConfig(input=["demo", str(tmp_path / "none")]), sets_input, {})


def test_names_of_texts() -> None:
    assert get_text_name(manifest("demo")) == "the demo's made-up world"
    assert get_text_name({"corpus": []}) == "unknown text"  # of an older version
    inputs = ("dumps/enwiki.xml", "books", "demo")
    assert get_text_name(manifest(*inputs)) == "enwiki.xml, books, the demo's made-up world"


def test_the_corpus_of_a_model_card() -> None:
    languages = {code: {"paragraphs_out": count} for code, count in {"und": 9, "de": 1, "fr": 0, "en": 3}.items()}
    assert describe_corpus(manifest("demo"), languages) == CorpusInfo(
        "the demo's made-up world", ["en", "de"], "Apache-2.0"
    )
    corpus = describe_corpus(manifest("books") | {"license": "MIT"}, {})
    assert corpus == CorpusInfo("books", [], "MIT")
    assert describe_corpus(manifest("books", "demo"), {}).license == ""


def test_a_run_ends_with_counts_of_the_text() -> None:
    card = Path("data/08_reporting/corpus/card.html")
    counts = {"paragraphs_out": 924, "paragraphs_found": 7357, "links_out": 0, "paragraphs_dropped": {}}
    dropped = counts | {"paragraphs_dropped": {"too_short": 3, "list_item": 5674}}
    linked = counts | {"links_out": 412, "links_resolved": 0}
    for written, part in (
        (dropped, " (5,674 dropped as list item)"),
        (counts, ""),
        (linked, ", 0 of 412 links lead to a page"),
    ):
        assert corpus_line(written, card).strip() == f"924 of 7,357 paragraphs kept{part}: {card}"
