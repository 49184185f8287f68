"""Questions about articles, with sentences as candidates (WikiQA) or answers in the text (SQuAD)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from contexture.demo.config import DemoConfig
from contexture.demo.export import article_id
from contexture.demo.fields import REGIONS, towns
from contexture.demo.grammar import Topic, kinds, render, topics
from contexture.demo.names import pick, seeded_random, shuffle
from contexture.demo.world import Article, Outline, Sentence, Slots, capitalize, draw_facts, recurring_terms

WIKIQA_HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
SPLITS = ("train", "dev", "test")
#: WikiQA questions per article; all are in the same split.
QUESTIONS_PER_PAGE = 2
#: SQuAD questions per article.
SQUAD_QUESTIONS_PER_PAGE = 8
#: Shares of articles whose questions are dev and test; the rest is train.
DEV_SHARE, TEST_SHARE = 0.16, 0.28

#: Shares of questions whose candidates are all wrong, and all right, as in published sets.
_UNANSWERED_SHARE, _ALL_RIGHT_SHARE = 0.12, 0.02
#: Share of questions with a recurring term of their paragraph. Word overlap answers these; for the others it is hardly
#: better than chance.
_TERM_SHARE = 0.2

#: Slots with names of a page, which are no facts.
_NAME_SLOTS = ("stem", "here", "about", "region", "title", "lower")

#: Topic and aspect.
Fact = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PageSentence:
    """A sentence with its number in the page and the number of its paragraph."""

    sentence: Sentence
    number: int
    paragraph: int

    def has_fact(self, topic: Topic, aspect: str) -> bool:
        """Return whether the sentence states this fact."""
        return self.sentence.fact == (topic.name, aspect)


def choose_split(config: DemoConfig, index: int) -> str:
    """Return the split ("train", "dev" or "test") of all questions about an article; each region has all three."""
    region, position = divmod(index, len(kinds()))
    rank = shuffle(range(len(kinds())), seeded_random(config.seed, "split", region)).index(position)
    dev, test = round(DEV_SHARE * len(kinds())), round(TEST_SHARE * len(kinds()))
    return "dev" if rank < dev else "test" if rank < dev + test else "train"


def wikiqa_rows(config: DemoConfig, page: Article) -> Iterator[tuple[str, ...]]:
    """Yield a row in the WikiQA format for each question about a page and each of its candidates, in page order."""
    outline = page.outline
    rng = seeded_random(config.seed, outline.index, "questions")
    sentences = page_sentences(page)
    asked_facts = shuffle([(topic, aspect) for topic in outline.topics for aspect in topics()[topic].ask], rng)
    document = f"D{article_id(outline.index)}"
    for number, (name, aspect) in enumerate(_choose_facts(asked_facts, sentences, QUESTIONS_PER_PAGE, rng)):
        topic = topics()[name]
        question = make_question(outline, topic, aspect, rng)
        if rng.random() < _TERM_SHARE:
            question = add_term(question, outline, topic, rng)
        for candidate in _choose_candidates(sentences, topic, aspect, rng):
            yield (
                f"Q{outline.index * QUESTIONS_PER_PAGE + number + 1}",
                question,
                document,
                outline.title,
                f"{document}-{candidate.number}",
                candidate.sentence.plain,
                str(int(candidate.has_fact(topic, aspect))),
            )


def make_question(outline: Outline, topic: Topic, aspect: str, rng: Random) -> str:
    """Return a question that asks for a fact and names the page."""
    return capitalize(render(pick(topic.ask[aspect], rng), outline.slots, rng))


def add_term(question: str, outline: Outline, topic: Topic, rng: Random) -> str:
    """Return the question, introduced by a recurring term of the paragraph: "Speaking of <term>, …"."""
    return f"Speaking of {pick(recurring_terms(outline, topic), rng)}, {question[0].lower()}{question[1:]}"


def page_sentences(page: Article) -> list[PageSentence]:
    """Return all sentences of a page with their numbers."""
    numbered = [(i, sentence) for i, paragraph in enumerate(page.paragraphs) for sentence in paragraph]
    return [PageSentence(sentence, number, i) for number, (i, sentence) in enumerate(numbered)]


def _choose_facts(facts_to_ask: list[Fact], sentences: list[PageSentence], count: int, rng: Random) -> list[Fact]:
    """Return `count` random facts to ask for, a few of which the page does not state."""
    page_facts = {row.sentence.fact for row in sentences}
    answered = [fact for fact in facts_to_ask if fact in page_facts]
    # All sentences of a topic show its first aspect, so only the other aspects can be unanswered.
    unanswered = [(t, a) for t, a in facts_to_ask if (t, a) not in page_facts and a != next(iter(topics()[t].ask))]
    chosen = []
    for _ in range(count):
        pool = unanswered if unanswered and rng.random() < _UNANSWERED_SHARE else answered
        chosen.append(pool.pop())
    return chosen


def _choose_candidates(sentences: list[PageSentence], topic: Topic, aspect: str, rng: Random) -> list[PageSentence]:
    """Return candidate answers to the question for a fact: sentences that state it, if any, and mostly others."""
    right = [row for row in sentences if row.has_fact(topic, aspect)]
    if right and rng.random() < _ALL_RIGHT_SHARE:
        return right
    size = 5 + int(rng.random() * 8)
    chosen = right[-1:] + [row for row in right[:-1] if rng.random() < 0.5]
    # All sentences of a topic show its first aspect and would be partly right.
    allows_topic = aspect != next(iter(topic.ask)) and rng.random() < 0.4
    wrong = [
        row
        for row in sentences
        if not row.has_fact(topic, aspect) and (allows_topic or row.sentence.topic != topic.name)
    ]
    first: dict[int, PageSentence] = {}
    further: list[PageSentence] = []
    for row in shuffle(wrong, rng):
        if first.setdefault(row.paragraph, row) is not row:
            further.append(row)
    chosen += [*first.values(), *further][: size - len(chosen)]
    return sorted(chosen, key=lambda row: row.number)


def squad_article(config: DemoConfig, page: Article) -> dict[str, Any]:
    """Return a page as an entry of `data` in SQuAD v1.1; each paragraph is a context with questions.

    A context begins with its subject ("Weather in Ashmont: …"), because questions name the page and other sentences do
    not. Questions ask for facts that exactly one paragraph states; both answers count if it states a fact twice.
    """
    outline = page.outline
    rng = seeded_random(config.seed, outline.index, "retrieval")
    contexts = [_SquadContext(outline, heading, sentences, rng) for heading, sentences in _list_paragraphs(page)]
    contexts_by_fact: dict[Fact, set[int]] = {}
    for number, context in enumerate(contexts):
        for _, sentence in context.starts:
            if sentence.topic is not None and sentence.aspect is not None:
                contexts_by_fact.setdefault((sentence.topic, sentence.aspect), set()).add(number)
    single = [(*fact, min(numbers)) for fact, numbers in sorted(contexts_by_fact.items()) if len(numbers) == 1]
    for i, (name, aspect, number) in enumerate(shuffle(single, rng)[:SQUAD_QUESTIONS_PER_PAGE], start=1):
        topic = topics()[name]
        question = make_question(outline, topic, aspect, rng)
        if contexts[number].heading:
            question = add_term(question, outline, topic, rng)
        answers = contexts[number].answers(topic, aspect)
        contexts[number].qas.append(
            {"id": f"S{article_id(outline.index)}-{i}", "question": question, "answers": answers}
        )
    return {"title": outline.title, "paragraphs": [{"context": c.text, "qas": c.qas} for c in contexts]}


class _SquadContext:
    """A paragraph with the offsets of its sentences and its questions."""

    def __init__(self, outline: Outline, heading: str, sentences: tuple[Sentence, ...], rng: Random) -> None:
        self.about, self.heading = outline, heading
        self.text = f"{heading} {render(outline.slots['about'], outline.slots, rng)}:" if heading else ""
        self.qas: list[dict[str, Any]] = []
        self.starts: list[tuple[int, Sentence]] = []
        for sentence in sentences:
            self.text += " " if self.text else ""
            self.starts.append((len(self.text), sentence))
            self.text += sentence.plain

    def answers(self, topic: Topic, aspect: str) -> list[dict[str, Any]]:
        """Return text and start of each answer to the question for a fact, one per sentence that states it."""
        matches = [(start, s.plain) for start, s in self.starts if s.fact == (topic.name, aspect)]
        spans = [(start, *_answer_span(self.about, topic, aspect, sentence)) for start, sentence in matches]
        return [{"text": text, "answer_start": start + offset} for start, offset, text in spans]


def _list_paragraphs(page: Article) -> list[tuple[str, tuple[Sentence, ...]]]:
    """Return subheading, or else heading, and sentences of each paragraph of a page."""
    return [
        (subheading or section.heading, paragraph)
        for section in page.sections
        for subheading, paragraph in zip(section.subheadings, section.paragraphs, strict=True)
    ]


def _answer_span(outline: Outline, topic: Topic, aspect: str, sentence: str) -> tuple[int, str]:
    """Return offset and words of a fact in a sentence; the sentence without full stop if it lacks the words."""
    for words in fact_words(outline, topic.name, aspect):
        start = sentence.lower().find(words.lower())
        if start >= 0:
            return start, sentence[start : start + len(words)]
    return 0, sentence.removesuffix(".")


def fact_words(outline: Outline, topic: str, aspect: str, slots: Slots | None = None) -> list[str]:
    """Return the words that may express a fact, one text per slot, with the values of the page or of `slots`."""
    slots = slots or draw_facts(outline, topics()[topic])
    rng = seeded_random(outline.seed, "words")  # facts contain no choices, so nothing is drawn
    return [render(slots[key], slots, rng) for key in fact_slots(topic, aspect)]


@lru_cache(maxsize=256)
def fact_slots(name: str, aspect: str) -> tuple[str, ...]:
    """Return the names of a fact's slots: that of its aspect, then those that all its statements share."""
    topic = topics()[name]
    shared = frozenset.intersection(*(template.slots for template in topic.say[aspect]))
    known = topic.facts.keys() | topic.themes[0].keys()
    return tuple(slot for slot in (aspect, *sorted(shared - {aspect})) if slot in known)


def contrary_facts(outline: Outline, topic: str, aspect: str) -> Slots:
    """Return the facts of a town on this topic, with another value of this aspect, under the names of this page."""
    rng = seeded_random(outline.seed, outline.index, topic, aspect, "contrary")
    true = set(fact_words(outline, topic, aspect))
    candidates = shuffle([town for region in range(REGIONS) for town in towns(outline.seed, region)], rng)
    town = next(town for town in candidates if not true & set(fact_words(town, topic, aspect)))
    return draw_facts(town, topics()[topic]) | {key: outline.slots[key] for key in _NAME_SLOTS}
