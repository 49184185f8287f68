"""What to take for what: the league in a sentence or two a use, as honest as its seeds allow."""

from collections.abc import Sequence

from contexture.reporting.names import REFERENCES
from contexture.reporting.page import Bar, Card
from contexture.reporting.phrases import join_names, lower_first
from contexture.systems.league.scores import BASELINE, USES, WITHOUT_FINE_TUNING, League, LeagueColumn, data_name
from contexture.tasks.spec import LeagueUse

#: The same network before it learned anything.
UNTRAINED = "random"
#: As many rivals are named.
MAX_RIVALS = 3


def make_cards(league: League) -> list[Card]:
    """A card for each use that was measured; a use of several data has one for each."""
    made = []
    for use in USES:
        data = dict.fromkeys(column.data for column in league.columns if column.use == use)
        for name in data:
            columns = [c for c in league.columns if (c.use, c.data) == (use, name)]
            made.append(_card(league, use, columns, several=len(data) > 1))
    return made


def recommend(league: League, column: LeagueColumn) -> str:
    """What to take, by one column, against the baseline and against what needs no training of an encoder."""
    scores = league.scores[column]
    best = league.best(column)
    trained = league.best(column, among=league.trained_variants)
    tuning = f"{column.tuning}{' of the questions' * ('%' in column.tuning)}"
    tuned = f"Where encoders are {tuning}," if best in WITHOUT_FINE_TUNING else f"{tuning.capitalize()},"
    opening = column.use.opening if column.is_frozen else tuned
    take = f"{opening} take {_label(league, best)}"
    score = f"{column.use.score} {scores[best].mean:.1f}"
    if trained is None or best == trained:
        against = _list_baselines(league, column, best)
        compared = _compare_scores(league, column, against)
        return f"{take}: {score}{compared}.{_describe_doubts(league, column, best, against)}"
    against = _list_baselines(league, column, trained)
    if best in REFERENCES:
        compared = _compare_scores(league, column, [v for v in against if v != best])
        return (
            f"{take}: {score}. No encoder trained here beats it; the best, {_label(league, trained)}, has "
            f"{scores[trained].mean:.1f}{compared}."
        )
    compared = _compare_scores(league, column, against)
    return (
        f"{take}, trained elsewhere: {score}. Of what was trained here {_label(league, trained)} is best: "
        f"{scores[trained].mean:.1f}{compared}.{_describe_doubts(league, column, trained, against)}"
    )


def _list_baselines(league: League, column: LeagueColumn, variant: str) -> list[str]:
    """What a variant is held against: the baseline, new weights, and the best of what needs no training."""
    reference = league.best(column, among=REFERENCES)
    candidates = dict.fromkeys((BASELINE, UNTRAINED, reference))
    return [v for v in candidates if v is not None and v in league.scores[column] and v != variant]


def _compare_scores(league: League, column: LeagueColumn, against: Sequence[str]) -> str:
    scores = league.scores[column]
    return f" against {join_names(f'{scores[v].mean:.1f} for {_label(league, v)}' for v in against)}" if against else ""


def _describe_doubts(league: League, column: LeagueColumn, best: str, against: Sequence[str]) -> str:
    """What the seeds do not show, in further sentences; nothing where they show it all or cannot be asked."""
    scores = league.scores[column]
    above = [v for v in against if scores[v].mean >= scores[best].mean]
    unproven = [v for v in against if v not in above and league.is_undecided(best, v, column)]
    doubts = "".join(
        f" {verdict} {' or '.join(_label(league, v) for v in names)}."
        for verdict, names in (("It does not beat", above), ("Not proven better than", unproven))
        if names
    )
    rivals = [
        v
        for v in sorted(scores, key=lambda variant: -scores[variant].mean)
        if v in league.trained_variants and v not in (best, *against) and league.is_undecided(best, v, column)
    ]
    names = [_label(league, v) for v in rivals[:MAX_RIVALS]]
    names += [f"{len(rivals) - MAX_RIVALS} more"] if len(rivals) > MAX_RIVALS else []
    return doubts + (f" About as good: {join_names(names)}." if names else "")


def _card(league: League, use: LeagueUse, columns: Sequence[LeagueColumn], several: bool) -> Card:
    """Bars of its first column: the best, the best trained here, the baseline, new weights and a reference."""
    first = columns[0]
    scores = league.scores[first]
    best = league.best(first)
    trained = league.best(first, among=league.trained_variants)
    variants = {best, trained, BASELINE, UNTRAINED, league.best(first, among=REFERENCES)}
    headline = league.label(best)
    if trained is not None and best in REFERENCES:
        headline += f"; of what was trained: {league.label(trained)}"
    return Card(
        title=f"{use.name} ({data_name(first)})" if several else use.name,
        subtitle=use.job,
        headline=headline,
        sentences=[recommend(league, column) for column in columns],
        unit=f"{first.tuning.capitalize() + '. ' if len(columns) > 1 else ''}{use.explained}",
        bars=[
            Bar(league.label(v), min(100.0, max(0.0, scores[v].mean)), v == best)
            for v in sorted((v for v in variants if v in scores), key=lambda v: -scores[v].mean)
        ],
    )


def _label(league: League, variant: str) -> str:
    return lower_first(league.label(variant))
