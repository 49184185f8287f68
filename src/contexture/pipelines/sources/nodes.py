"""Nodes of the stage `sources`, and what is asked of its files before a run."""

import logging
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from contexture.config import ConfigurationError
from contexture.corpus.config import CorpusConfig, Input
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import find_sources
from contexture.corpus.sources.protocol import SourceFile
from contexture.demo import write_demo_world
from contexture.demo.config import DEMO, DemoConfig
from contexture.demo.languages import codes
from contexture.demo.write import BOOKS, EXPORT, LANGUAGES
from contexture.reporting.phrases import list_files

LOG = logging.getLogger(__name__)
#: What `check_inputs` asked for and found, for the node of the same run: a large folder is walked once.
_checked: list[tuple[CorpusConfig, list[SourceFile]]] = []


def make_demo_world(config: DemoConfig, place: Path) -> Path:
    """Write the made-up world: text and questions."""
    LOG.info("the made-up world: %s", write_demo_world(config, place))
    return place


def locate_sources(corpus: CorpusConfig, world: DemoConfig, demo: Path) -> dict[str, Any]:
    """Find and check every raw file of the corpus; `demo` is where the made-up world lies, if it is asked for.

    Of a world of several languages the novels are taken, which it has in all of them, and not the encyclopedia.
    """
    inputs = corpus.inputs()
    placed: list[str | Input] = []
    for one in inputs:
        placed += text_of_world(world, demo) if one.path == DEMO else [one]
    asked_for = replace(corpus, input=placed)
    known = [files for one, files in _checked if one == asked_for]
    _checked.clear()  # files may change until the next run
    files = known[0] if known else find_sources(asked_for)
    LOG.info("corpus: %d files, %.1f MB", len(files), sum(file.bytes for file in files) / 1e6)
    told = {"inputs": [one.path for one in inputs], "lang": corpus.lang, "source": corpus.source}
    return told | {"corpus": [asdict(file) for file in files]}


def text_of_world(world: DemoConfig, demo: Path) -> list[Input]:
    """The made-up world's text, each language under its code."""
    novels = [Input(str(demo / BOOKS), "books", "en")]
    if not world.languages:
        return [Input(str(demo / EXPORT), "mediawiki"), *novels]
    places = {code: demo / LANGUAGES / BOOKS / code for code in codes(world.languages)}
    return novels + [Input(str(place), "books", code) for code, place in places.items()]


def check_inputs(corpus: CorpusConfig, told: bool, sources: dict[str, Any]) -> None:
    """Refuse a corpus whose files cannot be used, or one that nobody asked for in the place of a user's own.

    Args:
        corpus: what is asked for.
        told: whether this very run says `corpus.input`; then another corpus may be replaced.
        sources: what `locate_sources` returned for the corpus that is there; empty where there is none.

    Raises:
        ConfigurationError: with the way out.
    """
    asked = replace(corpus, input=[one for one in corpus.inputs() if one.path != DEMO])
    try:
        _checked[:] = [(asked, find_sources(asked))]
    except SourceError as error:
        raise ConfigurationError(str(error)) from None
    before = sources.get("inputs", [DEMO])
    now = [one.path for one in corpus.inputs()]
    if told or before in ([DEMO], now):
        return
    there, new = (", ".join("the made-up world" if path == DEMO else path for path in paths) for paths in (before, now))
    kept = _parameters(before, sources.get("lang"), sources.get("source"))
    raise ConfigurationError(
        f"the corpus here was made of {there}; this run would put one of {new} in its place. To go on with it, add "
        f"--params {kept}, or run the stages behind it alone (--tags); to replace it, "
        f"--params {_parameters(now, corpus.lang, corpus.source)}"
    )


def is_own(corpus: CorpusConfig) -> bool:
    """Whether any of the text is a user's own."""
    return any(one.path != DEMO for one in corpus.inputs())


def _parameters(paths: list[str], lang: str | None, source: str | None) -> str:
    """What names a text on the command line; several inputs are better named in a file."""
    told = [f"corpus.input={paths[0]}" if len(paths) == 1 else "corpus.input=…, all of them"]
    told += [f"corpus.lang={lang}"] if lang not in (None, "auto") else []
    told += [f"corpus.source={source}"] if source not in (None, "auto") else []
    return ",".join(told)


def name_of_text(sources: dict[str, Any]) -> str:
    """What a corpus is called: after what it was asked for by, which older versions did not keep."""
    inputs = sources.get("inputs", ["unknown text"])
    return list_files(["the demo's made-up world" if path == DEMO else path for path in inputs])
