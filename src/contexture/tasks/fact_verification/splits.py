"""Claims of all splits as one table: evidence looked up and cut, repeated claims counted, splits kept apart."""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from contexture.tasks.fact_verification.config import VerificationConfig
from contexture.tasks.fact_verification.files import LABELS, Claim, Evidence, characters, title_of, wiki_sentences
from contexture.tasks.missing import BenchmarkMissing

LOG = logging.getLogger(__name__)

SPLITS = ("train", "dev", "test")
#: What stands for the evidence of a claim that has none. Tymoshenko and Moschitti (2021) released the same.
PLACEHOLDER = "none"
COLUMNS = ["split", "claim_id", "claim", "label", "pages", "evidence"]


@dataclass(frozen=True)
class ClaimSet:
    """The claims of all splits."""

    #: `split`, `claim_id`, `claim`, `label`, `pages` and `evidence`, lists of texts, one a sentence.
    rows: pd.DataFrame
    #: By split: claims by label and what became of their evidence.
    counts: dict[str, Any]


def claim_set(splits: Mapping[str, list[Claim]], config: VerificationConfig) -> ClaimSet:
    """Look up evidence that is named, keep the first sentences of each claim's, and keep splits apart.

    A claim that stands in a later split as well is dropped from the earlier one.

    Raises:
        BenchmarkMissing: claims name sentences, and `config.wiki_pages` is none, or a folder without pages.
        ValueError: a split is left without claims, the training claims have one label alone, or another split has a
            label that they lack.
    """
    known = _looked_up(splits, Path(config.wiki_pages) if config.wiki_pages else None)
    tables, counts = [], dict[str, Any]()
    later: set[str] = set()
    for split in reversed([name for name in SPLITS if name in splits]):
        keys = [claim.text.casefold() for claim in splits[split]]
        kept = [claim for claim, key in zip(splits[split], keys, strict=True) if key not in later]
        if not kept:
            raise ValueError(
                f"fact_verification.input: no claim is left in {split} that is not in a later split as well"
            )
        rows, found = _table(kept, known, config)
        counts[split] = _counts(rows) | found | {
            "repeated_in_it": len(kept) - len(set(keys) - later),
            "also_in_a_later_split": len(keys) - len(kept),
        }  # fmt: skip
        later |= set(keys)
        tables.append(rows.assign(split=split))
    table = pd.concat(tables[::-1], ignore_index=True)[COLUMNS]
    labels = _check_labels(table)
    counts = {split: counts[split] for split in SPLITS if split in counts}
    if len(labels) < len(LABELS):
        counts["labels"] = f"{' and '.join(labels)} alone"
        LOG.warning("claims have the labels %s: a task of %d labels", counts["labels"], len(labels))
    _say_without_evidence(counts)
    return ClaimSet(table, counts)


def labels_of(rows: pd.DataFrame) -> list[str]:
    """The labels of the training claims, in FEVER's order."""
    found = set(rows.loc[rows["split"] == "train", "label"])
    return [label for label in LABELS if label in found]


def _looked_up(splits: Mapping[str, list[Claim]], folder: Path | None) -> dict[tuple[str, int], str]:
    named = (one for claims in splits.values() for claim in claims for one in claim.evidence if one.text is None)
    wanted = {(one.page, one.number) for one in named}
    if not wanted:
        return {}
    if folder is None:
        remedy = (
            "Set fact_verification.wiki_pages to the folder with FEVER's wiki-*.jsonl (wiki-pages.zip of fever.ai)."
        )
        raise BenchmarkMissing(f"the text of {len(wanted):,} sentences of evidence", Path("wiki-001.jsonl"), remedy)
    return dict(wiki_sentences(folder, wanted))


def _table(
    claims: list[Claim], known: Mapping[tuple[str, int], str], config: VerificationConfig
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Rows of one split, and what became of their evidence."""
    rows, counts = [], Counter(evidence_cut=0, evidence_not_found=0, evidence_empty=0)
    for claim in claims:
        there = []
        for one in claim.evidence:
            if one.text is None and one[:2] not in known:
                counts["evidence_not_found"] += 1
            elif found := _resolved(one, known):
                there.append(found)
            else:
                counts["evidence_empty"] += 1
        counts["evidence_cut"] += max(0, len(there) - config.evidence)
        pages, texts = zip(*there[: config.evidence] or [("", PLACEHOLDER)], strict=True)
        if config.titles:
            texts = tuple(f"{page}. {text}" if page else text for page, text in zip(pages, texts, strict=True))
        rows.append((claim.id, claim.text, claim.label, list(pages), list(texts)))
    table = pd.DataFrame(rows, columns=["claim_id", "claim", "label", "pages", "evidence"])
    return table, {name: count for name, count in counts.items() if count}


def _resolved(one: Evidence, known: Mapping[tuple[str, int], str]) -> tuple[str, str] | None:
    """Page and text of a sentence; None where the text is empty."""
    page, text = one.page, one.text
    if text is None:
        page, text = title_of(page), characters(known[one[:2]])
    return (page, text) if text else None


def _counts(rows: pd.DataFrame) -> dict[str, Any]:
    labels = rows["label"].value_counts()
    without = rows.loc[rows["evidence"].map(lambda texts: texts == [PLACEHOLDER]), "label"].value_counts()
    sentences = int(rows["evidence"].map(len).sum() - without.sum())
    found: dict[str, Any] = {"claims": len(rows)} | {label: int(labels[label]) for label in LABELS if label in labels}
    found["evidence_sentences"] = sentences
    if len(without):
        found["without_evidence"] = {label: int(without[label]) for label in LABELS if label in without}
    return found


def _check_labels(rows: pd.DataFrame) -> list[str]:
    labels = labels_of(rows)
    if len(labels) < 2:
        raise ValueError(f"fact_verification.input: all claims of train are {labels[0]}; give others, too")
    for split in ("dev", "test"):
        if unknown := sorted(set(rows.loc[rows["split"] == split, "label"]) - set(labels)):
            raise ValueError(
                f"fact_verification.input: {split} has claims that are {', '.join(unknown)}, train has "
                f"{', '.join(labels)} alone: give files of one set"
            )
    return labels


def _say_without_evidence(counts: Mapping[str, Any]) -> None:
    for split in SPLITS:
        if found := counts.get(split, {}).get("without_evidence"):
            said = ", ".join(f"{label} {count:,}" for label, count in found.items())
            LOG.warning(
                "%d claims of %s have no evidence, for which stands %r: %s. Where that is one label more often than "
                "others, it tells the label",
                sum(found.values()), split, PLACEHOLDER, said,
            )  # fmt: skip
