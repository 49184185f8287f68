"""Splits of exports: each page exactly once for any cuts, and no silent loss."""

import bz2
import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.corpus.errors import SourceError
from contexture.corpus.sources import bzip2, records
from contexture.corpus.sources.bzip2 import read_blocks
from contexture.corpus.sources.protocol import SourceFile, Split, plan_splits
from contexture.corpus.sources.records import RawRecord, cut_records, read_records
from tests.corpus.make import (
    HEAD,
    damage_file,
    find_exports,
    make_article,
    make_export,
    truncate_file,
    write_compressed,
    write_multistream,
)

PAGES = [make_article(number) for number in range(1, 60)]
XML = make_export(*PAGES)
SUFFIXES = [".xml", ".xml.bz2", ".xml.gz", ".xml.xz"]


def find_file(path: Path) -> SourceFile:
    (file,) = find_exports(str(path))
    return file


def read(splits: list[Split]) -> list[RawRecord]:
    """Return the records with a page."""
    result = [record for split in splits for record in read_records(split, b"</page>")]
    return [r for r in result if (r.state != "rest" and b"</mediawiki>" not in r.data) or b"<page>" in r.data]


def read_evenly(path: Path, count: int) -> list[RawRecord]:
    """Return the records of a file in `count` splits."""
    file = find_file(path)
    if file.path.endswith((".gz", ".xz")):
        return read([Split(file, 0, file.bytes, part, count) for part in range(count)])
    bounds = [file.bytes * i // count for i in range(count + 1)]
    return read([Split(file, start, end) for start, end in itertools.pairwise(bounds)])


def numbers(result: list[RawRecord]) -> list[int]:
    return sorted(int(record.data.split(b"<id>")[1].split(b"</id>")[0]) for record in result if record.state == "whole")


def states(result: list[RawRecord]) -> list[str]:
    return [record.state for record in result if record.state != "whole"]


def noise(size: int, seed: int) -> bytes:
    """Return text that compresses badly, so that small exports have several bzip2 blocks."""
    letters = random.Random(seed)
    return "".join(letters.choices("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=size)).encode()


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One bzip2 stream of several blocks, with 40 pages."""
    pages = [make_article(number).encode().replace(b"has", noise(20_000, number)) for number in range(1, 41)]
    xml = HEAD.encode() + b"".join(pages) + b"</mediawiki>"
    return write_compressed(tmp_path_factory.mktemp("big") / "big.xml.bz2", xml)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("count", [1, 2, 7, 50])
def test_every_page_once(tmp_path: Path, suffix: str, count: int) -> None:
    result = read_evenly(write_compressed(tmp_path / f"a{suffix}", XML), count)
    assert numbers(result) == list(range(1, 60))
    assert states(result) == []


@pytest.mark.parametrize("count", [1, 11])
def test_blocks_of_one_stream_are_shared_out(big: Path, count: int) -> None:
    assert len(list(read_blocks(str(big)))) >= 3
    assert b"".join(content for _, content in read_blocks(str(big))) == bz2.decompress(big.read_bytes())
    assert numbers(read_evenly(big, count)) == list(range(1, 41))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, len(XML)), max_size=12), st.integers(1, 9))
def test_cuts_of_streams_and_splits_anywhere(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], count: int
) -> None:
    bounds = [0, *sorted(cuts), len(XML)]
    parts = [XML[start:end] for start, end in itertools.pairwise(bounds)]
    head = next(i for i in range(1, len(parts) + 1) if len(b"".join(parts[:i])) > 600)
    path = write_multistream(tmp_path_factory.mktemp("cuts") / "a.xml.bz2", b"".join(parts[:head]), *parts[head:])
    assert numbers(read_evenly(path, count)) == list(range(1, 60))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=8), st.integers(1, 60), st.integers(1, 20))
def test_any_border_between_splits(cuts: list[int], border: int, step: int) -> None:
    data = b"a<page>1</page>b<page>22</page></page><page>333</page>c"
    bounds = sorted({0, border, *(cut for cut in cuts), *range(0, len(data), step), len(data)})
    pieces = [(start, data[start:end]) for start, end in itertools.pairwise(bounds) if start < len(data)]
    first = cut_records(iter([(start < border, piece) for start, piece in pieces]), b"</page>", 0)
    rest = [(True, piece) for start, piece in pieces if start >= border]
    second = cut_records(iter(rest), b"</page>", border)
    expected = [(b"a<page>1", 0), (b"b<page>22", 15), (b"", 31), (b"<page>333", 38), (b"c", 54)]
    assert [(record.data, record.offset) for record in [*first, *second]] == expected


def test_the_plan_covers_every_file(tmp_path: Path) -> None:
    files = [find_file(write_compressed(tmp_path / f"a{suffix}", XML)) for suffix in SUFFIXES]
    for tasks in (1, 2, 500):
        splits = plan_splits(files, tasks)
        for file in files:
            assert numbers(read([split for split in splits if split.file is file])) == list(range(1, 60))
    large = replace(next(file for file in files if file.path.endswith(".bz2")), bytes=20 << 30)
    assert {split.end - split.start for split in plan_splits([large], 4)} <= {8 << 20, (8 << 20) - 1}
    gzip = replace(next(file for file in files if file.path.endswith(".gz")), bytes=20 << 30)
    assert len(plan_splits([gzip], 4)) == 4
    assert len(plan_splits([gzip] * 100, 4)) == 100


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("count", [1, 3])
def test_xml_cut_off_in_mid_page_loses_that_page(tmp_path: Path, suffix: str, count: int) -> None:
    middle = XML.index(b"Harbour 30 has") + 5
    result = read_evenly(write_compressed(tmp_path / f"a{suffix}", XML[:middle]), count)
    assert numbers(result) == list(range(1, 30))
    assert states(result) == ["rest"]
    assert any(b"<id>30</id>" in record.data for record in result if record.state == "rest")


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
@pytest.mark.parametrize("count", [1, 3])
def test_compressed_data_cut_off_loses_its_last_page(tmp_path: Path, suffix: str, count: int, big: Path) -> None:
    if suffix == ".xml.bz2":
        path = tmp_path / big.name
        path.write_bytes(big.read_bytes())
    else:
        path = write_compressed(
            tmp_path / f"a{suffix}",
            HEAD.encode() + b"".join(noise(20_000, i) + p.encode() for i, p in enumerate(PAGES)),
        )
    truncate_file(path, path.stat().st_size * 2 // 3)
    result = read_evenly(path, count)
    assert 5 < len(numbers(result)) < 59
    assert numbers(result) == list(range(1, len(numbers(result)) + 1))
    assert states(result) == ["truncated"]


def test_a_stream_that_lacks_only_its_end_loses_no_page(tmp_path: Path) -> None:
    path = write_compressed(tmp_path / "a.xml.bz2", XML)
    for missing in (1, 4, 9):
        whole = write_compressed(path, XML).read_bytes()
        path.write_bytes(whole[:-missing])
        result = read_evenly(path, 1)
        assert numbers(result) == list(range(1, 60))
        assert states(result) == []


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
def test_a_damaged_block_raises_with_its_position(tmp_path: Path, big: Path, share: float, count: int) -> None:
    path = tmp_path / "damaged.xml.bz2"
    path.write_bytes(big.read_bytes())
    at = int(path.stat().st_size * share)
    damage_file(path, at)
    with pytest.raises(SourceError, match=r"block at byte \d+ is damaged.*bzip2recover") as error:
        read_evenly(path, count)
    assert str(path) in str(error.value)
    block = int(str(error.value).split("at byte ")[1].split()[0])
    assert block <= at < block + 1_000_000


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("offset", [0, 4])
def test_a_damaged_mark_between_streams_is_no_silent_loss(tmp_path: Path, count: int, offset: int) -> None:
    parts = [HEAD.encode(), *("".join(PAGES[i : i + 10]).encode() for i in range(0, 50, 10)), b"</mediawiki>"]
    path = write_multistream(tmp_path / "a.xml.bz2", *parts)
    third = sum(len(bz2.compress(part)) for part in parts[:3])
    damage_file(path, third + offset, 4)
    if offset == 0:  # the stream's header is not needed
        assert numbers(read_evenly(path, count)) == list(range(1, 51))
        return
    with pytest.raises(SourceError, match="is damaged"):
        read_evenly(path, count)


@pytest.mark.parametrize("suffix", [".xml.gz", ".xml.xz"])
def test_damaged_gzip_and_xz(tmp_path: Path, suffix: str) -> None:
    path = write_compressed(tmp_path / f"a{suffix}", XML)
    damage_file(path, path.stat().st_size // 2)
    with pytest.raises(SourceError, match=r"damaged.*Download it again"):
        read_evenly(path, 1)


def test_compressed_data_that_looks_like_a_marker_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_compressed(tmp_path / "a.xml.bz2", XML)
    real = bzip2._find_markers

    def with_chance_marker(file: object, start: int) -> Iterator[tuple[int, bool]]:
        result = list(real(file, start))  # type: ignore[arg-type]
        yield from [result[0], (result[0][0] + 1234, True), *result[1:]]

    monkeypatch.setattr(bzip2, "_find_markers", with_chance_marker)
    assert b"".join(content for _, content in read_blocks(str(path))) == XML


@pytest.mark.parametrize("suffix", [".xml", ".xml.xz"])
def test_a_page_too_large_for_memory_is_dropped_and_the_next_kept(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MAX_DOCUMENT_BYTES", 1 << 20)
    monkeypatch.setattr(records, "_READ_BYTES", 1 << 16)
    huge = make_article(2).replace("History", "x" * (3 << 20))
    result = read_evenly(
        write_compressed(tmp_path / f"a{suffix}", make_export(make_article(1), huge, make_article(3))), 1
    )
    assert [record.state for record in result] == ["whole", "too_large", "whole"]
    assert b"<id>2</id>" in result[1].data
    assert len(result[1].data) == 4096
    assert numbers(result) == [1, 3]
