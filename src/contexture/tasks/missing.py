"""The error for missing files of a benchmark."""

from pathlib import Path


class BenchmarkMissing(FileNotFoundError):  # noqa: N818 - callers report it as a state
    """The files of a benchmark are missing; other benchmarks can still run."""

    def __init__(self, benchmark: str, path: Path, remedy: str) -> None:
        super().__init__(f"{benchmark} is not here: looked for {path}. {remedy}")
