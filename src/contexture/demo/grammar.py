"""Sentence templates: `{slot}` is filled in, `[a/b]` is drawn per sentence, `<a/b>` once per page."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import product
from random import Random
from typing import Any

import yaml

from contexture.demo.names import pick

LINK_SLOTS = frozenset({"town", "town2", "river", "person", "guild", "plant", "instrument", "festival"})
_TOKEN = re.compile(r"(\[[^\]]*\]|\{\w+\})")


@dataclass(frozen=True, slots=True)
class Slot:
    """A named slot."""

    name: str


@dataclass(frozen=True, slots=True)
class Template:
    """Literal text, slots and choices between templates, in order."""

    parts: tuple["str | Slot | tuple[Template, ...]", ...]
    slots: frozenset[str]


def compile_template(text: str) -> Template:
    """Return the template that a text describes; choices may contain slots but no choices."""
    parts: list[str | Slot | tuple[Template, ...]] = []
    slots: set[str] = set()
    for token in filter(None, _TOKEN.split(text)):
        if token[0] == "[":
            options = tuple(compile_template(option) for option in token[1:-1].split("/"))
            parts.append(options)
            slots.update(*(option.slots for option in options))
        elif token[0] == "{":
            parts.append(Slot(token[1:-1]))
            slots.add(token[1:-1])
        else:
            parts.append(token)
    return Template(tuple(parts), frozenset(slots))


def render(template: Template, slots: Mapping[str, Template], rng: Random) -> str:
    """Render a template as text; raise KeyError for a slot that is not in `slots`."""
    text = []
    for part in template.parts:
        if isinstance(part, str):
            text.append(part)
        elif isinstance(part, Slot):
            text.append(render(slots[part.name], slots, rng))
        else:
            text.append(render(pick(part, rng), slots, rng))
    return "".join(text)


def alternatives(text: str) -> tuple[Template, ...]:
    """Return one template per combination of the choices in `text`: two for "the <old/new> town"."""
    pieces = [piece.split("/") if i % 2 else [piece] for i, piece in enumerate(re.split(r"[<\[]([^>\]]*)[>\]]", text))]
    return tuple(compile_template("".join(choice)) for choice in product(*pieces))


Options = Mapping[str, tuple[Template, ...]]


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic of a paragraph: its facts, and templates to state and to ask for each."""

    name: str
    group: str
    headings: tuple[str, ...]
    themes: tuple[Options, ...]
    facts: Options
    say: Options
    ask: Options
    lead: Options
    tails: tuple[Template, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of article: templates for its names and definition, and its possible topics."""

    name: str
    title: tuple[Template, ...]
    alias: Template
    article: str
    anchors: tuple[Template, ...]
    here: Template
    about: Template
    topics: tuple[str, ...]
    define: tuple[Template, ...]
    infobox: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """Word lists for all articles, and headings of sections with several topics."""

    lists: Options
    sections: Mapping[str, tuple[str, ...]]


def read_yaml(file: str) -> dict[str, Any]:
    """Return the content of a YAML file of this package."""
    content: dict[str, Any] = yaml.safe_load((files("contexture.demo") / file).read_text(encoding="utf-8"))
    return content


def compile_lines(block: str) -> tuple[Template, ...]:
    """Return a template for each line of a block."""
    return tuple(compile_template(line) for line in block.splitlines())


def _expand_options(options: Iterable[str]) -> tuple[Template, ...]:
    """Return the templates of all alternatives of all options."""
    return tuple(template for option in options for template in alternatives(option))


def _read_table(block: str) -> tuple[Options, ...]:
    """Return each row of a table with a header and ` | ` between cells as column → templates of the cell."""
    header, *rows = ([cell.strip() for cell in line.split(" | ")] for line in block.splitlines())
    return tuple({column: alternatives(cell) for column, cell in zip(header, row, strict=True)} for row in rows)


@lru_cache(maxsize=1)
def topics() -> Mapping[str, Topic]:
    """Return all topics by name."""
    names = sorted(path.name.removesuffix(".yml") for path in (files("contexture.demo") / "topics").iterdir())
    return {name: _read_topic(name, read_yaml(f"topics/{name}.yml")) for name in names}


def _read_topic(name: str, raw: dict[str, Any]) -> Topic:
    """Return a topic from the content of its YAML file."""
    say, ask, lead = (
        {aspect: compile_lines(block) for aspect, block in raw[key].items()} for key in ("say", "ask", "lead")
    )
    return Topic(
        name=name,
        group=raw["group"],
        headings=tuple(raw["headings"].split(" / ")),
        themes=_read_table(raw["themes"]),
        facts={key: _expand_options(value.split(" / ")) for key, value in raw["facts"].items()},
        say=say,
        ask=ask,
        lead=lead,
        tails=compile_lines(raw["tails"]),
        terms=tuple(raw["terms"].split()),
    )


@lru_cache(maxsize=1)
def kinds() -> tuple[Kind, ...]:
    """Return the kinds of the articles of a region; article `index` has `kinds()[index % len(kinds())]`."""
    raw = read_yaml("kinds.yml")
    return tuple(kind for name in raw for kind in [_read_kind(name, raw[name])] * raw[name]["count"])


def _read_kind(name: str, raw: dict[str, Any]) -> Kind:
    """Return a kind of article from its entry in `kinds.yml`."""
    return Kind(
        name=name,
        title=alternatives(raw["title"]),
        alias=compile_template(raw["alias"]),
        article=raw["article"],
        anchors=_expand_options(raw["anchors"].split(" / ")),
        here=compile_template(raw["here"]),
        about=compile_template(raw["about"]),
        topics=tuple(raw["topics"].split()),
        define=compile_lines(raw["define"]),
        infobox=compile_lines(raw["infobox"]),
    )


@lru_cache(maxsize=1)
def words() -> Words:
    """Return the word lists in `words.yml`, and the headings of sections."""
    raw = read_yaml("words.yml")
    sections = {group: tuple(headings.split(" / ")) for group, headings in raw.pop("sections").items()}
    return Words({key: _expand_options(str(value).split()) for key, value in raw.items()}, sections)
