"""The node that finds and checks what a run reads."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kedro.config import OmegaConfigLoader
from pydantic import TypeAdapter

from contexture import pipeline_registry
from contexture.config import Parameters, check_parameters
from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import find_sources
from contexture.corpus.sources.protocol import SourceFile
from contexture.demo.config import DemoConfig
from contexture.pipelines.sources import nodes
from contexture.pipelines.sources.nodes import check_inputs, locate_sources, make_demo_world
from contexture.settings import CONFIG_LOADER_ARGS
from contexture.tasks.answer_selection.config import AnswersConfig
from contexture.tasks.fact_verification.config import VerificationConfig
from contexture.tasks.pairs.config import PairsConfig
from contexture.tasks.ranking.config import RankingConfig, RankingSet
from contexture.tasks.retrieval.config import RetrievalConfig
from contexture.tasks.sentences.config import SentenceTasksConfig
from tests.pipelines.conftest import PROJECT


@pytest.fixture(scope="module")
def base() -> Parameters:
    arguments: dict[str, Any] = CONFIG_LOADER_ARGS
    loader = OmegaConfigLoader(str(PROJECT / "conf"), env="base", **arguments)
    return replace(
        check_parameters(loader["parameters"], [PROJECT / "conf/base"], {}),
        demo=DemoConfig(pages=25, seed=1, novels=2),
    )


def locate(base: Parameters, corpus: dict[str, Any], place: Path) -> list[SourceFile]:
    make_demo_world(base.demo, place)
    manifest = locate_sources(CorpusConfig(**corpus), base.demo, place)
    return TypeAdapter(list[SourceFile]).validate_python(json.loads(json.dumps(manifest))["corpus"])


def test_the_demo_beside_text_of_ones_own(base: Parameters, tmp_path: Path) -> None:
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
    ("asked", "pipeline"),
    [
        ("corpus", "corpus"), ("answer_selection", "mspp"), ("retrieval", "two_tower"), ("sentences", "quick_thoughts"),
        ("analogies", "quick_thoughts"), (None, "league"),
    ],
)  # fmt: skip
def test_the_made_up_world_is_written_where_anything_asks_for_it(
    asked: str | None, pipeline: str, base: Parameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    def given(name: str) -> str:
        return "demo" if name == asked else "own"

    parameters = replace(
        base,
        corpus=CorpusConfig(input=given("corpus"), lang="en"),
        sources=base.sources
        | {
            "answer_selection": AnswersConfig(input="demo" if asked == "answer_selection" else {"own": "own"}),
            "pairs": PairsConfig(input={"snli": "own"}),
            "ranking": RankingConfig(input={"own": RankingSet("squad", "own")}),
            "retrieval": RetrievalConfig(input=given("retrieval")),
            "fact_verification": VerificationConfig(input={"train": "own", "dev": "own"}),
            "sentences": SentenceTasksConfig(
                input=given("sentences"), analogies="demo" if asked == "analogies" else None
            ),
        },
    )
    monkeypatch.setattr(pipeline_registry.RUN_PARAMETERS, "_parameters", parameters)
    found = pipeline_registry.register_pipelines()
    making = {name for name, made in found.items() if "make_demo_world" in {one.short_name for one in made.nodes}}
    assert (pipeline in making) == (asked is not None)
    assert ("corpus" in making) == (asked == "corpus")  # whatever the tasks are, text of one's own needs no other


def test_what_was_checked_before_a_run_is_not_read_again(
    base: Parameters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    for name in ("boats", "gulls"):
        (folder / f"{name}.txt").write_text("The boats lie in the harbour.")
    looked: list[CorpusConfig] = []
    monkeypatch.setattr(nodes, "find_sources", lambda config: looked.append(config) or find_sources(config))
    own = {"input": str(folder), "lang": "en"}
    check_inputs(CorpusConfig(**own), False, {})
    files = locate(base, own, tmp_path / "demo")
    assert len(looked) == 1 and [file.name for file in files] == ["boats", "gulls"]
    (folder / "boats.txt").unlink()
    assert locate(base, own, tmp_path / "demo") == files[1:]
    check_inputs(CorpusConfig(**own), False, {})
    assert len(locate(base, own | {"input": ["demo", str(folder)]}, tmp_path / "demo")) == 4


def test_a_fault_is_told_before_any_work(base: Parameters, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"harbour: no such file or folder"):
        locate(base, {"input": str(tmp_path / "harbour")}, tmp_path / "demo")
