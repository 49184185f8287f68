"""The published numbers, re-read from the text of the paper."""

import re
from pathlib import Path

from contexture.reporting.published import Score
from contexture.systems.mspp.published import TABLES


def test_published_numbers_are_those_of_the_paper(shared_data: Path) -> None:
    """Re-read from the text of the paper: tables 1, 2 and 7, columns WikiQA."""
    text = (shared_data.parent / "papers" / "mspp-joint-transformers-2022.txt").read_text(encoding="utf-8")
    order = ["pairwise", "joint_ie", "joint_ae", "mspp_ie", "mspp_ae"]
    names = ("| Pairwise RoBERTa-Base |", "| Joint RoBERTa-Base \\rightarrow", "| (Ours) Joint MSPP")
    lines = [re.sub("</?u>", "*", line) for line in text.splitlines() if line.startswith(names)]
    rows = [[cell.strip() for cell in line.strip("|").split("|")][1:] for line in lines]
    table_1, table_2, table_7 = rows[:5], rows[5:10], rows[10:]
    assert (len(rows), {len(row) for row in table_1}, {len(row) for row in table_2}) == (15, {9}, {3})

    def shown(score: Score) -> str:
        mean = f"*{score.mean}*" if score.significant else f"{score.mean}"
        return mean if score.std is None else f"{mean} ({score.std})"

    for place, variant in enumerate(order):
        first, second = (table.rows[place] for table in TABLES)
        assert first.variant == second.variant == variant
        assert [shown(first.scores[m]) for m in ("p_at_1", "map", "mrr")] == table_1[place][3:6]
        assert shown(second.scores["p_at_1"]) == table_2[place][1]
        assert [f"{second.scores[m].mean}" for m in ("p_at_1", "map", "mrr")] == table_7[place][3:6]
