"""Tests of the corpus card."""

from contexture.reporting.corpus_card import histogram, render_corpus_card

HOSTILE = "<script>alert(1)</script>"
TOTALS = {"documents": 2, "paragraphs": 1234, "sentences": 5, "words": 9, "characters": 50, "links": 4, "resolved": 3}
CARD = {
    "languages": {"en": TOTALS},
    "histograms": {"characters a paragraph": [(1, 2, 3), (2, 3, 0), (3, 4, 5)], "sentences a paragraph": []},
    "paragraphs": [{"lang": "en", "doc_id": "en:1", "title": HOSTILE, "section": "", "text": f"It says {HOSTILE}."}],
}


def test_card() -> None:
    dropped = {"too_short": [{"doc_id": "en:2", "title": "T", "text": "x", "duplicate_of": None}]}
    page = render_corpus_card(CARD, {"pages_in": 7, "dropped": {"namespace": 99}}, dropped)
    assert HOSTILE not in page and page.count("<script") == 1 and "It says &lt;script&gt;" in page
    assert "1,234" in page and '<td class="number ">99</td>' in page
    assert page.count("data:image/png") == 1
    assert "Dropped: too short" in page


def test_histogram_draws_all_bars() -> None:
    axes = histogram("characters a paragraph", [(1, 2, 3), (2, 3, 0), (3, 4, 5)]).axes[0]
    assert [bar.get_height() for bar in axes.patches] == [3, 0, 5]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "3"]
    assert axes.get_ylabel() == "paragraphs"
