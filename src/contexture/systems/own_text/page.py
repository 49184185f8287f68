"""The page of one's own text: what was learned, whether it is better than BM25, and what to do next."""

from collections.abc import Mapping, Sequence
from typing import Any

from contexture.reporting.names import DATA
from contexture.reporting.page import Bar, Card, Page, ReportContext, sections
from contexture.reporting.records import METRICS, Record, score_key, values_by_seed
from contexture.reporting.tables import Table, columns, mean_std
from contexture.reporting.training_tables import trainings_table
from contexture.tasks.held_out.config import BEFORE

TITLE = "Your own text: what to search it with"
NOTE = (
    "Nobody labelled anything: questions were made of documents that no encoder learned from, and looked for in the "
    "whole text. Such questions share words with their answers more than people's do, which favours BM25; a file of "
    "twenty questions of your own (contexture adapt TEXT --questions FILE) says more, and decides where there is one."
)
TASK, BM25, HYBRID = "held_out", "bm25", "+bm25"
LABELS = {
    BM25: "BM25",
    "static": "Static encoder",
    "static_none": "Word vectors of this text",
    "transformer": "Transformer",
    "transformer_none": "Transformer before it learned",
    "published": "Published encoder, continued on this text",
    "published_none": "Published encoder, as it was published",
}
#: Kinds of questions of fewer documents than these tell little of the rest.
FEW = 5
#: Metric that is shown → what it counts.
CAPTIONS = {
    "ndcg_at_10": ": the nearer to the top of the first ten an answer comes, the more",
    "recall_at_1": " of the answers that come first",
    "recall_at_10": " of the answers that are among the first ten",
    "recall_at_100": " of the answers that are among the first hundred",
}
#: What pairs are made of, by the task that they are for.
PAIRS = {
    "ict": "a sentence and the rest of its passage",
    "bfs": "a sentence of a page's beginning and a passage of the page",
    "wlp": "a linked page and the passage that links to it",
    "headings": "a heading and what stands below it",
    "neighbours": "a sentence and the passage next to it",
}
#: What says more than documents do.
WRITE = (
    "Next: write twenty questions of your own, a line each with a tab and the document that answers it, and run "
    "contexture adapt TEXT --questions FILE."
)


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """What to take, the evidence by kind of question, and what was learned from."""
    details = context.details.get(TASK, {})
    labels = labels_of(records, context.labels)
    advice: Mapping[str, Any] | None = details.get("advice")
    trained = list(dict.fromkeys(record["variant"] for record in records if "training_text" in record))
    return Page(
        findings=[
            *learned(context.examples, [labels.get(name, name) for name in context.trainings]),
            *(helped(advice, details, labels) if advice else []),
            *left_out(details),
        ],
        sections=sections(
            [
                *(evidence_table(records, labels, metric) for metric in CAPTIONS),
                pairs_table(context.examples),
                trainings_table(context.trainings, labels, "Pairs"),
            ]
        ),
        cards=[card(advice, details, labels, trained) if advice else nothing(details)],
    )


def labels_of(records: Sequence[Record], run_labels: Mapping[str, str]) -> dict[str, str]:
    """Labels of every search that was measured, and of the runs."""
    known = {**run_labels, **LABELS}
    measured = {}
    for name in (record["variant"] for record in records):
        plain = name.removesuffix(HYBRID)
        measured[name] = known.get(plain, plain) + (" with BM25" if plain != name else "")
    return known | measured


def card(
    advice: Mapping[str, Any], details: Mapping[str, Any], labels: Mapping[str, str], encoders: Sequence[str]
) -> Card:
    """What to take, at a glance; `encoders` were trained here, so that `contexture search` may have one."""
    take, best, encoder, means = (advice[key] for key in ("take", "best", "encoder", "means"))
    num_questions = sum(details["asked"][kind] for kind in advice["basis"])
    if take != BM25:
        reason = f"{labels[take]} finds more than BM25, the plain search by words: {points(advice['gain'])} of nDCG@10."
    elif best == BM25:
        reason = "BM25, the plain search by words: nothing that was measured finds more."
    else:
        reason = (
            f"BM25, the plain search by words: {labels[best]} is {points(advice['gain'])} of nDCG@10 above it, which "
            f"{num_questions:,} questions do not settle."
        )
    flag = " --by words" if take == BM25 else "" if take.endswith(HYBRID) else " --by vectors"
    next_step = f'To search with it: contexture search{flag} "your question"'
    if take != BM25 and encoder not in encoders:
        chosen = max(encoders, key=lambda name: max(means[name], means[name + HYBRID]))
        next_step = (
            f"It was measured beside, so that contexture search does not have it but {labels[chosen]}; contexture "
            "adapt TEXT --encoder NAME_OR_FOLDER makes it one of those that are taken over."
        )
    kinds = ", ".join(DATA.get(kind, kind) for kind in advice["basis"])
    return Card(
        title="What to take",
        subtitle=f"by your {num_questions:,} questions"
        if advice["basis"] == ["questions"]
        else f"by {num_questions:,} questions: {kinds}",
        headline=labels[take],
        sentences=[reason, next_step],
        unit="nDCG@10, percent: 100 where the answer comes first for every question",
        bars=[
            Bar(labels[name], 100 * means[name], name == take)
            for name in dict.fromkeys([BM25, encoder, encoder + HYBRID, best])
        ],
    )


def points(interval: Sequence[float]) -> str:
    """A difference and its interval."""
    gain, low, high = (100 * value for value in interval)
    return f"{gain:+.1f} points (95%: {low:+.1f} to {high:+.1f})"


def nothing(details: Mapping[str, Any]) -> Card:
    """The card if too little was held out."""
    return Card(
        title="What to take",
        subtitle=f"{details.get('held_out', 0):,} of {details.get('documents', 0):,} documents were held out",
        headline="This text is too small to tell",
        sentences=[
            "BM25, the plain search by words, is the safe choice (contexture search --by words): no kind of question "
            f"was found {details.get('least', 0)} times in documents that are held out.",
            WRITE,
        ],
    )


def learned(examples: Mapping[str, Mapping[str, Any]], runs: Sequence[str]) -> list[str]:
    """What was trained, and what there was to learn from."""
    pairs = {task: int(counted["pairs"]) for task, counted in examples.items() if counted.get("pairs")}
    if not pairs:
        return []
    parts = "; ".join(f"{count:,} of {PAIRS.get(task, task)}" for task, count in pairs.items())
    return [f"Trained: {', '.join(runs)}, on {sum(pairs.values()):,} pairs that the text gives away: {parts}."]


def helped(advice: Mapping[str, Any], details: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Whether learning from this text made each encoder better, by what decides and by every kind of question."""
    sentences, means = [], advice["means"]
    for name, gain in advice["learned"].items():
        start = name + BEFORE
        verb, doubt = "took", ", which may be chance"
        if gain[1] > 0 or gain[2] < 0:
            verb, doubt = "raised" if gain[1] > 0 else "lowered", ""
        sentence = (
            f"{labels[name]}: learning from these pairs {verb} nDCG@10 from {100 * means[start]:.1f} "
            f"({labels[start]}) to {100 * means[name]:.1f}, {points(gain)}{doubt}."
        )
        if advice["encoder"] == start:
            sentence += " It is taken as it was before."
        kinds = {kind: gains[name] for kind, gains in details["learned"].items() if [kind] != advice["basis"]}
        if kinds:
            listed = "; ".join(f"{DATA.get(kind, kind)} {points(interval)}" for kind, interval in kinds.items())
            sentence += f" By kind of question: {listed}."
        sentences.append(sentence)
    return sentences


def left_out(details: Mapping[str, Any]) -> list[str]:
    """What the evidence lacks."""
    sentences = []
    if unknown := details.get("unknown"):
        names = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
        sentences.append(f"{len(unknown):,} answers in the file of questions name no document of this text: {names}.")
    own, held_out = details["asked"]["questions"], details["held_out"]
    if own < details["enough"]:
        if 0 < held_out < FEW:
            sentences.append(
                f"Only {held_out} of {details['documents']:,} documents were held out: what they give away says little "
                "of the others."
            )
        sentences.append((f"Your {own:,} questions are too few to decide. " if own else "") + WRITE)
    return sentences


def evidence_table(records: Sequence[Record], labels: Mapping[str, str], metric: str) -> Table:
    """A row a search, a column a kind of question; the best of each column in bold."""
    own = [record for record in records if record["task"] == TASK and record["metric"] == metric]
    # On a phone the first columns are seen, so those come first that decide.
    places = sorted(dict.fromkeys(map(score_key, own)), key=lambda place: place.data != "questions")
    variants = list(dict.fromkeys(record["variant"] for record in own))
    values = [[[*values_by_seed(own, variant, place).values()] for place in places] for variant in variants]
    rows = tuple((labels[variant], *map(mean_std, cells)) for variant, cells in zip(variants, values, strict=True))
    bold = set()
    for column in range(len(places)):
        means = [sum(cells[column]) / max(len(cells[column]), 1) for cells in values]
        bold |= {(row, column + 1) for row, value in enumerate(means) if value == max(means)}
    heads = columns("Search", numbers=[DATA.get(place.data, place.data) for place in places])
    caption = f"Percent{CAPTIONS[metric]}. The best of each column in bold."
    return Table(f"{METRICS[metric].label} by kind of question", heads, rows, caption, frozenset(bold))


def pairs_table(examples: Mapping[str, Mapping[str, Any]]) -> Table:
    """What pairs were made, by what they are made of."""
    rows = tuple(
        (PAIRS.get(task, task), f"{counted['pairs']:,.0f}", f"{counted['mean_query_tokens']:.0f}")
        for task, counted in examples.items()
        if "pairs" in counted
    )
    return Table("What the text gives away", columns("A pair of", numbers=["Pairs", "Tokens of the first"]), rows)
