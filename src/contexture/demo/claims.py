"""Claims about the facts of a page with sentences of the page as evidence, in the form of FEVER's retrieved evidence.

Most of the evidence is irrelevant, as retrieved sentences are. One sentence states the fact that the claim is about, in
its own words: the claim agrees with it, or names another thing. If there is not enough information, a sentence on
another fact of the same topic stands in its place, so that the topic alone tells nothing. All claims about a page are
in the split of its questions.
"""

from collections.abc import Iterator
from typing import Any

from contexture.demo.config import DemoConfig
from contexture.demo.export import article_id
from contexture.demo.fields import sample
from contexture.demo.grammar import render, topics
from contexture.demo.names import shuffled, source
from contexture.demo.questions import Fact, PageSentence, contrary, fact_slots, fact_words, page_sentences
from contexture.demo.world import Outline, Page, Slots, capital, facts, fill, literal, unlink

SUPPORTS, REFUTES, UNDECIDED = "SUPPORTS", "REFUTES", "NOT ENOUGH INFO"
LABELS = (SUPPORTS, REFUTES, UNDECIDED)
#: Claims of each label about a page.
PER_PAGE = 6
#: Least and most sentences of evidence.
_FEW, _MANY = 2, 4


def claim_rows(config: DemoConfig, page: Page) -> Iterator[dict[str, Any]]:
    """The claims about a page, as many of each label."""
    about, sentences = page.outline, page_sentences(page)
    for number, (label, fact) in enumerate(draw_claims(config, page), start=1):
        yield {
            "id": article_id(about.index) * 100 + number,
            "claim": _claim(config, about, fact, label, number),
            "label": label,
            "evidence": _evidence(config, about, sentences, fact, label, number),
        }


def draw_claims(config: DemoConfig, page: Page) -> list[tuple[str, Fact]]:
    """The label of each claim about a page, and the topic and aspect of the fact that it is about."""
    rng = source(config.seed, page.outline.index, "claims")
    sentences = page_sentences(page)
    facts_of_page = {(s.topic, s.aspect) for s in (row.sentence for row in sentences) if s.topic and s.aspect}
    decided = [fact for fact in sorted(facts_of_page) if _deciding(page.outline, sentences, fact)]
    labels = shuffled(LABELS * PER_PAGE, rng)
    return list(zip(labels, shuffled(decided, rng), strict=False))


def expresses(about: Outline, fact: Fact, slots: Slots, text: str) -> bool:
    """Whether a text has words that express a fact, as `slots` have it."""
    return any(words.lower() in text.lower() for words in fact_words(about, *fact, slots))


def _deciding(about: Outline, sentences: list[PageSentence], fact: Fact) -> list[PageSentence]:
    topic = topics()[fact[0]]
    slots = facts(about, topic)
    stating = [row for row in sentences if row.states(topic, fact[1])]
    return [row for row in stating if expresses(about, fact, slots, row.sentence.plain)]


def _claim(config: DemoConfig, about: Outline, fact: Fact, label: str, number: int) -> str:
    """The fact in other words, or another fact in its place; either of them if it is undecided."""
    name, aspect = fact
    rng = source(config.seed, about.index, "claim", number)
    slots = facts(about, topics()[name])
    if label == REFUTES or (label == UNDECIDED and rng.random() < 0.5):
        wrong = contrary(about, name, aspect)
        # Settled: a date may name a year, which is a slot of the page as well.
        slots |= {key: literal(render(wrong[key], wrong, rng)) for key in fact_slots(name, aspect)}
    ways = shuffled(topics()[name].say[aspect], rng)
    texts = (unlink(capital(fill(about, [way], slots, name, rng)[0])) for way in ways)
    return f"{about.title}: {next(text for text in texts if expresses(about, fact, slots, text))}"


def _evidence(
    config: DemoConfig, about: Outline, sentences: list[PageSentence], fact: Fact, label: str, number: int
) -> list[list[Any]]:
    """Page, number, text and score of each sentence."""
    rng = source(config.seed, about.index, "evidence", number)
    topic = topics()[fact[0]]
    near = [row for row in sentences if row.sentence.topic == topic.name and not row.states(topic, fact[1])]
    far = [row for row in sentences if row.sentence.topic != topic.name]
    size = _FEW + int(rng.random() * (_MANY - _FEW + 1))
    chosen = sample(near if label == UNDECIDED else _deciding(about, sentences, fact), 1, rng)
    chosen += [row for row in sample(near, 2, rng) if row not in chosen][:1]
    chosen += sample(far, size - len(chosen), rng)
    title = about.title.replace(" ", "_")
    scored = enumerate(shuffled(chosen, rng))
    return [[title, row.number, row.sentence.plain, round(1 - rank / 10, 1)] for rank, row in scored]
