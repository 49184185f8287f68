"""The claims of the papers as text, and as a page of tables."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from contexture.reporting.claim_decisions import ClaimResult, Decision, RowScore
from contexture.reporting.page import Page, ReportContext, Section
from contexture.reporting.phrases import count_noun, join_names
from contexture.reporting.report import Report, render_report
from contexture.reporting.tables import NOTHING, Column, Table, columns
from contexture.reporting.training_tables import format_count

TITLE = "Claims of the papers"
NOTE = (
    "Each claim of the five papers, decided on our records of real text. A claim is shown if each of its comparisons "
    "is, refuted if one of them is, and undecided otherwise. See docs/claims.md."
)
CAPTION = (
    "Points: percent, or hundredths of a correlation. A and B are means over seeds, with the untrained start in "
    "parentheses. A − B has its 95% interval: over seeds by Student's t, or, if seeds do not vary, over questions by "
    "bootstrap. Fewer than three seeds decide nothing. Test examples: questions, sentences or pairs, all tasks "
    "together. FLOPs: of one training of A and of B. Minutes: of all trainings."
)


def count_verdicts(results: Sequence[ClaimResult]) -> str:
    """Return "3 shown, 1 refuted, 28 undecided"."""
    counts = Counter(result.verdict for result in results)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("shown", "refuted", "undecided"))


def claims_text(results: Sequence[ClaimResult]) -> str:
    """Return all claims with their decisions as text of several lines, and the number of each verdict."""
    lines: list[str] = []
    for result in results:
        claim = result.claim
        lines.append(f"{result.id}  {result.verdict.upper()}: {claim.statement} ({result.paper}, {claim.source})")
        for decision in result.decisions:
            lines += [f"    {line}" for line in _decision_lines(decision)]
        lines += [f"    {name}: {text}" for name, text in list_remarks(result)]
        lines.append("")
    return "\n".join([*lines, count_verdicts(results)])


def claims_page(results: Sequence[ClaimResult]) -> Page:
    """Return the page of all claims: those that are decided, the comparisons, and how to repeat them."""
    decided = [f"{result.claim.statement}: {result.verdict}." for result in results if result.verdict != "undecided"]
    return Page(
        findings=[f"Of {count_noun(len(results), 'claim')}: {count_verdicts(results)}.", *decided],
        sections=[Section(table.title, table) for table in (decisions_table(results), _remarks_table(results))],
    )


def render_claims(results: Sequence[ClaimResult]) -> Report:
    """Return the page of all claims as Markdown and HTML."""
    return render_report([], [], ReportContext("claims", TITLE, NOTE), lambda records, context: claims_page(results))


def claims_rows(results: Sequence[ClaimResult]) -> list[dict[str, Any]]:
    """Return one row per decision, with plain values, for a table in MLflow."""
    return [
        {
            "claim": result.id,
            "verdict": result.verdict,
            "statement": result.claim.statement,
            "compared": decision.comparison.label,
            "measure": decision.measure.title,
            "result": decision.verdict,
            "reason": decision.reason,
            "a": decision.a and decision.a.score,
            "b": decision.b and decision.b.score,
            "untrained_a": decision.a and decision.a.start,
            "untrained_b": decision.b and decision.b.start,
            "difference": decision.difference,
            "low": decision.interval and decision.interval[0],
            "high": decision.interval and decision.interval[1],
            "seeds": decision.seeds,
            "questions": decision.questions,
            "test_examples": decision.examples,
            "needed_seeds": decision.needed_seeds,
            "records": decision.folder and str(decision.folder),
            "text": join_names(decision.texts),
            "flops_a": decision.flops[0],
            "flops_b": decision.flops[1],
            "minutes": decision.minutes,
            "command": result.claim.command,
        }
        for result in results
        for decision in result.decisions
    ]


def _decision_lines(decision: Decision) -> Iterator[str]:
    """Yield the lines of a decision: its numbers and verdict, then text and cost of the trainings."""
    heading = f"{decision.comparison.label}, {_describe_measure(decision)}"
    verdict = decision.verdict + (f": {decision.reason}" if decision.reason else "")
    if decision.difference is None:
        yield f"{heading}: {verdict}"
        return
    scores = f"{_format_row(decision.a)} and {_format_row(decision.b)}, difference {_format_difference(decision)}"
    examples = f", {count_noun(decision.examples, 'test example')}" if decision.examples else ""
    yield f"{heading}: {scores}, {_describe_sample(decision)}{examples}: {verdict}"
    if decision.texts:
        cost = f"{_format_flops(decision)} FLOPs, {decision.minutes:.1f} minutes"
        yield f"    trained on {join_names(decision.texts)}: {cost}"
    if decision.folder is not None:
        yield f"    records of {decision.folder}"


def list_remarks(result: ClaimResult) -> list[tuple[str, str]]:
    """Return the remarks on a claim by name: what is missing while it is undecided, the note, and how to repeat it."""
    claim = result.claim
    missing = claim.missing if result.verdict == "undecided" else ""
    remarks = [("missing", missing), ("note", claim.note), ("repeat", "; ".join(list_commands(result)))]
    return [(name, text) for name, text in remarks if text]


def list_commands(result: ClaimResult) -> list[str]:
    """Return the commands that repeat a claim: by the names of the saved results that measured it, or its own."""
    files = (decision.folder for decision in result.decisions if decision.is_measured and decision.folder is not None)
    names = dict.fromkeys(file.stem for file in files if file.suffix)
    return [f"contexture results repeat {name} --data FOLDER" for name in names] or [result.claim.command]


def decisions_table(results: Sequence[ClaimResult]) -> Table:
    """Return the table of all decisions, with a heading for each claim."""
    rows: list[tuple[str, ...]] = []
    headings = {}
    sources = {decision.folder for result in results for decision in result.decisions}
    for result in results:
        source = f"{result.paper}, {result.claim.source}"
        headings[len(rows)] = f"{result.id}: {result.claim.statement} ({source}): {result.verdict}"
        for decision in result.decisions:
            measured = decision.is_measured
            rows.append(
                (
                    decision.comparison.label,
                    _describe_measure(decision),
                    _format_row(decision.a),
                    _format_row(decision.b),
                    _format_difference(decision),
                    _describe_sample(decision) if measured else NOTHING,
                    f"{decision.examples:,}" if decision.examples else NOTHING,
                    join_names(decision.texts) or NOTHING,
                    _format_flops(decision) if measured else NOTHING,
                    f"{decision.minutes:.1f}" if measured else NOTHING,
                    *([_name_source(decision)] if len(sources) > 1 else []),
                    decision.verdict + (f": {decision.reason}" if decision.reason else ""),
                )
            )
    names = columns("Compared", "Measure", numbers=["A", "B", "A − B", "Seeds", "Test examples"])
    last = columns(*(["Records"] if len(sources) > 1 else []), "Result")
    heads = (*names, Column("Text"), *columns(numbers=["FLOPs", "Minutes"]), *last)
    return Table("Comparisons", heads, tuple(rows), CAPTION, headings=headings)


def _name_source(decision: Decision) -> str:
    """Return the name of the file or folder of the records that decided."""
    if decision.folder is None or not decision.is_measured:
        return NOTHING
    return decision.folder.stem if decision.folder.suffix else str(decision.folder)


def _remarks_table(results: Sequence[ClaimResult]) -> Table:
    """Return the table of commands, with what is missing and what to keep in mind."""
    rows = []
    for result in results:
        remarks = dict(list_remarks(result))
        rows.append((result.id, *(remarks.get(name, NOTHING) for name in ("repeat", "missing", "note"))))
    caption = "Words in capitals are paths of your files."
    return Table("How to repeat the comparisons", columns("Claim", "Command", "Missing", "Note"), tuple(rows), caption)


def _describe_measure(decision: Decision) -> str:
    """Return a measure's title, what its mean lacks, and the further system: "classification without mpqa, league"."""
    without = decision.without if decision.is_measured else ()
    title = decision.measure.title + (f" without {join_names(without)}" if without else "")
    return f"{title}, {decision.also_in}" if decision.also_in else title


def _describe_sample(decision: Decision) -> str:
    """Return over what the interval is: "3 seeds", or "1 seed, 243 questions"."""
    seeds = count_noun(decision.seeds, "seed")
    return f"{seeds}, {count_noun(decision.questions, 'question')}" if decision.questions else seeds


def _format_row(row: RowScore | None) -> str:
    """Format a mean, with the untrained start in parentheses: "72.3 (70.1)"."""
    if row is None:
        return NOTHING
    return f"{row.score:z.1f}" + (f" ({row.start:z.1f})" if row.start is not None else "")


def _format_difference(decision: Decision) -> str:
    """Format a difference and its interval: "+1.2 [+0.4, +2.0]"."""
    if decision.difference is None:
        return NOTHING
    interval = f" [{decision.interval[0]:+.1f}, {decision.interval[1]:+.1f}]" if decision.interval else ""
    return f"{decision.difference:+z.1f}{interval}"


def _format_flops(decision: Decision) -> str:
    """Format the FLOPs of a training of each row: "2.1T", or "2.1T and 1.0T" if they differ."""
    return " and ".join(dict.fromkeys(map(format_count, decision.flops)))
