from contexture.reporting.seed_scores import SeedScores, pair_by_seed, share_seeds


def test_differences_are_of_shared_seeds() -> None:
    above = SeedScores({0: 5.0, 1: 7.0})
    assert pair_by_seed(above, SeedScores({1: 4.0, 0: 1.0, 2: 9.0})) == (4.0, 3.0)
    assert pair_by_seed(above, SeedScores({0: 1.0})) == (4.0,)
    assert pair_by_seed(SeedScores({1: 5.0}), SeedScores({0: 1.0})) == ()
    assert pair_by_seed(above, SeedScores({}, is_seeded=False)) == ()


def test_one_score_without_seed_counts_for_all_seeds() -> None:
    above, below = SeedScores({0: 5.0, 1: 7.0}), SeedScores({0: 1.0}, is_seeded=False)
    assert pair_by_seed(above, below) == (4.0, 6.0)
    assert pair_by_seed(below, above) == (-4.0, -6.0)
    assert share_seeds([above, below], [1, 2]) == [1]
    assert pair_by_seed(below, SeedScores({3: 0.5}, is_seeded=False)) == (0.5,)
    # Measured with each seed, such as by probes with other folds: the scores are paired.
    assert pair_by_seed(above, SeedScores({0: 1.0, 1: 2.0}, is_seeded=False)) == (4.0, 5.0)
