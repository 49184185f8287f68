"""Embed a file of texts, one per line, in batches, without loading the whole file."""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.lib.format import write_array_header_1_0

from contexture.encoders.config import Role
from contexture.folders import whole_file
from contexture.progress import progress

if TYPE_CHECKING:
    from contexture.encoders.base import Array, TextEncoder  # brings torch

#: Texts per batch.
MAX_BATCH_TEXTS = 512


class TextLines:
    """The lines of a file or of the standard input, checked before they are embedded."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        """Raise ValueError, with the line, for an empty line or file, and for text that is not UTF-8."""
        self.file, self.name, self.count = file, name, 0
        for line in self:
            self.count += 1
            if not line.strip():
                raise ValueError(f"{name}: line {self.count} is empty; every line is a text")
        if not self.count:
            raise ValueError(f"{name}: the file is empty; write one text on each line")

    def __iter__(self) -> Iterator[str]:
        self.file.seek(0)
        return decode_lines(self.file, self.name)

    @classmethod
    @contextmanager
    def open(cls, name: str) -> Iterator["TextLines"]:
        """Open a file, or the standard input (`-`); input that can be read only once is copied to a temporary file."""
        with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
            if name != "-" and file.seekable():
                yield cls(file, name)
                return
            with tempfile.TemporaryFile() as copy:
                shutil.copyfileobj(file, copy)
                yield cls(copy, "standard input" if name == "-" else name)


def decode_lines(file: Iterable[bytes], name: str) -> Iterator[str]:
    """Yield the lines of a file without their ends; raise ValueError, with the line, for text that is not UTF-8."""
    for number, line in enumerate(file, 1):
        try:
            text = line.rstrip(b"\r\n").decode("utf-8" if number > 1 else "utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"{name}: line {number} is not UTF-8 ({error.reason})") from None
        yield text


@contextmanager
def open_vectors_file(output: Path | None) -> Iterator[BinaryIO]:
    """Open `output` to write vectors, a file that appears when it is complete, or the standard output (None)."""
    if output is None:
        yield sys.stdout.buffer
    else:
        with whole_file(output) as file:
            yield file


def write_vectors(model: "TextEncoder", lines: TextLines, role: Role | None, file: BinaryIO, as_numpy: bool) -> None:
    """Embed lines and write the vectors: a NumPy file, float32 (lines, dimension), or one JSON object per line."""
    texts, header = iter(lines), as_numpy
    with progress(lines.count, "embedding", "texts") as bar:
        while batch := list(islice(texts, MAX_BATCH_TEXTS)):
            vectors = np.asarray(model.embed(batch, role), "<f4")
            bar.clear()  # lines may be printed to the same terminal
            if header:
                shape = (lines.count, vectors.shape[1])
                write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
                header = False
            file.write(vectors.tobytes() if as_numpy else b"".join(map(_json_line, batch, vectors)))
            file.flush()
            bar.update(len(batch))


def _json_line(text: str, vector: "Array") -> bytes:
    """Return a line of JSON with the text and its vector."""
    # The shortest digits that identify a float32.
    numbers = [float(str(number)) for number in vector]
    return json.dumps({"text": text, "vector": numbers}, ensure_ascii=False).encode() + b"\n"
