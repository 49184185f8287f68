"""Nodes of the stage `sources`, and the check of its files before a run."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from contexture.config_errors import ConfigurationError
from contexture.corpus.config import CorpusConfig, CorpusInput
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import find_sources
from contexture.corpus.sources.languages import UNKNOWN
from contexture.corpus.sources.protocol import SourceFile
from contexture.demo import write_demo_world
from contexture.demo.config import DEMO, DemoConfig
from contexture.demo.languages import language_codes
from contexture.demo.write import BOOKS_DIR, EXPORT_FILE, LANGUAGES_DIR
from contexture.reporting.phrases import list_files
from contexture.training.corpus_info import CorpusInfo

LOG = logging.getLogger(__name__)
#: The made-up world is part of Contexture.
DEMO_LICENSE = "Apache-2.0"
#: Corpus and files of the last `check_inputs`, which `locate_sources` reuses: a large folder is read once.
_checked: list[tuple[CorpusConfig, list[SourceFile]]] = []


def make_demo_world(config: DemoConfig, output_dir: Path) -> Path:
    """Write text and questions of the made-up world to `output_dir`."""
    LOG.info("the made-up world: %s", write_demo_world(config, output_dir))
    return output_dir


def locate_sources(corpus: CorpusConfig, world: DemoConfig, demo_dir: Path) -> dict[str, Any]:
    """Return the manifest of the corpus: inputs, language, license, and all raw files, which are checked.

    `demo_dir` has the made-up world, if it is read.
    """
    inputs: list[str | CorpusInput] = []
    for source in corpus.inputs():
        inputs += demo_inputs(world, demo_dir) if source.path == DEMO else [source]
    resolved = replace(corpus, input=inputs)
    checked = [files for config, files in _checked if config == resolved]
    _checked.clear()  # files may change until the next run
    files = checked[0] if checked else find_sources(resolved)
    LOG.info("corpus: %d files, %.1f MB", len(files), sum(file.bytes for file in files) / 1e6)
    return {
        "inputs": input_paths(corpus),
        "lang": corpus.lang,
        "license": corpus.license,
        "source": corpus.source,
        "corpus": [asdict(file) for file in files],
    }


def demo_inputs(world: DemoConfig, demo_dir: Path) -> list[CorpusInput]:
    """Return the demo world as corpus inputs: novels in each language, or the encyclopedia and novels in English."""
    novels = [CorpusInput(str(demo_dir / BOOKS_DIR), "books", "en")]
    if not world.languages:
        return [CorpusInput(str(demo_dir / EXPORT_FILE), "mediawiki"), *novels]
    return novels + [
        CorpusInput(str(demo_dir / LANGUAGES_DIR / BOOKS_DIR / code), "books", code)
        for code in language_codes(world.languages)
    ]


def check_inputs(corpus: CorpusConfig, sets_input: bool, sources: dict[str, Any]) -> None:
    """Check the files of the corpus, and that another corpus is replaced only on request.

    Args:
        corpus: Configuration of the corpus.
        sets_input: Whether the command sets `corpus.input`; then another corpus may be replaced.
        sources: What `locate_sources` returned for the present corpus; {} without one.

    Raises:
        ConfigurationError: The message says which parameters to use.
    """
    user_corpus = replace(corpus, input=[source for source in corpus.inputs() if source.path != DEMO])
    try:
        _checked[:] = [(user_corpus, find_sources(user_corpus))]
    except SourceError as error:
        raise ConfigurationError(f"corpus.input: {error}") from None
    present, new = sources.get("inputs", [DEMO]), input_paths(corpus)
    if sets_input or present in ([DEMO], new):
        return
    present_names, new_names = (
        ", ".join("the made-up world" if path == DEMO else path for path in paths) for paths in (present, new)
    )
    raise ConfigurationError(
        f"the present corpus was made of {present_names}; this run would replace it by one of {new_names}. To keep it, "
        f"add --params {_input_params(present, sources.get('lang'), sources.get('source'))}, or run later stages only "
        f"(--tags); to replace it, --params {_input_params(new, corpus.lang, corpus.source)}"
    )


def count_checked_bytes() -> int:
    """Return the size of the user's files of the last `check_inputs`, in bytes."""
    return sum(file.bytes for _, files in _checked for file in files)


def input_paths(corpus: CorpusConfig) -> list[str]:
    """Return the paths of all inputs of the corpus."""
    return [source.path for source in corpus.inputs()]


def has_own_text(corpus: CorpusConfig) -> bool:
    """Return whether any of the text is the user's own."""
    return any(path != DEMO for path in input_paths(corpus))


def _input_params(paths: Sequence[str], lang: str | None, source: str | None) -> str:
    """Return the `--params` that set these inputs: "corpus.input=wiki.xml.bz2,corpus.lang=en"."""
    params = [f"corpus.input={paths[0]}" if len(paths) == 1 else "corpus.input=…, all of them"]
    settings = {"lang": lang, "source": source}
    params += [f"corpus.{key}={value}" for key, value in settings.items() if value not in (None, "auto")]
    return ",".join(params)


def describe_corpus(sources: dict[str, Any], languages: Mapping[str, Mapping[str, Any]]) -> CorpusInfo:
    """Return name, languages and license of the corpus, for model cards.

    `languages` has the counts of the cleaning report.
    """
    paragraphs = {code: counts["paragraphs_out"] for code, counts in languages.items() if code != UNKNOWN}
    codes = sorted((code for code, count in paragraphs.items() if count), key=lambda code: (-paragraphs[code], code))
    default = DEMO_LICENSE if sources.get("inputs") == [DEMO] else ""
    return CorpusInfo(get_text_name(sources), codes, sources.get("license") or default)


def get_text_name(sources: dict[str, Any]) -> str:
    """Return the name of a corpus, made of its inputs, which older versions did not record."""
    inputs = sources.get("inputs", ["unknown text"])
    return list_files(["the demo's made-up world" if path == DEMO else path for path in inputs])
