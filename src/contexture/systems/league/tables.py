"""The tables of the league."""

from collections.abc import Mapping, Sequence
from statistics import mean
from textwrap import wrap

from contexture.reporting.phrases import count_noun
from contexture.reporting.records import Record
from contexture.reporting.tables import NOTHING, Column, Table, best, columns, format_estimate
from contexture.reporting.training_tables import format_count
from contexture.systems.league.scores import BASELINE, League, data_name

GROUPS = {
    "objectives": "Same network, text and budget; different objective",
    "included": "Encoders of other systems",
    "published": "Published models, trained on other text",
    "references": "Baselines without encoder training",
}
#: Marks a training that was stopped early.
STOPPED = "†"
HELD_OUT_CAPTION = (
    "Held-out loss: before → after training, on documents that are kept out of training. Losses of different "
    f"objectives do not compare. {STOPPED}: stopped early, because this loss, or the score on generated questions, "
    "did not improve."
)
#: Size limits of the table in plain text, of its first column and of a word in its headings.
MAX_LINES, MAX_LINE_CHARS, NAME_CHARS, HEAD_CHARS = 24, 100, 30, 10


def standings_table(league: League, explained: Mapping[str, str]) -> Table:
    """Return the table of mean scores and intervals by use; rows are grouped by kind and sorted by mean rank.

    The last columns have the epochs of variants and the losses on held-out documents, if there are any.
    """
    epochs, has_losses = league.epochs, bool(league.held_out)
    cells = [
        (
            league.label(variant),
            *(format_estimate(league.scores[column].get(variant)) for column in league.columns),
            *([f"{epochs[variant]:,.2f}" if variant in epochs else NOTHING] if epochs else []),
            *([format_held_out(league, variant)] if has_losses else []),
        )
        for variant in league.order
    ]
    numbers = range(1, 1 + len(league.columns))
    trained = range(len(league.trained_variants))
    if league.seeds > 1:
        caption = f"Means over {league.seeds} seeds with 95% confidence intervals (±); without ±: one measurement. "
    else:
        caption = "1 seed: preliminary, differences of a few points may be due to chance. "
    if not all(column.is_frozen for column in league.columns):
        caption += "Baselines have the same score in frozen and fine-tuned columns. "
    caption += "Bold: best of all, and best of those trained here."
    if epochs:
        caption += " Epochs: tokens read in training, special tokens included, divided by the tokens of the text."
    if has_losses:
        caption += f" {HELD_OUT_CAPTION}"
    return Table(
        title="Scores",
        columns=(
            Column("Model"),
            *_table_columns(league),
            *columns(
                numbers=[*(["Epochs"] if epochs else []), *(["Held-out loss"] if has_losses else [])], group="Training"
            ),
        ),
        rows=tuple(cells),
        caption=" ".join([caption, *dict.fromkeys(column.use.description for column in league.columns)]),
        bold=frozenset(best(cells, range(len(cells)), numbers) | best(cells, trained, numbers)),
        headings={league.order.index(variants[0]): GROUPS[kind] for kind, variants in league.groups.items()},
        notes={row: explained[variant] for row, variant in enumerate(league.order) if variant in explained},
        shades=_shades(league),
    )


def gains_table(league: League) -> Table:
    """Return the table of paired gains over the baseline in points; no rows without the baseline."""
    compared = [variant for variant in league.order if variant != BASELINE and BASELINE in league.variants]
    return Table(
        title=f"Gains over {league.label(BASELINE)}",
        columns=(Column("Model"), *_table_columns(league)),
        rows=tuple((league.label(variant), *_format_gains(league, variant, BASELINE)) for variant in compared),
        caption=_gains_caption(league),
    )


def starts_table(league: League) -> Table:
    """Return the table of each variant's paired gains over the variant with its initial weights, in points.

    Variants whose start was not measured have no row.
    """
    starts = league.starts
    pairs = [(variant, starts[variant]) for variant in league.order if starts.get(variant) in league.variants]
    return Table(
        title="Gains over the untrained start",
        columns=(*columns("Model", "Start"), *_table_columns(league)),
        rows=tuple(
            (league.label(variant), league.label(start), *_format_gains(league, variant, start))
            for variant, start in pairs
        ),
        caption=f"What training adds to the initial weights of the same encoder. {_gains_caption(league)}",
    )


def costs_table(league: League, speed: Mapping[str, float]) -> Table:
    """Return a table of the cost of training and the speed of embedding of each variant, as far as known."""
    rows = []
    for variant in (v for v in league.order if v in league.costs or v in speed):
        known = [NOTHING] * 5
        if cost := league.costs.get(variant):
            known = [format_count(cost["flops"]), f"{cost['seconds'] / 60:,.1f}"]
            known += [f"{cost[key]:,}" for key in ("tokens", "steps", "parameters")]
        rows.append((league.label(variant), *known, f"{speed[variant]:,.0f}" if variant in speed else NOTHING))
    heads = ("FLOPs", "Minutes", "Tokens", "Steps", "Parameters", "Texts embedded per second")
    return Table(
        title="Training cost",
        columns=columns("Model", numbers=heads),
        rows=tuple(rows),
        caption="Training of one seed.",
    )


def league_text(records: Sequence[Record], labels: Mapping[str, str] | None = None) -> str:
    """Return the league's scores as a text table within `MAX_LINES` × `MAX_LINE_CHARS`; *: best of its column."""
    league = League(records, labels)
    if not league.columns:
        return "No results: no variant of the league was evaluated."
    rows, left_out = _select_rows(league)
    lines = _format_lines(league, rows, intervals=True)
    if len(lines[0]) > MAX_LINE_CHARS:
        lines = _format_lines(league, rows, intervals=False)
    notes = ["*: best of its column"]
    notes += [f"±: 95% confidence interval over {league.seeds} seeds"] if "±" in "".join(lines) else []
    notes += [f"{count_noun(left_out, 'more row')} in the report"] if left_out else []
    return "\n".join([*(line[:MAX_LINE_CHARS].rstrip() for line in lines), "; ".join(notes)])


def _wrap_headings(league: League) -> list[list[str]]:
    """Return the lines of the heading of each column in plain text: use and column, wrapped."""
    return [
        [line for name in (c.use.name, c.name) for line in wrap(name, HEAD_CHARS, break_long_words=False)]
        for c in league.columns
    ]


def _select_rows(league: League) -> tuple[list[str], int]:
    """Return the variants that fit into the text table (baselines first, then the best), and the number of others."""
    room = MAX_LINES - 2 - max(map(len, _wrap_headings(league)))  # rule and notes
    needed = [v for v in league.order if v == BASELINE or v in league.references]
    kept: list[str] = []
    for variant in [*needed, *(v for v in league.mean_ranks if v not in needed)]:
        room -= len(wrap(league.label(variant), NAME_CHARS))
        if room >= 0:
            kept.append(variant)
    return [v for v in league.order if v in kept], len(league.order) - len(kept)


def _format_lines(league: League, rows: Sequence[str], intervals: bool) -> list[str]:
    """Return the lines of the text table with aligned columns, with or without intervals; *: best of its column."""
    top = {c: max(s.mean for s in league.scores[c].values()) for c in league.columns}
    heads = _wrap_headings(league)
    deep = max(map(len, heads))
    heads = [[""] * (deep - len(lines)) + [f"{line} " for line in lines] for lines in heads]
    table = [["", *line] for line in zip(*heads, strict=True)]
    for variant in rows:
        cells = []
        for column in league.columns:
            score = league.scores[column].get(variant)
            text = NOTHING if score is None else format_estimate(score) if intervals else f"{score.mean:z.1f}"
            star = score is not None and f"{score.mean:z.1f}" == f"{top[column]:z.1f}"
            cells.append(f"{text}{'*' if star else ' '}")
        name, *more = wrap(league.label(variant), NAME_CHARS, subsequent_indent="  ")
        table += [[name, *cells], *([line, *[""] * len(cells)] for line in more)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        " ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in table
    ]
    return [*lines[:deep], "-" * min(MAX_LINE_CHARS, len(lines[0])), *lines[deep:]]


def _format_gains(league: League, variant: str, baseline: str) -> list[str]:
    """Return a variant's mean gain over a baseline in each column as text, with * if it is significant."""
    gains = (league.compare(variant, baseline, column) for column in league.columns)
    return [
        NOTHING if gain is None else f"{mean(gain.differences):+z.1f}{'*' if gain.test and gain.test[1] < 0.05 else ''}"
        for gain in gains
    ]


def _gains_caption(league: League) -> str:
    """Return the caption of a table of gains."""
    tested = " *: significant at 95% by Student's paired t-test. Expect about 5% false positives."
    return "Points: mean difference between models of the same seed." + (tested if league.seeds > 1 else "")


def format_held_out(league: League, variant: str) -> str:
    """Return a variant's losses on held-out documents before and after training, means over seeds, as text."""
    if not (losses := league.held_out.get(variant)):
        return NOTHING
    start, end, stopped = zip(*losses.values(), strict=True)
    return f"{mean(start):.2f} → {mean(end):.2f}{STOPPED if any(stopped) else ''}"


def _table_columns(league: League) -> list[Column]:
    """Return the headings of the league's columns in the page's tables, grouped by use and data."""
    data = {c.use: {other.data for other in league.columns if other.use == c.use} for c in league.columns}
    return [
        Column(
            c.name, f"{c.use.name}: {c.use.score}{f', {data_name(c)}' if len(data[c.use]) > 1 else ''}", numeric=True
        )
        for c in league.columns
    ]


def _shades(league: League) -> dict[tuple[int, int], float]:
    """Return (row, column) → shade of a cell: the score's position between its column's lowest (0) and highest (1)."""
    shades = {}
    for number, column in enumerate(league.columns, start=1):
        means = {variant: score.mean for variant, score in league.scores[column].items()}
        low, high = min(means.values()), max(means.values())
        for row, variant in enumerate(league.order):
            if variant in means and high > low:
                shades[row, number] = (means[variant] - low) / (high - low)
    return shades
