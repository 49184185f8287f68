"""The commit of a git checkout, and the files that differ from it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

MAX_STATUS_CHARS = 500


@dataclass(frozen=True)
class Commit:
    """A commit, and the changed files of its checkout, except in docs, where results are saved."""

    hash: str
    # As `git status` prints them; "" if there are none.
    changed_files: str

    def shorten(self, length: int) -> str:
        """Return the beginning of the hash, and whether files are changed: "1a2b3c4d, with changed files"."""
        return self.hash[:length] + (", with changed files" if self.changed_files else "")


def read_commit(folder: Path) -> Commit | None:
    """Return the commit of the folder's checkout; None outside a git checkout."""

    def run_git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        changed = run_git("status", "--porcelain", "--", ".", ":(exclude)docs")
        return Commit(run_git("rev-parse", "HEAD"), changed[:MAX_STATUS_CHARS])
    except (OSError, subprocess.CalledProcessError):
        return None
