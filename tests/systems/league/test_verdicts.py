from contexture.systems.league.scores import League
from contexture.systems.league.verdicts import make_cards, recommend
from tests.reporting.golden import check_golden
from tests.systems.league.toys import RECORDS, TUNED, league

LABELS = {"mlm": "MLM", "ict": "ICT", "bm25": "BM25", "random": "Random network", "web": "Web model", "bfs": "BFS"}


RANDOM = league("random", [0.01, 0.02, 0.03], trained=False)
BM25 = league("bm25", [0.3], trained=False)
WEB = league("web", [0.8], trained=False)
LOW = [*league("mlm", [0.12, 0.13]), *league("ict", [0.2, 0.22])]
NEW = league("random", [0.18, 0.19], trained=False)
ABOVE_ALL = league("random", [0.2], trained=False)
CLOSE = [*league("mlm", [0.4]), *league("ict", [0.41]), *league("bfs", [0.405])]
UNEVEN = [*league("mlm", [0.2, 0.5, 0.3]), *league("random", [0.3, 0.5, 0.4], trained=False)]
CHOICE = ("answer_selection", "wikiqa", "grouped", "map")
VERDICTS = {
    "a clear winner": [*league("mlm", [0.12, 0.13, 0.11]), *league("ict", [0.42, 0.44, 0.43]), *BM25, *RANDOM],
    "a rival": RECORDS,
    "not proven": [*UNEVEN, *league("ict", [0.4, 0.41, 0.42])],
    "many rivals": [r for name in "abcdef" for r in league(name, [0.4, 0.5, 0.41])],
    "below BM25": [*LOW, *BM25],
    "BM25 alone": BM25,
    "baseline below BM25": [*league("mlm", [0.12, 0.13]), *BM25],
    "below BM25, with new weights": [*LOW, *NEW, *BM25],
    "below new weights, not compared with themselves": [*league("mlm", [0.12]), *league("ict", [0.15]), *ABOVE_ALL],
    "trained elsewhere": [*RECORDS, *WEB],
    "trained elsewhere, ours below BM25": [*league("mlm", [0.12, 0.13]), *BM25, *WEB],
    "one seed, close": [*CLOSE, *league("random", [0.395], trained=False), *BM25],
    "one seed, apart": [*league("mlm", [0.4]), *league("ict", [0.43])],
    "one seed, below new weights": [*league("mlm", [0.4]), *league("random", [0.405], trained=False), *WEB],
    "fine-tuned, new weights": [*league("random", [0.6], CHOICE, trained=False), *league("mlm", [0.5], CHOICE)],
    "fine-tuned, BM25": [*league("bm25", [0.6], trained=False), *league("mlm", [0.5], TUNED)],
}


def test_verdicts() -> None:
    """One a column."""
    lines = []
    for name, records in VERDICTS.items():
        scores = League(records, LABELS)
        lines += [f"# {name}", *(recommend(scores, column) for column in scores.columns), ""]
    check_golden("league-verdicts.txt", "\n".join(lines))


def test_a_card_for_each_use_with_the_bars_to_compare() -> None:
    search, classes = make_cards(League([*RECORDS, *league("web", [0.8], trained=False)], LABELS))
    assert (search.title, search.headline, len(search.sentences)) == ("Search", "Web model", 2)
    assert [(bar.label, round(bar.value, 1), bar.best) for bar in search.bars] == [
        ("Web model", 80.0, True),
        ("ICT", 42.0, False),
        ("BM25", 30.0, False),
        ("MLM", 12.0, False),
        ("Random network", 5.0, False),
    ]
    assert search.unit.startswith("Frozen. R@10: questions in a hundred")
    assert classes.sentences == ["For classification take MLM: accuracy 70.0."]
    assert classes.unit.startswith("Accuracy: sentences in a hundred")


def test_a_card_names_the_best_that_was_trained_where_the_best_was_not() -> None:
    ours = [*league("mlm", [0.12]), *league("ict", [0.2]), *league("random", [0.3], trained=False)]
    (card,) = make_cards(League(ours, LABELS))
    assert card.headline == "Random network; of what was trained: ICT"
    assert [bar.label for bar in card.bars] == ["Random network", "ICT", "MLM"]  # the best has but one bar
    (alone,) = make_cards(League(league("bm25", [0.3], trained=False), LABELS))
    assert alone.headline == "BM25"


def test_several_data_have_cards_of_their_own() -> None:
    ours = [*league("mlm", [0.5], TUNED), *league("mlm", [0.5], ("retrieval", "squad", "80%", "recall_at_10"))]
    assert [card.title for card in make_cards(League(ours))] == ["Search (the demo's made-up world)", "Search (SQuAD)"]
    assert make_cards(League([])) == []
