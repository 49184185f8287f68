"""The published numbers, re-read from the text of the paper: tables 1 to 6."""

import re
from pathlib import Path

import pytest

from contexture.reporting.published import PublishedTable
from contexture.systems.two_tower.published import (
    ABLATION,
    LABELS,
    PAIRS,
    REQA,
    open_table,
    recall_table,
)


def test_published_numbers_are_those_of_the_paper(shared_data: Path) -> None:
    path = shared_data.parent / "papers" / "two-tower-ict-bfs-wlp-2020.txt"
    text = path.read_text(encoding="utf-8").replace("~", "")
    lines = [line.split("\t") for line in text.splitlines() if "\t" in line]
    names = {
        ("BM-25", "No Pretraining"): "bm25",
        ("BoW-MLP", "No Pretraining"): "bow_mlp_none",
        ("BoW-MLP", "ICT+BFS+WLP"): "bow_mlp_ict_bfs_wlp",
        ("Transformer", "No Pretraining"): "none",
        ("Transformer", "MLM"): "mlm",
        ("Transformer", "ICT+BFS+WLP"): "ict_bfs_wlp",
        ("BM-25",): "bm25",
        ("ICT",): "ict",
        ("ICT+BFS+WLP",): "ict_bfs_wlp",
    }

    def read(width: int) -> list[tuple[str, ...]]:
        rows = [(names.get(tuple(cells[1:width])), *cells[width:]) for cells in lines if len(cells) == width + 5]
        return [row for row in rows if row[0] and all(re.fullmatch(r"\d+\.\d\d", cell) for cell in row[1:])]

    def typed(table: PublishedTable) -> list[tuple[str, ...]]:
        return [(row.variant, *(f"{score.mean:.2f}" for score in row.scores.values())) for row in table.rows]

    main = read(3)
    assert (len(main), len(read(2))) == (36, 9)
    squad, questions = recall_table("squad"), recall_table("natural_questions")
    assert typed(squad) == main[:18]
    assert typed(questions) == main[18:]
    assert typed(open_table()) == read(2)
    for table, size, suffix in ((squad, 6, ""), (questions, 6, ""), (open_table(), 3, " open")):
        shares = [share + suffix for share in ("1%", "5%", "80%") for _ in range(size)]
        assert [row.protocol for row in table.rows] == shares

    labels = {**{label: name for name, label in LABELS.items()}, "No Pretraining": "none"}
    configurations = {
        (int(cells[1]), labels[cells[2]], int(cells[3])): tuple(map(float, cells[4:]))
        for cells in lines
        if len(cells) == 8 and cells[0].isdecimal()
    }
    assert list(configurations.items()) == list(ABLATION.items())
    size = {"M": 1e6, "B": 1e9}
    for name, counts in PAIRS.items():
        (row,) = [cells for cells in lines if cells[0] == LABELS[name] and len(cells) == 5 and cells[1][-1] in size]
        tokens, pairs = (float(cell[:-1]) * size[cell[-1]] for cell in row[1:3])
        assert list(counts.values()) == pytest.approx([pairs, tokens, float(row[3]), float(row[4])])
        together = counts["mean_query_tokens"] + counts["mean_document_tokens"]
        assert tokens == pytest.approx(pairs * together, rel=0.03)  # what its tokens are
    for name, counts in zip(("SQuAD", "Natural Questions"), REQA.values(), strict=True):
        (row,) = [cells for cells in lines if cells[0] == name and len(cells) == 6]
        assert [f"{count:,}" for count in counts.values()] == row[1:4]
