"""What a reader raises when the data it should read is not there."""

from pathlib import Path


class BenchmarkMissing(FileNotFoundError):  # noqa: N818 - a state of the machine that callers report, no mistake
    """The files of a benchmark are absent; the rest of an evaluation can go on without it."""

    def __init__(self, benchmark: str, path: Path, remedy: str) -> None:
        super().__init__(f"{benchmark} is not here: looked for {path}. {remedy}")
