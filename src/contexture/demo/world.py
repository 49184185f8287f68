"""Pages of the demo world. Everything about page i is a function of (seed, i) alone."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from contexture.demo.grammar import LINK_SLOTS, Kind, Template, Topic, kinds, render, topics, words
from contexture.demo.names import pick, shuffled, source, stem

Slots = dict[str, Template]


@dataclass(frozen=True, slots=True)
class Outline:
    """What other pages need to know of a page: its names and what it is about."""

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
        """Number of the region, a group of pages that know each other."""
        return self.index // len(kinds())


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence in wikitext and the fact it was written to state (`topic`, `aspect`), if any."""

    text: str
    topic: str | None = None
    aspect: str | None = None

    @property
    def plain(self) -> str:
        """The sentence as a reader sees it."""
        return unlink(self.text)

    @property
    def fact(self) -> tuple[str | None, str | None]:
        """The topic and the aspect."""
        return self.topic, self.aspect


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its paragraphs; the lead section has an empty heading."""

    heading: str
    paragraphs: tuple[tuple[Sentence, ...], ...]
    subheadings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """An article."""

    outline: Outline
    sections: tuple[Section, ...]

    @property
    def paragraphs(self) -> list[tuple[Sentence, ...]]:
        """The paragraphs of all sections."""
        return [paragraph for section in self.sections for paragraph in section.paragraphs]


_LINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]")


def unlink(text: str) -> str:
    """`text` with links replaced by what they show, and without bold marks."""
    return _LINK.sub(r"\1", text).replace("'''", "")


def literal(text: str) -> Template:
    """A template that is just `text`."""
    return Template((text,), frozenset())


def region_name(seed: int, region: int) -> str:
    """The name of a region, unique as the name of its first page is."""
    return f"{stem(seed, region * len(kinds())).capitalize()}mark"


@lru_cache(maxsize=256)
def outline(seed: int, index: int) -> Outline:
    """The outline of page `index`."""
    rng = source(seed, index, "outline")
    kind = kinds()[index % len(kinds())]
    name = stem(seed, index).capitalize()
    slots: Slots = {"stem": literal(name), "here": kind.here, "about": kind.about}
    slots["region"] = literal(region_name(seed, index // len(kinds())))
    slots |= {key: pick(options, rng) for key, options in words().lists.items()}
    title = render(pick(kind.title, rng), slots, rng)
    slots["title"] = literal(title)
    slots["lower"] = literal(title[0].lower() + title[1:])
    order = list(words().sections)
    chosen = shuffled(kind.topics, rng)[: 5 + int(rng.random() * 4)]
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


def facts(about: Outline, topic: Topic) -> Slots:
    """The facts of one topic of a page. Half of the pages of a region share the region's theme."""
    rng = source(about.seed, about.index, topic.name)
    regional = source(about.seed, "region", about.region, topic.name)
    theme = pick(topic.themes, regional if rng.random() < 0.5 else rng)
    slots = dict(about.slots)
    for key, options in (*words().lists.items(), *topic.facts.items(), *theme.items()):
        slots[key] = pick(options, rng)
    first = pick((slots["woman"], slots["man"]), rng)
    slots["name"] = Template((*first.parts, " ", *slots["surname"].parts), frozenset())
    return slots


def link(about: Outline, kind: str, topic: str | None, linked: set[int], rng: Random) -> str:
    """A link, as wikitext, to a page of `kind` that is not in `linked`, preferably one that opens with `topic`."""
    region = about.region
    if region and rng.random() < 0.15:
        region = int(rng.random() * region)
    first = region * len(kinds())
    candidates = [first + i for i, other in enumerate(kinds()) if other.name == kind and first + i not in linked]
    index = min(shuffled(candidates, rng), key=lambda index: topic not in outline(about.seed, index).lead)
    linked.add(index)
    target = outline(about.seed, index)
    label = render(pick(target.kind.anchors, rng), target.slots, rng)
    page = target.title
    if has_redirect(index) and rng.random() < 0.3:
        page = target.alias
    elif label[0].islower():
        page = label
    return target.kind.article + (f"[[{page}]]" if page == label else f"[[{page}|{label}]]")


def has_redirect(index: int) -> bool:
    """Whether a redirect leads to page `index`."""
    return index % len(kinds()) % 3 == 0


def fill(about: Outline, templates: Iterable[Template], slots: Slots, topic: str | None, rng: Random) -> list[str]:
    """The templates as wikitext; a page is linked where it is first named and called by its name afterwards."""
    chosen = list(templates)
    needed = sorted(LINK_SLOTS & frozenset().union(*(template.slots for template in chosen)))
    linked = {about.index}
    slots = slots | {slot: literal(link(about, slot.rstrip("2"), topic, linked, rng)) for slot in needed}
    seen: set[str] = set()

    def link_first(match: re.Match[str]) -> str:
        if match[0] in seen:
            return match[1]
        seen.add(match[0])
        return match[0]

    return [_LINK.sub(link_first, render(template, slots, rng)) for template in chosen]


def capital(text: str) -> str:
    """The wikitext with a capital where the reader sees the first letter."""
    match = _LINK.match(text)
    start = match.start(1) if match else 0
    return text[:start] + text[start].upper() + text[start + 1 :]


def paragraph(about: Outline, topic: Topic) -> tuple[Sentence, ...]:
    """Four to six sentences on the facts of one topic, now and then one fact twice in different words."""
    rng = source(about.seed, about.index, topic.name, "paragraph")
    order = list(topic.say)
    aspects = sorted(shuffled(order, rng)[: 4 + int(rng.random() * 3)], key=order.index)
    if len(aspects) > 4 and rng.random() < 0.4:
        aspects[-1] = pick(aspects[:-1], rng)
    ways = {aspect: shuffled(topic.say[aspect], rng) for aspect in order}
    chosen = [ways[aspect].pop() for aspect in aspects]
    chosen = [_with_terms(_with_tail(template, topic, rng), about, topic, rng) for template in chosen]
    texts = fill(about, chosen, facts(about, topic), topic.name, rng)
    return tuple(Sentence(capital(text), topic.name, aspect) for text, aspect in zip(texts, aspects, strict=True))


def _with_tail(template: Template, topic: Topic, rng: Random) -> Template:
    if rng.random() > 0.25:
        return template
    tail = pick(topic.tails, rng)
    *start, end = template.parts
    assert isinstance(end, str)
    return Template((*start, end.removesuffix("."), *tail.parts, "."), template.slots | tail.slots)


def recurring(about: Outline, topic: Topic) -> list[str]:
    """The four things that the paragraph on this topic keeps coming back to."""
    return shuffled(topic.terms, source(about.seed, about.index, topic.name, "terms"))[:4]


def _with_terms(template: Template, about: Outline, topic: Topic, rng: Random) -> Template:
    """End the sentence on three of the things that its paragraph keeps coming back to."""
    first, second, third = shuffled(recurring(about, topic), rng)[:3]
    ending = pick((" amid {}, {} and {}.", ", what with {}, {} and {}.", ", a matter of {}, {} and {}."), rng)
    *start, end = template.parts
    return Template((*start, str(end).removesuffix(".") + ending.format(first, second, third)), template.slots)


def lead(about: Outline) -> tuple[Sentence, ...]:
    """The first section: what the page is, and a sentence on each of three of its topics."""
    rng = source(about.seed, about.index, "lead")
    opening = fill(about, [pick(about.kind.define, rng)], about.slots, None, rng)
    sentences = [Sentence(capital(opening[0]))]
    for name in about.lead:
        topic = topics()[name]
        aspect = pick(list(topic.lead), rng)
        (text,) = fill(about, [pick(topic.lead[aspect], rng)], facts(about, topic), name, rng)
        sentences.append(Sentence(capital(text), name, aspect))
    return tuple(sentences)


def page(seed: int, index: int) -> Page:
    """Page `index` of the world of `seed`."""
    about = outline(seed, index)
    rng = source(seed, index, "sections")
    sections = [Section("", (lead(about),), ("",))]
    groups: dict[str, list[Topic]] = {}
    for name in about.topics:
        groups.setdefault(topics()[name].group, []).append(topics()[name])
    for group, members in groups.items():
        paragraphs = tuple(paragraph(about, topic) for topic in members)
        headings = tuple(pick(topic.headings, rng) for topic in members)
        if len(members) == 1:
            sections.append(Section(headings[0], paragraphs, ("",)))
        else:
            split = rng.random() < 0.4
            subheadings = headings if split else ("",) * len(members)
            sections.append(Section(pick(words().sections[group], rng), paragraphs, subheadings))
    return Page(about, tuple(sections))
