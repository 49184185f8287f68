"""Choose the weight of each encoder in a fused search, and recommend a search."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from contexture.retrieval.config import SearchDefaults, SearchMethod
from contexture.retrieval.fusion import fuse_scores
from contexture.retrieval.top import Ranking, Rows
from contexture.tasks.held_out.config import MIN_USER_QUESTIONS, UNTRAINED_SUFFIX
from contexture.tasks.held_out.evidence import KINDS
from contexture.tasks.passage_ranking import BM25, COMPARED_METRIC, HYBRID, mean_with_interval

#: Weights of an encoder's scores in a fused search.
WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Calibration:
    """How far generated questions predict people's; `docs/results/search-choice.md` has the measurements.

    Generated questions overestimate encoders: most of all encoders that are made from the same text, and questions
    that are halves of sentences, which share few words with the other half.
    """

    #: Maximal weight of the encoder in a fused search, and the same if all questions are halves.
    max_weight: float
    max_weight_by_halves: float
    #: Expected gain over BM25 on people's questions, as a share of that on generated ones.
    gain_share: float

    def limit_weight(self, weight: float, kinds: Collection[str]) -> float:
        """Return the weight, at most the limit for these kinds of generated questions; the lower limit without any."""
        if not kinds:
            return min(weight, self.max_weight, self.max_weight_by_halves)
        return min(weight, self.max_weight if set(kinds) - {"halves"} else self.max_weight_by_halves)


#: Calibration of encoders with published weights, and of those that have seen no other text.
PUBLISHED, FROM_TEXT = Calibration(0.6, 0.4, 1.0), Calibration(0.1, 0.2, 0.1)


def fuse_encoders(
    rankings: Mapping[tuple[str, int], Ranking],
    words: Ranking,
    kinds: NDArray[Any],
    published: Collection[str],
    measure: Callable[[Rows], NDArray[np.float64]],
) -> tuple[dict[tuple[str, int], Ranking], dict[str, float]]:
    """Return the rankings of encoders fused with that of BM25, and each encoder's weight (see `fuse_scores`).

    The weight is that with the highest nDCG@10 on the generated questions, averaged over their kinds and over seeds,
    within the limits of `Calibration`. Half of them are fused with the weight from the other half, so that no question
    is evaluated with a weight that it has chosen. Without generated questions, the weight is the lower limit.

    Args:
        rankings: (variant, seed) → ranking; BM25 is left out.
        words: The ranking of BM25.
        kinds: Kinds (Q,) of the questions.
        published: Variants with published weights.
        measure: Returns nDCG@10 (Q,) of ranked rows.
    """
    fused: dict[tuple[str, int], Ranking] = {}
    weights: dict[str, float] = {}
    numbers, is_generated = np.arange(len(kinds)), kinds != "questions"
    for variant in dict.fromkeys(variant for variant, _ in rankings if variant != BM25):
        calibration = PUBLISHED if variant in published else FROM_TEXT
        by_weight = {
            seed: [fuse_scores(ranking, words, weight, words[1].shape[1]) for weight in WEIGHTS]
            for (name, seed), ranking in rankings.items()
            if name == variant
        }
        ndcg = np.mean([[measure(rows) for _, rows in results] for results in by_weight.values()], axis=0)
        choices = np.full(len(numbers), _choose_weight(ndcg, kinds, is_generated, calibration))
        weights[variant] = WEIGHTS[choices[0]]
        for half in (0, 1):
            choice = _choose_weight(ndcg, kinds, is_generated & (numbers % 2 != half), calibration)
            choices[is_generated & (numbers % 2 == half)] = choice
        for seed, results in by_weight.items():
            scores, rows = (np.stack(part)[choices, numbers] for part in zip(*results, strict=True))
            fused[variant + HYBRID, seed] = scores, rows
    return fused, weights


def _choose_weight(
    ndcg: NDArray[np.float64], kinds: NDArray[Any], is_chosen: NDArray[np.bool_], calibration: Calibration
) -> int:
    """Return the index in `WEIGHTS` of the best allowed weight; `ndcg` is (weights, questions)."""
    chosen_kinds = np.unique(kinds[is_chosen]).tolist()
    means = [ndcg[:, is_chosen & (kinds == kind)].mean(axis=1) for kind in chosen_kinds]
    best_weight = WEIGHTS[int(np.mean(means, axis=0).argmax())] if means else WEIGHTS[-1]
    return WEIGHTS.index(calibration.limit_weight(best_weight, chosen_kinds))


def recommend_search(means: pd.DataFrame, variants: Sequence[str], published: Collection[str]) -> dict[str, Any]:
    """Recommend a search by the user's questions if they are enough and decide, otherwise by the generated ones.

    By the user's questions, the search with the best mean is recommended if the 95% interval of its gain over BM25
    excludes 0. If it contains 0, the recommendation is that of the generated questions, unless the user's contradict
    it. If the user's are too few, and there are no generated ones, it is BM25. By generated questions, it is the fused
    search with the largest expected gain over BM25 (`Calibration`), or BM25 if none is expected.

    Args:
        means: nDCG@10 by `variant`, `kind` and `query_id`.
        variants: Names of the encoders.
        published: Variants with published weights.

    Returns:
        `take`, the recommended search; `best`, that of the highest mean on the user's questions, or with the largest
        expected gain; `encoder`, that of `take` or the best one; `basis`, the kinds of questions that count; `means` by
        search; `gains` of the other searches over BM25 with their intervals; `gain`, that of `best`; `expected` gains
        by fused search; `learned`, the gain of each encoder over itself untrained.
    """
    is_users = means["kind"] == "questions"
    user_means, generated = means[is_users], means[~is_users]
    expected = expect_gains(generated, variants, published)
    are_enough = user_means["query_id"].nunique() >= MIN_USER_QUESTIONS
    is_by_user = are_enough or generated.empty
    weighted = weight_kinds(user_means if is_by_user else generated)
    scores = {str(name): float(score) for name, score in weighted.mean().items()}
    predicted = max(expected, key=lambda name: expected[name], default=BM25)
    if expected.get(predicted, 0.0) <= 0 or scores[predicted] < scores[BM25]:
        predicted = BM25
    best = max(scores, key=lambda name: scores[name]) if is_by_user else predicted
    gains = {name: mean_with_interval(weighted[name] - weighted[BM25]) for name in scores}
    gain = gains[best]
    take = best if not is_by_user or (are_enough and gain[1] > 0) else predicted
    advice = {
        "take": take,
        "best": best,
        "basis": sorted((user_means if is_by_user else generated)["kind"].unique().tolist(), key=KINDS.index),
        "means": scores,
        "gain": gain,
        "gains": {name: values for name, values in gains.items() if name != BM25},
        "expected": expected,
        "learned": _training_gains(weighted, variants),
    }
    return advice | {"encoder": select_encoder(advice, variants)}


def expect_gains(generated: pd.DataFrame, variants: Sequence[str], published: Collection[str]) -> dict[str, float]:
    """Return the expected gain in nDCG@10 over BM25 of each fused search, from `means` of generated questions."""
    if generated.empty:
        return {}
    scores = weight_kinds(generated).mean()
    shares = {name: (PUBLISHED if name in published else FROM_TEXT).gain_share for name in variants}
    return {name + HYBRID: float(share * (scores[name + HYBRID] - scores[BM25])) for name, share in shares.items()}


def weight_kinds(means: pd.DataFrame) -> pd.DataFrame:
    """Return `means` with a row per question and a column per search, scaled so that column means weigh kinds alike."""
    values = means.pivot_table(index=["kind", "query_id"], columns="variant", values=COMPARED_METRIC)
    counts = values.groupby("kind").transform("size")
    weights = (len(values) / (counts * values.index.get_level_values("kind").nunique())).to_numpy()
    return values.mul(weights, axis=0)


def training_gains(means: pd.DataFrame, variants: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    """Return each encoder's gain over itself untrained, by kind of question and encoder: mean and 95% interval."""
    return {
        str(kind): _training_gains(
            rows.pivot_table(index="query_id", columns="variant", values=COMPARED_METRIC), variants
        )
        for kind, rows in means.groupby("kind", sort=False)
    }


def _training_gains(scores: pd.DataFrame, variants: Sequence[str]) -> dict[str, list[float]]:
    """Return gains by encoder; `scores` has one row per question, one column per search."""
    return {
        name: mean_with_interval(scores[name] - scores[name + UNTRAINED_SUFFIX])
        for name in variants
        if name + UNTRAINED_SUFFIX in variants
    }


def select_encoder(advice: Mapping[str, Any], variants: Sequence[str]) -> str:
    """Return the encoder of the recommended search, otherwise that with the best mean, alone or fused.

    `advice` has `take` and `means` of `recommend_search`.
    """
    recommended, means = str(advice["take"]).removesuffix(HYBRID), advice["means"]
    if recommended in variants:
        return recommended
    measured = [name for name in variants if name in means]
    return max(measured, key=lambda name: max(means[name], means[name + HYBRID]))


def choose_search(details: Mapping[str, Any], variant: str) -> SearchDefaults:
    """Return how to search with an encoder: by words if BM25 is recommended or nothing was measured, or fused."""
    if "advice" not in details:
        return SearchDefaults("bm25")
    take, means = details["advice"]["take"], details["advice"]["means"]
    is_alone = not take.endswith(HYBRID) and means[variant] > means[variant + HYBRID]
    method: SearchMethod = "bm25" if take == BM25 else "vectors" if is_alone else "hybrid"
    return SearchDefaults(method, details["weights"][variant])
