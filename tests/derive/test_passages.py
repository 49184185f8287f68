"""Passages that examples are derived from."""

from pathlib import Path

import pytest

from contexture.derive.passages import write_passages as select_passages
from contexture.splits import document_draw
from tests.derive.toys import make_passage, write_passages


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_passages_of_held_out_documents_are_left_out(share: float, tokenizer: Path, tmp_path: Path) -> None:
    """Those of questions, which are marked, and those of the loss, which are drawn by their ids."""
    ids = [f"en:{number}#{part}" for number in range(40) for part in range(2)]
    rows = [make_passage(name, "kana", "love", tokenizer, held_out=name.startswith("en:1#")) for name in ids]
    passages = select_passages(write_passages(rows, tmp_path / "passages"), tmp_path / "kept.parquet", share)
    kept = [name for (name,) in passages.tuples(["passage_id"])]
    drawn = [name for name in ids if document_draw(name.partition("#")[0]) >= share and not name.startswith("en:1#")]
    assert sorted(kept) == sorted(drawn) and (len(kept) == 78) == (not share)
