import numpy as np
import pytest
from scipy import stats

from contexture.reporting.tables import Estimate, estimate
from contexture.systems.league.scores import FROZEN, League
from tests.systems.league.toys import RECORDS, SEARCH, TUNED, make_records


def test_intervals_use_students_t() -> None:
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


def test_columns_are_frozen_and_of_the_largest_share() -> None:
    scores = League(RECORDS)
    assert [(c.use.name, c.tuning, c.data, [p.task for p in c.keys]) for c in scores.columns] == [
        ("Search", FROZEN, "demo", ["retrieval"]),
        ("Search", "fine-tuned on 80%", "demo", ["retrieval"]),
        ("Classification", FROZEN, "demo", ["mr", "trec"]),
    ]
    other = [*RECORDS, *make_records("mlm", [0.5], ("answer_selection", "wikiqa", "grouped", "map"))]
    other += make_records("mlm", [0.5], ("retrieval", "squad", "frozen", "recall_at_10"))
    other += make_records("mlm", [0.5], ("sts14", "demo", "cosine", "spearman_mean"))
    other += make_records("mlm", [0.5], ("sts14", "demo/images", "cosine", "spearman"))
    assert [(c.use.name, c.data) for c in League(other).columns] == [
        ("Search", "demo"),
        ("Search", "demo"),
        ("Search", "squad"),
        ("Choosing answers", "wikiqa"),
        ("Classification", "demo"),
        ("Similarity", "demo"),
    ]


def test_scores_are_means_over_tasks_then_over_seeds() -> None:
    scores = League(RECORDS)
    search, _, classes = scores.columns
    assert scores.values("mlm", classes) == pytest.approx({0: 60.0, 1: 70.0, 2: 80.0})
    # t = 4.303 with 2 degrees of freedom, standard deviation 10, standard error 10/√3
    assert scores.scores[classes]["mlm"].interval == pytest.approx(4.3027 * 10 / 3**0.5, rel=1e-4)
    assert "ict" not in scores.scores[classes]  # it has one of the two tasks
    assert scores.scores[search]["bm25"] == Estimate(30.0, None)


def test_comparisons_are_paired_by_seed() -> None:
    scores = League(RECORDS, {"ict": "ICT"})
    search, tuned, _ = scores.columns
    gain = scores.compare("ict", "mlm", search)
    assert gain is not None and gain.differences == pytest.approx((30, 30, 30))
    assert (gain.variant, gain.baseline) == ("ICT", "mlm")
    over = scores.compare("ict", "bm25", search)
    assert over is not None and over.differences == pytest.approx((10, 12, 14))
    assert over.test == pytest.approx(tuple(stats.ttest_rel([40, 42, 44], [30, 30, 30])))
    under = scores.compare("bm25", "ict", search)
    assert under is not None and under.differences == pytest.approx((-10, -12, -14))
    assert scores.compare("untrained", "mlm", tuned) is None
    fixed = scores.compare("bm25", "mlm", tuned)  # its frozen score compared with fine-tuned ones
    assert fixed is not None and fixed.differences == pytest.approx((-20, -22, -21))


def test_rows_without_fine_tuning_repeat_their_frozen_score() -> None:
    ours = [*RECORDS, *make_records("web", [0.8], trained=False)]
    ours += make_records("word_overlap", [0.6], ("retrieval", "squad", "frozen", "recall_at_10"), trained=False)
    ours += make_records("mlm", [0.7], ("retrieval", "squad", "80%", "recall_at_10"))
    league_scores = League(ours)
    scores = {
        (c.data, c.tuning): {v: s.mean for v, s in league_scores.scores[c].items()} for c in league_scores.columns
    }
    demo, squad = scores["demo", "fine-tuned on 80%"], scores["squad", "fine-tuned on 80%"]
    # untrained and published encoders can be fine-tuned: if they were not, they have no score
    assert demo == pytest.approx({"mlm": 51.0, "ict": 51.0, "bm25": 30.0})
    assert squad == pytest.approx({"mlm": 70.0, "word_overlap": 60.0})  # only on its data


def test_measured_scores_are_not_replaced() -> None:
    ours = [*make_records("mlm", [0.5], TUNED), *make_records("bm25", [0.3], SEARCH, trained=False)]
    ours += make_records("bm25", [0.35], TUNED, trained=False)
    frozen, tuned = League(ours).columns
    assert League(ours).scores[frozen]["bm25"].mean == pytest.approx(30.0)
    assert League(ours).scores[tuned]["bm25"].mean == pytest.approx(35.0)
    tuned_only = [*make_records("mlm", [0.5], SEARCH), *make_records("mlm", [0.5], TUNED)]
    tuned_only += make_records("bm25", [0.35], TUNED, trained=False)
    assert "bm25" not in League(tuned_only).scores[League(tuned_only).columns[0]]  # not repeated


def test_undecided_comparisons() -> None:
    scores = League(RECORDS)
    search, tuned, _ = scores.columns
    assert scores.is_undecided("ict", "bfs", search)
    assert not scores.is_undecided("ict", "bm25", search)  # 10, 12, 14: t = 12/(2/√3) = 10.4, and 42 ± 5 is above 30
    assert scores.is_undecided("ict", "mlm", tuned)
    # equal differences are decided; variants without a score are not undecided
    assert not scores.is_undecided("ict", "mlm", search)
    assert not scores.is_undecided("bm25", "untrained", tuned)
    alike = League([*make_records("a", [0.5, 0.6]), *make_records("b", [0.5, 0.6])])
    assert alike.is_undecided("a", "b", alike.columns[0])


def test_small_differences_of_one_seed_are_undecided() -> None:
    scores = League([*make_records("a", [0.40]), *make_records("b", [0.415]), *make_records("c", [0.425])])
    (search,) = scores.columns
    assert scores.is_undecided("b", "a", search) and scores.is_undecided("a", "b", search)  # 1.5 points
    assert not scores.is_undecided("c", "a", search) and not scores.is_undecided("a", "c", search)  # 2.5


def test_significant_but_overlapping_scores_are_undecided() -> None:
    # differences 1.0, 1.1, 0.9: t = 17; the seeds themselves differ by far more
    scores = League([*make_records("a", [0.31, 0.411, 0.509]), *make_records("b", [0.30, 0.40, 0.50])])
    gain = scores.compare("a", "b", scores.columns[0])
    assert gain is not None and gain.test is not None and gain.test[1] < 0.05
    assert scores.is_undecided("a", "b", scores.columns[0])


def test_variants_are_sorted_by_group_and_mean_rank() -> None:
    records = [*RECORDS, *make_records("web model", [0.8], trained=False)]
    scores = League(records)
    assert scores.groups == {
        "objectives": ["ict", "mlm", "bfs"],
        "included": ["two towers: ict"],
        "published": ["web model"],
        "references": ["bm25", "untrained"],
    }
    # ict: ranks 2 (frozen), 1 (fine-tuned); mlm: ranks 6, 1, 1
    assert scores.mean_ranks["ict"] == pytest.approx((2 + 1) / 2)
    assert scores.mean_ranks["mlm"] == pytest.approx((6 + 1 + 1) / 3)
    assert scores.trained_variants == ["ict", "mlm", "bfs", "two towers: ict"]
    search = scores.columns[0]
    assert scores.best(search) == "web model"
    assert scores.best(search, among=scores.trained_variants) == "ict"
    assert scores.best(search, among=["unknown"]) is None


def test_league_without_records() -> None:
    scores = League([])
    assert (scores.columns, scores.variants, scores.groups, scores.seeds) == ([], [], {}, 0)


def test_mean_without_a_complete_variant_has_no_column() -> None:
    apart = [*make_records("mlm", [0.5], ("mr", "demo", "senteval", "accuracy"))]
    apart += make_records("ict", [0.5], ("cr", "demo", "senteval", "accuracy"))
    assert League(apart).columns == []


def test_only_fine_tuned_scores() -> None:
    (column,) = League(make_records("mlm", [0.5], TUNED)).columns
    assert (column.is_frozen, column.name) == (False, "fine-tuned on 80%")


def test_single_similarity_scores_have_no_columns() -> None:
    protocols = ("by_attention", "by_cosine", "frozen", "by_dot")
    records = [r for name in protocols for r in make_records("mlm", [0.5], ("ranking", "demo", name, "mrr"))]
    assert [column.keys[0].protocol for column in League(records).columns] == ["frozen"]
