"""Novels: names, order, scenes, and reading them as books."""

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import books, find_sources
from contexture.corpus.sources.protocol import Split
from contexture.demo import DemoConfig, write_demo_world
from contexture.demo.fields import fields, frames, moods, towns
from contexture.demo.grammar import render
from contexture.demo.novels import iter_sentences, make_novel, novel_file_name
from contexture.demo.world import literal, make_outline
from contexture.text.sentences import Splitter, load_parameters

from .words import split_words

WORDS = {word: name for name, group in {**fields(), **moods()}.items() for word in group}


def test_no_word_is_in_two_fields():
    groups = [*fields().values(), *moods().values()]
    assert len(WORDS) == sum(map(len, groups)) > 900
    assert len(moods()["bright"]) == len(moods()["grim"]) >= 100
    assert len(fields()["feelings"]) == len(fields()["records"]) == 100


def test_file_names_are_unique_and_stable():
    names = [novel_file_name(0, index) for index in range(700)]
    assert len(set(names)) == 700
    assert all(name.isascii() and name.startswith("Tales_of_") and name.count(".") == 1 for name in names)
    assert names[:40] == [novel_file_name(0, index) for index in range(40)]


def test_a_novel_depends_on_seed_and_index_only():
    forwards = [list(make_novel(3, index)) for index in range(4)]
    assert [list(make_novel(3, index)) for index in reversed(range(4))] == forwards[::-1]
    assert list(make_novel(4, 0)) != forwards[0] != forwards[1]
    for chapters in forwards:
        assert [chapter.heading.split(".")[0] for chapter in chapters] == [f"Chapter {i}" for i in range(1, 7)]
        assert 180 <= len(list(iter_sentences(chapters))) <= 260


def test_novels_are_read_back_as_books(tmp_path: Path):
    """Reader and sentence splitter return the written sentences."""
    write_demo_world(DemoConfig(pages=25, novels=3), tmp_path)
    config = CorpusConfig(input=str(tmp_path / "books"), lang="en")
    files = find_sources(config)
    assert [file.source for file in files] == ["books"] * 3
    splitter = Splitter(load_parameters("en"))
    for index in range(3):
        (file,) = (book for book in files if f"{book.name}.txt" == novel_file_name(0, index))
        (row,) = books.reader(files, config)(Split(file, 0, file.bytes))
        assert row["dropped"] is None
        paragraphs = [(chapter.heading, lines) for chapter in make_novel(0, index) for lines in chapter.paragraphs]
        written = [(heading, line) for heading, lines in paragraphs if len(" ".join(lines)) > 20 for line in lines]
        read = [(p["section"], sentence) for p in row["paragraphs"] for sentence in splitter.split(p["text"])]
        assert read == written


def test_only_neighbouring_sentences_share_field_and_mood():
    """Only mostly, because neighbours may be of two scenes."""
    groups = [set(moods()), set(fields())]
    for group in groups:
        near, far = Counter[bool](), Counter[bool]()
        groups_of = [
            _groups(sentence) & group for index in range(10) for sentence in iter_sentences(make_novel(0, index))
        ]
        rng = np.random.default_rng(0)
        for distance, count in ((1, near), (int(rng.integers(100, 200)), far)):
            for first, second in zip(groups_of, groups_of[distance:], strict=False):
                if first and second:
                    count[bool(first & second)] += 1
        assert near[True] / near.total() > 0.75
        assert far[True] / far.total() < (0.6 if group == set(moods()) else 0.2)


def test_frames_contain_no_field_words():
    """Frames contain no words of fields or moods."""
    for file in ("novels.yml", "sentence_tasks.yml"):
        for name, templates in frames(file).items():
            for template in templates:
                assert template.slots <= {"name", "friend", "she", "town", "fact", *"abcxy"}
                letters = {slot: literal("") for slot in template.slots}
                text = " ".join(render(template, letters, Random(seed)) for seed in range(20))
                assert _groups(text) <= ({"bright", "grim"} if name == "analogies/liking" else set())


@pytest.mark.parametrize("index", [0, 13, 300, 10**6])
def test_a_novel_stays_in_the_region_of_its_title(index: int):
    title = novel_file_name(0, index).removeprefix("Tales_of_").removesuffix(".txt").replace("_", " ")
    (region,) = {r for r in (index % 12, index // 25) for i in range(25) if make_outline(0, r * 25 + i).title == title}
    text = " ".join(iter_sentences(make_novel(0, index)))
    named = {r: {town.title for town in towns(0, r) if town.title in text} for r in {region, *range(12)}}
    assert len(named[region]) >= 5
    assert set.union(*named.values()) == named[region]


def _groups(sentence: str) -> set[str]:
    """Return the fields and moods of a sentence's words."""
    return {WORDS[word] for word in split_words(sentence) if word in WORDS}
