"""The templates are complete, consistent and varied."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexture.demo.grammar import LINK_SLOTS, compile_template, render, topics, words
from contexture.demo.world import draw_facts, literal, make_outline


def test_render_fills_slots_and_draws_choices():
    template = compile_template("The {grain} [are cut/{verb}] [now/].")
    slots = {"grain": compile_template("[ears/sheaves]"), "verb": literal("fall")}
    texts = {render(template, slots, Random(i)) for i in range(200)}
    assert texts == {f"The {a} {b} {c}." for a in ("ears", "sheaves") for b in ("are cut", "fall") for c in ("now", "")}
    assert template.slots == {"grain", "verb"}


@given(st.text(alphabet=st.characters(blacklist_characters="[]{}")))
def test_text_without_markup_is_unchanged(text: str):
    assert render(compile_template(text), {}, Random(0)) == text


def test_there_are_sixteen_topics_of_at_least_thirty_templates():
    assert len(topics()) == 16
    for topic in topics().values():
        assert sum(map(len, topic.say.values())) >= 30, topic.name
        assert all(len(ways) >= 5 for ways in topic.say.values()), topic.name
        assert all(len(ways) >= 3 for ways in topic.ask.values()), topic.name
        assert len(topic.themes) >= 7 and len(topic.headings) >= 3 and len(topic.tails) >= 4


def test_every_fact_that_is_stated_can_be_asked_for():
    for topic in topics().values():
        assert list(topic.say) == list(topic.ask), topic.name
        assert set(topic.lead) <= set(topic.say), topic.name
        assert topic.group in words().sections


@pytest.mark.parametrize("name", list(topics()))
def test_every_slot_of_a_topic_can_be_filled(name: str):
    topic = topics()[name]
    templates = [t for block in (topic.say, topic.ask, topic.lead) for ways in block.values() for t in ways]
    for index in range(25):
        slots = draw_facts(make_outline(0, index), topic) | {slot: literal("Somewhere") for slot in LINK_SLOTS}
        for template in [*templates, *topic.tails]:
            text = render(template, slots, Random(index))
            assert not re.search(r"[\[\]{}<>|/\t\n]| {2}|^ | $", text), text
            assert not re.search(r"\b(\w{3,}) \1\b", text.replace("Somewhere", "")), text


def test_each_question_template_belongs_to_one_fact():
    forms: dict[str, tuple[str, str]] = {}
    for topic in topics().values():
        for aspect, ways in topic.ask.items():
            for template in ways:
                for seed in range(20):
                    form = render(template, {"about": literal("there")}, Random(seed))
                    assert forms.setdefault(form, (topic.name, aspect)) == (topic.name, aspect), form
