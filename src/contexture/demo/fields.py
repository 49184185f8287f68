"""Fields of related words, and sentences made of them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from random import Random

from contexture.demo.grammar import Options, Template, compile_lines, kinds, read_yaml, render, topics, words
from contexture.demo.names import T, pick, shuffle
from contexture.demo.world import Outline, Slots, capitalize, literal, make_outline

#: Novels and tasks use the regions of the default world, independent of the size of the export.
REGIONS = 12
BRIGHT, GRIM = "bright", "grim"
#: Coarse labels of TREC, which are fields as well.
TREC_LABELS = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


@lru_cache(maxsize=1)
def fields() -> Mapping[str, tuple[str, ...]]:
    """Return field (a group of related words) → its plural nouns; each noun is in one field only.

    The fields are those of `fields.yml`, and the terms of each topic.
    """
    nouns = {name: tuple(block.split()) for name, block in read_yaml("fields.yml").items() if name != "moods"}
    return nouns | {name: topic.terms for name, topic in topics().items()}


@lru_cache(maxsize=1)
def moods() -> Mapping[str, tuple[str, ...]]:
    """Return mood (`BRIGHT` or `GRIM`) → its adjectives, equally many for both."""
    return {name: tuple(block.split()) for name, block in read_yaml("fields.yml")["moods"].items()}


@lru_cache(maxsize=4)
def frames(file: str) -> Options:
    """Return name, or `group/name`, → sentence templates of a YAML file of this package."""
    templates: dict[str, tuple[Template, ...]] = {}
    for name, block in read_yaml(file).items():
        groups = block if isinstance(block, dict) else {"": block}
        templates |= {f"{name}/{inner}".rstrip("/"): compile_lines(lines) for inner, lines in groups.items()}
    return templates


@lru_cache(maxsize=REGIONS)
def towns(seed: int, region: int) -> tuple[Outline, ...]:
    """Return the outlines of the articles on towns in a region."""
    first = region * len(kinds())
    return tuple(make_outline(seed, first + i) for i, kind in enumerate(kinds()) if kind.name == "town")


def draw_scene(seed: int, region: int, rng: Random) -> tuple[Outline, Slots]:
    """Draw a scene: return its town and the slots `town`, `name`, `friend`, and the pronoun `she` for `name`."""
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
    """Return the first names of a `key`, "woman" or "man", that are no words of a field (unlike Piers)."""
    nouns = {word for field in fields().values() for word in field}
    return tuple(name for name in words().lists[key] if str(name.parts[0]).lower() not in nouns)


def draw_people(seed: int, rng: Random) -> Slots:
    """Return the slots of a scene in a random region: town, two names and a pronoun; see `draw_scene`."""
    return draw_scene(seed, int(rng.random() * REGIONS), rng)[1]


def fill_letters(keys: str, values: Iterable[str]) -> Slots:
    """Return values as slots named by one letter each: `fill_letters("abc", nouns)`."""
    return {key: literal(value) for key, value in zip(keys, values, strict=True)}


def sample(options: Sequence[T], count: int, rng: Random) -> list[T]:
    """Return `count` different elements of `options`, drawn at random."""
    return shuffle(options, rng)[:count]


def render_sentence(template: Template, slots: Slots, rng: Random) -> str:
    """Render a template as a capitalized sentence."""
    return capitalize(render(template, slots, rng))
