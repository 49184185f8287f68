"""MSPP on claims: Tables 3 and 8 of Di Liello et al. (2022), and the findings of our records."""

from collections.abc import Iterator, Sequence
from statistics import mean

from contexture.reporting.phrases import lower_first
from contexture.reporting.published import read_published
from contexture.reporting.records import Record, ScoreKey, list_data, values_by_seed
from contexture.reporting.tables import Comparison, Table, results_tables
from contexture.reporting.task_tables import compare

TASK = "fact_verification"

PUBLISHED = read_published("contexture.systems.mspp")
#: The paper's table, by the split of the claims.
TABLES = {split: PUBLISHED.tables[f"table_3_{split}"] for split in ("dev", "test")}
LABELS = TABLES["dev"].labels

#: Heads that read all evidence together, and those on one sentence each.
JOINT = {"ie_1": "IE_1", "ae_1": "AE_1"}
PAIRS = ("max_pool", "weighted_sum")
#: The protocols that make up the table; we have no numbers of `published`.
HEADINGS = {
    "max_pool": "A claim and one sentence at a time, max-pooling",
    "weighted_sum": "A claim and one sentence at a time, weighted sum",
    "ie_1": "A claim and all its evidence together, IE_1",
    "ae_1": "A claim and all its evidence together, AE_1",
    "published": "Other systems of the paper",
    "frozen": "Frozen: a probe on the vectors of claim and evidence",
    "claim_only": "Frozen: a probe on the claim's vector alone",
}

#: (variant, baseline) that the report compares seed by seed, with either head.
COMPARISONS = (("mspp_ie", "joint_ie"), ("mspp_ae", "joint_ie"))
#: The protocols of the variants that findings compare, joint models with MSPP first.
PROTOCOLS = {
    **dict.fromkeys(("mspp_ie", "mspp_ae", "joint_ie"), tuple(JOINT)),
    "pairwise": PAIRS,
    **dict.fromkeys(("word_overlap", "majority"), ("frozen",)),
}


def tables(records: Sequence[Record], whole: str) -> list[Table]:
    """Table 3 for each split that was measured; without any, the paper's rows alone."""
    claims = [record for record in records if record["task"] == TASK]
    of_split = {split: [record for record in claims if record["split"] == split] for split in TABLES}
    splits = [split for split in TABLES if of_split[split]] or [*TABLES]
    return [table for split in splits for table in results_tables(of_split[split], TABLES[split], HEADINGS, whole)]


def gains(records: Sequence[Record]) -> list[Comparison]:
    """The gains of MSPP over the same joint model without it, on test claims, or on dev if there are none."""
    return [
        gain
        for data, split in _measured(records)
        for head in JOINT
        for gain in compare(records, TABLES[split], data, COMPARISONS, "accuracy", head)
    ]


def findings(records: Sequence[Record]) -> list[str]:
    """Which models the best joint model with MSPP is above, and which not; then its gain over the same without MSPP."""
    return [sentence for data, split in _measured(records) for sentence in _findings(records, data, split)]


def _findings(records: Sequence[Record], data: str, split: str) -> Iterator[str]:
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
            (above if accuracy > value else below).append(f"{lower_first(LABELS[name])} ({value:.1f})")
    if parts := [f"{word} {', '.join(names)}" for word, names in (("above", above), ("not above", below)) if names]:
        yield (
            f"Fact verification: {lower_first(LABELS[ours])} judges {accuracy:.1f} % of the {split} claims "
            f"rightly, {' and '.join(parts)}."
        )
    for gain in compare(records, TABLES[split], data, [(ours, "joint_ie")], "accuracy", head):
        yield f"With {JOINT[head]}, {lower_first(gain.sentence)}"


def _measured(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Each data set and its split that counts: test, or dev if there is none."""
    claims = [record for record in records if record["task"] == TASK]
    tested = {record["data"] for record in claims if record["split"] == "test"}
    return [(name, "test" if name in tested else "dev") for name in list_data(claims)]
