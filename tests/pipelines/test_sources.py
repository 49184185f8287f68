"""The node that finds and checks the files of a run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from contexture import pipeline_registry
from contexture.config import Parameters
from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import find_sources
from contexture.corpus.sources.protocol import SourceFile
from contexture.demo.config import DemoConfig
from contexture.pipelines.sources import nodes
from contexture.pipelines.sources.nodes import check_inputs, locate_sources, make_demo_world
from contexture.tasks.answer_selection.config import AnswersConfig
from contexture.tasks.fact_verification.config import VerificationConfig
from contexture.tasks.pairs.config import PairsConfig
from contexture.tasks.ranking.config import RankingConfig, RankingSet
from contexture.tasks.retrieval.config import RetrievalConfig
from contexture.tasks.sentences.config import SentenceTasksConfig
from tests.environments import checked


@pytest.fixture(scope="module")
def base() -> Parameters:
    return replace(checked("base"), demo=DemoConfig(pages=25, seed=1, novels=2))


def locate(base: Parameters, corpus: dict[str, Any], demo_dir: Path) -> list[SourceFile]:
    make_demo_world(base.demo, demo_dir)
    manifest = locate_sources(CorpusConfig(**corpus), base.demo, demo_dir)
    return TypeAdapter(list[SourceFile]).validate_python(json.loads(json.dumps(manifest))["corpus"])


def test_the_demo_together_with_the_users_text(base: Parameters, tmp_path: Path) -> None:
    book = tmp_path / "boats.txt"
    book.write_text("The boats lie in the harbour.")
    files = locate(base, {"input": ["demo", {"path": str(book), "lang": "en"}]}, tmp_path / "demo")
    assert [(file.source, file.lang) for file in files] == [*[("books", "en")] * 3, ("mediawiki", "en")]
    assert [Path(file.path).parent == tmp_path / "demo/books" for file in files] == [False, True, True, False]
    assert files[3].site is not None
    assert files[3].site.namespaces["talk"] == 1
    assert locate(base, {"input": "demo", "source": "books"}, tmp_path / "demo") == files[1:]


def test_a_world_of_several_languages_is_read_without_its_encyclopedia(base: Parameters, tmp_path: Path) -> None:
    several = replace(base, demo=replace(base.demo, languages=2))
    files = locate(several, {"input": "demo"}, tmp_path)
    assert [(file.source, file.lang) for file in files] == [
        ("books", lang) for lang in ("en", "qaa", "qab") for _ in "ab"
    ]
    folders = [tmp_path / "books", *(tmp_path / "languages/books" / code for code in ("qaa", "qab"))]
    assert [Path(file.path).parent for file in files] == [folder for folder in folders for _ in "ab"]


@pytest.mark.parametrize(
    ("reader", "pipeline"),
    [
        ("corpus", "corpus"), ("answer_selection", "mspp"), ("retrieval", "two_tower"), ("sentences", "quick_thoughts"),
        ("analogies", "quick_thoughts"), (None, "league"),
    ],
)  # fmt: skip
def test_the_made_up_world_is_written_if_it_is_an_input(
    reader: str | None, pipeline: str, base: Parameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    def source(name: str) -> str:
        return "demo" if name == reader else "own"

    parameters = replace(
        base,
        corpus=CorpusConfig(input=source("corpus"), lang="en"),
        sources=base.sources
        | {
            "answer_selection": AnswersConfig(input="demo" if reader == "answer_selection" else {"own": "own"}),
            "pairs": PairsConfig(input={"snli": "own"}),
            "ranking": RankingConfig(input={"own": RankingSet("squad", "own")}),
            "retrieval": RetrievalConfig(input=source("retrieval")),
            "fact_verification": VerificationConfig(input={"train": "own", "dev": "own"}),
            "sentences": SentenceTasksConfig(
                input=source("sentences"), analogies="demo" if reader == "analogies" else None
            ),
        },
    )
    monkeypatch.setattr(pipeline_registry.RUN_PARAMETERS, "_parameters", parameters)
    writing = {
        name
        for name, registered in pipeline_registry.register_pipelines().items()
        if any(node.short_name == "make_demo_world" for node in registered.nodes)
    }
    assert (pipeline in writing) == (reader is not None)
    assert ("corpus" in writing) == (reader == "corpus")  # for any tasks


def test_files_that_were_checked_before_a_run_are_not_listed_again(
    base: Parameters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    for name in ("boats", "gulls"):
        (folder / f"{name}.txt").write_text("The boats lie in the harbour.")
    listed: list[CorpusConfig] = []
    monkeypatch.setattr(nodes, "find_sources", lambda config: listed.append(config) or find_sources(config))
    corpus = {"input": str(folder), "lang": "en"}
    check_inputs(CorpusConfig(**corpus), False, {})
    files = locate(base, corpus, tmp_path / "demo")
    assert len(listed) == 1 and [file.name for file in files] == ["boats", "gulls"]
    (folder / "boats.txt").unlink()
    assert locate(base, corpus, tmp_path / "demo") == files[1:]
    check_inputs(CorpusConfig(**corpus), False, {})
    assert len(locate(base, corpus | {"input": ["demo", str(folder)]}, tmp_path / "demo")) == 4


def test_a_missing_file_is_an_error(base: Parameters, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"harbour: no such file or folder"):
        locate(base, {"input": str(tmp_path / "harbour")}, tmp_path / "demo")
