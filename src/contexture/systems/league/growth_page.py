"""The page of scores by budget: tables, pictures, and which row would lead with more compute."""

from collections.abc import Callable, Mapping, Sequence
from statistics import mean

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from contexture.objectives.config import OBJECTIVES
from contexture.reporting.curves import INK, add_legend, new_figure, style_axes, variant_style
from contexture.reporting.page import Page, ReportContext, Section
from contexture.reporting.phrases import join_names, lower_first
from contexture.reporting.records import Record
from contexture.reporting.report import Report, render_report
from contexture.reporting.tables import NOTHING, Column, Estimate, Table, columns, estimate, format_estimate
from contexture.reporting.training_tables import format_count
from contexture.systems.league.growth import (
    FACTORS,
    Growth,
    check_forecasts,
    check_leagues,
    collect_growth,
    find_budget,
    forecast_all,
    list_references,
    list_targets,
    measure_widening,
)
from contexture.systems.league.page import LABELS
from contexture.systems.league.scores import League, LeagueColumn
from contexture.systems.league.tables import HELD_OUT_CAPTION, format_held_out

TITLE = "The league: scores by budget of training"
NOTE = (
    "Each row was trained with several budgets. The line through its scores is extended to larger budgets: a forecast "
    "that holds only as long as the scores grow in proportion to the logarithm of the FLOPs."
)
CAPTION = (
    "Means over seeds. Per ten times: points by which the line through all budgets grows with ten times the FLOPs. "
    f"Forecasts: the line at {join_names(map(str, FACTORS))} times the largest budget of all rows, with 95% intervals "
    "(±) of the regression, widened as the findings say; how far budgets are from the line is estimated from all rows "
    "together. Held out: the forecast for a row's largest budget from its smaller ones, with an interval that is not "
    "widened, and what was measured. There is no interval if the rows have too few budgets to know how far these are "
    "from the line."
)
START_CAPTION = " Untrained: the score of the same encoder with its initial weights, mean over the files."
EPOCHS_CAPTION = "Epochs: tokens read in training, special tokens included, divided by the tokens of the text."
WIDTH_INCHES, HEIGHT_INCHES = 9.0, 4.2
#: Labels of lines closer than this share of the axis are written in one.
LABEL_SHARE = 0.05


def render_growth(results: Sequence[Sequence[Record]]) -> Report:
    """Return the page of the leagues of several results as Markdown and HTML.

    Raises ValueError if no row was trained with several budgets, or a row has encoders of different sizes.
    """
    labels = {name: config.title for name, config in OBJECTIVES.items()} | LABELS
    leagues = [League([record for record in records if record["system"] == "league"], labels) for records in results]
    check_leagues(leagues)
    context = ReportContext("league", TITLE, NOTE)
    return render_report([], [], context, lambda records, context: growth_page(leagues))


def growth_page(leagues: Sequence[League]) -> Page:
    """Return findings, and a table and a picture for each column of scores."""
    leagues = sorted(leagues, key=find_budget)
    rows = {column: collect_growth(leagues, column) for league in leagues for column in league.columns}
    rows = {column: growths for column, growths in rows.items() if growths}
    if not rows:
        raise ValueError("no row of the league has scores with two budgets; save the results of a run with each budget")
    checks = [check for growths in rows.values() for check in check_forecasts(growths).values()]
    widening = measure_widening(checks)
    variants = [*dict.fromkeys(name for growths in rows.values() for name in growths)]
    figures: dict[str, Figure] = {}
    parts: list[Section] = []
    for number, (column, growths) in enumerate(rows.items()):
        name = f"growth_{number}"
        figures[name] = _draw(leagues, column, growths, variants)
        parts.append(Section(column.title, _table(leagues, column, growths, widening), [name]))
    findings = [_leader_sentence(leagues, column, growths, widening) for column, growths in rows.items()]
    tables = [_tokens_table(leagues, variants)]
    if any(variant in league.held_out for league in leagues for variant in variants):
        heading = "Loss on held-out documents"
        tables.append(_trainings_table(leagues, variants, heading, format_held_out, HELD_OUT_CAPTION))
    parts += [Section(table.title, table) for table in tables]
    return Page([*findings, *_check_sentences(checks, widening)], parts, figures)


def _table(leagues: Sequence[League], column: LeagueColumn, growths: Mapping[str, Growth], widening: float) -> Table:
    """Return a row for each variant: scores by budget, slope, forecasts, and the check; then baselines."""
    cells, checks = [], check_forecasts(growths)
    targets, references = list_targets(leagues), list_references(leagues, column)
    forecasts = [forecast_all(growths, flops, widening) for flops in targets]
    starts = {variant: start for league in leagues for variant, start in league.starts.items() if start in references}
    for variant, growth in growths.items():
        measured = [[*league.values(variant, column).values()] for league in leagues]
        scores = [f"{references[starts[variant]]:z.1f}" if variant in starts else NOTHING] if starts else []
        scores += [f"{mean(values):z.1f}" if values else NOTHING for values in measured]
        scores += [f"{growth.line.slope:+z.1f}", *(format_estimate(forecast[variant]) for forecast in forecasts)]
        check = checks.get(variant)
        held_out = (NOTHING, NOTHING) if check is None else (format_estimate(check[0]), f"{check[1]:z.1f}")
        cells.append((leagues[0].label(variant), *scores, *held_out))
    heads = (
        Column("Model"),
        *columns(numbers=["Untrained"] if starts else []),
        *columns(numbers=[f"{format_count(find_budget(league))} FLOPs" for league in leagues], group="Measured"),
        *columns(numbers=["per ten times"], group="Growth"),
        *columns(numbers=[f"{format_count(flops)} FLOPs" for flops in targets], group="Forecast"),
        *columns(numbers=["forecast", "measured"], group="Held out"),
    )
    cells += [
        (leagues[0].label(variant), f"{score:z.1f}", *[NOTHING] * (len(heads) - 2))
        for variant, score in sorted(references.items(), key=lambda item: -item[1])
    ]
    headings = {len(growths): "Without training: mean over the files"} if references else {}
    caption = CAPTION + (START_CAPTION if starts else "")
    return Table(column.title, heads, tuple(cells), caption, headings=headings)


def _tokens_table(leagues: Sequence[League], variants: Sequence[str]) -> Table:
    """Return the tokens that the trainings read, and how often they read the text, by budget."""

    def describe(league: League, variant: str) -> str:
        if variant not in league.costs:
            return NOTHING
        epochs = f" ({league.epochs[variant]:,.2f})" if variant in league.epochs else ""
        return format_count(league.costs[variant]["tokens"]) + epochs

    has_epochs = any(league.epochs for league in leagues)
    title = "Tokens read in training" + (" (epochs)" if has_epochs else "")
    return _trainings_table(leagues, variants, title, describe, EPOCHS_CAPTION if has_epochs else "")


def _trainings_table(
    leagues: Sequence[League], variants: Sequence[str], title: str, describe: Callable[[League, str], str], caption: str
) -> Table:
    """Return a table of what `describe` says of each variant's training, by budget."""
    rows = tuple(
        (leagues[0].label(variant), *(describe(league, variant) for league in leagues)) for variant in variants
    )
    heads = [f"{format_count(find_budget(league))} FLOPs" for league in leagues]
    return Table(title, (Column("Model"), *columns(numbers=heads)), rows, caption)


def _draw(
    leagues: Sequence[League], column: LeagueColumn, growths: Mapping[str, Growth], variants: Sequence[str]
) -> Figure:
    """Draw mean scores with intervals over FLOPs, their lines up to the largest forecast, and baselines, dashed.

    The place of a row in `variants` chooses its colour, the same in all pictures.
    """
    figure = new_figure(WIDTH_INCHES, HEIGHT_INCHES)
    axes = figure.subplots()
    axes.set_xscale("log")
    for variant, growth in growths.items():
        style = variant_style(variants.index(variant))
        flops = [*growth.points]
        means = [score for values in growth.points.values() if (score := estimate(values))]
        heights, bars = [score.mean for score in means], [score.interval or 0.0 for score in means]
        axes.plot(flops, heights, label=leagues[0].label(variant), **style | {"markersize": 5})
        axes.errorbar(flops, heights, bars, fmt="none", ecolor=style["color"], elinewidth=1)
        ends = np.array([min(flops), list_targets(leagues)[-1]])
        axes.plot(ends, [growth.line.at(end) for end in ends], color=style["color"], linewidth=0.8, linestyle="--")
    references = list_references(leagues, column)
    for height in references.values():
        axes.axhline(height, color=INK, linewidth=0.8, linestyle="--", zorder=1)
    low, high = axes.get_ylim()
    for height, names in _group_close(references, LABEL_SHARE * (high - low)):
        label = "; ".join(map(leagues[0].label, names))
        axes.annotate(label, (0.01, height), xycoords=("axes fraction", "data"), fontsize=7, va="bottom")
    style_axes(axes, f"{column.use.name}, {column.tuning}", "FLOPs of training", column.use.score)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    add_legend(figure, fontsize=8, loc="outside right upper", ncols=1)
    return figure


def _group_close(scores: Mapping[str, float], gap: float) -> list[tuple[float, list[str]]]:
    """Return groups of names, each with its highest score; scores that are less than `gap` below it share its group."""
    groups: list[tuple[float, list[str]]] = []
    for name, score in sorted(scores.items(), key=lambda item: -item[1]):
        if groups and groups[-1][0] - score < gap:
            groups[-1][1].append(name)
        else:
            groups.append((score, [name]))
    return groups


def _leader_sentence(
    leagues: Sequence[League], column: LeagueColumn, growths: Mapping[str, Growth], widening: float
) -> str:
    """Return which variant would lead with each multiple of the budget, and how many others may be as good."""
    parts = []
    for factor, flops in zip(FACTORS, list_targets(leagues), strict=True):
        forecasts = forecast_all(growths, flops, widening)
        leader, *followers = sorted(forecasts, key=lambda variant: -forecasts[variant].mean)
        rivals = sum(forecasts[leader].overlaps(forecasts[variant]) for variant in followers)
        doubt = f", the intervals of {rivals} of {len(followers)} others overlap" if rivals else ""
        doubt += "" if forecasts[leader].interval is not None else ", without an interval"
        score = format_estimate(forecasts[leader])
        parts.append(
            f"with {factor} times the largest budget, {lower_first(leagues[0].label(leader))} ({score}{doubt})"
        )
    return f"{column.title}. Leader by forecast: {'; '.join(parts)}."


def _check_sentences(checks: Sequence[tuple[Estimate, float]], widening: float) -> list[str]:
    """Return how far forecasts of the largest budget are from what was measured, and how many intervals have it."""
    if not checks:
        return []
    error = mean(abs(forecast.mean - measured) for forecast, measured in checks)
    sentence = f"Held out: {len(checks)} forecasts for the largest budget from the smaller ones"
    parts = [f"{sentence} are {error:.1f} points away on average"]
    known = [(forecast, measured) for forecast, measured in checks if forecast.interval is not None]
    if known:
        within = sum(forecast.overlaps(Estimate(measured, 0)) for forecast, measured in known)
        parts.append(f"of {len(known)} with a 95% interval, {within} have the measured mean within it")
    if widening > 1:
        parts.append(f"so the intervals of the leaders and of the tables' forecasts are {widening:.1f} times as wide")
    return ["; ".join(parts) + "."]
