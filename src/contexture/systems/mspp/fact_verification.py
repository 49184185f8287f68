"""MSPP on claims: Tables 3 and 8 of Di Liello et al. (2022), and a summary of the results."""

from collections.abc import Iterator, Sequence
from statistics import mean

from contexture.reporting.phrases import join_names, lower_first
from contexture.reporting.published import read_published
from contexture.reporting.records import Record, ScoreKey, select_final, values_by_seed
from contexture.reporting.tables import Comparison, Table, results_tables
from contexture.reporting.task_tables import compare

TASK = "fact_verification"

PUBLISHED = read_published("contexture.systems.mspp")
#: The paper's table, by the split of the claims.
TABLES = {split: PUBLISHED.tables[f"table_3_{split}"] for split in ("dev", "test")}
LABELS = TABLES["dev"].labels

#: Heads on all evidence together, and heads on one sentence at a time.
JOINT = {"ie_1": "IE_1", "ae_1": "AE_1"}
PAIRS = ("max_pool", "weighted_sum")
#: Protocol → heading in the table; `published` only has numbers of the paper.
HEADINGS = {
    "max_pool": "Claim and one sentence at a time, max-pooling",
    "weighted_sum": "Claim and one sentence at a time, weighted sum",
    "ie_1": "Claim and all evidence together, IE_1",
    "ae_1": "Claim and all evidence together, AE_1",
    "published": "Other systems in the paper",
    "frozen": "Frozen: probe on vectors of claim and evidence",
    "claim_only": "Frozen: probe on the claim's vector",
}

#: Models with MSPP, which are compared seed by seed with the pairwise model and with a joint model without MSPP.
WITH_MSPP = ("mspp_ie", "mspp_ae")
PAIRWISE, WITHOUT_MSPP = "pairwise", "joint_ie"
#: Variant → protocols for `describe_results`, joint models with MSPP first.
PROTOCOLS = {
    **dict.fromkeys((*WITH_MSPP, WITHOUT_MSPP), tuple(JOINT)),
    PAIRWISE: PAIRS,
    **dict.fromkeys(("word_overlap", "majority"), ("frozen",)),
}


def build_tables(records: Sequence[Record], full_command: str) -> list[Table]:
    """Return Table 3, accuracy on claims, for each measured split, or the paper's rows if there is none."""
    claims = [record for record in records if record["task"] == TASK]
    of_split = {split: [record for record in claims if record["split"] == split] for split in TABLES}
    splits = [split for split in TABLES if of_split[split]] or [*TABLES]
    return [
        table for split in splits for table in results_tables(of_split[split], TABLES[split], HEADINGS, full_command)
    ]


def compare_variants(records: Sequence[Record]) -> list[Comparison]:
    """Return gains in accuracy by head of the models with MSPP, on test claims, or on dev if there are none.

    They are over the pairwise model with either way of combining sentences, and over a joint model without MSPP.
    """
    baselines = [*((PAIRWISE, protocol) for protocol in PAIRS), (WITHOUT_MSPP, "")]
    return [
        gain
        for data, split in _list_measured_splits(records)
        for head in JOINT
        for baseline, protocol in baselines
        for gain in compare(
            records, TABLES[split], data, [(name, baseline) for name in WITH_MSPP], "accuracy", head, protocol
        )
    ]


def describe_results(records: Sequence[Record]) -> list[str]:
    """Return sentences that compare the best model with MSPP with other models, and with itself without MSPP."""
    return [
        sentence
        for data, split in _list_measured_splits(records)
        for sentence in _describe_best_model(records, data, split)
    ]


def _describe_best_model(records: Sequence[Record], data: str, split: str) -> Iterator[str]:
    """Yield sentences on the best model with MSPP: its accuracy on a split's claims and other models', and its gain.

    The gain is over the same joint model without MSPP. Nothing is yielded without a score of a model with MSPP.
    """
    best: dict[str, tuple[float, str]] = {}  # accuracy and protocol
    for variant, protocols in PROTOCOLS.items():
        by_protocol = {
            name: values_by_seed(records, variant, ScoreKey(TASK, data, name, "accuracy", split)) for name in protocols
        }
        if means := [(mean(values.values()), name) for name, values in by_protocol.items() if values]:
            best[variant] = max(means)
    ours = max((name for name in best if name.startswith("mspp_")), key=best.__getitem__, default=None)
    if ours is None:
        return
    accuracy, head = best[ours]
    above, below = list[str](), list[str]()
    for name, (value, _) in best.items():
        if not name.startswith("mspp_"):
            (above if accuracy > value else below).append(f"{lower_first(LABELS[name])} ({value:.1f}%)")
    if above or below:
        parts = [
            f"{word} {join_names(names)}" for word, names in (("more than", above), ("not more than", below)) if names
        ]
        yield (f"{LABELS[ours]} classifies {accuracy:.1f}% of the {split} claims correctly: {', but '.join(parts)}.")
    for gain in compare(records, TABLES[split], data, [(ours, WITHOUT_MSPP)], "accuracy", head):
        yield gain.describe(f"claims, {JOINT[head]}")


def _list_measured_splits(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Return (data set, split) of the results to compare."""
    claims = select_final(record for record in records if record["task"] == TASK)
    return list(dict.fromkeys((record["data"], record["split"]) for record in claims))
