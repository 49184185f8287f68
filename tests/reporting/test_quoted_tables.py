"""Tables of saved results within written pages."""

from pathlib import Path

import pytest

from contexture.reporting.provenance import Provenance
from contexture.reporting.quoted_tables import QuotedTable, quote_tables, read_quoted_tables
from contexture.reporting.saved_results import SavedResults
from tests.reporting.make import COST, measured

SQUAD = ("retrieval", "squad", "frozen", "recall_at_10")
RESULTS = {
    "first": SavedResults(
        {"some": Provenance()},
        [
            *measured("ict", [0.50, 0.52, 0.54], *SQUAD),
            *measured("mlm", [0.40, 0.43, 0.44], *SQUAD),
            *measured("bfs", [0.40, 0.50, 0.60], *SQUAD),
            *measured("bm25", [0.9], "retrieval", "squad", "80%", "recall_at_10"),
            *measured("one_seed", [0.5], *SQUAD, cost=COST),
            *measured("above_ict", [0.6, 0.62, 0.64], *SQUAD),
        ],
    )
}
DEFINITION = """
tables:
  scores:
    page: page.md
    label: R@10
    fields: {file: first, system: some, task: retrieval, data: squad, protocol: frozen, metric: recall_at_10}
    columns: {A: {}, B: {show: baseline}, A − B: {show: difference}, Seeds: {show: seeds}}
    rows:
      ICT: {variant: ict, baseline: mlm}
      "ICT | BFS": {variant: ict, baseline: bfs}
      BM25: {variant: ict, baseline: {variant: bm25, protocol: 80%}}
      alone: {variant: mlm}
      BM25 − ICT: {variant: bm25, protocol: 80%, baseline: {variant: ict, protocol: frozen}}
      a training with one seed: {variant: ict, baseline: one_seed}
      equal differences: {variant: above_ict, baseline: ict}
"""
PAGE = "Before.\n\n<!-- table scores -->\nold\n<!-- end of table -->\n\nAfter.\n"


def read(tmp_path: Path, text: str) -> dict[str, QuotedTable]:
    (tmp_path / "quoted.yml").write_text(text)
    return read_quoted_tables(tmp_path / "quoted.yml")


def test_tables_are_written_between_their_marks(tmp_path: Path) -> None:
    tables = read(tmp_path, DEFINITION)
    page = quote_tables("page.md", PAGE, tables, RESULTS)
    # t(0.975, 2) = 4.303; standard deviations 2, 2.08 and 0.58, over √3.
    assert page.splitlines()[2:14] == [
        "<!-- table scores -->",
        "",
        "| R@10 | A | B | A − B | Seeds |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| ICT | 52.0 (47.0 to 57.0) | 42.3 (37.2 to 47.5) | **+9.7 (+8.2 to +11.1)** | 3 |",
        "| ICT \\| BFS | 52.0 (47.0 to 57.0) | 50.0 (25.2 to 74.8) | +2.0 (-17.9 to +21.9) | 3 |",
        "| BM25 | 52.0 (47.0 to 57.0) | 90.0 | **-38.0 (-43.0 to -33.0)** | 3 |",
        "| alone | 42.3 (37.2 to 47.5) | – | – | 3 |",
        "| BM25 − ICT | 90.0 | 52.0 (47.0 to 57.0) | **+38.0 (+33.0 to +43.0)** | 3 |",
        "| a training with one seed | 52.0 (47.0 to 57.0) | 50.0 | +0.0 | 1 |",
        "| equal differences | 62.0 (57.0 to 67.0) | 52.0 (47.0 to 57.0) | +10.0 | 3 |",
        "",
    ]
    assert page.startswith("Before.") and page.endswith("<!-- end of table -->\n\nAfter.\n")
    assert quote_tables("page.md", page, tables, RESULTS) == page
    assert quote_tables("other.md", PAGE, tables, RESULTS) == PAGE


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "variant: mlm}",
            "variant: mlmm}",
            "quoted.yml: scores: alone, A: first has no test scores of some,",
        ),
        ("file: first", "file: fisrt", "quoted.yml: scores: ICT, A: unknown results 'fisrt'; did you mean 'first'"),
        ("show: baseline", "shown: baseline", "quoted.yml: scores: ICT, B: .*shown"),
        ("  scores:", "  sores:", "quoted.yml: sores: the page needs the lines <!-- table sores -->"),
    ],
)
def test_faults_are_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    tables = read(tmp_path, DEFINITION.replace(old, new))
    with pytest.raises(ValueError, match=f"(?s){message}"):
        quote_tables("page.md", PAGE, tables, RESULTS)


def test_text_after_a_table_without_an_end_is_kept(tmp_path: Path) -> None:
    page = PAGE.replace("<!-- end of table -->", "Text. <!-- table other --> <!-- end of table -->")
    with pytest.raises(ValueError, match="the page needs the lines <!-- table scores -->"):
        quote_tables("page.md", page, read(tmp_path, DEFINITION), RESULTS)


def test_faulty_definitions_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"(?s)quoted\.yml: .*pages"):
        read(tmp_path, DEFINITION.replace("page:", "pages:"))
    with pytest.raises(ValueError, match=r"(?s)quoted\.yml: .*duplicate"):
        read(tmp_path, DEFINITION.replace("label: R@10", "page: a"))
