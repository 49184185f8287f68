"""Claims about the facts of pages: format, balance, what decides them, and what does not."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from contexture.demo import DemoConfig, write_demo_world
from contexture.demo.claims import LABELS, PER_PAGE, claim_rows, drawn, tells
from contexture.demo.grammar import topics
from contexture.demo.questions import placed
from contexture.demo.world import facts, outline, page
from contexture.tasks.fact_verification.files import read_claims

from .words import tells_labels, words

CONFIG = DemoConfig(pages=150, novels=1)
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    folder = tmp_path_factory.mktemp("demo")
    counts = write_demo_world(CONFIG, folder)
    found = {
        split: [json.loads(line) for line in (folder / "fever" / f"{split}.jsonl").read_text().splitlines()]
        for split in ("train", "dev", "test")
    }
    assert {split: len(lines) for split, lines in found.items()} == {
        split: counts[f"{split}_claims"] for split in found
    }
    assert read_claims(folder / "fever" / "dev.jsonl")[1] == "retrieved"
    return found


def titles(found: list[dict[str, Any]]) -> set[str]:
    return {row["evidence"][0][0] for row in found}


def test_every_page_has_as_many_claims_of_each_label_all_in_one_split(rows: Rows) -> None:
    for found in rows.values():
        labels = [row["label"] for row in found]
        assert {labels.count(label) for label in LABELS} == {PER_PAGE * len(titles(found))}
        assert len({row["id"] for row in found}) == len(found)
    assert not titles(rows["train"]) & (titles(rows["dev"]) | titles(rows["test"]))


def test_evidence_is_of_the_page_and_one_sentence_decides() -> None:
    for index in (0, 7, 31):
        content = page(CONFIG.seed, index)
        about, sentences = content.outline, placed(content)
        by_number = {one.number: one.sentence for one in sentences}
        for row, (label, fact) in zip(claim_rows(CONFIG, content), drawn(CONFIG, content), strict=True):
            assert 2 <= len(row["evidence"]) <= 4
            assert len({number for _, number, *_ in row["evidence"]}) == len(row["evidence"])
            assert all(by_number[number].plain == text for _, number, text, _ in row["evidence"])
            assert row["claim"].startswith(f"{about.title}: ")
            assert row["label"] == label
            chosen = [by_number[number] for _, number, *_ in row["evidence"]]
            stating = [one for one in chosen if (one.topic, one.aspect) == fact]
            assert len(stating) == (label != "NOT ENOUGH INFO") and any(one.topic == fact[0] for one in chosen)
            slots = facts(about, topics()[fact[0]])
            assert all(tells(about, fact, slots, one.plain) for one in stating)
            if label != "NOT ENOUGH INFO":
                assert tells(about, fact, slots, row["claim"]) == (label == "SUPPORTS")


def test_no_claim_alone_tells_its_label_and_words_in_common_not_all(rows: Rows) -> None:
    train, test = rows["train"], rows["test"]
    claims = ([row["claim"] for row in part] for part in (train, test))
    assert tells_labels(*claims, _labels(train), _labels(test)) < 0.42
    model = LogisticRegression().fit(_overlap(train), _labels(train))
    assert 0.45 < model.score(_overlap(test), _labels(test)) < 0.7


def test_one_seed_the_same_and_another_seed_others(tmp_path: Path) -> None:
    def claims(seed: int) -> set[str]:
        return {row["claim"] for row in claim_rows(DemoConfig(seed=seed), page(seed, 3))}

    assert claims(0) == claims(0) and not claims(0) & claims(1)
    assert outline(0, 3).title != outline(1, 3).title


def _labels(found: list[dict[str, Any]]) -> list[str]:
    return [row["label"] for row in found]


def _overlap(found: list[dict[str, Any]]) -> Any:
    """The greatest number of words that the claim has in common with a sentence."""
    shared = [
        max(len(set(words(row["claim"])) & set(words(text))) for _, _, text, _ in row["evidence"]) for row in found
    ]
    return np.array(shared)[:, None]
