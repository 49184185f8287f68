"""Claims about facts of articles: format, balance, evidence."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contexture.demo import DemoConfig
from contexture.demo.claims import CLAIMS_PER_LABEL, LABELS, claim_rows, draw_claims, has_fact_words
from contexture.demo.grammar import topics
from contexture.demo.questions import page_sentences
from contexture.demo.world import draw_facts, make_article, make_outline
from contexture.tasks.fact_verification.files import read_claims

from .words import predict_labels, word_overlap

CONFIG = DemoConfig()
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def rows(whole_world: Path) -> dict[str, Rows]:
    files = {split: whole_world / "fever" / f"{split}.jsonl" for split in ("train", "dev", "test")}
    assert read_claims(files["dev"])[1] == "retrieved"
    return {split: [json.loads(line) for line in file.read_text().splitlines()] for split, file in files.items()}


def titles(claims: Rows) -> set[str]:
    return {row["evidence"][0][0] for row in claims}


def test_every_page_has_as_many_claims_of_each_label_all_in_one_split(rows: dict[str, Rows]) -> None:
    for claims in rows.values():
        labels = [row["label"] for row in claims]
        assert {labels.count(label) for label in LABELS} == {CLAIMS_PER_LABEL * len(titles(claims))}
        assert len({row["id"] for row in claims}) == len(claims)
    assert not titles(rows["train"]) & (titles(rows["dev"]) | titles(rows["test"]))


@pytest.mark.parametrize("index", [0, 7, 31])
def test_evidence_is_of_the_page_and_one_sentence_decides(index: int) -> None:
    content = make_article(CONFIG.seed, index)
    about = content.outline
    by_number = {row.number: row.sentence for row in page_sentences(content)}
    for row, (label, fact) in zip(claim_rows(CONFIG, content), draw_claims(CONFIG, content), strict=True):
        numbers = [number for _, number, *_ in row["evidence"]]
        chosen = [by_number[number] for number in numbers]
        assert 2 <= len(numbers) == len(set(numbers)) <= 4
        assert [sentence.plain for sentence in chosen] == [text for *_, text, _ in row["evidence"]]
        assert row["claim"].startswith(f"{about.title}: ")
        assert row["label"] == label
        stating = [sentence for sentence in chosen if sentence.fact == fact]
        assert len(stating) == (label != "NOT ENOUGH INFO") and any(sentence.topic == fact[0] for sentence in chosen)
        slots = draw_facts(about, topics()[fact[0]])
        assert all(has_fact_words(about, fact, slots, sentence.plain) for sentence in stating)
        if label != "NOT ENOUGH INFO":
            assert has_fact_words(about, fact, slots, row["claim"]) == (label == "SUPPORTS")


def test_claims_alone_do_not_predict_labels_and_word_overlap_only_partly(rows: dict[str, Rows]) -> None:
    train, test = rows["train"], rows["test"]
    labels = [[row["label"] for row in part] for part in (train, test)]
    assert predict_labels(*([row["claim"] for row in part] for part in (train, test)), *labels) < 0.42
    overlaps = [
        [max(word_overlap(row["claim"], text) for *_, text, _ in row["evidence"]) for row in part]
        for part in (train, test)
    ]
    assert 0.45 < predict_labels(*(np.array(values)[:, None] for values in overlaps), *labels) < 0.7


def test_output_depends_on_the_seed() -> None:
    def claims(seed: int) -> set[str]:
        return {row["claim"] for row in claim_rows(DemoConfig(seed=seed), make_article(seed, 3))}

    assert claims(0) == claims(0) and not claims(0) & claims(1)
    assert make_outline(0, 3).title != make_outline(1, 3).title
