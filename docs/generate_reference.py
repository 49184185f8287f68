"""Write the reference pages that follow from the code: every configuration key, and the command line."""

import argparse
import dataclasses
import functools
import inspect
import re
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contexture.commands.main import build_parser
from contexture.config import Parameters
from contexture.encoders.config import AnyEncoderConfig
from contexture.objectives.config import OBJECTIVES
from contexture.streams.config import STREAMS
from contexture.systems.config import SystemConfig
from contexture.systems.registry import SYSTEMS
from contexture.tasks.registry import TASKS

CONF = Path(__file__).parents[1] / "conf/base/parameters"
#: A key of a YAML file with the comment behind it.
_YAML_KEY = re.compile(r"(?P<indent> *)(?P<key>\w+):(?: [^#]*)?(?:# (?P<comment>.*))?$")
#: A field with the comment lines above it.
_FIELD = re.compile(r"((?:^ +#.*\n)*)^ {4}(\w+): .*$", re.MULTILINE)


def write_pages(folder: Path) -> None:
    """Write `configuration.md` and `command-line.md`, unless they are up to date."""
    folder.mkdir(exist_ok=True)
    for name, text in {"configuration.md": configuration_page(), "command-line.md": command_line_page()}.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def configuration_page() -> str:
    """Return a page with a table of keys for each settings class."""
    top = [(name, hint) for name, hint in hints(Parameters).items() if name not in ("sources", "systems")]
    chapters = {
        "Top-level keys": [(name, cls) for name, hint in top for cls in settings_classes(hint)],
        "Files of the tasks": [(name, spec.source) for name, spec in TASKS.items()],
        "Systems": [("<system>", SystemConfig)],
        "Encoders": [(f"<system>.encoders.* (kind: {kind(cls)})", cls) for cls in settings_classes(AnyEncoderConfig)],
        "Streams": [(f"<system>.streams.{name}", cls) for name, cls in STREAMS.items()],
        "Objectives": [(f"<system>.pretrain.runs.*.objectives.{name}", cls) for name, cls in OBJECTIVES.items()],
        "Tasks": [(f"<system>.tasks.{name}", spec.settings) for name, spec in TASKS.items()],
    }
    lines = [
        "# Configuration keys",
        "",
        "All keys of the files under `conf/<environment>/parameters`, with type, default and meaning. A run checks "
        "them before it starts: an unknown key stops the run with an error that names the key and its file. Any key "
        "can also be set on the command line: `kedro run --params mspp.seeds=3`.",
    ]
    seen: set[type] = set()
    comments = yaml_comments()
    for title, entries in chapters.items():
        lines += ["", f"## {title}"]
        for path, cls in entries:
            lines += describe(path, cls, comments, seen)
    return "\n".join(lines) + "\n"


def describe(path: str, cls: type, comments: Mapping[str, str], seen: set[type]) -> Iterator[str]:
    """Yield the section of a settings class, and of those that its fields hold."""
    if cls in seen or not (fields := [field for field in dataclasses.fields(cls) if field.init]):
        return
    seen.add(cls)
    types_, meanings = hints(cls), field_comments(cls)
    yield from ("", f"### `{path}`", "", plain(inspect.getdoc(cls) or ""), "")
    yield from ("| key | type | default | meaning |", "|---|---|---|---|")
    for field in fields:
        meaning = meanings.get(field.name) or comments.get(f"{path}.{field.name}") or type_meaning(types_[field.name])
        cells = (f"`{field.name}`", type_name(types_[field.name]), default(field), meaning.replace("|", "\\|"))
        yield f"| {' | '.join(cells)} |"
    for field in fields:
        inner_path = f"{path}.{field.name}" + (".*" if typing.get_origin(types_[field.name]) is dict else "")
        for inner in settings_classes(types_[field.name]):
            yield from describe(inner_path, inner, comments, seen)


def yaml_comments() -> dict[str, str]:
    """Return the comments of `conf/base/parameters` by dotted key; `<system>` stands for the name of a system."""
    comments: dict[str, str] = {}
    for file in sorted(CONF.glob("*.yml")):
        keys: list[tuple[int, str]] = []
        pending: list[str] = []
        for line in file.read_text(encoding="utf-8").splitlines():
            if match := _YAML_KEY.match(line):
                indent = len(match["indent"])
                keys = [(width, key) for width, key in keys if width < indent] + [(indent, match["key"])]
                path = ".".join(key for _, key in keys)
                first, _, rest = path.partition(".")
                comment = " ".join([*pending, *filter(None, [match["comment"]])])
                comments.setdefault(f"<system>.{rest}" if first in SYSTEMS else path, comment)
                pending = []
            elif line.lstrip().startswith("#"):
                pending.append(line.strip().lstrip("# "))
            else:
                pending = []
    return comments


def hints(cls: type) -> dict[str, Any]:
    """Return the resolved annotations of a class."""
    return typing.get_type_hints(cls, include_extras=False)


def field_comments(cls: type) -> dict[str, str]:
    """Return the comment above each field, also of base classes."""
    comments: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if dataclasses.is_dataclass(base):
            for match in _FIELD.finditer(textwrap.dedent(inspect.getsource(base))):
                comment = " ".join(line.strip().lstrip("#:").strip() for line in match[1].splitlines())
                comments[match[2]] = comment or comments.get(match[2], "")
    return comments


def type_meaning(hint: Any) -> str:
    """Return the meaning of a field without a comment: what its settings class says, or that it selects a class."""
    if classes := settings_classes(hint):
        return plain(inspect.getdoc(classes[0]) or "").split("\n\n")[0].replace("\n", " ")
    is_selector = typing.get_origin(hint) is typing.Literal and len(typing.get_args(hint)) == 1
    return "Selects this class of settings." if is_selector else ""


def settings_classes(hint: Any) -> list[type]:
    """Return the settings classes that a type mentions."""
    if isinstance(hint, type) and hasattr(hint, "__pydantic_fields__"):
        return [hint]
    return [cls for argument in typing.get_args(hint) for cls in settings_classes(argument)]


def kind(cls: type) -> str:
    """Return the value of `kind` that selects an encoder class."""
    return str(typing.get_args(hints(cls)["kind"])[0])


def type_name(hint: Any) -> str:
    """Return a type as a reader of YAML calls it."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(type_name(argument) for argument in arguments))
    if origin is dict:
        return f"mapping of {type_name(arguments[1])}"
    if origin in (list, tuple):
        return f"list of {type_name(arguments[0])}"
    if isinstance(hint, type) and hasattr(hint, "__pydantic_fields__"):
        return "mapping"
    names = {int: "integer", float: "number", str: "text", bool: "true or false", type(None): "null"}
    return names.get(hint, "any")


def default(field: dataclasses.Field[Any]) -> str:
    """Return a default as YAML writes it; a dash if the key is required."""
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
        return "empty" if not value else "see there" if dataclasses.is_dataclass(value) else f"`{value}`"
    value = getattr(field.default, "default", field.default)
    if value is dataclasses.MISSING or repr(value) == "PydanticUndefined":
        factory = getattr(field.default, "default_factory", None)
        return "empty" if factory else "–"
    if dataclasses.is_dataclass(value):
        return "see there"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else f"`{value}`"


def plain(docstring: str) -> str:
    """Return a docstring as Markdown text, without a section of attributes."""
    return docstring.split("\nAttributes:")[0].strip()


def subcommands(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield name and parser of all subcommands, and of theirs."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for subcommand, inner in action.choices.items():
                yield f"{name} {subcommand}", inner
                yield from subcommands(f"{name} {subcommand}", inner)


def command_line_page() -> str:
    """Return a page with the help of `contexture` and its subcommands."""
    lines = ["# Command line", "", "`kedro run` runs pipelines; `contexture` has the commands below."]
    for name, command in subcommands("contexture", build_parser()):
        command.formatter_class = functools.partial(argparse.HelpFormatter, width=100)
        lines += ["", f"## {name}", "", "```text", command.format_help().strip(), "```"]
    return "\n".join(lines) + "\n"
