from contexture.systems.league.scores import League
from contexture.systems.league.verdicts import make_cards, recommend
from tests.reporting.golden import check_golden
from tests.systems.league.toys import RECORDS, TUNED, make_records

LABELS = {"mlm": "MLM", "ict": "ICT", "bm25": "BM25", "untrained": "Random network", "web": "Web model", "bfs": "BFS"}


RANDOM = make_records("untrained", [0.01, 0.02, 0.03], trained=False)
BM25 = make_records("bm25", [0.3], trained=False)
WEB = make_records("web", [0.8], trained=False)
BELOW_BM25 = [*make_records("mlm", [0.12, 0.13]), *make_records("ict", [0.2, 0.22])]
UNTRAINED = make_records("untrained", [0.18, 0.19], trained=False)
ABOVE_ALL = make_records("untrained", [0.2], trained=False)
CLOSE = [*make_records("mlm", [0.4]), *make_records("ict", [0.41]), *make_records("bfs", [0.405])]
UNEVEN = [*make_records("mlm", [0.2, 0.5, 0.3]), *make_records("untrained", [0.3, 0.5, 0.4], trained=False)]
CHOICE = ("answer_selection", "wikiqa", "grouped", "map")
CASES = {
    "clearly best": [
        *make_records("mlm", [0.12, 0.13, 0.11]),
        *make_records("ict", [0.42, 0.44, 0.43]),
        *BM25,
        *RANDOM,
    ],
    "equally good variant": RECORDS,
    "not significant": [*UNEVEN, *make_records("ict", [0.4, 0.41, 0.42])],
    "many equally good variants": [r for name in "abcdef" for r in make_records(name, [0.4, 0.5, 0.41])],
    "below BM25": [*BELOW_BM25, *BM25],
    "only BM25": BM25,
    "baseline below BM25": [*make_records("mlm", [0.12, 0.13]), *BM25],
    "below BM25, with untrained network": [*BELOW_BM25, *UNTRAINED, *BM25],
    "below untrained network": [
        *make_records("mlm", [0.12]),
        *make_records("ict", [0.15]),
        *ABOVE_ALL,
    ],
    "published model": [*RECORDS, *WEB],
    "published model, ours below BM25": [*make_records("mlm", [0.12, 0.13]), *BM25, *WEB],
    "one seed, close": [*CLOSE, *make_records("untrained", [0.395], trained=False), *BM25],
    "one seed, clear difference": [*make_records("mlm", [0.4]), *make_records("ict", [0.43])],
    "one seed, below untrained network": [
        *make_records("mlm", [0.4]),
        *make_records("untrained", [0.405], trained=False),
        *WEB,
    ],
    "fine-tuned, untrained network": [
        *make_records("untrained", [0.6], CHOICE, trained=False),
        *make_records("mlm", [0.5], CHOICE),
    ],
    "fine-tuned, BM25": [*make_records("bm25", [0.6], trained=False), *make_records("mlm", [0.5], TUNED)],
}


def test_recommendations() -> None:
    """One recommendation per column."""
    lines = []
    for name, records in CASES.items():
        scores = League(records, LABELS)
        lines += [f"# {name}", *(recommend(scores, column) for column in scores.columns), ""]
    check_golden("league-verdicts.txt", "\n".join(lines))


def test_one_card_per_use_with_bars() -> None:
    search, classes = make_cards(League([*RECORDS, *make_records("web", [0.8], trained=False)], LABELS))
    assert (search.title, search.headline, len(search.sentences)) == ("Search", "Web model", 2)
    assert [(bar.label, round(bar.value, 1), bar.best) for bar in search.bars] == [
        ("Web model", 80.0, True),
        ("ICT", 42.0, False),
        ("BM25", 30.0, False),
        ("MLM", 12.0, False),
        ("Random network", 5.0, False),
    ]
    assert search.unit.startswith("Frozen. R@10: percent of questions with the right sentence in its passage among")
    assert classes.sentences == ["Recommendation: MLM for classification, accuracy 70.0."]
    assert classes.unit.startswith("Accuracy: sentences in a hundred")


def test_card_names_the_best_trained_variant() -> None:
    ours = [*make_records("mlm", [0.12]), *make_records("ict", [0.2]), *make_records("untrained", [0.3], trained=False)]
    (card,) = make_cards(League(ours, LABELS))
    assert card.headline == "Random network; best trained here: ICT"
    assert [bar.label for bar in card.bars] == ["Random network", "ICT", "MLM"]  # one bar for the best
    (bm25_card,) = make_cards(League(make_records("bm25", [0.3], trained=False), LABELS))
    assert bm25_card.headline == "BM25"


def test_one_card_per_data_set() -> None:
    ours = [
        *make_records("mlm", [0.5], TUNED),
        *make_records("mlm", [0.5], ("retrieval", "squad", "80%", "recall_at_10")),
    ]
    assert [card.title for card in make_cards(League(ours))] == ["Search (the demo's made-up world)", "Search (SQuAD)"]
    assert make_cards(League([])) == []
