"""Report on a user's text: what was trained, whether it is better than BM25, and the next step."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from contexture.reporting.names import BM25_LABEL, BM25_SUFFIX, DATA
from contexture.reporting.page import Bar, Card, Page, ReportContext, sections
from contexture.reporting.phrases import count_noun, lower_first
from contexture.reporting.records import METRICS, Record, score_key, values_by_seed
from contexture.reporting.tables import Table, columns, format_mean
from contexture.reporting.training_tables import trainings_table
from contexture.tasks.held_out.config import UNTRAINED_SUFFIX

TITLE = "Search in your own text"
NOTE = (
    "No labels are used: questions are made from documents that no encoder was trained on, and searched in the whole "
    "text. Such questions differ from people's, so the weights of encoders are limited by what was measured on texts "
    "with people's questions. Twenty questions of your own (contexture adapt TEXT --questions FILE) are more "
    "reliable, and the recommendation uses them if given."
)
TASK, BM25, HYBRID = "held_out", "bm25", BM25_SUFFIX
LABELS = {
    BM25: "BM25",
    "static": "Static encoder",
    "static_none": "Word vectors of this text",
    "transformer": "Transformer",
    "transformer_none": "Transformer, untrained",
    "published": "Published encoder, trained further on this text",
    "published_none": "Published encoder, unchanged",
}
#: With fewer held-out documents the report has a warning.
MIN_HELD_OUT_DOCUMENTS = 5
#: Questions of the user that the report lists.
MAX_LISTED_QUESTIONS = 500
#: Metric → description in captions.
CAPTIONS = {
    "ndcg_at_10": ", which rates answers among the first ten results by their rank",
    "recall_at_1": " of the answers that are the first result",
    "recall_at_10": " of the answers that are among the first ten results",
    "recall_at_100": " of the answers that are among the first hundred results",
}
#: Pre-training task → description of its pairs.
PAIR_LABELS = {
    "ict": "a sentence and the rest of its passage",
    "bfs": "a sentence from the beginning of a page and a passage of the page",
    "wlp": "a linked page and the passage that links to it",
    "headings": "a heading and the text below it",
    "neighbours": "a sentence and the passage next to it",
    "hard_pairs": "one of these pairs with similar passages that do not answer",
}
#: Finding for a text without training pairs.
NOT_TRAINED = (
    "Nothing was trained, because this text gives no training pairs: they need two sentences in a document, headings, "
    "or links between documents. The encoders are as they were before training."
)


def describe_next_step(workspace: str | None) -> str:
    """Return advice if the user has given no or too few questions."""
    return (
        "Next step: write twenty questions of your own to a file, one per line, each followed by a tab and the "
        f"document that answers it, and run contexture adapt TEXT{name_option(workspace)} --questions FILE."
    )


def name_option(workspace: str | None) -> str:
    """Return the option of `contexture` that names the workspace, "" without one."""
    return f" --name {workspace}" if workspace else ""


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """Return the report page with the recommendation, the results by kind of question, and the trainings."""
    details = context.details.get(TASK, {})
    labels = search_labels(records, context.labels)
    advice: Mapping[str, Any] | None = details.get("advice")
    trained = list(dict.fromkeys(record["variant"] for record in records if "training_text" in record))
    return Page(
        findings=[
            *describe_training(context.examples, [labels.get(name, name) for name in context.trainings]),
            *(describe_gains(advice, details, labels) if advice else []),
            *describe_gaps(details, context.workspace),
        ],
        sections=sections(
            [
                *(evidence_table(records, labels, metric) for metric in CAPTIONS),
                questions_table(details, labels),
                pairs_table(context.examples),
                trainings_table(context.trainings, labels, "Pairs"),
            ]
        ),
        cards=[
            recommendation_card(advice, details, labels, trained, context.workspace)
            if advice
            else too_small_card(details, context.workspace)
        ],
        scores=list_scores(advice, details, labels) if advice else (),
    )


def search_labels(records: Sequence[Record], run_labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of all measured searches and runs."""
    known = {**run_labels, **LABELS}
    return known | {name: label_search(name, known) for name in (record["variant"] for record in records)}


def label_search(name: str, labels: Mapping[str, str] = LABELS) -> str:
    """Return the label of a search; `labels` are those of BM25 and of encoders."""
    encoder = name.removesuffix(HYBRID)
    return labels.get(encoder, encoder) + (BM25_LABEL if encoder != name else "")


def recommendation_card(
    advice: Mapping[str, Any],
    details: Mapping[str, Any],
    labels: Mapping[str, str],
    encoders: Sequence[str],
    workspace: str | None,
) -> Card:
    """Return the card of the recommendation; `encoders` were trained in this run."""
    recommended, encoder, means = (advice[key] for key in ("take", "encoder", "means"))
    num_questions = sum(details["asked"][kind] for kind in advice["basis"])
    reason = explain_recommendation(advice, num_questions, labels)
    if recommended.endswith(HYBRID):
        weight = details["weights"][recommended.removesuffix(HYBRID)]
        reason += (
            f" The encoder's scores have the weight {weight:g}, those of BM25 {1 - weight:g}: chosen by questions that "
            "were made from the text."
        )
    next_step = f'Search with: contexture search{name_option(workspace)} "your question"'
    if recommended != BM25 and encoder not in encoders:
        chosen = max(encoders, key=lambda name: max(means[name], means[name + HYBRID]))
        next_step = (
            f"This encoder was not trained in this run, so contexture search uses {labels[chosen]}. To use it, run "
            f"contexture adapt TEXT{name_option(workspace)} --encoder NAME_OR_FOLDER."
        )
    return Card(
        title="Recommendation",
        subtitle=f"by {describe_basis(advice, details)}",
        headline=labels[recommended],
        sentences=[reason, next_step],
        unit="nDCG@10 in percent; 100 if the answer is the first result for each question",
        bars=[Bar(labels[name], 100 * means[name], name == recommended) for name in compared_searches(advice)],
    )


def describe_basis(advice: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Return the number and kinds of the questions that decide, as text."""
    questions = count_noun(sum(details["asked"][kind] for kind in advice["basis"]), "question")
    if advice["basis"] == ["questions"]:
        return f"your {questions}"
    return f"{questions}: {', '.join(DATA.get(kind, kind) for kind in advice['basis'])}"


def compared_searches(advice: Mapping[str, Any]) -> list[str]:
    """Return BM25, the encoder of the recommendation, both fused, and the best search, each once."""
    encoder = advice["encoder"]
    return list(dict.fromkeys([BM25, encoder, encoder + HYBRID, advice["best"]]))


def list_scores(advice: Mapping[str, Any], details: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Return lines with nDCG@10 of the compared searches and their differences to BM25 with intervals."""
    searches = compared_searches(advice)
    width = max(len(labels[name]) for name in searches)
    lines = [f"nDCG@10 in percent by {describe_basis(advice, details)}; difference to BM25 (95% interval)"]
    for name in searches:
        line = f"  {labels[name]:<{width}}  {100 * advice['means'][name]:5.1f}"
        if name in advice["gains"]:
            gain, low, high = (f"{100 * value:+z.1f}" for value in advice["gains"][name])
            line += f"  {gain:>6} ({low} to {high})"
        lines.append(line + ("  recommended" if name == advice["take"] else ""))
    return lines


def explain_recommendation(advice: Mapping[str, Any], num_questions: int, labels: Mapping[str, str]) -> str:
    """Return sentences on why a search is recommended."""
    recommended, best, gain = advice["take"], advice["best"], advice["gain"]
    if best == BM25:
        return "BM25 (keyword search) has the best result."
    if advice["basis"] != ["questions"]:
        return (
            f"{labels[recommended]} is expected to be better than BM25 (keyword search): {format_points(gain)} on "
            f"questions that were made from the text; {format_expected(advice)}."
        )
    if recommended == best:
        return f"{labels[best]} is better than BM25 (keyword search): {format_points(gain)}."
    if recommended == BM25 and gain[1] > 0:
        return (
            f"BM25 (keyword search) is the safe choice: {count_noun(num_questions, 'question')} are too few to decide. "
            f"By them, {labels[best]} is better: {format_points(gain)}."
        )
    unsure = (
        f"the gain of {labels[best]}, {format_points(gain)}, is not significant with "
        f"{count_noun(num_questions, 'question')}"
    )
    if recommended == BM25:
        return f"BM25 (keyword search) is the safe choice: {unsure}."
    return (
        f"Your questions do not decide: {unsure}. By questions that were made from the text, {labels[recommended]} is "
        f"better than BM25 (keyword search); {format_expected(advice)}."
    )


def format_expected(advice: Mapping[str, Any]) -> str:
    """Return the expected gain of the recommended search as text."""
    return f"expect about {100 * advice['expected'][advice['take']]:+.1f} points for people's questions"


def format_points(interval: Sequence[float]) -> str:
    """Return a difference in nDCG@10 and its interval as text."""
    gain, low, high = (f"{100 * value:+z.1f}" for value in interval)
    return f"{gain} points of nDCG@10 (95% interval: {low} to {high})"


def too_small_card(details: Mapping[str, Any], workspace: str | None) -> Card:
    """Return the card without a recommendation, for too few questions from held-out documents."""
    return Card(
        title="Recommendation",
        subtitle=f"{details.get('held_out', 0):,} of {count_noun(details.get('documents', 0), 'document')} held out",
        headline="No evidence",
        sentences=[
            "There is no evidence: the held-out documents give fewer than "
            f"{details.get('least', 0)} questions of each kind.",
            f"BM25 (keyword search) is the safe choice: contexture search{name_option(workspace)} uses it.",
            describe_next_step(workspace),
        ],
    )


def describe_training(examples: Mapping[str, Mapping[str, Any]], runs: Sequence[str]) -> list[str]:
    """Return a sentence about the trained runs and their pairs, or that there are no pairs to train on."""
    pairs = {task: int(counts["pairs"]) for task, counts in examples.items() if counts.get("pairs")}
    if not pairs:
        return [NOT_TRAINED] if any("pairs" in counts for counts in examples.values()) else []
    parts = "; ".join(f"{count:,} of {PAIR_LABELS.get(task, task)}" for task, count in pairs.items())
    return [f"Trained on {count_noun(sum(pairs.values()), 'pair')} from the text: {', '.join(runs)}. Pairs: {parts}."]


def describe_gains(advice: Mapping[str, Any], details: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Return a sentence per encoder about its gain from training, overall and by kind of question."""
    sentences, means = [], advice["means"]
    for name, gain in advice["learned"].items():
        untrained = name + UNTRAINED_SUFFIX
        verb, doubt = "changed", ", which is not significant"
        if gain[1] > 0 or gain[2] < 0:
            verb, doubt = "raised" if gain[1] > 0 else "lowered", ""
        old_score, new_score = (f"{100 * means[key]:.1f} ({lower_first(labels[key])})" for key in (untrained, name))
        sentence = (
            f"Training on these pairs {verb} nDCG@10 from {old_score} to {new_score}: {format_points(gain)}{doubt}."
        )
        if advice["encoder"] == untrained:
            sentence += " The untrained encoder is used."
        kinds = {kind: gains[name] for kind, gains in details["learned"].items() if [kind] != advice["basis"]}
        if kinds:
            listed = "; ".join(f"{DATA.get(kind, kind)} {format_points(interval)}" for kind, interval in kinds.items())
            sentence += f" By kind of question: {listed}."
        sentences.append(sentence)
    return sentences


def describe_gaps(details: Mapping[str, Any], workspace: str | None) -> list[str]:
    """Return sentences about unknown answers and too few documents or questions."""
    sentences = []
    if unknown := details.get("unknown"):
        names = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
        counted = "1 answer in the file of questions is not a document"
        if len(unknown) > 1:
            counted = f"{len(unknown):,} answers in the file of questions are not documents"
        sentences.append(f"{counted} of this text: {names}.")
    num_questions, held_out = details["asked"]["questions"], details["held_out"]
    if num_questions < details["enough"]:
        if 0 < held_out < MIN_HELD_OUT_DOCUMENTS:
            documents = count_noun(details["documents"], "document")
            sentences.append(f"Held out: only {held_out} of {documents}, too few to represent the others.")
        questions = count_noun(num_questions, "question")
        sentences.append(
            (f"Your {questions}: too few to decide. " if num_questions else "") + describe_next_step(workspace)
        )
    return sentences


def evidence_table(records: Sequence[Record], labels: Mapping[str, str], metric: str) -> Table:
    """Return a table with a row per search and a column per kind of question; the best of each column is bold."""
    task_records = [record for record in records if record["task"] == TASK and record["metric"] == metric]
    # The user's questions come first, because narrow screens only show the first columns.
    keys = sorted(dict.fromkeys(map(score_key, task_records)), key=lambda key: key.data != "questions")
    variants = list(dict.fromkeys(record["variant"] for record in task_records))
    values = [[[*values_by_seed(task_records, variant, key).values()] for key in keys] for variant in variants]
    rows = tuple((labels[variant], *map(format_mean, cells)) for variant, cells in zip(variants, values, strict=True))
    bold = set()
    for column in range(len(keys)):
        means = [sum(cells[column]) / max(len(cells[column]), 1) for cells in values]
        bold |= {(row, column + 1) for row, value in enumerate(means) if value == max(means)}
    heads = columns("Model", numbers=[DATA.get(key.data, key.data) for key in keys])
    caption = f"Percent{CAPTIONS[metric]}. The best of each column in bold."
    return Table(f"{METRICS[metric].label} by kind of question", heads, rows, caption, frozenset(bold))


def questions_table(details: Mapping[str, Any], labels: Mapping[str, str]) -> Table:
    """Return a table of the user's questions and the rank of their answer in each search, worst first."""
    questions = details.get("ranks", [])
    searches = list(questions[0]["ranks"]) if questions else []
    recommended = details["advice"]["take"] if questions else BM25

    def rank_key(question: Mapping[str, Any]) -> list[float]:
        """Return the sort key: the rank by the recommended search, then by all, both last first."""
        return [-(question["ranks"][name] or math.inf) for name in (recommended, *searches)]

    rows = tuple(
        (
            question["question"],
            ", ".join(question["answers"]),
            *(str(rank or "–") for rank in question["ranks"].values()),
        )
        for question in sorted(questions, key=rank_key)[:MAX_LISTED_QUESTIONS]
    )
    listed = f" The {len(rows)} worst of {len(questions):,} are listed." if len(rows) < len(questions) else ""
    caption = f"Rank of the first right answer in each search; –: not among the first hundred. Worst first.{listed}"
    heads = columns("Question", "Answer", numbers=[labels[name] for name in searches])
    return Table("Your questions", heads, rows, caption)


def pairs_table(examples: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return a table with the number of training pairs and the mean length of their first texts, by task."""
    rows = tuple(
        (PAIR_LABELS.get(task, task), f"{counts['pairs']:,.0f}", f"{counts['mean_query_tokens']:.0f}")
        for task, counts in examples.items()
        if "pairs" in counts
    )
    return Table("Training pairs", columns("Pair", numbers=["Pairs", "Tokens of the first text"]), rows)
