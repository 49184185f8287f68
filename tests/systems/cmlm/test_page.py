import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.systems.cmlm.page import NOTE, TITLE, page
from tests.reporting.golden import check_page
from tests.reporting.make import COST, TRAINING
from tests.reporting.make import measured as measure

CONTEXT = ReportContext(
    system="cmlm",
    title=TITLE,
    note=NOTE,
    details={"sentences": {"chosen": [{"variant": "cmlm", "task": "mr", "protocol": "senteval", "c": [1.0]}]}},
    trainings={"cmlm": TRAINING},
)


def measured(
    variant: str, values: list[float], task: str = "mr", protocol: str = "senteval", metric: str = "accuracy"
) -> list[Record]:
    return measure(variant, values, task, "senteval", protocol, metric, system="cmlm", cost=COST)


RECORDS = [
    # 70 − 60, 72 − 62, 74 − 61 on one of two tasks: mean gains of 5, 5 and 6.5 points.
    *measured("cmlm", [0.70, 0.72, 0.74]),
    *measured("cmlm", [0.80, 0.80, 0.80], task="trec"),
    *measured("mlm", [0.60, 0.62, 0.61]),
    *measured("mlm", [0.80, 0.80, 0.80], task="trec"),
    *measured("untrained", [0.50, 0.50, 0.50]),
    *measured("cmlm", [0.5], task="sts14", protocol="cosine", metric="spearman_mean"),
    *measured("untrained", [0.4], task="sts14", protocol="cosine", metric="spearman_mean"),
    *measured("cmlm", [0.45], task="sts14", protocol="cosine", metric="spearman_pooled"),
    *measured("cmlm", [0.333], task="sst5"),
]
#: Variants of ablation tables that are not in Table 1.
ABLATIONS = [*measured("cmlm_n1", [0.6]), *measured("cmlm_mask40", [0.6])]


@pytest.mark.parametrize(
    ("name", "records"),
    [("cmlm", RECORDS), ("cmlm-ablations", [*RECORDS, *ABLATIONS]), ("cmlm-other", measured("other", [0.5]))],
)
def test_page(name: str, records: list[Record]) -> None:
    check_page(name, records, CONTEXT, page)
