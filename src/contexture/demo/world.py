"""Articles of the demo world; article i depends on (seed, i) alone."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from contexture.demo.grammar import LINK_SLOTS, Kind, Template, Topic, kinds, render, topics, words
from contexture.demo.names import page_stem, pick, seeded_random, shuffle

Slots = dict[str, Template]


@dataclass(frozen=True, slots=True)
class Outline:
    """Names and topics of an article, as other articles need them."""

    seed: int
    index: int
    kind: Kind
    title: str
    alias: str
    topics: tuple[str, ...]
    lead: tuple[str, ...]
    slots: Slots

    @property
    def region(self) -> int:
        """Number of the region, a group of articles that link to each other."""
        return self.index // len(kinds())


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence in wikitext and the fact that it states (`topic`, `aspect`), if any."""

    text: str
    topic: str | None = None
    aspect: str | None = None

    @property
    def plain(self) -> str:
        """The sentence without markup."""
        return strip_links(self.text)

    @property
    def fact(self) -> tuple[str | None, str | None]:
        """The topic and the aspect of the fact that the sentence states; None for both without a fact."""
        return self.topic, self.aspect


@dataclass(frozen=True, slots=True)
class ArticleSection:
    """A heading and its paragraphs; the lead section has an empty heading."""

    heading: str
    paragraphs: tuple[tuple[Sentence, ...], ...]
    subheadings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Article:
    """An article."""

    outline: Outline
    sections: tuple[ArticleSection, ...]

    @property
    def paragraphs(self) -> list[tuple[Sentence, ...]]:
        """The paragraphs of all sections."""
        return [paragraph for section in self.sections for paragraph in section.paragraphs]


_LINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]")


def strip_links(text: str) -> str:
    """Return wikitext with links replaced by their labels, and without bold marks."""
    return _LINK.sub(r"\1", text).replace("'''", "")


def literal(text: str) -> Template:
    """Return a template without slots that renders as `text`."""
    return Template((text,), frozenset())


def region_name(seed: int, region: int) -> str:
    """Return the unique name of a region."""
    return f"{page_stem(seed, region * len(kinds())).capitalize()}mark"


@lru_cache(maxsize=256)
def make_outline(seed: int, index: int) -> Outline:
    """Return the outline (names and topics) of article `index`."""
    rng = seeded_random(seed, index, "outline")
    kind = kinds()[index % len(kinds())]
    name = page_stem(seed, index).capitalize()
    slots: Slots = {"stem": literal(name), "here": kind.here, "about": kind.about}
    slots["region"] = literal(region_name(seed, index // len(kinds())))
    slots |= {key: pick(options, rng) for key, options in words().lists.items()}
    title = render(pick(kind.title, rng), slots, rng)
    slots["title"] = literal(title)
    slots["lower"] = literal(title[0].lower() + title[1:])
    order = list(words().sections)
    chosen = shuffle(kind.topics, rng)[: 5 + int(rng.random() * 4)]
    return Outline(
        seed,
        index,
        kind,
        title,
        render(kind.alias, slots, rng),
        topics=tuple(sorted(chosen, key=lambda topic: (order.index(topics()[topic].group), topic))),
        lead=tuple(chosen[:3]),
        slots=slots,
    )


def draw_facts(outline: Outline, topic: Topic) -> Slots:
    """Return the facts of an article on a topic as slots; half of the articles of a region share its theme."""
    rng = seeded_random(outline.seed, outline.index, topic.name)
    regional = seeded_random(outline.seed, "region", outline.region, topic.name)
    theme = pick(topic.themes, regional if rng.random() < 0.5 else rng)
    slots = dict(outline.slots)
    for key, options in (*words().lists.items(), *topic.facts.items(), *theme.items()):
        slots[key] = pick(options, rng)
    first = pick((slots["woman"], slots["man"]), rng)
    slots["name"] = Template((*first.parts, " ", *slots["surname"].parts), frozenset())
    return slots


def draw_link(outline: Outline, kind: str, topic: str | None, linked: set[int], rng: Random) -> str:
    """Return a wikitext link to an article of `kind` that is not in `linked`, preferably with `topic` in its lead."""
    region = outline.region
    if region and rng.random() < 0.15:
        region = int(rng.random() * region)
    first = region * len(kinds())
    candidates = [first + i for i, other in enumerate(kinds()) if other.name == kind and first + i not in linked]
    index = min(shuffle(candidates, rng), key=lambda index: topic not in make_outline(outline.seed, index).lead)
    linked.add(index)
    target = make_outline(outline.seed, index)
    label = render(pick(target.kind.anchors, rng), target.slots, rng)
    page = target.title
    if has_redirect(index) and rng.random() < 0.3:
        page = target.alias
    elif label[0].islower():
        page = label
    return target.kind.article + (f"[[{page}]]" if page == label else f"[[{page}|{label}]]")


def has_redirect(index: int) -> bool:
    """Return whether a redirect leads to article `index`."""
    return index % len(kinds()) % 3 == 0


def fill_templates(
    outline: Outline, templates: Iterable[Template], slots: Slots, topic: str | None, rng: Random
) -> list[str]:
    """Return the templates rendered as wikitext; only the first mention of an article is a link."""
    chosen = list(templates)
    needed = sorted(LINK_SLOTS & frozenset().union(*(template.slots for template in chosen)))
    linked = {outline.index}
    slots = slots | {slot: literal(draw_link(outline, slot.rstrip("2"), topic, linked, rng)) for slot in needed}
    seen: set[str] = set()

    def keep_first_link(match: re.Match[str]) -> str:
        """Return a link at its first occurrence, later only its label."""
        if match[0] in seen:
            return match[1]
        seen.add(match[0])
        return match[0]

    return [_LINK.sub(keep_first_link, render(template, slots, rng)) for template in chosen]


def capitalize(text: str) -> str:
    """Return wikitext with its first visible letter capitalized."""
    match = _LINK.match(text)
    start = match.start(1) if match else 0
    return text[:start] + text[start].upper() + text[start + 1 :]


def make_paragraph(outline: Outline, topic: Topic) -> tuple[Sentence, ...]:
    """Return four to six sentences on the facts of a topic, sometimes one fact twice in different words."""
    rng = seeded_random(outline.seed, outline.index, topic.name, "paragraph")
    order = list(topic.say)
    aspects = sorted(shuffle(order, rng)[: 4 + int(rng.random() * 3)], key=order.index)
    if len(aspects) > 4 and rng.random() < 0.4:
        aspects[-1] = pick(aspects[:-1], rng)
    templates = {aspect: shuffle(topic.say[aspect], rng) for aspect in order}
    chosen = [templates[aspect].pop() for aspect in aspects]
    chosen = [_add_terms(_add_tail(template, topic, rng), outline, topic, rng) for template in chosen]
    texts = fill_templates(outline, chosen, draw_facts(outline, topic), topic.name, rng)
    return tuple(Sentence(capitalize(text), topic.name, aspect) for text, aspect in zip(texts, aspects, strict=True))


def _add_tail(template: Template, topic: Topic, rng: Random) -> Template:
    """Return the template, in a quarter of cases with a random tail of the topic before its full stop."""
    if rng.random() > 0.25:
        return template
    tail = pick(topic.tails, rng)
    *start, end = template.parts
    assert isinstance(end, str)
    return Template((*start, end.removesuffix("."), *tail.parts, "."), template.slots | tail.slots)


def recurring_terms(outline: Outline, topic: Topic) -> list[str]:
    """Return the four terms that recur in the paragraph on this topic."""
    return shuffle(topic.terms, seeded_random(outline.seed, outline.index, topic.name, "terms"))[:4]


def _add_terms(template: Template, outline: Outline, topic: Topic, rng: Random) -> Template:
    """Return the template of a sentence that ends with three recurring terms of its paragraph."""
    first, second, third = shuffle(recurring_terms(outline, topic), rng)[:3]
    ending = pick((" amid {}, {} and {}.", ", what with {}, {} and {}.", ", a matter of {}, {} and {}."), rng)
    *start, end = template.parts
    return Template((*start, str(end).removesuffix(".") + ending.format(first, second, third)), template.slots)


def make_lead(outline: Outline) -> tuple[Sentence, ...]:
    """Return the first section: a definition, and a sentence on each of three topics."""
    rng = seeded_random(outline.seed, outline.index, "lead")
    opening = fill_templates(outline, [pick(outline.kind.define, rng)], outline.slots, None, rng)
    sentences = [Sentence(capitalize(opening[0]))]
    for name in outline.lead:
        topic = topics()[name]
        aspect = pick(list(topic.lead), rng)
        (text,) = fill_templates(outline, [pick(topic.lead[aspect], rng)], draw_facts(outline, topic), name, rng)
        sentences.append(Sentence(capitalize(text), name, aspect))
    return tuple(sentences)


def make_article(seed: int, index: int) -> Article:
    """Return article `index` of the world of `seed`."""
    outline = make_outline(seed, index)
    rng = seeded_random(seed, index, "sections")
    sections = [ArticleSection("", (make_lead(outline),), ("",))]
    groups: dict[str, list[Topic]] = {}
    for name in outline.topics:
        groups.setdefault(topics()[name].group, []).append(topics()[name])
    for group, members in groups.items():
        paragraphs = tuple(make_paragraph(outline, topic) for topic in members)
        headings = tuple(pick(topic.headings, rng) for topic in members)
        if len(members) == 1:
            sections.append(ArticleSection(headings[0], paragraphs, ("",)))
        else:
            split = rng.random() < 0.4
            subheadings = headings if split else ("",) * len(members)
            sections.append(ArticleSection(pick(words().sections[group], rng), paragraphs, subheadings))
    return Article(outline, tuple(sections))
