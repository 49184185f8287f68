"""Content of the `claims.yml` files: errors for faults."""

import re

import pytest

from contexture.reporting.claims import parse_claims, read_all_claims, read_claims
from contexture.systems.registry import SYSTEMS

TOY = """
paper: A paper
measures:
  squad: {title: "R@1, SQuAD", tasks: [retrieval], data: [squad], protocol: frozen, metric: recall_at_1}
  speed: {title: speed, metric: steps_per_second}
claims:
  A1:
    statement: Ours is better
    source: Table 1
    comparisons:
      - {a: {variant: ours, untrained: none}, b: {variant: bm25}, measures: [squad]}
      - {a: {variant: ours}, b: {variant: theirs}, direction: equal, margin: 1, measures: [speed]}
    environment: paper
    command: kedro run --env paper --pipelines two_tower
"""


def test_a_claim_is_read_with_its_defaults() -> None:
    claims = parse_claims(TOY, "toy/claims.yml")
    first, second = claims.claims["A1"].comparisons
    assert (first.direction, first.margin, first.equal_cost, first.label) == ("higher", 0, None, "ours > bm25")
    assert (first.a.untrained, first.b.untrained, second.label) == ("none", None, "ours ≈ theirs")
    assert not claims.measures["squad"].is_cost and claims.measures["speed"].is_cost


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("source: Table 1", "sources: Table 1", r"claims\.A1\.sources\n.*(unexpected|Unexpected)"),
        ("untrained: none", "untraind: none", r"claims\.A1\.comparisons\.0\.a\.untraind\n.*[Uu]nexpected"),
        ("protocol: frozen, ", "protocols: frozen, ", r"measures\.squad\.protocols\n.*[Uu]nexpected"),
        ("paper: A paper", "paper: A paper\nauthor: me", r"author\n.*[Uu]nexpected"),
        ("    source: Table 1\n", "", r"claims\.A1\.source"),
        ("metric: recall_at_1", "metric: recal_at_1", r"unknown metric 'recal_at_1'; did you mean 'recall_at_1'"),
        ("metric: steps_per_second", "metric: steps_per_second, tasks: [mr], data: [a], protocol: b", "no tasks, data"),
        ("tasks: [retrieval], ", "", "recall_at_1 needs its tasks, data and protocol"),
        ("measures: [squad]", "measures: [squat]", r"comparisons\.0\.measures\n.*'squat'; did you mean 'squad'"),
        ("measures: [speed]", "measures: [squad]", "no claim uses speed; remove it"),
        ("margin: 1, ", "", "equal scores need a margin above 0"),
        ("direction: equal", "direction: better", r"comparisons\.1\.direction"),
        ("environment: paper", "environment: base", "the command runs the environment paper, not base"),
        ("    source: Table 1", "    source: Table 1\n    source: Table 2", r"duplicate keys: \['source'\]"),
    ],
)
def test_errors_name_file_key_and_fault(right: str, wrong: str, message: str) -> None:
    assert TOY.count(right) == 1
    with pytest.raises(ValueError) as raised:
        parse_claims(TOY.replace(right, wrong), "toy/claims.yml")
    assert str(raised.value).startswith("toy/claims.yml: ") and re.search(message, str(raised.value)), raised.value


def test_each_claim_is_in_one_file() -> None:
    papers = read_all_claims(tuple(SYSTEMS))
    assert "league" not in papers and papers["cmlm"] == read_claims("contexture.systems.cmlm")
    assert sorted(name for paper in papers.values() for name in paper.claims) == sorted(
        [
            f"{letter}{number}"
            for letter, count in zip("QTXCM", (6, 8, 6, 8, 4), strict=True)
            for number in range(1, count + 1)
        ]
    )


def test_an_id_in_two_files_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contexture.reporting.claims.read_claims", lambda package: parse_claims(TOY, package))
    with pytest.raises(ValueError, match=r"two_tower/claims\.yml: A1 is also in mspp/claims\.yml; rename one"):
        read_all_claims.__wrapped__(("mspp", "two_tower"))
