"""The page of one's own text: what was learned, whether it is better than BM25, and what to do next."""

from collections.abc import Mapping, Sequence
from typing import Any

from contexture.reporting.names import DATA
from contexture.reporting.page import Bar, Card, Page, ReportContext, sections
from contexture.reporting.records import METRICS, Record, by_seed, score_key
from contexture.reporting.tables import Table, columns, mean_std
from contexture.reporting.training_tables import trainings_table
from contexture.tasks.held_out.config import UNTRAINED_SUFFIX

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
MIN_HELD_OUT_DOCUMENTS = 5
#: Metric that is shown → what it counts.
CAPTIONS = {
    "ndcg_at_10": ": the nearer to the top of the first ten an answer comes, the more",
    "recall_at_1": " of the answers that come first",
    "recall_at_10": " of the answers that are among the first ten",
    "recall_at_100": " of the answers that are among the first hundred",
}
#: What pairs are made of, by the task that they are for.
PAIR_LABELS = {
    "ict": "a sentence and the rest of its passage",
    "bfs": "a sentence of a page's beginning and a passage of the page",
    "wlp": "a linked page and the passage that links to it",
    "headings": "a heading and what stands below it",
    "neighbours": "a sentence and the passage next to it",
}
#: What says more than documents do.
NEXT_STEP = (
    "Next: write twenty questions of your own, a line each with a tab and the document that answers it, and run "
    "contexture adapt TEXT --questions FILE."
)


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """What to take, the evidence by kind of question, and what was learned from."""
    details = context.details.get(TASK, {})
    labels = search_labels(records, context.labels)
    advice: Mapping[str, Any] | None = details.get("advice")
    trained = list(dict.fromkeys(record["variant"] for record in records if "training_text" in record))
    return Page(
        findings=[
            *describe_training(context.examples, [labels.get(name, name) for name in context.trainings]),
            *(describe_gains(advice, details, labels) if advice else []),
            *describe_gaps(details),
        ],
        sections=sections(
            [
                *(evidence_table(records, labels, metric) for metric in CAPTIONS),
                pairs_table(context.examples),
                trainings_table(context.trainings, labels, "Pairs"),
            ]
        ),
        cards=[recommendation_card(advice, details, labels, trained) if advice else too_small_card(details)],
    )


def search_labels(records: Sequence[Record], run_labels: Mapping[str, str]) -> dict[str, str]:
    """Labels of every search that was measured, and of the runs."""
    known = {**run_labels, **LABELS}
    measured = {}
    for name in (record["variant"] for record in records):
        encoder = name.removesuffix(HYBRID)
        measured[name] = known.get(encoder, encoder) + (" with BM25" if encoder != name else "")
    return known | measured


def recommendation_card(
    advice: Mapping[str, Any], details: Mapping[str, Any], labels: Mapping[str, str], encoders: Sequence[str]
) -> Card:
    """What to take, at a glance; `encoders` were trained here, so that `contexture search` may have one."""
    recommended, best, encoder, means = (advice[key] for key in ("take", "best", "encoder", "means"))
    num_questions = sum(details["asked"][kind] for kind in advice["basis"])
    if recommended != BM25:
        reason = f"{labels[recommended]} finds more than BM25, the plain search by words: {format_points(advice['gain'])} of nDCG@10."
    elif best == BM25:
        reason = "BM25, the plain search by words: nothing that was measured finds more."
    else:
        reason = (
            f"BM25, the plain search by words: {labels[best]} is {format_points(advice['gain'])} of nDCG@10 above it, which "
            f"{num_questions:,} questions do not settle."
        )
    flag = " --by words" if recommended == BM25 else "" if recommended.endswith(HYBRID) else " --by vectors"
    next_step = f'To search with it: contexture search{flag} "your question"'
    if recommended != BM25 and encoder not in encoders:
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
        headline=labels[recommended],
        sentences=[reason, next_step],
        unit="nDCG@10, percent: 100 where the answer comes first for every question",
        bars=[
            Bar(labels[name], 100 * means[name], name == recommended)
            for name in dict.fromkeys([BM25, encoder, encoder + HYBRID, best])
        ],
    )


def format_points(interval: Sequence[float]) -> str:
    """A difference and its interval."""
    gain, low, high = (100 * value for value in interval)
    return f"{gain:+.1f} points (95%: {low:+.1f} to {high:+.1f})"


def too_small_card(details: Mapping[str, Any]) -> Card:
    """The card if too little was held out."""
    return Card(
        title="What to take",
        subtitle=f"{details.get('held_out', 0):,} of {details.get('documents', 0):,} documents were held out",
        headline="This text is too small to tell",
        sentences=[
            "BM25, the plain search by words, is the safe choice (contexture search --by words): no kind of question "
            f"was found {details.get('least', 0)} times in documents that are held out.",
            NEXT_STEP,
        ],
    )


def describe_training(examples: Mapping[str, Mapping[str, Any]], runs: Sequence[str]) -> list[str]:
    """What was trained, and what there was to learn from."""
    pairs = {task: int(counts["pairs"]) for task, counts in examples.items() if counts.get("pairs")}
    if not pairs:
        return []
    parts = "; ".join(f"{count:,} of {PAIR_LABELS.get(task, task)}" for task, count in pairs.items())
    return [f"Trained: {', '.join(runs)}, on {sum(pairs.values()):,} pairs that the text gives away: {parts}."]


def describe_gains(advice: Mapping[str, Any], details: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Whether learning from this text made each encoder better, by what decides and by every kind of question."""
    sentences, means = [], advice["means"]
    for name, gain in advice["learned"].items():
        untrained = name + UNTRAINED_SUFFIX
        verb, doubt = "took", ", which may be chance"
        if gain[1] > 0 or gain[2] < 0:
            verb, doubt = "raised" if gain[1] > 0 else "lowered", ""
        sentence = (
            f"{labels[name]}: learning from these pairs {verb} nDCG@10 from {100 * means[untrained]:.1f} "
            f"({labels[untrained]}) to {100 * means[name]:.1f}, {format_points(gain)}{doubt}."
        )
        if advice["encoder"] == untrained:
            sentence += " It is taken as it was before."
        kinds = {kind: gains[name] for kind, gains in details["learned"].items() if [kind] != advice["basis"]}
        if kinds:
            listed = "; ".join(f"{DATA.get(kind, kind)} {format_points(interval)}" for kind, interval in kinds.items())
            sentence += f" By kind of question: {listed}."
        sentences.append(sentence)
    return sentences


def describe_gaps(details: Mapping[str, Any]) -> list[str]:
    """What the evidence lacks."""
    sentences = []
    if unknown := details.get("unknown"):
        names = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
        sentences.append(f"{len(unknown):,} answers in the file of questions name no document of this text: {names}.")
    num_questions, held_out = details["asked"]["questions"], details["held_out"]
    if num_questions < details["enough"]:
        if 0 < held_out < MIN_HELD_OUT_DOCUMENTS:
            sentences.append(
                f"Only {held_out} of {details['documents']:,} documents were held out: what they give away says little "
                "of the others."
            )
        sentences.append(
            (f"Your {num_questions:,} questions are too few to decide. " if num_questions else "") + NEXT_STEP
        )
    return sentences


def evidence_table(records: Sequence[Record], labels: Mapping[str, str], metric: str) -> Table:
    """A row a search, a column a kind of question; the best of each column in bold."""
    task_records = [record for record in records if record["task"] == TASK and record["metric"] == metric]
    # On a phone the first columns are seen, so those come first that decide.
    keys = sorted(dict.fromkeys(map(score_key, task_records)), key=lambda key: key.data != "questions")
    variants = list(dict.fromkeys(record["variant"] for record in task_records))
    values = [[[*by_seed(task_records, variant, key).values()] for key in keys] for variant in variants]
    rows = tuple((labels[variant], *map(mean_std, cells)) for variant, cells in zip(variants, values, strict=True))
    bold = set()
    for column in range(len(keys)):
        means = [sum(cells[column]) / max(len(cells[column]), 1) for cells in values]
        bold |= {(row, column + 1) for row, value in enumerate(means) if value == max(means)}
    heads = columns("Search", numbers=[DATA.get(key.data, key.data) for key in keys])
    caption = f"Percent{CAPTIONS[metric]}. The best of each column in bold."
    return Table(f"{METRICS[metric].label} by kind of question", heads, rows, caption, frozenset(bold))


def pairs_table(examples: Mapping[str, Mapping[str, Any]]) -> Table:
    """What pairs were made, by what they are made of."""
    rows = tuple(
        (PAIR_LABELS.get(task, task), f"{counts['pairs']:,.0f}", f"{counts['mean_query_tokens']:.0f}")
        for task, counts in examples.items()
        if "pairs" in counts
    )
    return Table("What the text gives away", columns("A pair of", numbers=["Pairs", "Tokens of the first"]), rows)
