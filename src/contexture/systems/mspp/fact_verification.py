"""MSPP on claims: Tables 3 and 8 of Di Liello et al. (2022), and what our records say of them."""

from collections.abc import Sequence
from statistics import mean

from contexture.reporting.phrases import within_sentence
from contexture.reporting.published import read_published
from contexture.reporting.records import Place, Record, by_seed, data_of
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
#: The protocols that make up the table; of `published` we measure nothing.
HEADINGS = {
    "max_pool": "A claim and one sentence at a time, max-pooling",
    "weighted_sum": "A claim and one sentence at a time, weighted sum",
    "ie_1": "A claim and all its evidence together, IE_1",
    "ae_1": "A claim and all its evidence together, AE_1",
    "published": "Other systems of the paper",
    "frozen": "Frozen: a probe on the vectors of claim and evidence",
    "claim_only": "Frozen: a probe on the claim's vector alone",
}

#: (variant, baseline): what the report compares seed by seed, with either head.
COMPARISONS = (("mspp_ie", "joint_ie"), ("mspp_ae", "joint_ie"))


def tables(records: Sequence[Record], whole: str) -> list[Table]:
    """Table 3 for either split that was measured; before anything was, the paper's alone."""
    own = [r for r in records if r["task"] == TASK]
    splits = [split for split in TABLES if any(r["split"] == split for r in own)] or [*TABLES]
    return [
        made
        for split in splits
        for made in results_tables([r for r in own if r["split"] == split], TABLES[split], HEADINGS, whole)
    ]


def gains(records: Sequence[Record]) -> list[Comparison]:
    """How far MSPP is above the same joint model without it, on test claims, or on dev where there are none."""
    return [
        gain
        for data, split in _measured(records)
        for head in JOINT
        for gain in compare(records, TABLES[split], data, COMPARISONS, "accuracy", head)
    ]


def findings(records: Sequence[Record]) -> list[str]:
    """What the best joint model with MSPP is above, and what it is not; nothing where either is missing.

    Then how surely it is above the same model without MSPP.
    """
    found = []
    for data, split in _measured(records):
        best: dict[str, tuple[float, str]] = {}  # accuracy and protocol
        for variant, protocols in (
            *((name, JOINT) for name in ("mspp_ie", "mspp_ae", "joint_ie")),
            ("pairwise", PAIRS),
            *((name, ("frozen",)) for name in ("word_overlap", "majority")),
        ):
            places = (Place(TASK, data, protocol, "accuracy", split) for protocol in protocols)
            known = ((by_seed(records, variant, place), place.protocol) for place in places)
            values = [(mean(values.values()), protocol) for values, protocol in known if values]
            if values:
                best[variant] = max(values)
        ours = max((name for name in best if name.startswith("mspp_")), key=best.__getitem__, default=None)
        if ours is None:
            continue
        accuracy, head = best[ours]
        above, below = (
            [
                f"{within_sentence(LABELS[name])} ({value:.1f})"
                for name, (value, _) in best.items()
                if not name.startswith("mspp_") and (accuracy > value) == higher
            ]
            for higher in (True, False)
        )
        said = [f"above {', '.join(above)}"] * bool(above) + [f"not above {', '.join(below)}"] * bool(below)
        if said:
            found.append(
                f"Fact verification: {within_sentence(LABELS[ours])} judges {accuracy:.1f} % of the {split} claims "
                f"rightly, {' and '.join(said)}."
            )
        same = compare(records, TABLES[split], data, [(ours, "joint_ie")], "accuracy", head)
        found += [f"With {JOINT[head]}, {within_sentence(gain.sentence)}" for gain in same]
    return found


def _measured(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Data and the split of it that counts: test, or dev where there is none."""
    own = [r for r in records if r["task"] == TASK]
    splits = {name: {r["split"] for r in own if r["data"] == name} for name in data_of(own)}
    return [(name, "test" if "test" in there else "dev") for name, there in splits.items()]
