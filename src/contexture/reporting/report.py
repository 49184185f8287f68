"""The report of a system, as Markdown and as one self-contained HTML page."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from contexture.reporting.curves import History, learning_curves, to_png
from contexture.reporting.names import DATA, SCORE_PROTOCOLS, TASKS, label_variant, protocol_name, sort_tasks
from contexture.reporting.page import MakePage, Page, ReportContext, sections
from contexture.reporting.records import METRICS, check_records
from contexture.reporting.tables import NOTHING, Column, Table, columns, counts_table, order_by_label, to_markdown


@dataclass(frozen=True)
class Report:
    """The files of a report. The Markdown links to the figures in its folder."""

    markdown: str
    html: str
    figures: Mapping[str, bytes]  # file name → PNG
    page: Page


def render_report(records: object, histories: Sequence[History], context: ReportContext, page: MakePage) -> Report:
    """Return a system's report as Markdown and HTML, from the content of `metrics.json` and training logs.

    It has tables, figures and learning curves. Records of other systems are ignored. `page` draws the system-specific
    part.

    Raises:
        ValueError: for invalid records, details without the keys that tables need, or a log without steps.
    """
    system_records = [record for record in check_records(records) if record["system"] == context.system]
    drawn_page = page(system_records, context)
    drawn_page = replace(drawn_page, sections=[*drawn_page.sections, *sections(details_tables(context))])
    curves = learning_curves(histories, drawn_page.variants, context.series, context.labels)
    figures = {f"{name}.png": to_png(figure) for name, figure in {**drawn_page.figures, **curves}.items()}
    missing = missing_table(context)
    content = {
        "context": context,
        "page": drawn_page,
        "curves": [f"{name}.png" for name in curves],
        "several": len({history.seed for history in histories}) > 1,
        "counts": [*([missing] if missing.rows else []), *counts_tables(context)],
        "figures": {name: b64encode(png).decode() for name, png in figures.items()},
    }
    return Report(render("report.md", content), render("report.html", content), figures, drawn_page)


def details_tables(context: ReportContext) -> Iterator[Table]:
    """Yield tables of the details of all tasks: intervals, confidence, similarity scores, examples."""
    for tables in (_intervals_tables, _confidence_tables, _similarity_tables, _examples_tables):
        for task, details in context.details.items():
            yield from tables(TASKS.get(task, task), details, context.labels)


def _examples_tables(task: str, details: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[Table]:
    """Yield tables of answered and missed questions, with the first result and the right answer."""
    for examples in details.get("examples", ()):
        answered, missed = examples["answered"], examples["missed"]
        rows = tuple((row["question"], row["predicted"], row["right"]) for row in [*answered, *missed])
        headings = ({0: "Answered"} if answered else {}) | ({len(answered): "Missed"} if missed else {})
        variant = label_variant(examples["variant"], labels)
        where = f" on {DATA.get(examples['data'], examples['data'])}" if "data" in examples else ""
        caption = f"Model: {variant}, {protocol_name(examples['protocol'])}{where}, first seed."
        names = columns("Question", "First result", "Answer")
        yield Table(f"{task}: examples", names, rows, caption, headings=headings)


def _intervals_tables(task: str, details: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[Table]:
    """Yield a table per data set: each variant's nDCG@10 and its difference to BM25, with 95% intervals."""
    for data, variants in details.get("intervals", {}).items():
        rows = tuple(
            (
                label_variant(name, labels),
                _interval(variants[name]["ndcg_at_10"]),
                _interval(variants[name]["over_bm25"], signed=True) if "over_bm25" in variants[name] else NOTHING,
            )
            for name in order_by_label(variants, labels)
        )
        caption = "Percent. In brackets: the 95% bootstrap interval over queries."
        names = columns("Model", numbers=["nDCG@10", "difference to BM25"])
        yield Table(f"{task}: confidence intervals, {DATA.get(data, data)}", names, rows, caption)


def _confidence_tables(task: str, details: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[Table]:
    """Yield tables of confidence intervals of a task's metrics and of their differences to BM25 and chance.

    `SCORE_PROTOCOLS` have a separate table.
    """
    for data, protocols in details.get("confidence", {}).items():
        for suffix, by_score in (("", False), (", frozen encoders by score", True)):
            blocks = {name: block for name, block in protocols.items() if (name in SCORE_PROTOCOLS) == by_score}
            if blocks:
                title = f"{task}: confidence intervals{suffix}, {DATA.get(data, data)}"
                yield _confidence_table(title, blocks, labels)


def _confidence_table(title: str, blocks: Mapping[str, Any], labels: Mapping[str, str]) -> Table:
    """Return a table of confidence intervals with a block of rows for each protocol: chance, then the variants."""
    first = next(iter(blocks.values()))
    metrics = list(first["chance"])
    names = [METRICS[metric].label for metric in metrics]
    differences = columns(numbers=names, group="difference to BM25")
    rows: list[tuple[str, ...]] = []
    headings = {}
    for protocol, block in blocks.items():
        headings[len(rows)] = protocol_name(protocol)
        chance = [f"{100 * block['chance'][metric]:.1f}" for metric in metrics]
        rows.append(("Chance", *chance, *[NOTHING] * len(metrics), NOTHING))
        for variant in order_by_label(block["variants"], labels):
            parts = block["variants"][variant]
            means = [_interval(parts["means"][metric]) for metric in metrics]
            over = parts.get("over_bm25")
            gains = [_interval(over[metric], signed=True) if over else NOTHING for metric in metrics]
            rows.append((label_variant(variant, labels), *means, *gains, _compare_with_chance(parts["over_chance"])))
    caption = (
        f"Percent, {first['questions']:,} questions, mean over seeds. In brackets: the 95% bootstrap interval over "
        "questions. Chance: the exact mean of a random order of the same candidates. Above chance: metrics whose "
        "difference to chance has an interval above 0."
    )
    heads = (*columns("Model", numbers=names), *differences, Column("Above chance"))
    return Table(title, heads, tuple(rows), caption, headings=headings)


def _compare_with_chance(differences: Mapping[str, Sequence[float]]) -> str:
    """Return the metrics significantly above and below chance: "R@1, MRR", "no" or "no; below: R@20"."""
    above = [METRICS[metric].label for metric, (_, low, _) in differences.items() if low > 0]
    below = [METRICS[metric].label for metric, (_, _, high) in differences.items() if high < 0]
    return "; ".join([", ".join(above) or "no", *([f"below: {', '.join(below)}"] if below else [])])


def _interval(values: Sequence[float], signed: bool = False) -> str:
    """Format a mean and its interval in percent: "62.1 [58.0, 66.4]"."""
    mean, low, high = (f"{100 * value:{'+' if signed else ''}z.1f}" for value in values)
    return f"{mean} [{low}, {high}]"


def _similarity_tables(task: str, details: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[Table]:
    """Yield one table: the similarity (such as cosine) that a task used, a row per model, a column per protocol."""
    scores: Mapping[str, Mapping[str, str]] = details.get("scores", {})
    names = columns("Model", *map(protocol_name, scores))
    rows = tuple(
        (label_variant(variant, labels), *(by_variant.get(variant, NOTHING) for by_variant in scores.values()))
        for variant in dict.fromkeys(variant for by_variant in scores.values() for variant in by_variant)
    )
    yield Table(f"{task}: similarity scores", names, rows)


def counts_tables(context: ReportContext) -> list[Table]:
    """Return tables of counts of the run and of the data of each task, with notes on the data."""
    tables = [counts_table(title, counts) for title, counts in context.counts.items() if counts]
    for task, details in context.details.items():
        if details.get("counts"):
            table = counts_table(f"{TASKS.get(task, task)}: data", details["counts"])
            tables.append(replace(table, caption=" ".join(f"{note}." for note in details.get("notes", ()))))
    return tables


def missing_table(context: ReportContext) -> Table:
    """Return a table of the tasks and data that were not measured, with reasons."""
    missing = {name: why for details in context.details.values() for name, why in details.get("missing", {}).items()}
    rows = tuple(((TASKS | DATA).get(name, name), str(missing[name])) for name in sort_tasks(missing))
    return Table("Not measured", columns("Task or data", "Reason"), rows)


def render(template: str, content: Mapping[str, object]) -> str:
    """Return the text of a template of `reporting/templates`, filled with `content`; HTML is escaped."""
    environment = Environment(
        loader=PackageLoader("contexture.reporting"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = to_markdown
    return environment.get_template(template).render(**content)
