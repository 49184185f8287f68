"""scripts/check_words.py: names, keys and phrases that the project does not use."""

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts/check_words.py"

RULES = {"names": {"stuff": "values"}, "keys": {r"^\s*stuff\s*:": "values"}, "phrases": {r"\bmuch ado\b": "work"}}


@pytest.mark.parametrize(
    ("name", "text", "hits"),
    [
        ("a.py", "def stuff(): ...", [(1, "stuff")]),
        ("a.py", "\nclass A:\n    def f(self, _stuff): ...", [(3, "_stuff")]),
        ("a.py", "for stuff in x: pass", [(1, "stuff")]),
        ("a.py", "print(stuff, x.stuff, f(stuff=1))\nimport stuff", []),  # names of others
        ("a.py", '"""Much ado."""', [(1, "Much ado")]),
        ("a.yml", "a:\n  stuff: 1\nb: stuff", [(2, "stuff:")]),
        ("a.md", "stuff:\n\nNot much ado.", [(3, "much ado")]),
        ("world/a.yml", "stuff: much ado", [(1, "stuff:")]),
    ],
)
def test_words_to_replace(
    name: str, text: str, hits: list[tuple[int, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(name)
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    check_file = runpy.run_path(str(SCRIPT))["check_file"]
    problems = check_file(file, RULES | {"made_up_world": "world"})
    assert [(line, word) for line, word, _ in problems] == hits
