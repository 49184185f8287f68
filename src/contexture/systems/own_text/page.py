"""The page of one's own text: what was learned, whether it is better than BM25, and what to do next."""

from collections.abc import Mapping, Sequence
from typing import Any

from contexture.reporting.names import DATA
from contexture.reporting.page import Bar, Card, Page, ReportContext, sections
from contexture.reporting.records import METRICS, Record, by_seed, place_of
from contexture.reporting.tables import NOTHING, Column, Table, mean_std
from contexture.reporting.training_tables import trainings_table

TITLE = "Your own text: what to search it with"
NOTE = (
    "Nobody labelled anything: questions were made of documents that no encoder learned from, and looked for in the "
    "whole text. Such questions share words with their answers more than people's do, which favours BM25; a file of "
    "some twenty questions of your own (held_out.input) says more, and decides where there is one."
)
TASK, BM25, HYBRID = "held_out", "bm25", "+bm25"
LABELS = {
    BM25: "BM25",
    "static": "Static encoder",
    "static_none": "Word vectors of this text",
    "transformer": "Transformer",
    "transformer_none": "Transformer, before it learned",
    "published": "Published encoder, continued on this text",
    "published_none": "Published encoder, as it was published",
}
#: A variant before it learned is called by its own name and this.
BEFORE = "_none"
#: What pairs are made of, by the task that they are for.
PAIRS = {
    "ict": "a sentence and the rest of its passage",
    "bfs": "a sentence of a page's beginning and a passage of the page",
    "wlp": "a linked page and the passage that links to it",
    "headings": "a heading and what stands below it",
    "neighbours": "a sentence and the passage next to it",
}
#: How each search is asked for.
FLAGS = {"words": " --by words", "vectors": " --by vectors", "both": ""}


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """What to take, the evidence by kind of question, and what was learned from.

    Raises:
        ValueError: naming the run and what is missing of its training.
    """
    facts = context.facts.get(TASK, {})
    labels = labels_of(records, context.labels)
    told: Mapping[str, Any] | None = facts.get("advice")
    tables = [
        pairs_table(context.examples),
        trainings_table(context.trainings, labels, "Pairs"),
    ]
    return Page(
        findings=[*learned(context.examples), *(helped(told, labels) if told else []), *left_out(facts)],
        sections=sections([evidence_table(records, labels), *recall_tables(records, labels), *tables]),
        cards=[card(told, facts, labels) if told else nothing(facts)],
    )


def labels_of(records: Sequence[Record], given: Mapping[str, str]) -> dict[str, str]:
    """Every search that was measured, by the name that it is shown by."""
    names = dict.fromkeys(record["variant"] for record in records)
    known = dict(given) | LABELS
    found = {}
    for name in names:
        plain = name.removesuffix(HYBRID)
        found[name] = known.get(plain, plain) + (" with BM25" if plain != name else "")
    return known | found


def card(told: Mapping[str, Any], facts: Mapping[str, Any], labels: Mapping[str, str]) -> Card:
    """What to take, at a glance."""
    take, best = told["take"], told["best"]
    gain, low, high = (100 * value for value in told["gain"])
    asked = sum(facts["asked"][kind] for kind in told["basis"])
    if take != BM25:
        why = f"{gain:+.1f} points of nDCG@10 over BM25 (95%: {low:+.1f} to {high:+.1f})."
    elif best == BM25:
        why = "Nothing that was trained here finds more than BM25 does."
    else:
        why = (
            f"{labels[best]} is {gain:+.1f} points of nDCG@10 above BM25, but so few questions do not settle it (95%: "
            f"{low:+.1f} to {high:+.1f})."
        )
    shown = [BM25, *dict.fromkeys([told["encoder"], told["encoder"] + HYBRID, best])]
    bars = [Bar(labels[name], 100 * told["means"][name], name == take) for name in dict.fromkeys(shown)]
    how = FLAGS["words" if take == BM25 else "both" if take.endswith(HYBRID) else "vectors"]
    return Card(
        title="What to take",
        subtitle=f"by your {asked:,} questions"
        if told["basis"] == ["questions"]
        else f"by {asked:,} questions: {', '.join(DATA.get(kind, kind) for kind in told['basis'])}",
        headline=labels[take],
        sentences=[why, f'To search with it: contexture search{how} "your question"'],
        unit="nDCG@10, percent",
        bars=bars,
    )


def nothing(facts: Mapping[str, Any]) -> Card:
    """What is said where too little was held out."""
    return Card(
        title="What to take",
        subtitle=f"{facts.get('held_out', 0):,} of {facts.get('documents', 0):,} documents were held out",
        headline="This text is too small to tell",
        sentences=[
            f"No kind of question was found {facts.get('least', 0)} times in documents that are held out.",
            "Write some questions of your own with the documents that answer them, name the file in held_out.input and "
            "run again; until then BM25 is the safe choice: contexture search --by words.",
        ],
    )


def learned(examples: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What there was to learn from."""
    pairs = {task: int(counted["pairs"]) for task, counted in examples.items() if counted.get("pairs")}
    if not pairs:
        return []
    parts = [f"{count:,} of {PAIRS.get(task, task)}" for task, count in pairs.items()]
    return [f"What the text gives away: {sum(pairs.values()):,} pairs: {'; '.join(parts)}."]


def helped(told: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Whether learning from this text made each encoder better."""
    means, found = told["means"], []
    for name, score in means.items():
        before = means.get(name + BEFORE)
        if before is None:
            continue
        gain = 100 * (score - before)
        if abs(gain) < 0.05:
            what, better = "it left nDCG@10 as it was", ""
        elif gain > 0:
            what, better = f"it raised nDCG@10 by {gain:.1f} points", ""
        else:
            what, better = f"it lowered nDCG@10 by {-gain:.1f} points", ": take it as it was before"
        found.append(f"{labels[name]}: learning from this text: {what} ({100 * before:.1f} before){better}.")
    return found


def left_out(facts: Mapping[str, Any]) -> list[str]:
    """What the evidence lacks."""
    found = []
    if unknown := facts.get("unknown"):
        names = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
        found.append(f"{len(unknown):,} answers in the file of questions name no document of this text: {names}.")
    if not facts.get("asked", {}).get("questions"):
        found.append(
            "Next: write twenty questions of your own, a line each with the document that answers it, and run again "
            "with held_out.input naming the file."
        )
    return found


def evidence_table(records: Sequence[Record], labels: Mapping[str, str], metric: str = "ndcg_at_10") -> Table:
    """A row a search, a column a kind of question; the best of each column in bold."""
    own = [record for record in records if record["task"] == TASK and record["metric"] == metric]
    places = list(dict.fromkeys(map(place_of, own)))
    variants = list(dict.fromkeys(record["variant"] for record in own))
    values = [[[*by_seed(own, variant, place).values()] for place in places] for variant in variants]
    rows = tuple(
        (labels[variant], *(mean_std(cell) if cell else NOTHING for cell in cells))
        for variant, cells in zip(variants, values, strict=True)
    )
    bold = set()
    for column in range(len(places)):
        means = [sum(cells[column]) / max(len(cells[column]), 1) for cells in values]
        bold |= {(row, column + 1) for row, value in enumerate(means) if value == max(means)}
    columns = (Column("Search"), *(Column(DATA.get(place.data, place.data), numeric=True) for place in places))
    return Table(f"{METRICS[metric].label} by kind of question", columns, rows, "Percent.", frozenset(bold))


def recall_tables(records: Sequence[Record], labels: Mapping[str, str]) -> list[Table]:
    """The same of recall."""
    return [evidence_table(records, labels, f"recall_at_{k}") for k in (1, 10, 100)]


def pairs_table(examples: Mapping[str, Mapping[str, Any]]) -> Table:
    """What pairs were made, by what they are made of."""
    rows = tuple(
        (PAIRS.get(task, task), f"{counted['pairs']:,.0f}", f"{counted['mean_query_tokens']:.0f}")
        for task, counted in examples.items()
        if "pairs" in counted
    )
    columns = (Column("A pair of"), Column("Pairs", numeric=True), Column("Tokens of the first", numeric=True))
    return Table("What the text gives away", columns, rows)
