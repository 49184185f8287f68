"""Checks of exports before a run: each fault gives an error with the file and the remedy."""

from pathlib import Path

import pytest

from contexture.corpus.errors import SourceError, explain_error
from tests.corpus.make import (
    HEAD,
    find_exports,
    make_article,
    make_export,
    truncate_file,
    write_compressed,
    write_multistream,
)

XML = make_export(make_article(1), make_article(2))
SUFFIXES = [".xml", ".xml.bz2", ".xml.gz", ".xml.xz"]


@pytest.mark.parametrize("name", [*(f"a{suffix}" for suffix in SUFFIXES), "a[1] {x}*.xml.bz2"])
def test_file(tmp_path: Path, name: str) -> None:
    """A file name with characters of a glob is used as a name first."""
    path = write_compressed(tmp_path / name, XML)
    (file,) = find_exports(str(path))
    assert (file.path, file.site.lang, file.site.dbname) == (str(path), "en", "testwiki")


def test_fingerprints_differ(tmp_path: Path) -> None:
    texts = [XML, make_export(make_article(1), make_article(3)), XML + b" "]
    prints = [find_exports(str(write_compressed(tmp_path / "a.xml", text)))[0].fingerprint for text in texts]
    assert len(set(prints)) == 3
    assert find_exports(str(write_compressed(tmp_path / "b.xml", XML)))[0].fingerprint == prints[0]


def test_two_wikis_of_a_language(tmp_path: Path) -> None:
    """Their pages would have the same ids. Files of one wiki, or of a wiki without a name, go together."""
    for name in ("a.xml", "b.xml"):
        write_compressed(tmp_path / name, XML)
    write_compressed(tmp_path / "c.xml", XML.replace(b"testwiki", b""))
    write_compressed(tmp_path / "d.xml", XML.replace(b"testwiki", b"dewiki").replace(b':lang="en"', b':lang="de"'))
    assert len(find_exports(str(tmp_path))) == 4
    other = write_compressed(tmp_path / "e.xml", XML.replace(b"testwiki", b"enwikibooks"))
    with pytest.raises(SourceError, match=r"wiki enwikibooks, but .*a\.xml is one of testwiki .*\(en\)") as error:
        find_exports(str(tmp_path))
    assert str(error.value).startswith(f"{other}: ")


BOMB = b'<?xml version="1.0"?>\n<!DOCTYPE b [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n'
FAULTS = {
    "empty": ("a.xml.bz2", b"", "is empty"),
    "unknown kind": ("a.zip", XML, r"only files of unknown kinds \(1 \.zip\)\. Known: mediawiki"),
    "not what its name says": ("a.xml.bz2", XML, "is not compressed. Rename"),
    "compressed, the name does not say so": ("a.xml", b"BZh91AY&SY", "holds bz2 data"),
    "another kind of XML": ("a.xml", b"<html><body/></html>", "not a MediaWiki export.*<html>"),
    "no XML": ("a.xml", b"\xff\xd8 a picture", "not a MediaWiki export"),
    "entity bomb": ("a.xml", BOMB + XML, "document type.*Remove"),
    "entity bomb, compressed": ("a.xml.gz", BOMB + XML, "document type.*Remove"),
    "UTF-32": ("a.xml", XML.decode().encode("utf-32"), "iconv -f UTF-32"),
    "UTF-16 that says it is not": ("a.xml", f"<?xml encoding='utf-8'?>{XML.decode()}".encode("utf-16"), "declares"),
    "another encoding": ("a.xml", b"<?xml version='1.0' encoding='ISO-8859-1'?>" + XML, "iconv -f ISO-8859-1"),
    "not UTF-8": ("a.xml", XML.replace(b"testwiki", b"t\xe9stwiki"), "not UTF-8"),
    "head not well-formed": ("a.xml", XML.replace(b"</dbname>", b"</db>"), "not well-formed"),
    "cut off in its head": ("a.xml", HEAD[:200].encode(), "cut off within its <siteinfo>"),
}


@pytest.mark.parametrize(("name", "content", "words"), FAULTS.values(), ids=FAULTS.keys())
def test_faults(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content) if words.startswith(("is", "holds")) else write_compressed(path, content)
    with pytest.raises(SourceError, match=words) as error:
        find_exports(str(path))
    assert str(path) in str(error.value)


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_damaged_or_cut_off_at_the_start(tmp_path: Path, suffix: str) -> None:
    path = write_compressed(tmp_path / f"a{suffix}", XML)
    size = path.stat().st_size
    truncate_file(path, 20)
    with pytest.raises(SourceError, match="cut off at its start"):
        find_exports(str(path))
    path.write_bytes(path.read_bytes()[:12] + bytes(size))
    with pytest.raises(SourceError, match=r"damaged|cut off"):
        find_exports(str(path))


def test_files_truncated_after_the_head_are_accepted(tmp_path: Path) -> None:
    gz = write_compressed(tmp_path / "a.xml.gz", XML)
    truncate_file(gz, gz.stat().st_size - 9)
    bz = write_multistream(tmp_path / "b.xml.bz2", XML[:1000], XML[1000:])
    truncate_file(bz, bz.stat().st_size - 20)
    assert len(find_exports(str(tmp_path))) == 2


def test_an_error_from_a_worker_is_explained() -> None:
    worker = RuntimeError("Job aborted …\n  contexture.corpus.errors.SourceError: a.xml: is damaged.\n\n\tat java…")
    outer = ValueError("Failed while saving data")
    outer.__cause__ = worker
    assert explain_error(outer) == explain_error(worker) == "a.xml: is damaged."
    assert explain_error(SourceError("b.xml: is empty.")) == "b.xml: is empty."
    assert explain_error(ValueError("of another kind")) is None
