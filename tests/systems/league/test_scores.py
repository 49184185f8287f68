import numpy as np
import pytest
from scipy import stats

from contexture.reporting.tables import Estimate, estimate
from contexture.systems.league.scores import FROZEN, League
from tests.systems.league.toys import RECORDS, SEARCH, TUNED, league


def test_intervals_are_those_of_students_t() -> None:
    values = [43.0, 41.0, 46.5, 44.0]
    score = estimate(values)
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    assert score is not None and score.interval is not None
    assert (score.mean - score.interval, score.mean + score.interval) == pytest.approx((low, high))
    assert estimate([12.0]) == Estimate(12.0, None)
    assert estimate([]) is None


def test_intervals_overlap() -> None:
    assert Estimate(10.0, 2.0).overlaps(Estimate(13.0, 1.0))
    assert not Estimate(10.0, 2.0).overlaps(Estimate(13.5, 1.0))
    assert not Estimate(10.0, 2.0).overlaps(Estimate(12.5, None))


def test_columns_are_frozen_and_fine_tuned_with_the_most() -> None:
    found = League(RECORDS)
    assert [(c.use.name, c.tuning, c.data, [p.task for p in c.keys]) for c in found.columns] == [
        ("Search", FROZEN, "demo", ["retrieval"]),
        ("Search", "fine-tuned on 80%", "demo", ["retrieval"]),
        ("Classification", FROZEN, "demo", ["mr", "trec"]),
    ]
    other = [*RECORDS, *league("mlm", [0.5], ("answer_selection", "wikiqa", "grouped", "map"))]
    other += league("mlm", [0.5], ("retrieval", "squad", "frozen", "recall_at_10"))
    other += league("mlm", [0.5], ("sts14", "demo", "cosine", "spearman_mean"))
    other += league("mlm", [0.5], ("sts14", "demo/images", "cosine", "spearman"))
    assert [(c.use.name, c.data) for c in League(other).columns] == [
        ("Search", "demo"),
        ("Search", "demo"),
        ("Search", "squad"),
        ("Choosing answers", "wikiqa"),
        ("Classification", "demo"),
        ("Similarity", "demo"),
    ]


def test_scores_are_means_over_tasks_then_over_seeds() -> None:
    found = League(RECORDS)
    search, _, classes = found.columns
    assert found.values("mlm", classes) == pytest.approx({0: 60.0, 1: 70.0, 2: 80.0})
    # t with 2 degrees of freedom is 4.303, the standard deviation 10, of a mean of three 10/√3
    assert found.scores[classes]["mlm"].interval == pytest.approx(4.3027 * 10 / 3**0.5, rel=1e-4)
    assert "ict" not in found.scores[classes]  # it has one of the two tasks
    assert found.scores[search]["bm25"] == Estimate(30.0, None)


def test_gains_are_paired_and_what_no_seed_changes_stands_for_all() -> None:
    found = League(RECORDS, {"ict": "ICT"})
    search, tuned, _ = found.columns
    gain = found.compare("ict", "mlm", search)
    assert gain is not None and gain.differences == pytest.approx((30, 30, 30))
    assert (gain.variant, gain.baseline) == ("ICT", "mlm")
    over = found.compare("ict", "bm25", search)
    assert over is not None and over.differences == pytest.approx((10, 12, 14))
    assert over.test == pytest.approx(tuple(stats.ttest_rel([40, 42, 44], [30, 30, 30])))
    under = found.compare("bm25", "ict", search)
    assert under is not None and under.differences == pytest.approx((-10, -12, -14))
    assert found.compare("random", "mlm", tuned) is None
    fixed = found.compare("bm25", "mlm", tuned)  # its score as pre-trained against fine-tuned ones
    assert fixed is not None and fixed.differences == pytest.approx((-20, -22, -21))


def test_what_nothing_is_fine_tuned_of_carries_its_score_into_fine_tuned_columns() -> None:
    ours = [*RECORDS, *league("web", [0.8], trained=False)]
    ours += league("word_overlap", [0.6], ("retrieval", "squad", "frozen", "recall_at_10"), trained=False)
    ours += league("mlm", [0.7], ("retrieval", "squad", "80%", "recall_at_10"))
    found = League(ours)
    scores = {(c.data, c.tuning): {v: s.mean for v, s in found.scores[c].items()} for c in found.columns}
    demo, squad = scores["demo", "fine-tuned on 80%"], scores["squad", "fine-tuned on 80%"]
    # new weights can be fine-tuned, and so can models of others: where they were not, they have no score
    assert demo == pytest.approx({"mlm": 51.0, "ict": 51.0, "bm25": 30.0})
    assert squad == pytest.approx({"mlm": 70.0, "word_overlap": 60.0})  # of its own data alone


def test_what_was_measured_beside_the_fine_tuned_is_not_overwritten() -> None:
    ours = [*league("mlm", [0.5], TUNED), *league("bm25", [0.3], SEARCH, trained=False)]
    ours += league("bm25", [0.35], TUNED, trained=False)
    frozen, tuned = League(ours).columns
    assert League(ours).scores[frozen]["bm25"].mean == pytest.approx(30.0)
    assert League(ours).scores[tuned]["bm25"].mean == pytest.approx(35.0)
    only = [*league("mlm", [0.5], SEARCH), *league("mlm", [0.5], TUNED)]
    only += league("bm25", [0.35], TUNED, trained=False)
    assert "bm25" not in League(only).scores[League(only).columns[0]]  # nor is anything carried back


def test_doubts() -> None:
    found = League(RECORDS)
    search, tuned, _ = found.columns
    assert found.is_undecided("ict", "bfs", search)
    assert not found.is_undecided("ict", "bm25", search)  # 10, 12, 14: t = 12/(2/√3) = 10.4, and 42 ± 5 is above 30
    assert found.is_undecided("ict", "mlm", tuned)
    # the same difference in all seeds leaves no doubt, and of what has no score nothing is said
    assert not found.is_undecided("ict", "mlm", search)
    assert not found.is_undecided("bm25", "random", tuned)
    alike = League([*league("a", [0.5, 0.6]), *league("b", [0.5, 0.6])])
    assert alike.is_undecided("a", "b", alike.columns[0])


def test_single_measurements_that_are_close_are_a_doubt() -> None:
    found = League([*league("a", [0.40]), *league("b", [0.415]), *league("c", [0.425])])
    (search,) = found.columns
    assert found.is_undecided("b", "a", search) and found.is_undecided("a", "b", search)  # 1.5 points
    assert not found.is_undecided("c", "a", search) and not found.is_undecided("a", "c", search)  # 2.5


def test_significant_but_overlapping_is_a_doubt() -> None:
    # differences 1.0, 1.1, 0.9: t = 17; the seeds themselves differ by far more
    found = League([*league("a", [0.31, 0.411, 0.509]), *league("b", [0.30, 0.40, 0.50])])
    gain = found.compare("a", "b", found.columns[0])
    assert gain is not None and gain.test is not None and gain.test[1] < 0.05
    assert found.is_undecided("a", "b", found.columns[0])


def test_order_is_by_mean_rank_within_blocks() -> None:
    records = [*RECORDS, *league("web model", [0.8], trained=False)]
    found = League(records)
    assert found.groups == {
        "objectives": ["ict", "mlm", "bfs"],
        "guests": ["two towers: ict"],
        "published": ["web model"],
        "references": ["bm25", "random"],
    }
    # ict: second of the frozen ones, second when fine-tuned (by 0); mlm: sixth, first, first
    assert found.mean_ranks["ict"] == pytest.approx((2 + 1) / 2)
    assert found.mean_ranks["mlm"] == pytest.approx((6 + 1 + 1) / 3)
    assert found.trained_variants == ["ict", "mlm", "bfs", "two towers: ict"]
    search = found.columns[0]
    assert found.best(search) == "web model"
    assert found.best(search, among=found.trained_variants) == "ict"
    assert found.best(search, among=["nobody"]) is None


def test_without_records_there_is_nothing() -> None:
    found = League([])
    assert (found.columns, found.variants, found.groups, found.seeds) == ([], [], {}, 0)


def test_a_mean_that_nobody_has_is_no_column() -> None:
    apart = [*league("mlm", [0.5], ("mr", "demo", "senteval", "accuracy"))]
    apart += league("ict", [0.5], ("cr", "demo", "senteval", "accuracy"))
    assert League(apart).columns == []


def test_fine_tuned_alone() -> None:
    (column,) = League(league("mlm", [0.5], TUNED)).columns
    assert (column.is_frozen, column.name) == (False, "fine-tuned on 80%")


def test_single_scores_of_frozen_encoders_are_no_columns() -> None:
    protocols = ("by_attention", "by_cosine", "frozen", "by_dot")
    records = [r for name in protocols for r in league("mlm", [0.5], ("ranking", "demo", name, "mrr"))]
    assert [column.keys[0].protocol for column in League(records).columns] == ["frozen"]
