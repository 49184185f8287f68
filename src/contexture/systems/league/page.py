"""The league: every way to train an encoder beside every use of one, to be read in half a minute."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from contexture.reporting.default_page import all_tables
from contexture.reporting.names import REFERENCES
from contexture.reporting.page import Page, ReportContext, Section, sections
from contexture.reporting.records import Record
from contexture.systems.league.pictures import scatter
from contexture.systems.league.scores import TIE_POINTS, League, data_name
from contexture.systems.league.tables import costs_table, gains_table, standings_table
from contexture.systems.league.verdicts import make_cards

TITLE = "The league: which encoder for which use"
NOTE = (
    "In the first block of the table every row is the same network, trained on the same text with the same budget; "
    "only what it learned to do differs. Then all were given the same tasks. The deeper a cell is coloured, the "
    "better."
)
#: What training costs, and how it is called: the one is drawn in which variants differ more.
COSTS = {"seconds": "seconds of training", "flops": "FLOPs of training"}
#: Variants that differ by less cost the same: a picture would say nothing.
MIN_COST_RATIO = 1.02


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """What to take for what, the table, gains over the baseline, quality against cost, and every number.

    `context.details["league"]` may hold "explained" (variant → what it learned to do, in plain words) and "speed"
    (variant → texts embedded a second).
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
                *_pictures(league, figures, *_widest_costs(league), "Quality against the cost of training"),
                *_pictures(league, figures, speed, "texts embedded a second", "Quality against speed"),
                gains_table(league),
                costs_table(league, speed),
                *all_tables(records, labels),
            ]
        ),
        figures=figures,
        variants=league.order,
    )


def _preliminary_findings(league: League) -> tuple[str, ...]:
    """How little a single seed shows; nothing where there are several, or no scores at all."""
    if league.seeds != 1:
        return ()
    steps = [int(cost["steps"]) for cost in league.costs.values() if cost["steps"]]
    trained = f", and trainings of at most {max(steps):,} steps" if steps else ""
    return (
        f"One seed{trained}: a trial. What lies less than {TIE_POINTS:.0f} points apart is not told apart "
        "here; league.seeds=3 gives intervals and tests.",
    )


def _widest_costs(league: League) -> tuple[dict[str, float], str]:
    """Costs by variant, in the measure in which they differ most, and its unit; nothing if they do not differ."""
    widest: tuple[float, dict[str, float], str] = (MIN_COST_RATIO, {}, "")
    for key, unit in COSTS.items():
        costs = {variant: float(cost[key]) for variant, cost in league.costs.items() if cost[key]}
        spread = max(costs.values()) / min(costs.values()) if costs else 0.0
        widest = max(widest, (spread, costs, unit), key=lambda measure: measure[0])
    return widest[1:]


def _pictures(
    league: League, figures: dict[str, Figure], costs: Mapping[str, float], unit: str, title: str
) -> list[Section]:
    """A picture for each use, of its first column; they are put into `figures`, too."""
    names: list[str] = []
    for column in {(c.use, c.data): c for c in reversed(league.columns)}.values():
        scores = league.scores[column]
        if sum(variant in costs for variant in scores) < 2:
            continue
        several = sum(c.use == column.use and c.tuning == column.tuning for c in league.columns) > 1
        name = f"{title} {column.use.name} {column.data if several else ''}".strip().replace(" ", "_").lower()
        across = [variant for variant in REFERENCES if variant not in costs]
        where = f" ({data_name(column)})" if several else ""
        figures[name] = scatter(league, column, costs, f"{column.use.name}{where}: {column.use.score}", unit, across)
        names.insert(0, name)
    text = f"Up is better{', right is faster' if 'second' in unit and 'training' not in unit else ', left is cheaper'}"
    text += "; bars are 95% intervals over seeds" if league.seeds > 1 else ""
    text += ". Dashed: without training of an encoder."
    return [Section(title, figures=names, text=text)] if names else []
