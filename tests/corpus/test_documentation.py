"""Folders of linked pages."""

from pathlib import Path

import pytest

from contexture.corpus.sources import protocol
from contexture.corpus.sources.documentation import _resolve_link
from tests.corpus.make import by_name, read_path

PAGES = {
    "index.md": "# Harbour\n\nSee [the tides](guide/tides.html), [the boats](./guide/boats/) or [home](/index.md).\n",
    "guide/tides.md": "# Tides\n\nThey move [boats](boats/index.html#hull) and [nothing](missing.md) else.\n",
    "guide/boats/index.html": "<title>x</title><h1>Boats</h1><p>They need <a href='../tides'>tides</a> and <a href='https://a.test/tides.md'>more</a>.",
    "guide/notes.md": "# Notes\n\nSee the [other notes](../notes.md), [these](notes.md) and [that](#part).\n",
    "notes.md": "---\ntitle: Notes\n---\nAll of it: [home](index.md?x=1), [out](../../a.md), [odd](a%20b.htm).\n",
    "a b.htm": "<p>A page without a title, with <a href='mailto:a@b.test'>an address</a>.",
}


TITLES = {"docs/a.md": "A", "docs/b.html": "B", "README.md": "Home"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "style.css").write_text("p { }")
    return tmp_path


def test_links_lead_to_titles(folder: Path) -> None:
    rows = by_name(read_path(folder))
    titles = {doc_id: row["title"] for doc_id, row in rows.items()}
    assert titles == {
        "en:a b.htm": "a b.htm",
        "en:guide/boats/index.html": "Boats",
        "en:guide/notes.md": "Notes (guide/notes.md)",
        "en:guide/tides.md": "Tides",
        "en:index.md": "Harbour",
        "en:notes.md": "Notes (notes.md)",
    }
    links = {
        row["title"]: [
            (p["text"][link.start : link.end], link.target) for p in row["paragraphs"] for link in p["links"]
        ]
        for row in rows.values()
    }
    assert links == {
        "a b.htm": [],
        "Boats": [("tides", "Tides")],
        "Notes (guide/notes.md)": [("other notes", "Notes (notes.md)")],
        "Tides": [("boats", "Boats")],
        "Harbour": [("the tides", "Tides"), ("the boats", "Boats")],
        "Notes (notes.md)": [("home", "Harbour"), ("odd", "a b.htm")],
    }


def test_the_number_of_tasks_changes_nothing(folder: Path) -> None:
    assert read_path(folder, 50) == read_path(folder)


ADDRESSES = {
    "B": [" b.html ", "b", "./x/../b.html?q#f", "/docs/b.html", "../docs/b.md", "%62.html", "/site/docs/b"],
    "Home": ["..", "/", "../index.html", "../../../README.md"],
    None: [
        "B.html",
        "",
        "#x",
        "//host/docs/b.html",
        "HTTP://host/b.html",
        "b.html\0",
        "/site/index.html",
        "site/docs/b",
    ],
}


@pytest.mark.parametrize(("title", "address"), [(title, a) for title, group in ADDRESSES.items() for a in group])
def test_addresses(title: str | None, address: str) -> None:
    assert _resolve_link(address, "docs/a.md", TITLES) == title


def test_faulty_files_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_DOCUMENT_BYTES", 1_500_000)
    (tmp_path / "bytes.html").write_bytes(b"<p>The boats lie here." * 60_000 + b"\xe4")
    (tmp_path / "huge.html").write_bytes(b"<p>The boats lie here." * 90_000)
    (tmp_path / "empty.html").write_bytes(b"<p>\n")
    assert {doc_id: row["dropped"] for doc_id, row in by_name(read_path(tmp_path)).items()} == {
        "en:bytes.html": "not_utf8",
        "en:huge.html": "too_large",
        "en:empty.html": "empty",
    }


def test_entities_do_not_expand(tmp_path: Path) -> None:
    (tmp_path / "a.xhtml").write_text(
        '<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><p>The boats &b; lie here.</p>'
    )
    (row,) = read_path(tmp_path)
    assert "aaaa" not in row["paragraphs"][0]["text"]
