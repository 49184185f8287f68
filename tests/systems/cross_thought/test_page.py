"""Pages of Cross-Thought."""

from dataclasses import replace

import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.systems.cross_thought.page import LABELS, NOTE, PICTURE, PUBLISHED, SAMPLE, TITLE, page
from tests.reporting.golden import check_page
from tests.reporting.make import TRAINING
from tests.reporting.make import measured as measure

CONTEXT = ReportContext(
    system="cross_thought",
    title=TITLE,
    note=NOTE,
    trainings={"ct_1_64": TRAINING},
    details={"ranking": {"name": "demo"}},
)


def measured(variant: str, values: list[float], task: str, data: str, protocol: str, metric: str) -> list[Record]:
    return measure(variant, values, task, data, protocol, metric, system="cross_thought")


RECORDS = [
    *measured("ct_1_64", [0.30, 0.32, 0.34], "ranking", "demo", "frozen", "recall_at_1"),
    *measured("mlm_64", [0.20, 0.20, 0.22], "ranking", "demo", "frozen", "recall_at_1"),
    *measured("ct_1_64", [0.70], "pairs", "snli", "finetuned", "accuracy"),
    *measured("mlm_64", [0.60], "pairs", "snli", "finetuned", "accuracy"),
    *measured("ct_1_64", [0.55], "ranking", "hotpotqa", "frozen", "recall_at_20"),
    *measured("bm25", [0.5], "ranking", "demo", "frozen", "recall_at_1"),
]
#: Fine-tuned scores are in the paper's table; frozen ones have a separate table.
MULTI_HOP = [
    *measured("ct_1_64", [0.25], "multi_hop", "hotpotqa", "finetuned", "passage_em"),
    *measured("ct_1_64", [0.125], "multi_hop", "hotpotqa", "finetuned", "support_f1"),
    *measured("bm25", [0.5], "multi_hop", "hotpotqa", "frozen", "joint_f1"),
    # Our row of a variant in the paper.
    *measured("mlm_160g", [0.71], "pairs", "snli", "finetuned", "accuracy"),
]
CASE = {
    "word": "castle", "place": 1, "with_word": 2, "weights": [0.25, None, 0.65, 0.1],
    "masked": "near the ▢", "most": "a castle", "holder": "a castle",
}  # fmt: skip
ATTENTION = {
    "words": 1200,
    "first": 0.5,
    "chance": 1 / 3,
    "times": 1.95,
    "cases": [CASE, CASE | {"with_word": 0, "holder": "castles"}],
    "sample": {"documents": [0, 0, 1], "weights": [[0, 1.5, 0.5], [1.8, 0, 0.2], [1, 1, 0]]},
}


@pytest.mark.parametrize(("name", "records"), [("cross_thought", RECORDS), ("cross_thought-multi-hop", MULTI_HOP)])
def test_page(name: str, records: list[Record]) -> None:
    check_page(name, records, CONTEXT, page)


def test_attention_is_compared_with_chance_and_the_better_cosine() -> None:
    demo = ("ranking", "demo")
    attention = measured("ct_1_64", [0.2, 0.3, 0.4], *demo, "by_attention", "recall_at_20")
    cosines = [
        *measured("mlm_64", [0.1, 0.1, 0.1], *demo, "by_cosine", "recall_at_20"),
        *measured("untrained", [0.3, 0.2, 0.4], *demo, "by_cosine", "recall_at_20"),
    ]

    def findings(records: list[Record], low: float) -> list[str]:
        variants = {
            "ct_1_64": {"means": {"recall_at_20": [0.3] * 3}, "over_chance": {"recall_at_20": [0.28, low, 0.31]}}
        }
        block = {"questions": 9, "chance": {"recall_at_20": 0.02}, "variants": variants}
        details = {"ranking": {"confidence": {"demo": {"by_attention": block}}}}
        return [*page(records, replace(CONTEXT, details=details)).findings]

    start = "Cross-Thought-1-64 scores 30.0 R@20 with attention, without fine-tuning on the demo's made-up world"
    above, cosine = ", significantly above chance (2.0).", " Best with cosines: untrained, 30.0."
    assert findings([*attention, *cosines], 0.25) == [f"{start}{above}{cosine}"]
    assert findings([*attention, *cosines], -0.01) == [f"{start}{above.replace(' sig', ' not sig')}{cosine}"]
    assert findings(attention, 0.25) == [f"{start}{above}"]
    assert findings(cosines, 0.25) == []


def test_attention_is_drawn() -> None:
    details = {"cross_thought": ATTENTION}
    context = replace(CONTEXT, objective_details={"mine": details, "ct_1_64": details, "mlm_64": {}})
    figures = check_page("cross_thought-attention", RECORDS[:1], context, page).page.figures
    (axes, _) = figures[PICTURE].axes
    drawn = axes.images[0].get_array()
    assert drawn is not None and drawn.mask.tolist() == [[False, True, False, False]] * 2
    assert drawn[0].compressed().tolist() == pytest.approx([0.75, 1.95, 0.3])
    assert list(axes.lines[0].get_xdata()) == [2, 0]
    (axes, _) = figures[SAMPLE].axes
    assert [(box.get_x(), box.get_width()) for box in axes.patches] == [(-0.5, 2), (1.5, 1)]  # type: ignore[attr-defined]
    cells = axes.images[0].get_array()
    assert cells is not None and cells[1].compressed().tolist() == [1.8, 0.2]


def test_paper_has_rows_of_published_variants() -> None:
    ours = {"untrained", "ct_1_64_cls", "ct_1_64_paper", "mlm_64_paper"}
    assert {row.variant for row in PUBLISHED.tables["table_2"].rows if row.variant} == set(LABELS) - ours
