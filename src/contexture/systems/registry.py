"""All systems. Page modules are imported when they are drawn."""

#: System → module of its page. The settings are in `conf/<environment>/parameters/<system>.yml`.
SYSTEMS: dict[str, str] = {
    "mspp": "contexture.systems.mspp.page",
    "two_tower": "contexture.systems.two_tower.page",
    "quick_thoughts": "contexture.systems.quick_thoughts.page",
    "cmlm": "contexture.systems.cmlm.page",
    "cmlm_multilingual": "contexture.systems.cmlm_multilingual.page",
    "cross_thought": "contexture.systems.cross_thought.page",
    "league": "contexture.systems.league.page",
    "adapt": "contexture.systems.adapt.page",
}
