"""Published numbers of Tables 1 to 6, compared with the text of the paper."""

import re
from pathlib import Path

import pytest

from contexture.reporting.published import ScoreTable
from contexture.systems.two_tower.page import PUBLISHED
from tests.reporting.make import published_values


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

    def typed(table: ScoreTable) -> list[tuple[str, ...]]:
        variants = [row.variant for row in table.rows]
        values = [values for _, values in published_values(table)]
        return [(name, *(f"{value:.2f}" for value in row)) for name, row in zip(variants, values, strict=True)]

    main = read(3)
    assert (len(main), len(read(2))) == (36, 9)
    squad, questions, opened = (PUBLISHED.tables[name] for name in ("table_3", "table_4", "table_6"))
    assert typed(squad) == main[:18]
    assert typed(questions) == main[18:]
    assert typed(opened) == read(2)
    for table, size, suffix in ((squad, 6, ""), (questions, 6, ""), (opened, 3, " open")):
        shares = [share + suffix for share in ("1%", "5%", "80%") for _ in range(size)]
        assert [row.protocol for row in table.rows] == shares

    labels = {**{label: name for name, label in PUBLISHED.labels.items()}, "No Pretraining": "none"}
    configurations = {
        f"{labels[cells[2]]} layers={cells[1]} embedding_size={cells[3]}": list(map(float, cells[4:]))
        for cells in lines
        if len(cells) == 8 and cells[0].isdecimal()
    }
    assert list(configurations.items()) == published_values(PUBLISHED.tables["table_5"])
    size = {"M": 1e6, "B": 1e9}
    for name, counts in PUBLISHED.numbers("table_1").items():
        (row,) = [
            cells for cells in lines if cells[0] == PUBLISHED.labels[name] and len(cells) == 5 and cells[1][-1] in size
        ]
        tokens, pairs = (float(cell[:-1]) * size[cell[-1]] for cell in row[1:3])
        assert list(counts.values()) == pytest.approx([pairs, tokens, float(row[3]), float(row[4])])
        together = counts["mean_query_tokens"] + counts["mean_document_tokens"]
        assert tokens == pytest.approx(pairs * together, rel=0.03)  # tokens of queries and documents
    for name, counts in zip(("SQuAD", "Natural Questions"), PUBLISHED.numbers("table_2").values(), strict=True):
        (row,) = [cells for cells in lines if cells[0] == name and len(cells) == 6]
        assert [f"{count:,}" for count in counts.values()] == row[1:4]
