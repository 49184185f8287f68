"""Nodes of the stage `adopt`."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from contexture.folders import work_folder
from contexture.paths import FACTS_FILE, RECORDS_FILE, encoder_dir
from contexture.reporting.names import DATA
from contexture.tasks.held_out.evaluation import best_encoder
from contexture.tasks.passage_ranking import BM25, COMPARED
from contexture.tasks.retrieval.evaluation import HYBRID
from contexture.training.card import CARD


def adopt(results: Path, place: Path, **pretrained: Path) -> Path:
    """The encoder, of the first seed, that held-out documents speak for, with what they say on its card.

    `pretrained` are the folders of the variants; the first is taken if too little was held out to tell.
    """
    variants = list(pretrained)
    facts = json.loads((results / FACTS_FILE).read_text(encoding="utf-8"))
    # What is measured beside the variants, a published model say, has no folder here.
    best = best_encoder(facts["advice"]["means"], variants) if "advice" in facts else variants[0]
    run = pretrained[best]
    with work_folder(place) as work:
        shutil.copytree(encoder_dir(run.parent, run.name, 0), work, dirs_exist_ok=True)
        records = json.loads((results / RECORDS_FILE).read_text(encoding="utf-8"))
        with (work / CARD).open("a", encoding="utf-8") as card:
            card.write(figures(records, best))
    return place


def figures(records: Sequence[Mapping[str, Any]], variant: str) -> str:
    """A section of a card: nDCG@10 of a variant, alone and with BM25, by kind of question; nothing without records."""
    searches = {BM25: "BM25", variant: "this encoder", variant + HYBRID: "both"}
    found = {
        (record["data"], record["variant"]): record["value"]
        for record in records
        if record["metric"] == COMPARED and record["variant"] in searches and record["seed"] == 0
    }
    if not found:
        return ""
    what = "nDCG@10, percent, in the whole text, of what documents give away that it did not learn from:"
    lines = ["", "## What it finds", "", what, ""]
    lines += [f"| | {' | '.join(searches.values())} |", "|---|---|---|---|"]
    for kind in dict.fromkeys(data for data, _ in found):
        cells = [f"{100 * found[kind, name]:.1f}" if (kind, name) in found else "–" for name in searches]
        lines.append(f"| {DATA.get(kind, kind)} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
