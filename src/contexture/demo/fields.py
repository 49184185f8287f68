"""Words that belong together, and sentences made of them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from random import Random

from contexture.demo.grammar import Options, Template, compile_lines, kinds, read_yaml, render, topics, words
from contexture.demo.names import T, pick, shuffle
from contexture.demo.world import Outline, Slots, capitalize, literal, make_outline

#: Novels and tasks are set in the regions of the default world, whatever the size of the export.
REGIONS = 12
BRIGHT, GRIM = "bright", "grim"
#: The coarse labels of TREC are fields, too.
TREC_LABELS = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


@lru_cache(maxsize=1)
def fields() -> Mapping[str, tuple[str, ...]]:
    """Nouns in the plural, each in one field only: those of `fields.yml`, and the terms of every topic."""
    nouns = {name: tuple(block.split()) for name, block in read_yaml("fields.yml").items() if name != "moods"}
    return nouns | {name: topic.terms for name, topic in topics().items()}


@lru_cache(maxsize=1)
def moods() -> Mapping[str, tuple[str, ...]]:
    """Adjectives that praise (`BRIGHT`) and that blame (`GRIM`), as many of one as of the other."""
    return {name: tuple(block.split()) for name, block in read_yaml("fields.yml")["moods"].items()}


@lru_cache(maxsize=4)
def frames(file: str) -> Options:
    """The sentence templates of a file of this package, by name; those that come in groups as `group/name`."""
    templates: dict[str, tuple[Template, ...]] = {}
    for name, block in read_yaml(file).items():
        groups = block if isinstance(block, dict) else {"": block}
        templates |= {f"{name}/{inner}".rstrip("/"): compile_lines(lines) for inner, lines in groups.items()}
    return templates


@lru_cache(maxsize=REGIONS)
def towns(seed: int, region: int) -> tuple[Outline, ...]:
    """The towns of a region."""
    first = region * len(kinds())
    return tuple(make_outline(seed, first + i) for i, kind in enumerate(kinds()) if kind.name == "town")


def draw_scene(seed: int, region: int, rng: Random) -> tuple[Outline, Slots]:
    """A town, and what a scene set in it can name: `town`, `name`, `friend`, and `she` (or he) for `name`."""
    town = pick(towns(seed, region), rng)
    pronoun = pick(("woman", "man"), rng)
    people = {key: shuffle(_first_names(key), rng) for key in ("woman", "man")}
    name = people[pronoun].pop()
    return town, {
        "town": literal(town.title),
        "name": name,
        "friend": people[pick(("woman", "man"), rng)].pop(),
        "she": literal("she" if pronoun == "woman" else "he"),
    }


@lru_cache(maxsize=2)
def _first_names(key: str) -> tuple[Template, ...]:
    """First names that are no word of a field as well, as Piers is."""
    nouns = {word for field in fields().values() for word in field}
    return tuple(name for name in words().lists[key] if str(name.parts[0]).lower() not in nouns)


def draw_people(seed: int, rng: Random) -> Slots:
    """Town and people of any region, see `draw_scene`."""
    return draw_scene(seed, int(rng.random() * REGIONS), rng)[1]


def fill_letters(keys: str, values: Iterable[str]) -> Slots:
    """The values as slots with names of one letter each: `fill_letters("abc", nouns)`."""
    return {key: literal(value) for key, value in zip(keys, values, strict=True)}


def sample(options: Sequence[T], count: int, rng: Random) -> list[T]:
    """`count` different ones of `options`."""
    return shuffle(options, rng)[:count]


def render_sentence(template: Template, slots: Slots, rng: Random) -> str:
    """The template as a sentence with a capital."""
    return capitalize(render(template, slots, rng))
