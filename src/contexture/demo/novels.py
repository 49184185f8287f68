"""Novels of the demo world, in which a sentence can be predicted from its neighbours."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from contexture.demo.fields import (
    BRIGHT,
    REGIONS,
    draw_scene,
    fields,
    fill_letters,
    frames,
    moods,
    render_sentence,
    sample,
)
from contexture.demo.grammar import Template, kinds, topics
from contexture.demo.names import pick, seeded_random, shuffle
from contexture.demo.world import (
    Outline,
    Slots,
    capitalize,
    draw_facts,
    fill_templates,
    literal,
    make_outline,
    strip_links,
)

_FRAMES_FILE = "novels.yml"
_NUM_CHAPTERS = 6
#: Scenes per novel about a field, 1 by default; large fields need more.
_NUM_SCENES = {"feelings": 4, "records": 4}
#: Shares of a scene's sentences that express its mood, and that state a fact if it is about a topic.
_FEELING_SHARE, _FACT_SHARE = 0.35, 0.2


@dataclass(frozen=True, slots=True)
class Chapter:
    """A heading and paragraphs of sentences; each paragraph is a scene."""

    heading: str
    paragraphs: tuple[tuple[str, ...], ...]


def novel_file_name(seed: int, index: int, translate: Callable[[str], str] = str) -> str:
    """Return the unique file name of novel `index`, with its translated title."""
    return re.sub(r"\W+", "_", translate(f"Tales of {make_outline(seed, _title_page(index)).title}")) + ".txt"


def make_novel(seed: int, index: int, *series: str) -> Iterator[Chapter]:
    """Yield the chapters of novel `index`, about 200 sentences, which depend on the arguments alone.

    Novels of another series have the same towns and people, but other scenes. A scene of six to nine sentences has one
    town, two people, one field of words (`fields`) and one mood.
    """
    rng = seeded_random(seed, "novel", index, *series)
    region = _title_page(index) // len(kinds())
    scenes = shuffle([name for name in fields() for _ in range(_NUM_SCENES.get(name, 1))], rng)
    for number in range(_NUM_CHAPTERS):
        paragraphs = [
            tuple(_make_scene(*draw_scene(seed, region, rng), name, rng)) for name in scenes[number::_NUM_CHAPTERS]
        ]
        frame = pick(frames(_FRAMES_FILE)["heading"], rng)
        heading = _fill_frame(frame, draw_scene(seed, region, rng)[1], scenes[number], BRIGHT, rng)
        yield Chapter(f"Chapter {number + 1}. {heading}", tuple(paragraphs))


def translate_chapter(chapter: Chapter, translate: Callable[[str], str]) -> Chapter:
    """Return the chapter, translated sentence by sentence."""
    return Chapter(translate(chapter.heading), tuple(tuple(map(translate, lines)) for lines in chapter.paragraphs))


def iter_sentences(chapters: Iterable[Chapter]) -> Iterator[str]:
    """Yield all sentences of chapters, without headings."""
    return (sentence for chapter in chapters for paragraph in chapter.paragraphs for sentence in paragraph)


def chapter_text(chapter: Chapter) -> str:
    """Return the text of a chapter in a file: heading and paragraphs, each followed by an empty line."""
    lines = [f"# {chapter.heading}", *(" ".join(paragraph) for paragraph in chapter.paragraphs)]
    return "".join(f"{line}\n\n" for line in lines)


def _title_page(index: int) -> int:
    """Return the index of the article that names novel `index`."""
    first = REGIONS * len(kinds())
    return index if index >= first else index % REGIONS * len(kinds()) + index // REGIONS


def _make_scene(town: Outline, people: Slots, field: str, rng: Random) -> list[str]:
    """Return the six to nine sentences of a scene with words of `field`, some of which state facts about the town."""
    ways = {name: _cycle_shuffled(options, rng) for name, options in frames(_FRAMES_FILE).items()}
    mood = pick(tuple(moods()), rng)
    texts = [_fill_frame(next(ways["opening"]), people, field, mood, rng)]
    for _ in range(5 + int(rng.random() * 4)):
        kind = rng.random()
        if _FEELING_SHARE <= kind < _FEELING_SHARE + _FACT_SHARE and field in topics():
            texts.append(_make_quote(next(ways["fact"]), town, people, field, rng))
        else:
            frame_name = "feeling" if kind < _FEELING_SHARE else "telling"
            texts.append(_fill_frame(next(ways[frame_name]), people, field, mood, rng))
    return texts


def _cycle_shuffled(options: Sequence[Template], rng: Random) -> Iterator[Template]:
    """Yield all of `options` in random order, repeatedly."""
    while True:
        yield from shuffle(options, rng)


def _fill_frame(frame: Template, people: Slots, field: str, mood: str, rng: Random) -> str:
    """Return a sentence made of a template, the people, three nouns of a field and two adjectives of a mood."""
    things = fill_letters("abc", sample(fields()[field], 3, rng)) | fill_letters("xy", sample(moods()[mood], 2, rng))
    return render_sentence(frame, people | things, rng)


def _make_quote(frame: Template, town: Outline, people: Slots, name: str, rng: Random) -> str:
    """Return a sentence in which somebody states a fact about the town."""
    topic = topics()[name]
    statement = pick(topic.say[pick(tuple(topic.say), rng)], rng)
    (fact,) = fill_templates(town, [statement], draw_facts(town, topic), name, rng)
    return render_sentence(frame, people | {"fact": literal(strip_links(capitalize(fact)).removesuffix("."))}, rng)
