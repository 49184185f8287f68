"""Expand templates whose text belongs to the sentence, by a table that users can extend; drop all others.

A table is YAML: languages (or `any`) with patterns, each with the names of the templates that show it.

    en:
      "{2}": [lang, transl]
      "{1}[ ({2*, })]": [nihongo]
      "=convert": [convert, cvt]

`{2}` is the second argument, `{text}` a named one, `{3|text|1}` the first non-empty one of several, `{*}` all unnamed
ones, `{2*, }` those from the second on, joined by ", ". Text in square brackets is shown only if an argument in it is
not empty. A backslash escapes the next character. `=convert` calls a function of `contexture.text.values`. "" shows
nothing, and so removes an entry of the package's table. Names are in lower case; `lang-*` matches all names with this
beginning, up to the first hyphen, slash or colon.
"""

import functools
import re
from collections.abc import Callable, Mapping

import yaml

from contexture.text.characters import GAP
from contexture.text.tables import read_text
from contexture.text.values import FUNCTIONS, Arguments, get_positional

#: Function from arguments and the wiki's language to the shown text.
Rule = Callable[[Arguments, str], str]

#: Deeper templates are dropped, for linear time. MediaWiki's limit is 100.
_MAX_DEPTH = 16
_BRACES = re.compile(r"\{\{+|\}\}+")
_FAMILY = re.compile(r"[-/:]")
_NOT_IN_A_NAME = re.compile(r"[\[\]<>{}\"\x05]")


class Templates:
    """The templates that show text on a wiki of one language."""

    def __init__(self, lang: str, rules: Mapping[str, Rule]) -> None:
        self.lang = lang
        self.rules = rules

    def expand(self, text: str, depth: int = 0) -> str:
        """Return wikitext with each template replaced by the text that it shows, or by GAP.

        Unbalanced braces are removed; their content stays.
        """
        spans, balanced = _find_outermost(text)
        if not spans and balanced:
            return text
        pieces, done = [], 0
        for start, end in spans:
            pieces.append(text[done:start] if balanced else _BRACES.sub("", text[done:start]))
            pieces.append(self._render(text[start + 2 : end - 2], depth))
            done = end
        pieces.append(text[done:] if balanced else _BRACES.sub("", text[done:]))
        return "".join(pieces)

    def _render(self, content: str, depth: int) -> str:
        """Return the text that a template shows, or GAP; `content` is what its braces contain."""
        rule, first = self._find_rule(content.partition("|")[0])
        if rule is None or depth >= _MAX_DEPTH:
            return GAP
        if "{{" in content or "}}" in content:
            content = self.expand(content, depth + 1)
            rule, first = self._find_rule(
                content.partition("|")[0]
            )  # in `{{lc:{{x|y}}}}`, the first bar is the inner template's
            if rule is None:
                return GAP
        return rule(read_arguments(content.partition("|")[2], first), self.lang) or GAP

    def _find_rule(self, name: str) -> tuple[Rule | None, str | None]:
        """Return the rule of a template by its raw name, and the first argument if it follows a colon."""
        key = " ".join(name.replace("_", " ").split()).lower()
        rule = self.rules.get(key)
        if rule is None and (family := _FAMILY.search(key)):
            rule = self.rules.get(key[: family.end()] + "*")
            if family[0] == ":":
                return rule, name.partition(":")[2]
        return rule, None


def _find_outermost(text: str) -> tuple[list[tuple[int, int]], bool]:
    """Return (start, end) of each outermost template, and whether all braces are balanced."""
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    balanced = True
    opening, closing = text.find("{{"), text.find("}}")  # much faster than a pattern
    while closing >= 0:
        if 0 <= opening < closing:
            end = find_run_end(text, opening)
            # Three braces mark a parameter: one pair and an additional brace.
            opened.extend(range(opening, end - 1 - (end - opening) % 2, 2))
            opening = text.find("{{", end)
            continue
        end = find_run_end(text, closing)
        for piece_end in (*range(closing + 2, end - 1, 2), end):
            if not opened:
                balanced = False
                break
            start = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, piece_end))
        closing = text.find("}}", end)
    return spans, balanced and not opened and opening < 0


def find_run_end(text: str, start: int) -> int:
    """Return the end of the run of one character that starts at `start`."""
    character = text[start]
    end = start + 1
    while text.startswith(character, end):
        end += 1
    return end


def read_arguments(rest: str, first: str | None = None) -> Arguments:
    """Return a template's stripped arguments by name; unnamed ones by position ("1", "2", …)."""
    arguments: Arguments = {}
    position = 0
    for piece in _split_arguments(rest) if first is None else [first, *_split_arguments(rest)]:
        name, equals, value = piece.partition("=")
        if equals and not _NOT_IN_A_NAME.search(name):
            arguments[name.strip().lower()] = value.strip()
        else:
            position += 1
            arguments[str(position)] = piece.strip()
    return arguments


def _split_arguments(rest: str) -> list[str]:
    """Return the raw arguments of a template, which are between bars outside links."""
    if "[[" not in rest:
        return rest.split("|")
    pieces: list[list[str]] = []
    depth = 0
    for piece in rest.split("|"):
        if depth:
            pieces[-1].append(piece)
        else:
            pieces.append([piece])
        depth = max(0, depth + piece.count("[[") - piece.count("]]"))
    return ["|".join(piece) for piece in pieces]


@functools.lru_cache(maxsize=32)
def load_templates(lang: str, user_table: str = "") -> Templates:
    """Return the templates that show text in a language; `user_table` is YAML that overrides the package's table.

    Raises ValueError if it is invalid.
    """
    rules: dict[str, Rule] = {}
    for table in (_read_table(read_text("templates.yml")), _read_table(user_table)):
        for section in ("any", lang):
            for pattern, names in table.get(section, {}).items():
                rules.update(dict.fromkeys(names, compile_rule(pattern)))
    return Templates(lang, rules)


def _read_table(source: str) -> dict[str, dict[str, list[str]]]:
    """Return language → pattern → names of templates from YAML. Raises ValueError if it is invalid."""
    try:
        table: dict[str, dict[str, list[str]]] = yaml.safe_load(source) or {}
    except yaml.YAMLError as error:
        raise ValueError(f"the table of templates is not YAML: {error}") from error
    if not isinstance(table, dict):
        raise ValueError("the table of templates must have languages, or `any`, at its top level")
    for section, patterns in table.items():
        if not isinstance(section, str) or not isinstance(patterns, dict):
            raise ValueError(f"{section!r} in the table of templates: must be a language with patterns")
        for pattern, names in patterns.items():
            if not isinstance(pattern, str) or not isinstance(names, list):
                raise ValueError(f"{section}: {pattern!r} in the table of templates: must be a pattern with names")
            for name in names:
                if not isinstance(name, str) or name != name.lower():
                    raise ValueError(f"{section}: {pattern!r}: {name!r} is not a name in lower case; quote it in YAML")
    return table


_PATTERN = re.compile(r"\\(.)|\{([^{}]*)\}|([\[\]])", re.DOTALL)
_RANGE = re.compile(r"([1-9]?)\*(.*)", re.DOTALL)


@functools.cache
def compile_rule(pattern: str) -> Rule:
    """Return the function that renders a template by a pattern of the table. Raises ValueError if it is invalid."""
    if pattern.startswith("="):
        if pattern[1:] not in FUNCTIONS:
            raise ValueError(f"{pattern!r}: no such function; there are {', '.join(sorted(FUNCTIONS))}")
        return FUNCTIONS[pattern[1:]]
    parts: list[_Part] = []
    optional: list[_Part] | None = None
    seen: set[str] = set()
    done = 0
    for match in _PATTERN.finditer(pattern):
        target = parts if optional is None else optional
        target.append(pattern[done : match.start()])
        done = match.end()
        escaped, reference, bracket = match.groups()
        if escaped is not None:
            target.append(escaped)
        elif reference is not None:
            names = tuple(reference.split("|"))
            # A repeated argument would double with each level of nesting.
            if seen.intersection(names) or not all(names):
                raise ValueError(f"{pattern!r}: an argument without a name, or named twice")
            seen.update(names)
            target.append(names)
        elif bracket == "[" and optional is None:
            optional = []
        elif bracket == "]" and optional is not None:
            parts.append(optional)
            optional = None
        else:
            raise ValueError(f"{pattern!r}: square brackets do not match, or are nested")
    if optional is not None:
        raise ValueError(f"{pattern!r}: a square bracket is not closed")
    parts.append(pattern[done:])
    kept = [part for part in parts if part]
    needs_text = any(isinstance(part, tuple) for part in kept)

    def render_pattern(arguments: Arguments, lang: str) -> str:
        """Return the pattern filled with the arguments; "" if they are all empty."""
        text, is_filled = _fill_parts(kept, arguments)
        return text if is_filled or not needs_text else ""

    return render_pattern


#: Text, an argument by its names, or optional parts.
_Part = str | tuple[str, ...] | list["_Part"]


def _fill_parts(parts: list[_Part], arguments: Arguments) -> tuple[str, bool]:
    """Return the text of a pattern's parts, and whether any of their arguments is not empty."""
    pieces: list[str] = []
    has_text = False
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
        elif isinstance(part, tuple):
            value = next(filter(None, (_get_argument(name, arguments) for name in part)), "")
            pieces.append(value)
            has_text = has_text or bool(value)
        else:
            text, is_filled = _fill_parts(part, arguments)
            if is_filled:
                pieces.append(text)
                has_text = True
    return "".join(pieces), has_text


def _get_argument(name: str, arguments: Arguments) -> str:
    """Return an argument by its name in a pattern, such as "2" or "2*, " (all from the second on, joined)."""
    value = arguments.get(name)
    if value is not None:
        return value.strip(GAP)
    several = _RANGE.fullmatch(name)
    if several is None:
        return ""
    values = get_positional(arguments)[int(several[1] or 1) - 1 :]
    # Some authors add the comma themselves.
    values = [value.strip(GAP).rstrip(several[2].strip() + " ") for value in values]
    return several[2].join(filter(None, values))
