"""The page's paragraphs as contexts of questions, in the format of SQuAD v1.1."""

from functools import lru_cache
from random import Random
from typing import Any

from contexture.demo.config import DemoConfig
from contexture.demo.extras import article_id
from contexture.demo.grammar import Topic, render, topics
from contexture.demo.names import shuffled, source
from contexture.demo.questions import ask, with_term
from contexture.demo.world import Outline, Page, Sentence, facts

_Fact = tuple[str, str]
#: Questions about each article whose answer is to be found among the paragraphs of all articles.
QUESTIONS_PER_PAGE = 8


def squad_article(config: DemoConfig, page: Page) -> dict[str, Any]:
    """A page as an entry of the `data` of SQuAD: every paragraph as a context, with the questions asked about it.

    A context opens with what it is about ("Weather in Ashmont: …"), as no other sentence of it names the page; so a
    question, which does, can be found an answer to. A fact is asked for that only one paragraph states; if that does
    so twice, both places are answers, as if by two annotators.
    """
    about = page.outline
    rng = source(config.seed, about.index, "retrieval")
    contexts = [_Context(about, heading, sentences, rng) for heading, sentences in _paragraphs(page)]
    stated: dict[_Fact, set[int]] = {}
    for number, context in enumerate(contexts):
        for fact in context.facts():
            stated.setdefault(fact, set()).add(number)
    asked = [(*fact, number) for fact in sorted(stated) for number in stated[fact] if len(stated[fact]) == 1]
    for i, (name, aspect, number) in enumerate(shuffled(asked, rng)[:QUESTIONS_PER_PAGE], start=1):
        topic = topics()[name]
        question = ask(about, topic, aspect, rng)
        if contexts[number].heading:
            question = with_term(question, about, topic, rng)
        answers = contexts[number].answers(topic, aspect)
        contexts[number].qas.append({"id": f"S{article_id(about.index)}-{i}", "question": question, "answers": answers})
    return {"title": about.title, "paragraphs": [{"context": c.text, "qas": c.qas} for c in contexts]}


class _Context:
    """A paragraph with the places of its sentences, and what is asked about it."""

    def __init__(self, about: Outline, heading: str, sentences: tuple[Sentence, ...], rng: Random) -> None:
        self.about = about
        self.heading = heading
        self.text = f"{heading} {render(about.slots['about'], about.slots, rng)}:" if heading else ""
        self.qas: list[dict[str, Any]] = []
        self._placed: list[tuple[int, Sentence]] = []
        for sentence in sentences:
            self.text += " " if self.text else ""
            self._placed.append((len(self.text), sentence))
            self.text += sentence.plain

    def facts(self) -> set[_Fact]:
        """The facts that the paragraph states."""
        return {(s.topic, s.aspect) for _, s in self._placed if s.topic is not None and s.aspect is not None}

    def answers(self, topic: Topic, aspect: str) -> list[dict[str, Any]]:
        """The answers to the question for a fact: one in each sentence that states it."""
        found = [(start, s.plain) for start, s in self._placed if (s.topic, s.aspect) == (topic.name, aspect)]
        spans = [(start, *_span(self.about, topic, aspect, sentence)) for start, sentence in found]
        return [{"text": text, "answer_start": start + offset} for start, offset, text in spans]


def _paragraphs(page: Page) -> list[tuple[str, tuple[Sentence, ...]]]:
    return [
        (subheading or section.heading, paragraph)
        for section in page.sections
        for subheading, paragraph in zip(section.subheadings, section.paragraphs, strict=True)
    ]


def _span(about: Outline, topic: Topic, aspect: str, sentence: str) -> tuple[int, str]:
    """Where in a sentence the fact stands that it states, and its words; all but the stop where they are hidden."""
    slots = facts(about, topic)
    rng = source(about.seed, "spans")  # facts are settled: nothing is drawn
    for slot in telling(topic.name, aspect):
        text = render(slots[slot], slots, rng)
        start = sentence.lower().find(text.lower())
        if start >= 0:
            return start, sentence[start : start + len(text)]
    return 0, sentence.removesuffix(".")


@lru_cache(maxsize=256)
def telling(name: str, aspect: str) -> tuple[str, ...]:
    """The slots that may hold the fact: the one of its name, then those that all ways to state it share."""
    topic = topics()[name]
    shared = frozenset.intersection(*(way.slots for way in topic.say[aspect]))
    own = topic.facts.keys() | topic.themes[0].keys()
    return tuple(slot for slot in (aspect, *sorted(shared - {aspect})) if slot in own)
