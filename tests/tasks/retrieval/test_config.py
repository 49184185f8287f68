"""Settings of retrieval."""

import subprocess
import sys
from typing import Any

import pytest
from pydantic import TypeAdapter

from contexture.tasks.retrieval.config import RetrievalConfig, RetrievalSettings, option_name, share_name

NEEDED: dict[str, Any] = {
    "shares": [1, 80], "batch_size": 64, "steps": 20, "evaluate_every": 10, "patience": 2,
    "optimizer": {"learning_rate": 5e-4},
}  # fmt: skip


def settings(**changes: Any) -> RetrievalSettings:
    return TypeAdapter(RetrievalSettings).validate_python(NEEDED | changes)


def test_defaults_and_names() -> None:
    default = settings()
    assert (default.tokens_at_once, default.recompute, default.open_domain_pairs) == (16384, False, 0)
    assert (default.indexes, default.bm25.k1, default.bm25.b) == ([], 1.2, 0.75)
    assert [share_name(share) for share in default.shares] == ["1%", "80%"]
    assert [option_name(share) for share in (1.0, 0.5)] == ["share-1", "share-0.5"]
    assert settings(shares=[]).shares == []
    assert RetrievalConfig().input == "demo"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"share": [1]}, "share"),
        ({"shares": [0]}, "greater than 0"),
        ({"shares": [100]}, "less than 100"),
        ({"shares": [1, 80, 1.0]}, "contains a share twice"),
        ({"steps": 0}, "greater than 0"),
        ({"bm25": {"k1": -1}}, "k1"),
        ({"indexes": [{"kind": "lsh"}]}, "kind"),
        ({"indexed": "ict"}, "indexed is ict, but indexes is empty"),
        ({"open_domain_pairs": -1}, "open_domain_pairs"),
    ],
)
def test_invalid_settings_raise(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settings(**bad)


def test_settings_import_no_heavy_library() -> None:
    code = (
        "import sys\n"
        "import contexture.tasks.answer_selection.task, contexture.tasks.retrieval.task\n"
        "print(sorted({'torch', 'faiss', 'bm25s', 'pyspark', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_weights_do_not_depend_on_what_is_measured() -> None:
    plain = RetrievalSettings(shares=[80])
    measured = RetrievalSettings(shares=[5, 80], hybrid=["a"], open_domain_pairs=9, open_domain=["a"])
    assert plain.identity("share-80") == measured.identity("share-80")
    assert plain.identity("share-80") != RetrievalSettings(shares=[80], steps=9).identity("share-80")
