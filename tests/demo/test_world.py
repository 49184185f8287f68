"""Articles: names, facts, links, independence of order."""

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from contexture.demo import world
from contexture.demo.export import article_id, extra_entries, make_wikitext
from contexture.demo.names import page_stem, seeded_random, shuffle
from contexture.demo.world import capitalize, make_article, make_outline, strip_links

INDEX = st.one_of(st.integers(0, 2_000), st.integers(0, 10**12))


@given(st.integers(0, 2**32), INDEX, INDEX)
def test_different_pages_have_different_stems(seed: int, index: int, other_index: int):
    assert (page_stem(seed, index) == page_stem(seed, other_index)) == (index == other_index)


@given(st.lists(st.integers()), st.integers())
def test_shuffled_keeps_everything(items: list[int], seed: int):
    assert Counter(shuffle(items, seeded_random(seed))) == Counter(items)


def test_titles_are_unique():
    entries = [entry for region in range(80) for entry in extra_entries(7, region, 2_000)]
    titles = [*(make_outline(7, index).title for index in range(2_000)), *(entry.title for entry in entries)]
    ids = [*map(article_id, range(2_000)), *(entry.id for entry in entries)]
    assert len(set(titles)) == len(titles) == len(set(ids))


def test_a_page_depends_on_seed_and_index_only():
    forwards = [make_wikitext(make_article(3, index)) for index in range(30)]
    world.make_outline.cache_clear()
    assert [make_wikitext(make_article(3, index)) for index in reversed(range(30))] == forwards[::-1]
    assert make_wikitext(make_article(4, 0)) != forwards[0]


def test_a_page_has_five_to_eight_paragraphs_of_one_topic():
    for index in range(100):
        lead, *paragraphs = make_article(0, index).paragraphs
        assert 5 <= len(paragraphs) <= 8
        for paragraph in paragraphs:
            assert 4 <= len(paragraph) <= 6
            assert len({sentence.topic for sentence in paragraph}) == 1
            assert len({sentence.text for sentence in paragraph}) == len(paragraph)
        topics = [paragraph[0].topic for paragraph in paragraphs]
        assert len(set(topics)) == len(topics)
        summarised = [sentence.topic for sentence in lead[1:]]
        assert len(summarised) == 3 and set(summarised) <= set(topics)


def test_links_have_targets_often_of_the_same_topic():
    """In a world of whole regions all links have targets, by title, redirect or lower-case title."""
    seed, pages = 0, 75
    targets = {make_outline(seed, index).title: index for index in range(pages)}
    targets |= {make_outline(seed, index).alias: index for index in range(pages) if world.has_redirect(index)}
    same = total = 0
    for index in range(pages):
        for sentence in (s for paragraph in make_article(seed, index).paragraphs[1:] for s in paragraph):
            for target in re.findall(r"\[\[([^\]|]*)", sentence.text):
                linked = targets[target[0].upper() + target[1:]]
                assert linked != index
                same += sentence.topic in make_outline(seed, linked).lead
                total += 1
    assert total > 4 * pages
    # Chance is 3 topics of 16.
    assert same > 0.4 * total


def test_capital_and_unlink():
    assert capitalize("[[velmar harp|harps]] sound") == "[[velmar harp|Harps]] sound"
    assert capitalize("[[velmar harp]] sounds, [[a|b]]") == "[[Velmar harp]] sounds, [[a|b]]"
    assert capitalize("it rains") == "It rains"
    assert strip_links("'''Velmar''' is [[a]] and [[b|c]].") == "Velmar is a and c."


def test_each_kind_of_page_occurs():
    entries = [entry for region in range(6) for entry in extra_entries(0, region, 150)]
    assert {entry.namespace for entry in entries} == {0, 1, 10, 14}
    assert any(entry.text == "" for entry in entries)
    assert any(entry.text.count("{{") > entry.text.count("}}") for entry in entries)
    assert any("{{disambiguation}}" in entry.text for entry in entries)
    assert any(entry.title.startswith("List of") for entry in entries)
    assert sum(entry.redirect is not None for entry in entries) > 40
    marks = "".join(make_wikitext(make_article(0, index)) for index in range(50))
    for mark in ("{{Infobox", '{| class="wikitable', "<ref>", "<ref name=", "<!--", "[[File:", "[[Category:", "\n==="):
        assert mark in marks
