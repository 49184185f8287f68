"""The page of the league: all training objectives compared on all uses of encoders."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from contexture.reporting.default_page import all_tables
from contexture.reporting.page import Page, ReportContext, Section, sections
from contexture.reporting.records import Record
from contexture.systems.league.pictures import scatter
from contexture.systems.league.scores import TIE_POINTS, League, data_name
from contexture.systems.league.tables import costs_table, gains_table, standings_table, starts_table
from contexture.systems.league.verdicts import make_cards

TITLE = "The league: which encoder for which use"
NOTE = (
    "All rows in the first block of the table are the same network, trained on the same text with the same budget; "
    "only the objective differs. All rows are evaluated on the same tasks. Darker cells are better."
)
#: Labels of rows that are not named after their objectives.
LABELS = {
    "untrained_cross": "Untrained, cross-sequence layers",
    "untrained_last": "Untrained, last state",
    "mlm_ict_quick_thoughts": "MLM + in-batch softmax + Quick-Thoughts",
    "mlm_mspp_ict": "MLM + MSPP + in-batch softmax",
}
#: Cost of training → its label; the figures show the cost in which variants differ most.
COSTS = {"seconds": "seconds of training", "flops": "FLOPs of training"}
#: Costs whose largest ratio is lower count as equal and are not drawn.
MIN_COST_RATIO = 1.02


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """Return the league's report page: recommendations, scores, gains over the baseline, and quality by cost.

    `context.details["league"]` may have, by variant, "explained" (a description) and "speed" (embedded texts per
    second).
    """
    details = context.details.get("league", {})
    league = League(records, context.labels)
    speed: Mapping[str, float] = details.get("speed", {})
    figures: dict[str, Figure] = {}
    labels = {variant: league.label(variant) for variant in league.order}
    return Page(
        findings=_preliminary_findings(league),
        cards=make_cards(league),
        sections=sections(
            [
                standings_table(league, details.get("explained", {})),
                starts_table(league),
                *_scatter_sections(league, figures, *_widest_costs(league), "Quality by cost of training"),
                *_scatter_sections(league, figures, speed, "texts embedded per second", "Quality by speed"),
                gains_table(league),
                costs_table(league, speed),
                *all_tables(records, labels),
            ]
        ),
        figures=figures,
        variants=league.order,
    )


def _preliminary_findings(league: League) -> tuple[str, ...]:
    """Return a sentence that the results of one seed are preliminary; none with several seeds."""
    if league.seeds != 1:
        return ()
    steps = [int(cost["steps"]) for cost in league.costs.values() if cost["steps"]]
    trained = f" Trainings have at most {max(steps):,} steps." if steps else ""
    return (
        f"1 seed: preliminary.{trained} Differences below {TIE_POINTS:.0f} points count as ties; set league.seeds=3 "
        "for confidence intervals and tests.",
    )


def _widest_costs(league: League) -> tuple[dict[str, float], str]:
    """Return variant → cost, of the kind in which variants differ most, and its label; nothing if none differ."""
    widest: tuple[float, dict[str, float], str] = (MIN_COST_RATIO, {}, "")
    for key, unit in COSTS.items():
        costs = {variant: float(cost[key]) for variant, cost in league.costs.items() if cost[key]}
        spread = max(costs.values()) / min(costs.values()) if costs else 0.0
        widest = max(widest, (spread, costs, unit), key=lambda measure: measure[0])
    return widest[1:]


def _scatter_sections(
    league: League, figures: dict[str, Figure], costs: Mapping[str, float], unit: str, title: str
) -> list[Section]:
    """Return a section with a plot of scores by cost for each use and data set, and add the plots to `figures`."""
    names: list[str] = []
    for column in {(c.use, c.data): c for c in reversed(league.columns)}.values():
        scores = league.scores[column]
        if sum(variant in costs for variant in scores) < 2:
            continue
        several = sum(c.use == column.use and c.tuning == column.tuning for c in league.columns) > 1
        name = f"{title} {column.use.name} {column.data if several else ''}".strip().replace(" ", "_").lower()
        across = [variant for variant in league.references if variant not in costs]
        where = f" ({data_name(column)})" if several else ""
        figures[name] = scatter(league, column, costs, f"{column.use.name}{where}: {column.use.score}", unit, across)
        names.insert(0, name)
    text = f"Higher is better; {'right is faster' if 'per second' in unit else 'left is cheaper'}."
    text += " Bars: 95% confidence intervals over seeds." if league.seeds > 1 else ""
    text += " Dashed lines: baselines without encoder training."
    return [Section(title, figures=names, text=text)] if names else []
