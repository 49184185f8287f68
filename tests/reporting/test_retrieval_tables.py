import re

import pytest

from contexture.reporting.records import Record
from contexture.reporting.retrieval_tables import ablation_table, index_table, pairs_table, sets_table, speed_table
from contexture.systems.two_tower.published import (
    ABLATION,
    LABELS,
    PAIRS,
    REQA,
    open_table,
    recall_table,
)


def ablated(variant: str, split: str, values: list[float]) -> list[Record]:
    return [
        Record(
            system="two_tower",
            variant=variant,
            task="squad_ablation",
            split=split,
            metric="recall_at_100",
            value=value,
            seed=seed,
        )
        for seed, value in enumerate(values)
    ]


def test_pairs_beside_the_paper() -> None:
    counts = {"pairs": 1234, "tokens": 1234567, "mean_query_tokens": 28.126, "mean_document_tokens": 972.0}
    table = pairs_table({"ict": counts, "own": counts})
    assert table.rows[0] == ("ICT", "1,234", "50.2M", "1,234,567", "11.2B", "28.13", "30.41", "972.00", "193.89")
    assert table.rows[1] == ("BFS", "–", "17.5M", "–", "3.3B", "–", "28.02", "–", "160.46")
    assert table.rows[3] == ("own", "1,234", "–", "1,234,567", "–", "28.13", "–", "972.00", "–")
    assert pairs_table({}).rows == ()
    with pytest.raises(ValueError, match=r"told of bfs lacks \['tokens', 'mean_query_tokens'"):
        pairs_table({"bfs": {"pairs": 1}})


def test_sets_beside_the_paper() -> None:
    counts = {"queries": 10570, "candidates": 10000, "tuples": 11000, "query_words": 10.2}
    table = sets_table({"squad": counts})
    assert table.rows == (("SQuAD", "10,570", "97,888", "10,000", "101,951", "11,000", "99,024"),)
    assert sets_table({}).rows == ()


def test_ablation_stands_above_the_papers() -> None:
    ours = [
        *ablated("layers=4 ict_bfs_wlp dim=64", "1%", [0.5]),
        *ablated("layers=2 bfs dim=64", "1%", [0.2]),
        *ablated("layers=2 ict dim=128", "1%", [0.3]),
        *ablated("layers=2 ict dim=64", "1%", [0.40, 0.42]),
        *ablated("layers=2 ict dim=64", "20%", [0.6]),
    ]
    table = ablation_table(ours, "squad_ablation", "SQuAD")
    assert [column.name for column in table.columns[3:]] == ["1%", "5%", "10%", "20%", "80%"]
    assert table.rows[:4] == (
        ("2", "ICT", "64", "41.0 (1.4)", "–", "–", "60.0", "–"),
        ("2", "ICT", "128", "30.0", "–", "–", "–", "–"),
        ("2", "BFS", "64", "20.0", "–", "–", "–", "–"),
        ("4", "ICT+BFS+WLP", "64", "50.0", "–", "–", "–", "–"),
    )
    assert table.rows[-1] == ("12", "ICT+BFS+WLP", "512", "82.84", "88.05", "90.03", "–", "94.60")
    assert table.headings == {0: "Ours, SQuAD", 4: "Paper, Natural Questions"}
    # a single number is no best; in the last column 256 dimensions are better than 512
    assert table.bold == {(3, 3), (12, 3), (12, 4), (12, 5), (11, 7)}
    assert ablation_table([], "squad_ablation", "SQuAD").rows == ()
    with pytest.raises(ValueError, match=r"named like 'layers=2 ict dim=64': .*'ict 2'"):
        ablation_table(ablated("ict 2", "1%", [0.1]), "squad_ablation", "SQuAD")


def test_indexes_and_speeds() -> None:
    row = {"kind": "ivf", "recall_against_exact": 0.9876, "queries_per_second": 12345.6, "build_seconds": 1.25}
    assert index_table([row, {**row, "kind": "own"}]).rows == (
        ("IVF", "98.8", "12,346", "1.2"),
        ("own", "98.8", "12,346", "1.2"),
    )
    with pytest.raises(ValueError, match=r"told of an index lacks \['build_seconds'\]"):
        index_table([{key: value for key, value in row.items() if key != "build_seconds"}])
    speeds = [
        {"what": "BM25 search", "unit": "queries", "per_second": 1812.4},
        {"what": "x", "unit": "y", "per_second": 3.14159},
    ]
    assert speed_table(speeds).rows == (("BM25 search", "1,812", "queries"), ("x", "3.14", "y"))


def test_published_numbers_are_those_of_the_paper(shared_data) -> None:
    """Re-read from the text of the paper: tables 1 to 6."""
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

    def typed(table) -> list[tuple[str, ...]]:
        return [(row.variant, *(f"{score.mean:.2f}" for score in row.scores.values())) for row in table.rows]

    main = read(3)
    assert (len(main), len(read(2))) == (36, 9)
    squad, questions = recall_table("squad"), recall_table("natural_questions")
    assert typed(squad) == main[:18]
    assert typed(questions) == main[18:]
    assert typed(open_table("squad_open")) == read(2)
    for table, size in ((squad, 6), (questions, 6), (open_table("squad_open"), 3)):
        assert [row.split for row in table.rows] == ["1%"] * size + ["5%"] * size + ["80%"] * size

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
