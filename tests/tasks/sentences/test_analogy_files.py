import gzip
from pathlib import Path

import pytest

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.analogy_files import read_analogies

LINE = "family\this son ate .\ther son ate .\this cat slept .\ther cat slept ."


def test_a_line_becomes_a_row(tmp_path: Path):
    path = tmp_path / "tuples.tsv.gz"
    path.write_bytes(gzip.compress(f"{LINE}\r\ntense\ta\tb\tc \td\n".encode()))
    table = read_analogies(path, published=2)
    assert table.columns.tolist() == ["category", "a", "b", "c", "d"]
    assert table.iloc[0].tolist() == LINE.split("\t")
    assert table.iloc[1].tolist() == ["tense", "a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{LINE}\nfamily\ta\tb\tc\n", "line 2: 4 of 4 fields hold text; a line must be a category and four"),
        (f"{LINE}\n{LINE}\te\n", "line 2: 6 of 6 fields"),
        (f"{LINE}\nfamily\ta\t \tc\td\n", "line 2: 4 of 5 fields"),
        (f"{LINE}\n\n{LINE}\n", "line 2: 0 of 1 fields"),
        ("", "has no rows"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: str, message: str):
    path = tmp_path / "tuples.tsv"
    path.write_text(content)
    with pytest.raises(ValueError, match=rf"tuples\.tsv.*{message}"):
        read_analogies(path)


def test_counts_and_absence(tmp_path: Path):
    path = tmp_path / "tuples.tsv"
    with pytest.raises(BenchmarkMissing, match=r"analogies is not here: looked for .*tuples\.tsv\. Name a file"):
        read_analogies(path)
    path.write_text(LINE)
    assert len(read_analogies(path)) == 1
    with pytest.raises(ValueError, match="has 1 rows where the published file has 1,300"):
        read_analogies(path, published=1_300)
