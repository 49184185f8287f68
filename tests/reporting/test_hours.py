"""The cost of saved results."""

from contexture.reporting.hours import hours_table
from contexture.reporting.provenance import Provenance
from contexture.reporting.saved_results import SavedResults
from tests.reporting.make import COST, measured

UNTRAINED = COST | {"steps": 0, "seconds": 0.0, "flops": 0.0}


def test_trainings_count_once_and_gpu_time_follows_from_flops() -> None:
    records = [*measured("a", [0.5, 0.6], cost=COST), *measured("a", [0.5, 0.6], "cr", cost=COST)]
    records += measured("a with another head", [0.5, 0.6], cost=COST)  # the same trainings
    records += measured("untrained", [0.5], cost=UNTRAINED) + measured("bm25", [0.5])
    large = COST | {"seconds": 7200.0, "flops": 3.6e17}
    results = {
        "small": SavedResults({"some": Provenance()}, records),
        "large": SavedResults({"some": Provenance()}, measured("a", [0.5], cost=large)),
        # A later run that kept the trainings of "small".
        "kept": SavedResults({"some": Provenance()}, measured("a", [0.7, 0.8], cost=COST)),
        "none": SavedResults({"some": Provenance()}, measured("bm25", [0.5])),
    }
    table = hours_table(results)
    assert table.columns[-1].name == "GPU time at 100 TFLOP/s (bf16, assumed)" and "not a measurement" in table.caption
    assert table.rows == (
        ("small", "some", "2", "2.0T", "0.0", "16.7G", "0.0 s"),
        ("large", "some", "1", "360.0P", "2.0", "50.0T", "1.0 h"),
        ("kept", "some", "2", "2.0T", "0.0", "16.7G", "0.0 s"),
        ("none", "some", "0", "0", "0.0", "–", "0.0 s"),
        ("all", "–", "3", "360.0P", "2.0", "49.2T", "1.0 h"),
    )
    assert len(hours_table({"small": results["small"]}).rows) == 1
