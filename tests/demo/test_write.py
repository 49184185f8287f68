"""Files of the demo world: formats, labels, determinism, memory, failures."""

import bz2
import os
import re
import subprocess
import sys
import tracemalloc
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from pydantic import ValidationError

from contexture.demo import DemoConfig, write, write_demo_world
from contexture.demo.grammar import render, topics
from contexture.demo.novels import iter_sentences, make_novel
from contexture.demo.world import literal, make_article, make_outline
from contexture.tasks.answer_selection.sets import read_wikiqa
from tests.tasks.answer_selection.toys import read_set

NAMES = ["WikiQA-dev.tsv", "WikiQA-test.tsv", "WikiQA-train.tsv", "demo-pages-articles.xml.bz2", "squad-demo.json"]
FOLDERS = ["books", "fever", "pairs", "senteval"]
SCHEMA = "{http://www.mediawiki.org/xml/export-0.11/}"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def answers(whole_world: Path) -> pd.DataFrame:
    return read_wikiqa(whole_world)


def write_in_process(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    program = f"import pathlib, resource, sys\nfrom contexture.demo import *\n{code}, pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)


def test_counts_match_the_files(tmp_path: Path):
    counts = write_demo_world(DemoConfig(pages=40, novels=2), tmp_path)
    table = read_wikiqa(tmp_path)
    assert counts["articles"] == 40
    assert counts["pages"] == bz2.decompress((tmp_path / NAMES[3]).read_bytes()).count(b"<page>")
    for split, part in table.groupby("split"):
        assert counts[f"{split}_questions"] == part["question_id"].nunique()
        assert counts[f"{split}_candidates"] == len(part)
        assert counts[f"{split}_answers"] == part["label"].sum()
        assert counts[f"{split}_claims"] == len((tmp_path / "fever" / f"{split}.jsonl").read_text().splitlines())
    assert table["question_id"].nunique() == 80
    assert counts["novels"] == len(list((tmp_path / "books").iterdir())) == 2
    assert counts["novel_sentences"] == sum(1 for index in range(2) for _ in iter_sentences(make_novel(0, index)))
    mr, sts = (list((tmp_path / "senteval").glob(pattern)) for pattern in ("MR/*", "STS/STS14-en-test/STS.input.*"))
    assert sum(len(path.read_text().splitlines()) for path in mr + sts) == 804 < counts["sentence_task_rows"]


@pytest.mark.slow
def test_equal_configurations_give_equal_bytes(tmp_path: Path):
    for seed in ("1", "2"):
        code = "write_demo_world(DemoConfig(pages=30, novels=2, languages=2)"
        assert write_in_process(code, tmp_path / seed, PYTHONHASHSEED=seed).returncode == 0
    write_demo_world(DemoConfig(pages=30, novels=2, seed=1), tmp_path / "other")
    first, second, other = (contents(tmp_path / name) for name in ("1", "2", "other"))
    assert first == second
    english = [name for name in first if not name.startswith("languages/")]
    assert len(english) == len(other) == len(NAMES) + 2 + 27 + 3 + 3
    assert all(first[name] != other[name] for name in first.keys() & other.keys())


@pytest.mark.parametrize("part", ["novels", "tasks"])
def test_a_world_replaces_the_former_one_when_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str):
    def fail(*_: object) -> Iterator[None]:
        yield from ()
        raise OSError("disk full")

    folder = tmp_path / "demo"
    write_demo_world(DemoConfig(pages=25, novels=3), folder)
    (folder / "books" / "of_mine.txt").write_text("Mine.")
    expected = contents(folder)
    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr(write, {"novels": "make_novel", "tasks": "task_files"}[part], fail)
        write_demo_world(DemoConfig(pages=25, novels=1), folder)
    assert contents(folder) == expected
    write_demo_world(DemoConfig(pages=25, novels=1), folder)
    assert len(list((folder / "books").iterdir())) == 1
    assert sorted(path.name for path in folder.iterdir()) == sorted([*NAMES, *FOLDERS])
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


def test_a_larger_world_begins_with_the_smaller_one(tmp_path: Path):
    write_demo_world(DemoConfig(pages=25, novels=1), tmp_path / "small")
    write_demo_world(DemoConfig(pages=60, novels=2), tmp_path / "large")
    small, large = (contents(tmp_path / size) for size in ("small", "large"))
    for world in (small, large):
        world[NAMES[3]] = bz2.decompress(world[NAMES[3]])
    for name, content in small.items():
        assert large[name].startswith(content.removesuffix(b"\n]}\n").removesuffix(b"</mediawiki>\n"))
        assert name in NAMES or name.startswith("fever/") or large[name] == content


def test_export_is_well_formed_page_by_page(whole_world: Path):
    text = bz2.decompress((whole_world / NAMES[3]).read_bytes()).decode()
    assert 'version="0.11"' in text[:500] and "<siteinfo>" in text[:500]
    ElementTree.fromstring(text)
    elements = [ElementTree.fromstring(xml) for xml in re.findall(r"<page>.*?</page>", text, flags=re.DOTALL)]
    assert [child.tag for child in elements[0]] == ["title", "ns", "id", "revision"]
    ids = Counter(element.findtext("id") for element in elements)
    titles = Counter(element.findtext("title") for element in elements)
    assert max(ids.values()) == max(titles.values()) == 1
    redirects = [element for element in elements if element.find("redirect") is not None]
    assert len(redirects) > 100
    for element in redirects:
        target = element.find("redirect").attrib["title"]  # type: ignore[union-attr]
        assert f"[[{target}]]" in element.findtext("revision/text", "")
    for element in elements:
        body = element.find("revision/text")
        assert body is not None
        data = (body.text or "").encode()
        assert int(body.attrib["bytes"]) == len(data)
        assert int(body.attrib["sha1"], 36) == int.from_bytes(sha1(data).digest())
        assert body.attrib["sha1"] == element.findtext("revision/sha1")


def test_splits_have_their_sizes_and_share_no_page(answers: pd.DataFrame):
    questions = answers.groupby("split")["question_id"].nunique()
    assert questions.to_dict() == {"train": 336, "dev": 96, "test": 168}
    owners = answers.groupby("title")["split"].nunique()
    assert owners.max() == 1 and len(owners) == 300
    sizes = answers.groupby("question_id").size()
    assert 7.5 < sizes.mean() < 9.6 and sizes.max() <= 12


def test_some_questions_have_no_or_only_right_candidates(answers: pd.DataFrame, whole_world: Path, tmp_path: Path):
    ranked = read_set("demo", whole_world, tmp_path / "demo")
    share = answers.groupby("question_id")["label"].mean()
    assert 0.05 < (share == 0).mean() < 0.2
    assert 0 < (share == 1).mean() < 0.05
    evaluated = ranked[ranked["split"] != "train"].groupby("question_id")["label"].mean()
    assert ((evaluated > 0) & (evaluated < 1)).all()
    assert 100 < ranked[ranked["split"] == "test"]["question_id"].nunique() < 168


def test_right_candidates_state_the_fact_of_the_question(answers: pd.DataFrame):
    """The template of a question belongs to one fact, which identifies the fact."""
    forms = {
        re.sub(r"\W", "", render(template, {"about": literal("")}, Random(seed))).lower(): (topic.name, aspect)
        for topic in topics().values()
        for aspect, ways in topic.ask.items()
        for template in ways
        for seed in range(40)
    }
    index = {make_outline(0, i).title: i for i in range(300)}
    for (title, question), part in answers.groupby(["title", "question"]):
        about = make_outline(0, index[title])
        phrases = {render(about.slots["about"], about.slots, Random(seed)) for seed in range(40)}
        text = re.sub(r"^Speaking of \w+, ", "", str(question))
        (fact,) = {forms.get(re.sub(r"\W", "", text.replace(phrase, "")).lower()) for phrase in phrases} - {None}
        page_sentences = [sentence for paragraph in make_article(0, about.index).paragraphs for sentence in paragraph]
        for row in part.itertuples():
            sentence = page_sentences[int(str(row.candidate_id).split("-")[1])]
            assert sentence.plain == row.candidate
            assert row.label == (sentence.fact == fact)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_pages_and_novels(tmp_path: Path):
    write_demo_world(DemoConfig(pages=25, novels=1), tmp_path)
    peaks = []
    for pages, novels in ((300, 5), (700, 20)):
        tracemalloc.start()
        write_demo_world(DemoConfig(pages=pages, novels=novels), tmp_path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


def test_a_full_disk_leaves_no_incomplete_files(tmp_path: Path):
    code = "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); write_demo_world(DemoConfig(pages=100)"
    run = write_in_process(code, tmp_path)
    assert run.returncode != 0 and "OSError" in run.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [{"pages": 24}, {"novels": 0}, {"seed": -1}, {"languages": 521}, {"size": 3}])
def test_invalid_configurations_raise(wrong: dict[str, float]):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        DemoConfig(**wrong)  # type: ignore[arg-type]
