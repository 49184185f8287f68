"""The node that finds and checks what a run reads."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from contexture.corpus.errors import SourceError
from contexture.corpus.sources.protocol import SourceFile
from contexture.demo.write import RETRIEVAL
from contexture.pipelines.sources.nodes import locate_sources, read_reqa

DEMO = {"pages": 25, "seed": 1}


def locate(corpus: dict[str, Any], place: Path) -> list[SourceFile]:
    manifest, _ = locate_sources(corpus, {"input": "demo"}, {"input": "demo"}, DEMO, place)
    return TypeAdapter(list[SourceFile]).validate_python(json.loads(json.dumps(manifest))["corpus"])


def test_the_demo_beside_text_of_ones_own(tmp_path: Path) -> None:
    book = tmp_path / "boats.txt"
    book.write_text("The boats lie in the harbour.")
    files = locate({"input": ["demo", {"path": str(book), "lang": "en"}]}, tmp_path / "demo")
    assert [(file.source, file.lang) for file in files] == [("books", "en"), ("mediawiki", "en")]
    assert files[1].site is not None
    assert files[1].site.namespaces["talk"] == 1
    assert locate({"input": "demo", "source": "books"}, tmp_path / "demo") == files[1:]


def test_a_fault_is_told_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"harbour: no such file or folder"):
        locate({"input": str(tmp_path / "harbour")}, tmp_path / "demo")


def test_questions_of_the_demo_of_a_file_and_of_a_folder(tmp_path: Path) -> None:
    sources, _ = locate_sources({"input": "demo"}, {"input": "demo"}, {"input": "demo"}, DEMO, tmp_path)
    questions, candidates, report = read_reqa({"input": "demo"}, sources, tmp_path)
    assert report["name"] == "demo"
    assert report["counts"]["queries"] == len(questions) > 0
    for given in (str(tmp_path / RETRIEVAL), [str(tmp_path / RETRIEVAL)], str(tmp_path)):
        again, others, report = read_reqa({"input": given}, sources, Path("elsewhere"))
        assert report["name"] == "squad"
        assert again.equals(questions) and others.equals(candidates)


def test_missing_questions_are_named_and_leave_the_run_alone(tmp_path: Path) -> None:
    questions, candidates, report = read_reqa({"input": str(tmp_path / "none.json")}, {}, tmp_path)
    assert questions.empty and candidates.empty
    assert "none.json" in report["missing"]
