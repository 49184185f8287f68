"""The tasks for encoders of sentences: formats, labels, and that they turn on words that belong together."""

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from contexture.demo.fields import fields, moods, towns
from contexture.demo.grammar import render, topics
from contexture.demo.names import source
from contexture.demo.novels import novel
from contexture.demo.retrieval import telling
from contexture.demo.sentence_pairs import SUBSETS, contrary
from contexture.demo.sentence_tasks import rows_of, task_files
from contexture.demo.world import facts, page
from contexture.tasks.sentences.analogies import read_analogies
from contexture.tasks.sentences.senteval import read_classification, read_relatedness, read_similarity

from .words import words

FIELDS = {word: name for name, group in {**fields(), **moods()}.items() for word in group}


@pytest.fixture(scope="module")
def demo(small_world: Path) -> Path:
    return small_world / "senteval"


@pytest.fixture(scope="module")
def files() -> dict[str, list[str]]:
    return dict(task_files(0))


def test_the_files_are_those_of_the_published_layout(files: dict[str, list[str]], demo: Path):
    assert sorted(files) == sorted(str(path.relative_to(demo)) for path in demo.rglob("*") if path.is_file())
    for name, lines in files.items():
        assert (demo / name).read_bytes() == "".join(f"{line}\n" for line in lines).encode()
        assert not any("\n" in line or "\r" in line for line in lines)
        if rows_of(name, lines):
            assert 60 <= rows_of(name, lines) <= 400


def test_the_readers_of_the_benchmarks_take_all_of_them(demo: Path):
    sizes = {name: len(read_classification(demo, name, "any").table) for name in ("mr", "subj", "trec", "mrpc")}
    assert sizes == {"mr": 204, "subj": 200, "trec": 360, "mrpc": 450}
    assert [len(read_relatedness(demo, name, "any").table) for name in ("sick_r", "stsb")] == [560, 600]
    assert read_similarity(demo, "sts14", "any").table.groupby("subset").size().to_dict() == dict.fromkeys(SUBSETS, 100)
    assert len(read_analogies(demo / "analogies.tsv")) == 100


def test_labels_are_balanced(demo: Path):
    for name in ("mr", "subj", "mrpc", "trec"):
        counts = read_classification(demo, name, "any").table.groupby(["split", "label"]).size().unstack()
        assert (counts.min(axis=1) == counts.max(axis=1)).all()
    entailment = read_classification(demo, "sick_e", "any").table.groupby("split")["label"].value_counts(normalize=True)
    assert entailment.unstack()[[0, 1, 2]].to_numpy().tolist() == [[0.25, 0.5, 0.25]] * 3


def test_other_seeds_other_tasks_and_one_seed_the_same(files: dict[str, list[str]]):
    assert dict(task_files(0)) == files
    other = dict(task_files(1))
    assert other.keys() == files.keys() and all(other[name] != files[name] for name in files)


def test_a_word_that_tells_the_label_is_in_one_row_only(demo: Path):
    for name, groups in (("mr", {"bright": 1, "grim": 0}), ("subj", {"feelings": 0, "records": 1})):
        told = [(FIELDS[word], word, row.label) for row in _rows(demo, name) for word in _told(str(row.text), groups)]
        assert all(groups[field] == label for field, _, label in told)
        assert max(Counter(word for _, word, _ in told).values()) == 1 and len(told) >= 200


def test_no_word_that_tells_the_kind_of_question_is_in_both_files(demo: Path):
    found: dict[str, set[str]] = {"train": set(), "test": set()}
    for row in _rows(demo, "trec"):
        (word,) = _told(str(row.text))
        assert FIELDS[word] == ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"][int(str(row.label))]
        found[str(row.split)].add(word)
    assert not found["train"] & found["test"] and len(found["test"]) == 60


def test_paraphrases_share_a_field_and_all_pairs_one_word(demo: Path):
    for row in _rows(demo, "mrpc"):
        one, two = (_told(str(text)) for text in (row.text, row.text2))
        assert len(set(one) & set(two)) == 1 and len(one) == len(two) == 3
        assert len({FIELDS[word] for word in one}) == 1
        assert (len({FIELDS[word] for word in one + two}) == 1) == bool(row.label)


def test_similarity_grows_with_what_two_sentences_share(demo: Path):
    tables = [read_relatedness(demo, "stsb", "any").table, read_similarity(demo, "sts14", "any").table]
    table = pd.concat(tables, ignore_index=True)
    for row in table.itertuples():
        one, two = (_told(str(text)) for text in (row.text, row.text2))
        same = len(set(one) & set(two))
        of_field = sum(FIELDS[word] == FIELDS[one[0]] for word in two)
        level = {3: 5, 1: 4}[same] if same else of_field
        assert abs(float(str(row.score)) - level) <= 0.36  # 0.3, and the rounding of STS14


def test_a_contradiction_is_of_another_fact():
    for town in towns(0, 0):
        for topic in topics().values():
            for aspect in (key for key in topic.say if telling(topic.name, key)):
                true, false = facts(town, topic), contrary(town, topic.name, aspect)
                for key in telling(topic.name, aspect):
                    rng = source("settled")
                    assert render(true[key], true, rng) != render(false[key], false, rng)
                assert false["title"] == true["title"]


def test_analogies_differ_by_one_change(demo: Path):
    """A and B by the same words as C and D."""
    for row in read_analogies(demo / "analogies.tsv").itertuples():
        one, two = (
            (set(words(str(a))) - set(words(str(b))), set(words(str(b))) - set(words(str(a))))
            for a, b in ((row.a, row.b), (row.c, row.d))
        )
        assert one == two and len(one[0]) <= 1 and len(one[1]) == 1
        assert row.b != row.d


def _rows(demo: Path, name: str) -> Iterator[Any]:
    yield from read_classification(demo, name, "any").table.itertuples()


def _told(text: str, groups: Collection[str] = frozenset(FIELDS.values())) -> list[str]:
    return [word for word in words(text) if FIELDS.get(word) in groups]


def test_no_sentence_of_a_task_is_in_the_corpus(demo: Path):
    corpus = {" ".join(words(text)) for text in _corpus_sentences()}
    tasks = {" ".join(words(text)) for text in _task_sentences(demo)}
    assert len(corpus) > 2_000 and len(tasks) > 3_000
    assert not corpus & tasks


def _task_sentences(demo: Path) -> Iterator[str]:
    for name in ("mr", "subj", "trec", "mrpc", "sick_e"):
        table = read_classification(demo, name, "any").table
        yield from (str(text) for column in ("text", "text2") if column in table for text in table[column])
    for table in (read_relatedness(demo, "stsb", "any").table, read_similarity(demo, "sts14", "any").table):
        yield from (str(text) for column in ("text", "text2") for text in table[column])


def _corpus_sentences() -> Iterator[str]:
    for index in range(3):
        yield from (s for chapter in novel(0, index) for paragraph in chapter.paragraphs for s in paragraph)
    for index in range(60):
        for section in page(0, index).sections:
            yield from (sentence.plain for paragraph in section.paragraphs for sentence in paragraph)
