from contexture.reporting.records import Record
from contexture.systems.league.scores import League
from contexture.systems.league.verdicts import cards, verdict
from tests.systems.league.toys import RECORDS, TUNED, league

LABELS = {"mlm": "MLM", "ict": "ICT", "bm25": "BM25", "random": "Random network", "web": "Web model", "bfs": "BFS"}


def told(records: list[Record], column: int = 0) -> str:
    found = League(records, LABELS)
    return verdict(found, found.columns[column])


def test_a_clear_winner_against_the_baseline_and_the_best_of_the_untrained() -> None:
    ours = [*league("mlm", [0.12, 0.13, 0.11]), *league("ict", [0.42, 0.44, 0.43])]
    ours += league("bm25", [0.3], trained=False) + league("random", [0.01, 0.02, 0.03], trained=False)
    assert told(ours) == (
        "For search take ICT: R@10 43.0 against 12.0 for MLM, 2.0 for random network and 30.0 for BM25."
    )


def test_rivals_and_what_is_not_proven_are_said() -> None:
    assert told(RECORDS) == (
        "For search take ICT: R@10 42.0 against 12.0 for MLM, 5.0 for random network and 30.0 for BM25. "
        "About as good: BFS."
    )
    assert told(RECORDS, 1) == (
        "Fine-tuned on 80% of the questions, take MLM: R@10 51.0 against 30.0 for BM25. About as good: ICT."
    )
    ours = [*league("mlm", [0.2, 0.5, 0.3]), *league("ict", [0.4, 0.41, 0.42])]
    ours += league("random", [0.3, 0.5, 0.4], trained=False)
    assert told(ours) == (
        "For search take ICT: R@10 41.0 against 33.3 for MLM and 40.0 for random network. Not proven better than MLM "
        "or random network."
    )
    many = [r for name in "abcdef" for r in league(name, [0.4, 0.5, 0.41])]
    assert told(many).endswith("About as good: b, c, d and 2 more.")


def test_where_nothing_beats_what_needs_no_training() -> None:
    ours = [*league("mlm", [0.12, 0.13]), *league("ict", [0.2, 0.22]), *league("bm25", [0.3], trained=False)]
    assert told(ours) == (
        "For search take BM25: R@10 30.0. No encoder trained here beats it; the best, ICT, has 21.0 against 12.5 for "
        "MLM."
    )
    assert told(league("bm25", [0.3], trained=False)) == "For search take BM25: R@10 30.0."
    alone = [*league("mlm", [0.12, 0.13]), *league("bm25", [0.3], trained=False)]
    assert told(alone).endswith("No encoder trained here beats it; the best, MLM, has 12.5.")


def test_new_weights_are_named_where_nothing_beats_what_needs_no_training() -> None:
    new = league("random", [0.18, 0.19], trained=False)
    ours = [*league("mlm", [0.12, 0.13]), *league("ict", [0.2, 0.22]), *new]
    assert told([*ours, *league("bm25", [0.3], trained=False)]).endswith(
        "the best, ICT, has 21.0 against 12.5 for MLM and 18.5 for random network."
    )
    # but not against themselves
    assert told([*league("mlm", [0.12]), *league("ict", [0.15]), *league("random", [0.2], trained=False)]) == (
        "For search take random network: R@10 20.0. No encoder trained here beats it; the best, ICT, has 15.0 against "
        "12.0 for MLM."
    )


def test_what_cannot_be_fine_tuned_is_not_called_fine_tuned() -> None:
    ours = [*league("bm25", [0.6], trained=False), *league("mlm", [0.5], TUNED)]
    assert told(ours, 1) == (
        "Where encoders are fine-tuned on 80% of the questions, take BM25: R@10 60.0. No encoder trained here beats "
        "it; the best, MLM, has 50.0."
    )
    place = ("answer_selection", "wikiqa", "grouped", "map")
    assert told([*league("random", [0.6], place, trained=False), *league("mlm", [0.5], place)]).startswith(
        "Fine-tuned, take random network: MAP 60.0."
    )


def test_models_that_were_trained_elsewhere_do_not_hide_ours() -> None:
    ours = [*RECORDS, *league("web", [0.8], trained=False)]
    assert told(ours) == (
        "For search take web model, trained elsewhere: R@10 80.0. Of what was trained here ICT is best: 42.0 against "
        "12.0 for MLM, 5.0 for random network and 30.0 for BM25. About as good: BFS."
    )


def test_ours_may_be_below_what_needs_no_training_and_below_a_model_of_others() -> None:
    ours = [*league("mlm", [0.12, 0.13]), *league("bm25", [0.3], trained=False), *league("web", [0.8], trained=False)]
    assert told(ours).endswith("trained here MLM is best: 12.5 against 30.0 for BM25. It does not beat BM25.")


def test_one_seed_does_not_tell_apart_what_is_close() -> None:
    ours = [*league("mlm", [0.4]), *league("ict", [0.41]), *league("bfs", [0.405])]
    ours += league("random", [0.395], trained=False) + league("bm25", [0.3], trained=False)
    assert told(ours) == (
        "For search take ICT: R@10 41.0 against 40.0 for MLM and 39.5 for random network. Not proven better than MLM "
        "or random network. About as good: BFS."
    )
    assert (
        told([*league("mlm", [0.4]), *league("ict", [0.43])]) == "For search take ICT: R@10 43.0 against 40.0 for MLM."
    )
    # what lies above is said to do so, and not to be in doubt besides
    ours = [*league("mlm", [0.4]), *league("random", [0.405], trained=False), *league("web", [0.8], trained=False)]
    assert told(ours).endswith(
        "trained here MLM is best: 40.0 against 40.5 for random network. It does not beat random network."
    )


def test_a_card_for_each_use_with_the_bars_to_compare() -> None:
    search, classes = cards(League([*RECORDS, *league("web", [0.8], trained=False)], LABELS))
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
    (card,) = cards(League(ours, LABELS))
    assert card.headline == "Random network; of what was trained: ICT"
    assert [bar.label for bar in card.bars] == ["Random network", "ICT", "MLM"]  # the best has but one bar
    (alone,) = cards(League(league("bm25", [0.3], trained=False), LABELS))
    assert alone.headline == "BM25"


def test_several_data_have_cards_of_their_own() -> None:
    ours = [*league("mlm", [0.5], TUNED), *league("mlm", [0.5], ("retrieval", "squad", "80%", "recall_at_10"))]
    assert [card.title for card in cards(League(ours))] == ["Search (the demo's made-up world)", "Search (SQuAD)"]
    assert cards(League([])) == []
