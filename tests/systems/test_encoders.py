"""Encoders with the settings of another one: the key `like`."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from contexture.encoders.config import TransformerConfig
from tests.environments import CONF, check_changed, checked
from tests.training.toys import make_mixed_system, make_system, transformer

#: Environments with settings of the league.
LEAGUES = sorted(file.parents[1].name for file in CONF.glob("*/parameters/league.yml"))


def make_encoders(**encoders: Any) -> Any:
    config = make_mixed_system({"none": {"schedule": []}}).to_dict()
    return make_system(**config | {"encoders": encoders}).encoders


def test_an_encoder_has_the_settings_of_the_one_that_it_is_like() -> None:
    first = transformer(hidden_size=24)
    encoders = make_encoders(
        first=first, second={"like": "first", "layers": 3}, third={"like": "second", "dropout": 0.5}
    )
    assert encoders["second"] == replace(encoders["first"], layers=3)
    assert encoders["third"] == replace(encoders["first"], layers=3, dropout=0.5)


def test_nested_settings_are_merged_and_null_removes_the_likeness() -> None:
    crossed = transformer(pooling="cls", cross={"tokens": 1, "start": "copy"})
    encoders = make_encoders(
        first=crossed, second={"like": "first", "cross": {"tokens": 3}}, third={"like": None, **transformer()}
    )
    assert (encoders["second"].cross.tokens, encoders["second"].cross.start) == (3, "copy")
    assert encoders["third"] == make_encoders(first=transformer())["first"]


@pytest.mark.parametrize(
    ("encoders", "message"),
    [
        ({"first": {"like": "frist"}}, r"first\.like\n.*unknown encoder 'frist'; did you mean 'first'"),
        ({"first": {"like": 3}}, r"first\.like\n.*3 is not the name of an encoder"),
        ({"first": transformer(heads=3), "second": {"like": "first"}}, r"^1 validation error.*\n.*encoders\.first"),
        ({"first": None, "second": {"like": "first"}}, r"encoders\.first\n"),
        (
            {"first": transformer(pooling="max"), "second": {"like": "first", "cross": {"tokens": 1}}},
            r"encoders\.second.*\n.*cross needs pooling.*\(it is like first, except for settings of its own\)",
        ),
        ({"first": {"like": "first"}}, r"first\.like\n.*first is like itself"),
        ({"first": {"like": "second"}, "second": {"like": "first"}}, r"second\.like\n.*first is like itself"),
    ],
)
def test_unknown_names_and_circles_are_errors(encoders: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make_encoders(**encoders)


@pytest.mark.parametrize("environment", LEAGUES)
def test_the_league_compares_objectives_on_one_network(environment: str) -> None:
    assert_same_network(checked(environment).systems["league"].encoders)


def test_a_change_of_the_network_is_one_of_all() -> None:
    sizes = {"league": {"encoders": {"transformer": {"hidden_size": 64, "layers": 2}}}}
    encoders = check_changed(sizes).systems["league"].encoders
    assert [encoder.hidden_size for encoder in encoders.values()] == [64] * 3
    assert_same_network(encoders)


def assert_same_network(encoders: Any) -> None:
    """Compare all settings but those that an objective needs."""
    (first, *rest) = (replace(encoder, pooling="mean", cross=None) for encoder in encoders.values())
    assert isinstance(first, TransformerConfig) and rest and all(encoder == first for encoder in rest)
