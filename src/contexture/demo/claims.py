"""Claims about the facts of a page with evidence from the page, in the format of FEVER's retrieved evidence.

One sentence of the evidence states the fact of the claim in other words; the claim agrees with it or contradicts it.
If there is not enough information, a sentence on another fact of the same topic replaces it. All other evidence is
irrelevant. Claims about a page are in the split of its questions.
"""

from collections.abc import Iterator
from typing import Any

from contexture.demo.config import DemoConfig
from contexture.demo.export import article_id
from contexture.demo.fields import sample
from contexture.demo.grammar import render, topics
from contexture.demo.names import seeded_random, shuffle
from contexture.demo.questions import Fact, PageSentence, contrary_facts, fact_slots, fact_words, page_sentences
from contexture.demo.world import Article, Outline, Slots, capitalize, draw_facts, fill_templates, literal, strip_links

SUPPORTS, REFUTES, UNDECIDED = "SUPPORTS", "REFUTES", "NOT ENOUGH INFO"
LABELS = (SUPPORTS, REFUTES, UNDECIDED)
#: Claims of each label per page.
CLAIMS_PER_LABEL = 6
#: Minimal and maximal sentences of evidence.
_MIN_EVIDENCE, _MAX_EVIDENCE = 2, 4


def claim_rows(config: DemoConfig, page: Article) -> Iterator[dict[str, Any]]:
    """Yield the claims about a page with their evidence as rows of FEVER, equally many of each label."""
    outline, sentences = page.outline, page_sentences(page)
    for number, (label, fact) in enumerate(draw_claims(config, page), start=1):
        yield {
            "id": article_id(outline.index) * 100 + number,
            "claim": _make_claim(config, outline, fact, label, number),
            "label": label,
            "evidence": _choose_evidence(config, outline, sentences, fact, label, number),
        }


def draw_claims(config: DemoConfig, page: Article) -> list[tuple[str, Fact]]:
    """Return label and fact (topic, aspect) of each claim about a page, drawn at random."""
    rng = seeded_random(config.seed, page.outline.index, "claims")
    sentences = page_sentences(page)
    facts_of_page = {(s.topic, s.aspect) for s in (row.sentence for row in sentences) if s.topic and s.aspect}
    decided = [fact for fact in sorted(facts_of_page) if _find_deciding_sentences(page.outline, sentences, fact)]
    labels = shuffle(LABELS * CLAIMS_PER_LABEL, rng)
    return list(zip(labels, shuffle(decided, rng), strict=False))


def has_fact_words(outline: Outline, fact: Fact, slots: Slots, text: str) -> bool:
    """Return whether a text contains words for a fact whose value is in `slots`."""
    return any(words.lower() in text.lower() for words in fact_words(outline, *fact, slots))


def _find_deciding_sentences(outline: Outline, sentences: list[PageSentence], fact: Fact) -> list[PageSentence]:
    """Return the sentences that state a fact with words for its value, and so decide a claim about it."""
    topic = topics()[fact[0]]
    slots = draw_facts(outline, topic)
    stating = [row for row in sentences if row.has_fact(topic, fact[1])]
    return [row for row in stating if has_fact_words(outline, fact, slots, row.sentence.plain)]


def _make_claim(config: DemoConfig, outline: Outline, fact: Fact, label: str, number: int) -> str:
    """Return the text of a claim: the fact in other words if supported, a contrary one if refuted, else either."""
    name, aspect = fact
    rng = seeded_random(config.seed, outline.index, "claim", number)
    slots = draw_facts(outline, topics()[name])
    if label == REFUTES or (label == UNDECIDED and rng.random() < 0.5):
        wrong = contrary_facts(outline, name, aspect)
        # Render the values now, because a date may contain a year, which is also a slot of the page.
        slots |= {key: literal(render(wrong[key], wrong, rng)) for key in fact_slots(name, aspect)}
    templates = shuffle(topics()[name].say[aspect], rng)
    texts = (strip_links(capitalize(fill_templates(outline, [way], slots, name, rng)[0])) for way in templates)
    return f"{outline.title}: {next(text for text in texts if has_fact_words(outline, fact, slots, text))}"


def _choose_evidence(
    config: DemoConfig, outline: Outline, sentences: list[PageSentence], fact: Fact, label: str, number: int
) -> list[list[Any]]:
    """Return the evidence for a claim, a few sentences of its page: page, number, text and score of each."""
    rng = seeded_random(config.seed, outline.index, "evidence", number)
    topic = topics()[fact[0]]
    same_topic = [row for row in sentences if row.sentence.topic == topic.name and not row.has_fact(topic, fact[1])]
    other_topics = [row for row in sentences if row.sentence.topic != topic.name]
    size = _MIN_EVIDENCE + int(rng.random() * (_MAX_EVIDENCE - _MIN_EVIDENCE + 1))
    chosen = sample(same_topic if label == UNDECIDED else _find_deciding_sentences(outline, sentences, fact), 1, rng)
    chosen += [row for row in sample(same_topic, 2, rng) if row not in chosen][:1]
    chosen += sample(other_topics, size - len(chosen), rng)
    title = outline.title.replace(" ", "_")
    scored = enumerate(shuffle(chosen, rng))
    return [[title, row.number, row.sentence.plain, round(1 - rank / 10, 1)] for rank, row in scored]
