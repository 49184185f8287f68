"""Novels of the demo world: in order, so that a sentence can be predicted from its neighbours."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from contexture.demo.fields import BRIGHT, REGIONS, draw_scene, fields, fill_letters, frames, moods, sample, sentence
from contexture.demo.grammar import Template, kinds, topics
from contexture.demo.names import pick, shuffled, source
from contexture.demo.world import Outline, Slots, capital, facts, fill, literal, outline, unlink

_FRAMES = "novels.yml"
_CHAPTERS = 6
#: How many of a novel's scenes are about a field, where it is not one: larger fields take more to become known.
_SCENES = {"feelings": 4, "records": 4}
#: Shares of a scene's sentences that tell its mood and, where it is about a topic, that state a fact.
_FEELING, _FACT = 0.35, 0.2


@dataclass(frozen=True, slots=True)
class Chapter:
    """A heading and paragraphs of sentences, a scene each."""

    heading: str
    paragraphs: tuple[tuple[str, ...], ...]


def file_name(seed: int, index: int, translate: Callable[[str], str] = str) -> str:
    """The name of novel `index` in a folder of books; no two novels have one name."""
    return re.sub(r"\W+", "_", translate(f"Tales of {outline(seed, _home(index)).title}")) + ".txt"


def novel(seed: int, index: int, *series: str) -> Iterator[Chapter]:
    """Novel `index` of the world of `seed`, of some 200 sentences: a function of the two and its series alone.

    The novels of another series have the same towns and people, but other scenes. A scene of six to nine sentences
    keeps to one town, two people, one field of words (`fields`) and one mood; all frames go with all of them.
    """
    rng = source(seed, "novel", index, *series)
    region = _home(index) // len(kinds())
    scenes = shuffled([name for name in fields() for _ in range(_SCENES.get(name, 1))], rng)
    for number in range(_CHAPTERS):
        paragraphs = [tuple(_scene(*draw_scene(seed, region, rng), name, rng)) for name in scenes[number::_CHAPTERS]]
        way = pick(frames(_FRAMES)["heading"], rng)
        heading = _filled(way, draw_scene(seed, region, rng)[1], scenes[number], BRIGHT, rng)
        yield Chapter(f"Chapter {number + 1}. {heading}", tuple(paragraphs))


def translated(chapter: Chapter, translate: Callable[[str], str]) -> Chapter:
    """The chapter in another language, sentence by sentence."""
    return Chapter(translate(chapter.heading), tuple(tuple(map(translate, lines)) for lines in chapter.paragraphs))


def sentences(chapters: Iterable[Chapter]) -> Iterator[str]:
    """All sentences but the headings."""
    return (sentence for chapter in chapters for paragraph in chapter.paragraphs for sentence in paragraph)


def text(chapter: Chapter) -> str:
    """A chapter as lines of a novel's file: the heading and each paragraph, with an empty line behind each."""
    lines = [f"# {chapter.heading}", *(" ".join(paragraph) for paragraph in chapter.paragraphs)]
    return "".join(f"{line}\n\n" for line in lines)


def _home(index: int) -> int:
    """The page that gives novel `index` its name: one region after another, then the pages that no region has."""
    first = REGIONS * len(kinds())
    return index if index >= first else index % REGIONS * len(kinds()) + index // REGIONS


def _scene(town: Outline, people: Slots, field: str, rng: Random) -> list[str]:
    ways = {name: _in_turn(options, rng) for name, options in frames(_FRAMES).items()}
    mood = pick(tuple(moods()), rng)
    texts = [_filled(next(ways["opening"]), people, field, mood, rng)]
    for _ in range(5 + int(rng.random() * 4)):
        kind = rng.random()
        if _FEELING <= kind < _FEELING + _FACT and field in topics():
            texts.append(_fact(next(ways["fact"]), town, people, field, rng))
        else:
            frame = "feeling" if kind < _FEELING else "telling"
            texts.append(_filled(next(ways[frame]), people, field, mood, rng))
    return texts


def _in_turn(options: Sequence[Template], rng: Random) -> Iterator[Template]:
    """All of `options` in random order, again and again."""
    while True:
        yield from shuffled(options, rng)


def _filled(way: Template, people: Slots, field: str, mood: str, rng: Random) -> str:
    things = fill_letters("abc", sample(fields()[field], 3, rng)) | fill_letters("xy", sample(moods()[mood], 2, rng))
    return sentence(way, people | things, rng)


def _fact(way: Template, town: Outline, people: Slots, name: str, rng: Random) -> str:
    """What the encyclopedia could say of the town, in somebody's mouth."""
    topic = topics()[name]
    statement = pick(topic.say[pick(tuple(topic.say), rng)], rng)
    (said,) = fill(town, [statement], facts(town, topic), name, rng)
    return sentence(way, people | {"fact": literal(unlink(capital(said)).removesuffix("."))}, rng)
