"""The commit of a checkout, and its changed files."""

import subprocess
from pathlib import Path

import pytest

from contexture.git import Commit, read_commit
from contexture.pipelines.hooks.record import git_tags


def test_the_commit_and_changed_files_outside_docs_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=tmp_path, check=True)

    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert read_commit(tmp_path) is None
    assert git_tags(tmp_path) == {}
    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "first")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "results.json").write_text("{}")
    commit = read_commit(tmp_path)
    assert commit is not None and len(commit.hash) == 40 and commit.changed_files == ""
    assert git_tags(tmp_path) == {"git_revision": commit.hash, "git_changed_files": "none"}
    (tmp_path / "new.txt").write_text("")
    changed = read_commit(tmp_path)
    assert changed == Commit(commit.hash, "?? new.txt")
    assert git_tags(tmp_path)["git_changed_files"] == "?? new.txt"


def test_a_commit_is_shortened() -> None:
    assert Commit("1a2b3c4d5e", "").shorten(4) == "1a2b"
    assert Commit("1a2b3c4d5e", "?? new.txt").shorten(8) == "1a2b3c4d, with changed files"
