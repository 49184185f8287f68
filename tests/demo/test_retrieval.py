"""Questions in the format of SQuAD: contexts, spans, counts."""

import json
from pathlib import Path
from typing import Any

import pytest

from contexture.demo.world import make_article, make_outline
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
        assert article["title"] == make_outline(0, index).title
        for context, sentences in zip(article["paragraphs"], make_article(0, index).paragraphs, strict=True):
            assert context["context"].endswith(" ".join(sentence.plain for sentence in sentences))
            assert article["title"].split()[-1] in context["context"]


def test_answer_spans_are_exact_and_state_one_fact(articles: list[dict[str, Any]]):
    short = total = 0
    for index, article in enumerate(articles):
        paragraphs = make_article(0, index).paragraphs
        assert sum(len(context["qas"]) for context in article["paragraphs"]) == 8
        for context, sentences in zip(article["paragraphs"], paragraphs, strict=True):
            text = context["context"]
            for question in context["qas"]:
                facts = set()
                for answer in question["answers"]:
                    start, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
                    assert text[start:end] == answer["text"] != ""
                    (sentence,) = [s for s in sentences if 0 <= start - text.index(s.plain) < len(s.plain)]
                    facts.add(sentence.fact)
                    total += 1
                    short += len(answer["text"]) < len(sentence.plain) / 2
                (fact,) = facts
                assert sum(fact == s.fact for s in sentences) == len(question["answers"])
                assert sum(fact in {s.fact for s in paragraph} for paragraph in paragraphs) == 1
    assert short > 0.8 * total


def test_the_reader_finds_the_sentences(demo: Path, articles: list[dict[str, Any]]):
    questions, candidates = reqa_tables(read_squad(demo))
    counts = reqa_counts(questions, candidates)
    contexts = [context for article in articles for context in article["paragraphs"]]
    assert counts["queries"] == 2400 and counts["passages"] == len(contexts)
    sentences = {s.plain for index in range(300) for paragraph in make_article(0, index).paragraphs for s in paragraph}
    gold = gold_tuples(questions, candidates)
    assert 2400 < len(gold) < 2700
    without_heading = gold["sentence"].map(lambda text: text if text in sentences else text.partition(": ")[2])
    assert without_heading.isin(sentences).all()
    assert len({question["id"] for context in contexts for question in context["qas"]}) == 2400
