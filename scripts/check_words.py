"""Check that names and prose use plain words: prints each place that does not with what to write instead.

usage: check_words.py [PATH ...]      in the project's folder; default: all files under version control

Exits with 1 if a word is left. The words are those of `plain_words.toml`.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SUFFIXES = {".html", ".ipynb", ".md", ".py", ".yml"}
WORDS_FILE = Path(__file__).with_name("plain_words.toml")


def main(paths: list[str]) -> int:
    """Print the words to replace; return 1 if there are any."""
    rules = tomllib.loads(WORDS_FILE.read_text(encoding="utf-8"))
    listed = subprocess.run(["git", "ls-files", "-z", "--", *paths], capture_output=True, text=True, check=True).stdout
    files = [path for path in map(Path, filter(None, listed.split("\0"))) if path.suffix in SUFFIXES and path.exists()]
    problems = [
        f"{path}:{line}: {word!r}; write: {advice}"
        for path in files
        if str(path) not in rules["ignored_files"]
        for line, word, advice in check_file(path, rules)
    ]
    print(*problems, f"{len(problems)} words to replace in {len(files)} files", sep="\n")
    return bool(problems)


def check_file(path: Path, rules: dict[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Yield line, word and advice for names of a Python file, keys of a YAML file and phrases of any file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for name, line in bound_names(ast.parse(text)):
            if advice := rules["names"].get(name.strip("_")):
                yield line, name, advice
    patterns = rules["keys"] if path.suffix == ".yml" else {}
    if not path.is_relative_to(rules["made_up_world"]):
        patterns = patterns | rules["phrases"]
    for pattern, advice in patterns.items():
        for match in re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE):
            yield text.count("\n", 0, match.start()) + 1, match[0].strip(), advice


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names of functions, parameters, classes and variables that a module defines, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
