"""MSPP on claims: Tables 3 and 8 of Di Liello et al. (2022), and what our records say of them."""

from collections.abc import Iterator, Sequence
from statistics import mean

from contexture.reporting.names import REFERENCES
from contexture.reporting.phrases import within_sentence
from contexture.reporting.published import PublishedTable, Row, Score
from contexture.reporting.records import Place, Record, by_seed, data_of
from contexture.reporting.tables import Comparison, Table, compare, results_tables

TASK = "fact_verification"

LABELS = {
    "pairwise": "Pairwise cross-encoder",
    "joint_ie": "Joint without MSPP",
    "mspp_ie": "Joint with MSPP, IE_k",
    "mspp_ae": "Joint with MSPP, AE_k",
} | {name: REFERENCES[name] for name in ("word_overlap", "majority")}

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

# Table 8, which repeats Table 3 and has four rows more: dev, std. dev. (the runs are not counted), test. All that the
# paper underlines is on dev.
_PUBLISHED = (
    ("pairwise", "max_pool", Score(79.82), None),
    ("pairwise", "weighted_sum", Score(80.01), None),
    ("joint_ie", "ie_1", Score(79.25), 73.56),
    ("mspp_ie", "ie_1", Score(81.21, 0.24, True), 74.39),
    ("mspp_ae", "ie_1", Score(81.18, 0.14, True), 73.77),
    ("mspp_ie", "ae_1", Score(81.10, 0.15, True), 74.25),
    ("mspp_ae", "ae_1", Score(81.21, 0.16, True), 74.13),
    ("gear", "published", Score(70.69), 71.60),
    ("kgat", "published", Score(78.29), 74.07),
    ("transformer_xh", "published", Score(78.05), 72.39),
    ("pairwise_bert", "published", Score(73.30), 69.75),
    ("joint_bert", "published", Score(73.67), 71.01),
    ("domlin", "published", Score(77.48), 76.60),
    ("dream", "published", Score(79.16), 76.85),
)
_OTHERS = {
    "gear": "GEAR",
    "kgat": "KGAT with RoBERTa-Base",
    "transformer_xh": "Transformer-XH",
    "pairwise_bert": "Pairwise BERT-Base",
    "joint_bert": "Joint BERT-Base",
    "domlin": "DOMLIN++ (further retrieval and data)",
    "dream": "DREAM (XLNet)",
}


def _rows(split: str) -> Iterator[Row]:
    for variant, protocol, dev, test in _PUBLISHED:
        score = dev if split == "dev" else test and Score(test)
        yield Row(variant, protocol, (LABELS | _OTHERS)[variant], {"accuracy": score} if score else {})


TABLES = {
    split: PublishedTable(
        title=f"Table 3: fact verification, {split} claims",
        source=f"Di Liello et al. 2022, Tables 3 and 8, FEVER, {split}; RoBERTa-Base",
        task=TASK,
        data="fever",
        rows=tuple(_rows(split)),
        metrics=("accuracy",),
        labels=LABELS,
        decimals=2,
        remark=remark,
        split=split,
    )
    for split, remark in (
        ("dev", "Training stopped, and probes were chosen, by these claims, here and in the paper."),
        ("test", "The labels of FEVER's own test claims are secret: the paper's were counted by its makers."),
    )
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
