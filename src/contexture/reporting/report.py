"""The report of a system, as Markdown and as one HTML page that needs no other file."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from contexture.reporting.curves import History, learning_curves, to_png
from contexture.reporting.names import BY_SCORE, DATA, TASKS, in_order, protocol_name
from contexture.reporting.page import MakePage, Page, ReportContext, section
from contexture.reporting.records import METRICS, check_records
from contexture.reporting.tables import NOTHING, Column, Table, by_label, counts_table, to_markdown


@dataclass(frozen=True)
class Report:
    """The files of a report. The Markdown names the figures, which must lie beside it."""

    markdown: str
    html: str
    figures: Mapping[str, bytes]  # file name → PNG
    page: Page  # what was drawn


def render_report(records: object, histories: Sequence[History], context: ReportContext, page: MakePage) -> Report:
    """Draw the tables, pictures and learning curves of one system.

    Args:
        records: the content of `metrics.json`; records of other systems are left out.
        histories: training logs, if any.
        context: everything else that the page says.
        page: the system's own part of it.

    Raises:
        ValueError: for records that `check_records` or the system's page refuses, facts without the keys that its
            tables name, or a log without steps.
    """
    own = [record for record in check_records(records) if record["system"] == context.system]
    made = page(own, context)
    told = [*intervals_tables(context), *confidence_tables(context), *scores_tables(context), *examples_tables(context)]
    made = replace(made, sections=[*made.sections, *(section(table) for table in told)])
    curves = learning_curves(histories, made.variants, context.series, context.labels)
    figures = {f"{name}.png": to_png(figure) for name, figure in {**made.figures, **curves}.items()}
    missing = missing_table(context)
    content = {
        "context": context,
        "page": made,
        "curves": [f"{name}.png" for name in curves],
        "several": len({history.seed for history in histories}) > 1,
        "counts": [*([missing] if missing.rows else []), *counts_tables(context)],
        "figures": {name: b64encode(png).decode() for name, png in figures.items()},
    }
    return Report(render("report.md", content), render("report.html", content), figures, made)


def examples_tables(context: ReportContext) -> list[Table]:
    """Questions to read, by task: some that the best model answered, and some that it did not."""
    columns = (Column("Question"), Column("What came first"), Column("The answer"))
    tables = []
    for task, facts in context.facts.items():
        for examples in facts.get("examples", ()):
            answered, missed = examples["answered"], examples["missed"]
            rows = tuple((row["question"], row["found"], row["right"]) for row in [*answered, *missed])
            headings = ({0: "Answered"} if answered else {}) | ({len(answered): "Not answered"} if missed else {})
            who = context.labels.get(examples["variant"], examples["variant"])
            where = f" on {DATA.get(examples['data'], examples['data'])}" if "data" in examples else ""
            caption = f"By {who}, {protocol_name(examples['protocol'])}{where}, of the first seed."
            tables.append(Table(f"{TASKS.get(task, task)}: to read", columns, rows, caption, headings=headings))
    return tables


def intervals_tables(context: ReportContext) -> list[Table]:
    """How sure a task's numbers are, by data and variant, and how far they are above BM25's."""
    columns = (Column("Model"), Column("nDCG@10", numeric=True), Column("above BM25", numeric=True))
    tables = []
    for task, facts in context.facts.items():
        for data, variants in facts.get("intervals", {}).items():
            rows = tuple(
                (
                    context.labels.get(name, name),
                    _interval(variants[name]["ndcg_at_10"]),
                    _interval(variants[name]["over_bm25"], signed=True) if "over_bm25" in variants[name] else NOTHING,
                )
                for name in by_label(variants, context.labels)
            )
            title = f"{TASKS.get(task, task)}: how sure it is, {DATA.get(data, data)}"
            caption = "Percent, in brackets where the mean lies with 95% by the bootstrap over queries."
            tables.append(Table(title, columns, rows, caption))
    return tables


def confidence_tables(context: ReportContext) -> list[Table]:
    """Confidence intervals of a task's measures and of their differences to BM25, compared with chance.

    The single scores of frozen encoders (`BY_SCORE`) have a table of their own.
    """
    tables = []
    for task, facts in context.facts.items():
        for data, protocols in facts.get("confidence", {}).items():
            for suffix, by_score in (("", False), (", frozen encoders by score", True)):
                blocks = {name: block for name, block in protocols.items() if (name in BY_SCORE) == by_score}
                title = f"{TASKS.get(task, task)}: confidence intervals{suffix}, {DATA.get(data, data)}"
                tables += [_confidence_table(title, blocks, context.labels)] if blocks else []
    return tables


def _confidence_table(title: str, blocks: Mapping[str, Any], labels: Mapping[str, str]) -> Table:
    """Variants by protocol, each protocol headed by its name and beginning with the expectation by chance."""
    first = next(iter(blocks.values()))
    metrics = list(first["chance"])
    names = [METRICS[metric].label for metric in metrics]
    columns = (
        Column("Model"),
        *(Column(name, numeric=True) for name in names),
        *(Column(name, "difference to BM25", numeric=True) for name in names),
        Column("Above chance"),
    )
    rows: list[tuple[str, ...]] = []
    headings = {}
    for protocol, block in blocks.items():
        headings[len(rows)] = protocol_name(protocol)
        chance = [f"{100 * block['chance'][metric]:.1f}" for metric in metrics]
        rows.append(("Chance", *chance, *[NOTHING] * len(metrics), NOTHING))
        variants = block["variants"]
        for variant in by_label(variants, labels):
            parts = variants[variant]
            means = [_interval(parts["means"][metric]) for metric in metrics]
            over = parts.get("over_bm25")
            gains = [_interval(over[metric], signed=True) if over else NOTHING for metric in metrics]
            rows.append((labels.get(variant, variant), *means, *gains, _compare_with_chance(parts["over_chance"])))
    caption = (
        f"Percent, {first['questions']:,} questions, mean over seeds. In brackets: the 95% bootstrap interval over "
        "questions. Chance: the exact mean of a random order of the same candidates. Above chance: the measures whose "
        "difference to chance has an interval above 0."
    )
    return Table(title, columns, tuple(rows), caption, headings=headings)


def _compare_with_chance(differences: Mapping[str, Sequence[float]]) -> str:
    """The measures that are above chance, then those below: "R@1, MRR", "no" or "no; below: R@20"."""
    above = [METRICS[metric].label for metric, (_, low, _) in differences.items() if low > 0]
    below = [METRICS[metric].label for metric, (_, _, high) in differences.items() if high < 0]
    return "; ".join([", ".join(above) or "no", *([f"below: {', '.join(below)}"] if below else [])])


def _interval(told: Sequence[float], signed: bool = False) -> str:
    """ "62.1 [58.0, 66.4]" of a mean and the two ends."""
    mean, low, high = (f"{100 * value:{'+' if signed else ''}.1f}" for value in told)
    return f"{mean} [{low}, {high}]"


def scores_tables(context: ReportContext) -> list[Table]:
    """By what a task compared the vectors of each model, where it has several ways, told by protocol and variant."""
    tables = []
    for task, facts in context.facts.items():
        scores: Mapping[str, Mapping[str, str]] = facts.get("scores", {})
        columns = (Column("Model"), *(Column(protocol_name(protocol)) for protocol in scores))
        variants = dict.fromkeys(variant for told in scores.values() for variant in told)
        rows = tuple(
            (context.labels.get(variant, variant), *(told.get(variant, NOTHING) for told in scores.values()))
            for variant in variants
        )
        tables += [Table(f"{TASKS.get(task, task)}: what vectors are compared by", columns, rows)] if rows else []
    return tables


def counts_tables(context: ReportContext) -> list[Table]:
    """What was counted, of the whole run and of the data of each task, with what there is to know of the data."""
    tables = [counts_table(title, counts) for title, counts in context.counts.items() if counts]
    for task, facts in context.facts.items():
        if facts.get("counts"):
            table = counts_table(f"{TASKS.get(task, task)}: data", facts["counts"])
            tables.append(replace(table, caption=" ".join(f"{note}." for note in facts.get("notes", ()))))
    return tables


def missing_table(context: ReportContext) -> Table:
    """What was not measured, and why."""
    missing = {name: why for facts in context.facts.values() for name, why in facts.get("missing", {}).items()}
    rows = tuple(((TASKS | DATA).get(name, name), str(missing[name])) for name in in_order(missing))
    return Table("Not measured", (Column("What"), Column("Why")), rows)


def render(template: str, content: Mapping[str, object]) -> str:
    """A template of this room, filled in; what goes into HTML is escaped."""
    environment = Environment(
        loader=PackageLoader("contexture.reporting"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = to_markdown
    return environment.get_template(template).render(**content)
