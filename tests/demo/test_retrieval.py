"""The questions in the format of SQuAD: spans, what is asked, and how hard it is to find."""

import json
from pathlib import Path
from typing import Any

import pytest

from contexture.demo.world import outline, page
from contexture.tasks.retrieval.reqa import reqa_counts, reqa_tables
from contexture.tasks.retrieval.squad import read_squad
from tests.tasks.retrieval.gold import gold_tuples


@pytest.fixture(scope="module")
def demo(whole_world: Path) -> Path:
    return whole_world / "squad-demo.json"


@pytest.fixture(scope="module")
def articles(demo: Path) -> list[dict[str, Any]]:
    content = json.loads(demo.read_text(encoding="utf-8"))
    assert content["version"] == "1.1" and content.keys() == {"version", "data"}
    data: list[dict[str, Any]] = content["data"]
    return data


def test_every_paragraph_of_every_page_is_a_context(articles: list[dict[str, Any]]):
    for index, article in enumerate(articles):
        assert article["title"] == outline(0, index).title
        paragraphs = [p for section in page(0, index).sections for p in section.paragraphs]
        for context, sentences in zip(article["paragraphs"], paragraphs, strict=True):
            text = " ".join(sentence.plain for sentence in sentences)
            assert context["context"].endswith(text)
            assert article["title"].split()[-1] in context["context"]


def test_spans_are_exact_and_lie_in_the_sentences_that_state_one_fact(articles: list[dict[str, Any]]):
    short = total = 0
    for index, article in enumerate(articles):
        paragraphs = [p for section in page(0, index).sections for p in section.paragraphs]
        assert sum(len(context["qas"]) for context in article["paragraphs"]) == 8
        for context, sentences in zip(article["paragraphs"], paragraphs, strict=True):
            for question in context["qas"]:
                facts = set()
                for answer in question["answers"]:
                    start, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
                    assert context["context"][start:end] == answer["text"] != ""
                    (sentence,) = [
                        s for s in sentences if (at := context["context"].index(s.plain)) <= start < at + len(s.plain)
                    ]
                    facts.add((sentence.topic, sentence.aspect))
                    total += 1
                    short += len(answer["text"]) < len(sentence.plain) / 2
                (fact,) = facts
                assert sum(fact == (s.topic, s.aspect) for s in sentences) == len(question["answers"])
                assert sum(fact in {(s.topic, s.aspect) for s in p} for p in paragraphs) == 1
    assert short > 0.8 * total


def test_the_reader_finds_the_sentences(demo: Path, articles: list[dict[str, Any]]):
    questions, candidates = reqa_tables(read_squad(demo))
    counts = reqa_counts(questions, candidates)
    assert counts["queries"] == 2400 and counts["passages"] == sum(len(a["paragraphs"]) for a in articles)
    sentences = {s.plain for i in range(300) for section in page(0, i).sections for p in section.paragraphs for s in p}
    gold = gold_tuples(questions, candidates)
    assert 2400 < len(gold) < 2700
    shown = gold["sentence"].map(lambda text: text if text in sentences else text.partition(": ")[2])
    assert shown.isin(sentences).all()
    ids = [q["id"] for a in articles for context in a["paragraphs"] for q in context["qas"]]
    assert len(set(ids)) == 2400
