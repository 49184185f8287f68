"""Recommendations for each use of encoders, with the doubts that the seeds leave."""

from collections.abc import Sequence

from contexture.reporting.page import RECOMMENDATION, Bar, Card
from contexture.reporting.phrases import join_names, lower_first
from contexture.systems.league.scores import BASELINE, USES, League, LeagueColumn, data_name
from contexture.tasks.spec import LeagueUse

#: The same network with random weights.
UNTRAINED = "untrained"
#: Variants named as equally good.
MAX_RIVALS = 3


def make_cards(league: League) -> list[Card]:
    """Return a recommendation card for each evaluated use and data set."""
    made = []
    for use in USES:
        data = dict.fromkeys(column.data for column in league.columns if column.use == use)
        for name in data:
            columns = [c for c in league.columns if (c.use, c.data) == (use, name)]
            made.append(_make_card(league, use, columns, several=len(data) > 1))
    return made


def recommend(league: League, column: LeagueColumn) -> str:
    """Return the sentences that recommend a variant by one column, compared with the baselines."""
    scores = league.scores[column]
    best = league.best(column)
    trained = league.best(column, among=league.trained_variants)
    tuning = "" if column.is_frozen else f" with {column.tuning.replace('tuned', 'tuning')}"
    tuning += " of the questions" if "%" in tuning else ""
    use = f"{lower_first(column.use.opening)}{tuning}"
    if len({other.data for other in league.columns if other.use == column.use}) > 1:
        use += f" on {data_name(column)}"
    score = f"{column.use.score} {scores[best].mean:z.1f}"
    if trained is None or best == trained:
        baselines = _list_baselines(league, column, best)
        compared = _format_baseline_scores(league, column, baselines)
        doubts = _describe_doubts(league, column, best, baselines)
        return f"{RECOMMENDATION}{_lower_label(league, best)} {use}, {score}{compared}.{doubts}"
    baselines = _list_baselines(league, column, trained)
    trained_score = f"{_lower_label(league, trained)} with {scores[trained].mean:z.1f}"
    if best in league.references:
        compared = _format_baseline_scores(league, column, [v for v in baselines if v != best])
        return (
            f"{RECOMMENDATION}{_lower_label(league, best)} {use}, {score}. No encoder trained here is better; the best "
            f"one is {trained_score}{compared}."
        )
    compared = _format_baseline_scores(league, column, baselines)
    return (
        f"{RECOMMENDATION}{_lower_label(league, best)} (published) {use}, {score}. The best encoder trained here is "
        f"{trained_score}{compared}.{_describe_doubts(league, column, trained, baselines)}"
    )


def _list_baselines(league: League, column: LeagueColumn, variant: str) -> list[str]:
    """List what a variant is compared with: the baseline, the untrained network, and the best reference."""
    reference = league.best(column, among=league.references)
    candidates = dict.fromkeys((BASELINE, UNTRAINED, reference))
    return [v for v in candidates if v is not None and v in league.scores[column] and v != variant]


def _format_baseline_scores(league: League, column: LeagueColumn, baselines: Sequence[str]) -> str:
    """Return " (compared with …)" with the labels and scores of the baselines; "" if there are none."""
    if not baselines:
        return ""
    scores = league.scores[column]
    return f" (compared with {join_names(f'{_lower_label(league, v)} {scores[v].mean:z.1f}' for v in baselines)})"


def _describe_doubts(league: League, column: LeagueColumn, best: str, baselines: Sequence[str]) -> str:
    """Return sentences on baselines and variants that may be as good as the best one or better, by the seeds."""
    scores = league.scores[column]
    above = [v for v in baselines if scores[v].mean >= scores[best].mean]
    unproven = [v for v in baselines if v not in above and league.is_undecided(best, v, column)]
    doubts = "".join(
        f" {verdict} {' or '.join(_lower_label(league, v) for v in names)}."
        for verdict, names in (("Not better than", above), ("Not significantly better than", unproven))
        if names
    )
    rivals = [
        v
        for v in sorted(scores, key=lambda variant: -scores[variant].mean)
        if v in league.trained_variants and v not in (best, *baselines) and league.is_undecided(best, v, column)
    ]
    names = [_lower_label(league, v) for v in rivals[:MAX_RIVALS]]
    names += [f"{len(rivals) - MAX_RIVALS} more"] if len(rivals) > MAX_RIVALS else []
    return doubts + (f" About as good: {join_names(names)}." if names else "")


def _make_card(league: League, use: LeagueUse, columns: Sequence[LeagueColumn], several: bool) -> Card:
    """Return the card of a use: recommendations, and bars of the best variants and of baselines in the first column."""
    first = columns[0]
    scores = league.scores[first]
    best = league.best(first)
    trained = league.best(first, among=league.trained_variants)
    variants = {best, trained, BASELINE, UNTRAINED, league.best(first, among=league.references)}
    headline = league.label(best)
    if trained is not None and best in league.references:
        headline += f"; best trained here: {league.label(trained)}"
    return Card(
        title=f"{use.name} ({data_name(first)})" if several else use.name,
        subtitle=use.job,
        headline=headline,
        sentences=[recommend(league, column) for column in columns],
        unit=f"{first.tuning.capitalize() + '. ' if len(columns) > 1 else ''}{use.description}",
        bars=[
            Bar(league.label(v), min(100.0, max(0.0, scores[v].mean)), v == best)
            for v in sorted((v for v in variants if v in scores), key=lambda v: -scores[v].mean)
        ],
    )


def _lower_label(league: League, variant: str) -> str:
    """Return a variant's label as it is written within a sentence, with a small first letter."""
    return lower_first(league.label(variant))
