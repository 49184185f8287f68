"""Sentence tasks: formats, labels, and their dependence on related words."""

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from contexture.demo.fields import fields, moods, towns
from contexture.demo.grammar import topics
from contexture.demo.novels import iter_sentences, make_novel
from contexture.demo.questions import contrary_facts, fact_slots, fact_words
from contexture.demo.sentence_tasks import SUBSETS, count_rows, task_files
from contexture.demo.world import draw_facts, make_article
from contexture.tasks.sentences.analogies import read_analogies
from contexture.tasks.sentences.senteval import read_classification, read_relatedness, read_similarity

from .words import split_words

FIELDS = {word: name for name, group in {**fields(), **moods()}.items() for word in group}


@pytest.fixture(scope="module")
def demo(small_world: Path) -> Path:
    return small_world / "senteval"


@pytest.fixture(scope="module")
def files() -> dict[str, list[str]]:
    return dict(task_files(0))


def classification(demo: Path, name: str) -> pd.DataFrame:
    return read_classification(demo, name, "any").table


def similarity(demo: Path) -> pd.DataFrame:
    tables = [read_relatedness(demo, "stsb", "any").table, read_similarity(demo, "sts14", "any").table]
    return pd.concat(tables, ignore_index=True)


def field_words(text: Any, groups: Collection[str] = frozenset(FIELDS.values())) -> list[str]:
    return [word for word in split_words(str(text)) if FIELDS.get(word) in groups]


def test_files_have_the_published_layout(files: dict[str, list[str]], demo: Path):
    assert sorted(files) == sorted(str(path.relative_to(demo)) for path in demo.rglob("*") if path.is_file())
    for name, lines in files.items():
        assert (demo / name).read_bytes() == "".join(f"{line}\n" for line in lines).encode()
        assert not any("\n" in line or "\r" in line for line in lines)
        assert count_rows(name, len(lines)) in (0, *range(60, 401))


def test_benchmark_readers_read_all_tasks(demo: Path):
    sizes = {name: len(classification(demo, name)) for name in ("mr", "subj", "trec", "mrpc")}
    assert sizes == {"mr": 204, "subj": 200, "trec": 360, "mrpc": 450}
    assert [len(read_relatedness(demo, name, "any").table) for name in ("sick_r", "stsb")] == [560, 600]
    assert read_similarity(demo, "sts14", "any").table.groupby("subset").size().to_dict() == dict.fromkeys(SUBSETS, 100)
    assert len(read_analogies(demo / "analogies.tsv")) == 100


def test_labels_are_balanced(demo: Path):
    for name in ("mr", "subj", "mrpc", "trec"):
        counts = classification(demo, name).groupby(["split", "label"]).size().unstack()
        assert (counts.min(axis=1) == counts.max(axis=1)).all()
    entailment = classification(demo, "sick_e").groupby("split")["label"].value_counts(normalize=True)
    assert entailment.unstack()[[0, 1, 2]].to_numpy().tolist() == [[0.25, 0.5, 0.25]] * 3


def test_tasks_depend_on_the_seed(files: dict[str, list[str]]):
    assert dict(task_files(0)) == files
    other = dict(task_files(1))
    assert other.keys() == files.keys() and all(other[name] != files[name] for name in files)


@pytest.mark.parametrize(("name", "groups"), [("mr", ["grim", "bright"]), ("subj", ["feelings", "records"])])
def test_words_that_predict_the_label_occur_in_one_row_only(name: str, groups: list[str], demo: Path):
    table = classification(demo, name)
    pairs = [(word, row.label) for row in table.itertuples() for word in field_words(row.text, groups)]
    assert all(FIELDS[word] == groups[int(str(label))] for word, label in pairs)
    assert max(Counter(word for word, _ in pairs).values()) == 1 and len(pairs) >= 200


def test_words_that_predict_the_label_occur_in_one_file_only(demo: Path):
    by_split: dict[str, set[str]] = {"train": set(), "test": set()}
    for row in classification(demo, "trec").itertuples():
        (word,) = field_words(row.text)
        assert FIELDS[word] == ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"][int(str(row.label))]
        by_split[str(row.split)].add(word)
    assert not by_split["train"] & by_split["test"] and len(by_split["test"]) == 60


def test_paraphrases_share_a_field_and_all_pairs_one_word(demo: Path):
    for row in classification(demo, "mrpc").itertuples():
        first, second = map(field_words, (row.text, row.text2))
        assert len(set(first) & set(second)) == 1 and len(first) == len(second) == 3
        assert len({FIELDS[word] for word in first}) == 1
        assert (len({FIELDS[word] for word in first + second}) == 1) == bool(row.label)


def test_similarity_grows_with_what_two_sentences_share(demo: Path):
    for row in similarity(demo).itertuples():
        first, second = map(field_words, (row.text, row.text2))
        same = len(set(first) & set(second))
        of_field = sum(FIELDS[word] == FIELDS[first[0]] for word in second)
        level = {3: 5, 1: 4}[same] if same else of_field
        assert abs(float(str(row.score)) - level) <= 0.36  # 0.3 and the rounding of STS14


def test_contradictions_state_another_fact():
    for town in towns(0, 0):
        for topic in topics().values():
            for aspect in (key for key in topic.say if fact_slots(topic.name, key)):
                false = contrary_facts(town, topic.name, aspect)
                wrong = fact_words(town, topic.name, aspect, false)
                for text, contradiction in zip(fact_words(town, topic.name, aspect), wrong, strict=True):
                    assert text != contradiction
                assert false["title"] == draw_facts(town, topic)["title"]


def test_analogies_differ_by_one_change(demo: Path):
    """A and B differ by the same words as C and D."""
    for row in read_analogies(demo / "analogies.tsv").itertuples():
        a, b, c, d = (set(split_words(str(text))) for text in (row.a, row.b, row.c, row.d))
        assert (a - b, b - a) == (c - d, d - c) and len(a - b) <= 1 and len(b - a) == 1
        assert row.b != row.d


def test_no_sentence_of_a_task_is_in_the_corpus(demo: Path):
    corpus, tasks = (
        {" ".join(split_words(text)) for text in texts} for texts in (corpus_sentences(), task_sentences(demo))
    )
    assert len(corpus) > 2_000 and len(tasks) > 3_000
    assert not corpus & tasks


def task_sentences(demo: Path) -> Iterator[str]:
    tables = [classification(demo, name) for name in ("mr", "subj", "trec", "mrpc", "sick_e")]
    for table in (*tables, similarity(demo)):
        yield from (str(text) for column in ("text", "text2") if column in table for text in table[column])


def corpus_sentences() -> Iterator[str]:
    for index in range(3):
        yield from iter_sentences(make_novel(0, index))
    for index in range(60):
        yield from (sentence.plain for paragraph in make_article(0, index).paragraphs for sentence in paragraph)
