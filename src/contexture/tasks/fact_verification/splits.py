"""One table of the claims of all splits, with evidence and without claims shared between splits."""

import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from contexture.tasks.fact_verification.config import VerificationConfig
from contexture.tasks.fact_verification.files import (
    LABELS,
    Claim,
    Evidence,
    detokenize_fever,
    find_wiki_sentences,
    format_title,
)
from contexture.tasks.missing import BenchmarkMissing

LOG = logging.getLogger(__name__)

SPLITS = ("train", "dev", "test")
#: Evidence of a claim without evidence, as in the data of Tymoshenko and Moschitti (2021).
PLACEHOLDER = "none"
COLUMNS = ["split", "claim_id", "claim", "label", "pages", "evidence"]


class ClaimSet(NamedTuple):
    """Claims of all splits: rows with `COLUMNS` (`pages` and `evidence` are lists), and counts by split."""

    rows: pd.DataFrame
    counts: dict[str, Any]


def build_claim_set(splits: Mapping[str, list[Claim]], config: VerificationConfig) -> ClaimSet:
    """Return one table of all claims, with texts as evidence, and counts by split.

    Evidence is cut to `config.evidence` sentences; claims that a later split contains are dropped.

    Raises:
        BenchmarkMissing: claims refer to sentences, and `config.wiki_pages` is not set or has no pages.
        ValueError: a split has no claims left, all training claims have one label, or dev or test has a label that
            train lacks.
    """
    sentences = _find_sentences(splits, Path(config.wiki_pages) if config.wiki_pages else None)
    tables, counts = [], dict[str, Any]()
    later: set[str] = set()
    for split in reversed([name for name in SPLITS if name in splits]):
        keys = [claim.text.casefold() for claim in splits[split]]
        kept = [claim for claim, key in zip(splits[split], keys, strict=True) if key not in later]
        if not kept:
            raise ValueError(f"fact_verification.input: a later split contains all claims of {split}; use other files")
        rows, of_evidence = _build_table(kept, sentences, config)
        counts[split] = _count_claims(rows) | of_evidence | {
            "repeated_in_it": len(kept) - len(set(keys) - later),
            "also_in_a_later_split": len(keys) - len(kept),
        }  # fmt: skip
        later |= set(keys)
        tables.append(rows.assign(split=split))
    table = pd.concat(tables[::-1], ignore_index=True)[COLUMNS]
    labels = _check_labels(table)
    counts = {split: counts[split] for split in SPLITS if split in counts}
    _warn_without_evidence(counts)
    if len(labels) < len(LABELS):
        counts["labels"] = f"{' and '.join(labels)} only"
        LOG.warning("claims have %d labels: %s", len(labels), counts["labels"])
    return ClaimSet(table, counts)


def list_labels(rows: pd.DataFrame) -> list[str]:
    """Return the distinct labels of the training claims, in FEVER's order."""
    labels = set(rows.loc[rows["split"] == "train", "label"])
    return [label for label in LABELS if label in labels]


def _find_sentences(splits: Mapping[str, list[Claim]], folder: Path | None) -> dict[tuple[str, int], str]:
    """Return (page, number) → text for the evidence without text, from FEVER's wiki-pages in `folder`."""
    evidence = (sentence for claims in splits.values() for claim in claims for sentence in claim.evidence)
    wanted = {(sentence.page, sentence.number) for sentence in evidence if sentence.text is None}
    if not wanted:
        return {}
    if folder is None:
        remedy = (
            "Set fact_verification.wiki_pages to the folder with FEVER's wiki-*.jsonl (wiki-pages.zip of fever.ai)."
        )
        raise BenchmarkMissing(f"the text of {len(wanted):,} sentences of evidence", Path("wiki-001.jsonl"), remedy)
    return dict(find_wiki_sentences(folder, wanted))


def _build_table(
    claims: list[Claim], sentences: Mapping[tuple[str, int], str], config: VerificationConfig
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the claims of a split as a table with texts as evidence, and counts of sentences that are not in it."""
    rows, counts = [], Counter[str]()
    for claim in claims:
        resolved = [_find_page_and_text(sentence, sentences) for sentence in claim.evidence]
        read = [sentence for sentence in resolved if sentence and sentence[1]]
        counts["evidence_cut"] += max(0, len(read) - config.evidence)
        counts["evidence_not_found"] += resolved.count(None)
        counts["evidence_empty"] += len(resolved) - len(read) - resolved.count(None)
        pages, texts = zip(*read[: config.evidence] or [("", PLACEHOLDER)], strict=True)
        if config.titles:
            texts = tuple(f"{page}. {text}" if page else text for page, text in zip(pages, texts, strict=True))
        rows.append((claim.id, claim.text, claim.label, list(pages), list(texts)))
    return pd.DataFrame(rows, columns=COLUMNS[1:]), {name: count for name, count in counts.items() if count}


def _find_page_and_text(sentence: Evidence, sentences: Mapping[tuple[str, int], str]) -> tuple[str, str] | None:
    """Return page and text of a sentence of evidence; None if neither it nor `sentences` has the text."""
    page, number, text = sentence
    if text is not None:
        return page, text
    known = sentences.get((page, number))
    return None if known is None else (format_title(page), detokenize_fever(known))


def _count_claims(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the counts of a table of claims: all, by label, sentences of evidence, and claims without evidence."""
    has_none = rows["evidence"].map(lambda texts: texts == [PLACEHOLDER])
    counts: dict[str, Any] = {"claims": len(rows)} | _count_labels(rows)
    counts["evidence_sentences"] = int(rows["evidence"].map(len).sum() - has_none.sum())
    return counts | ({"without_evidence": _count_labels(rows[has_none])} if has_none.any() else {})


def _count_labels(rows: pd.DataFrame) -> dict[str, int]:
    """Return label → number of claims, for the labels that occur."""
    counts = Counter(rows["label"])
    return {label: counts[label] for label in LABELS if counts[label]}


def _check_labels(rows: pd.DataFrame) -> list[str]:
    """Return the training labels. Raise ValueError for fewer than two, or if dev or test has another label."""
    labels = list_labels(rows)
    if len(labels) < 2:
        raise ValueError(f"fact_verification.input: all train claims are {labels[0]}; at least two labels are needed")
    for split in ("dev", "test"):
        if unknown := sorted(set(rows.loc[rows["split"] == split, "label"]) - set(labels)):
            raise ValueError(
                f"fact_verification.input: {split} has the labels {', '.join(unknown)}, train only "
                f"{', '.join(labels)}; use files of one data set"
            )
    return labels


def _warn_without_evidence(counts: Mapping[str, Any]) -> None:
    """Log a warning, with counts by label, for each split that has claims without evidence."""
    for split, of_split in counts.items():
        if without := of_split.get("without_evidence"):
            LOG.warning(
                "%d claims of %s have no evidence, replaced by %r: %s. If one label is more frequent among them, the "
                "placeholder reveals it",
                *(sum(without.values()), split, PLACEHOLDER),
                ", ".join(f"{label} {count:,}" for label, count in without.items()),
            )
