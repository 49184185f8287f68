import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.systems.quick_thoughts.page import NOTE, TITLE, page
from tests.reporting.golden import check_page
from tests.reporting.make import TRAINING
from tests.reporting.make import measured as measure

CONTEXT = ReportContext(
    system="quick_thoughts",
    title=TITLE,
    note=NOTE,
    details={
        "sentences": {
            "neighbours": [{"query": "It <b>rained</b>.", "model": "uni", "neighbour": "It poured.", "cosine": 0.9}],
            "chosen": [{"variant": "uni", "task": "mr", "protocol": "skip_thoughts", "c": [1.0, 4.0]}],
            "quality_over_time": [
                {"run": run, "seed": 0, "step": 1, "seconds": 9.0, "task": "mr", "metric": "accuracy", "value": 0.5}
                for run in ("uni", "skip_thought")
            ],
            "missing": {"image_captions": "no folder of image features.", "sst2": "no folder SST"},
            "dropped": {"stsb": 7},
            "zero_vectors": {"uni": 11},
        }
    },
    trainings={
        "uni": {**TRAINING, "seconds": 10.0, "examples": 7000},
        "skip_thought": {**TRAINING, "seconds": 10.0, "examples": 1000},
    },
)


def measured(
    variant: str,
    values: list[float],
    task: str = "mr",
    protocol: str = "skip_thoughts",
    metric: str = "accuracy",
    data: str = "senteval",
) -> list[Record]:
    return measure(variant, values, task, data, protocol, metric, system="quick_thoughts")


RECORDS = [
    *measured("combine", [0.60, 0.62, 0.64]),
    *measured("untrained", [0.55]),
    *measured("untrained_combine", [0.55, 0.55, 0.56]),  # differences 5, 7, 8: mean 6.67, standard deviation 1.53
    *measured("word_average", [0.58]),
    *measured("uni", [0.6]),
    *measured("all-mini", [0.7]),
    *measured("combine", [0.333], task="sst5"),
    *measured("combine", [0.111], protocol="senteval"),
    *measured("combine", [0.5], task="sts14", protocol="cosine", metric="pearson", data="senteval/deft-forum"),
    *measured("combine", [0.55], task="sts14", protocol="cosine", metric="pearson_weighted_mean"),
    *measured("combine", [0.25], task="stsb", protocol="cosine", metric="spearman_mean"),
    *measured("untrained_combine", [0.125], task="stsb", protocol="cosine", metric="spearman_mean"),
]


CAPTIONS_AND_ANALOGIES = [
    *measured("mc", [0.4], "analogies", "nearest", data="senteval"),
    *measured("mc", [0.4], "analogies", "nearest", data="senteval/tense"),
    *measured("mc", [0.45], "analogies", "nearest", "accuracy_excluding", "senteval/tense"),
    *measured("mc", [0.3], "image_captions", "ranking", "annotation_recall_at_5"),
    *measured("mc", [2.5], "image_captions", "ranking", "search_median_rank"),
]
DEMO = [
    *measured("combine", [0.5, 0.75], data="demo"),
    *measured("untrained", [0.25, 0.25], data="demo"),
    *measured("combine", [0.625], "retrieval", "frozen", "recall_at_10", "demo"),
]
BARE = ReportContext("quick_thoughts", "Quick-Thoughts", "No results.")


@pytest.mark.parametrize(
    ("name", "records", "context"),
    [
        # Findings of the first variant: t = 6.67/(1.53/√3) = 7.56. Differences to the word average, which has no
        # seeds: 2, 4, 6, t = 4/(2/√3) = 3.46.
        ("quick_thoughts", [*RECORDS, *CAPTIONS_AND_ANALOGIES], CONTEXT),
        ("quick_thoughts-demo", DEMO, CONTEXT),
        ("quick_thoughts-not-run", [], BARE),
    ],
)
def test_page(name: str, records: list[Record], context: ReportContext) -> None:
    report = check_page(name, records, context, page)
    assert list(report.figures) == ([] if context is BARE else ["quality_over_time.png"])


def test_missing_keys_of_trainings_are_errors() -> None:
    with pytest.raises(ValueError, match=r"the training of uni: missing keys \['parameters', 'steps'"):
        page([], ReportContext("quick_thoughts", "", "", trainings={"uni": {"seconds": 1.0}}))
