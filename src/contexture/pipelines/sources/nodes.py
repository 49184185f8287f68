"""Nodes of the stage `sources`."""

import logging
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from contexture.config import Parameters
from contexture.corpus.config import Input
from contexture.corpus.sources import find_sources
from contexture.demo import write_demo_world
from contexture.demo.write import BOOKS

LOG = logging.getLogger(__name__)
DEMO = "demo"


def locate_sources(parameters: Parameters, place: Path) -> dict[str, Any]:
    """Find and check every raw file of the corpus; the made-up world is written first where anything is asked of it."""
    inputs = parameters.corpus.inputs()
    tasks = parameters.sentence_tasks
    asked = [parameters.answers.input, parameters.retrieval.input, tasks.input, tasks.analogies]
    if DEMO in [*asked, *(one.path for one in inputs)]:
        LOG.info("the made-up world: %s", write_demo_world(parameters.demo, place))
    placed: list[str | Input] = []
    for one in inputs:
        world = [Input(str(place), "mediawiki"), Input(str(place / BOOKS), "books", "en")]
        placed += world if one.path == DEMO else [one]
    files = find_sources(replace(parameters.corpus, input=placed))
    LOG.info("corpus: %d files, %.1f MB", len(files), sum(file.bytes for file in files) / 1e6)
    return {"corpus": [asdict(file) for file in files]}
